//! A profile in the formats people use.
//!
//! Every format is one file and a pure function of `&Profile` over
//! [`Profile::weights`](crate::Profile::weights), so it serves time and bytes
//! alike and never knows which source took the samples.

mod collapsed;
mod doubts;
#[cfg(test)]
mod example;
pub mod format;
mod formats;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod laws;
mod save;
mod speedscope;
mod summary;
mod svg;

pub use collapsed::collapsed;
pub use format::program_name;
pub use formats::{Format, export};
pub use save::save;
pub use speedscope::speedscope;
pub use summary::{Style, bottleneck_table, comparison_table, run_table, summary};
pub use svg::svg;
