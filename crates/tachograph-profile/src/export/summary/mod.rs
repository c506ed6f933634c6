//! What a person sees in the terminal: one screen, the answer first.
//!
//! Every number has a unit, numbers are right-aligned, a share that matters
//! has a bar, and a doubt about the data stands with its remedy. Colour is
//! only added when asked for and never the only carrier of meaning.

mod data;
mod ink;
mod report;
mod runs;
mod spans;
mod tables;
mod time;

pub use ink::Style;
pub use report::summary;
pub use runs::{bottleneck_table, comparison_table, run_table};
