//! What a person sees in the terminal: one screen, the answer first.
//!
//! Every number has a unit, numbers are right-aligned, a share that matters
//! has a bar, and a doubt about the data stands with its remedy. Colour is
//! only added when asked for and never the only carrier of meaning.

mod data;
mod ink;
mod line_listing;
mod memory;
mod memory_use;
mod monitor;
mod report;
mod runs;
mod spans;
mod streams;
mod tables;
mod time;

pub use ink::Style;
pub use line_listing::{ListedFunction, ListedLine, line_listing};
pub use memory_use::{MemoryUse, memory_table};
pub use monitor::{
    MonitorDevice, MonitorMemory, MonitorReport, MonitorSite, MonitorSystem, MonitorTiming,
    MonitorValidation, monitor_table,
};
pub use report::{summary, summary_of_run};
pub use runs::{bottleneck_table, comparison_table, run_table};
pub use streams::stream_table;
