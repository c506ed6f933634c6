//! A profile in the formats people use.
//!
//! Every format is one file and a pure function of `&Profile` over
//! [`Profile::weights`](crate::Profile::weights), so it serves time and bytes
//! alike and never knows which source took the samples.

mod collapsed;
mod doubts;
#[cfg(test)]
mod example;
#[cfg(test)]
mod example_memory;
pub mod format;
mod formats;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod laws;
mod memory;
mod save;
mod speedscope;
mod summary;
mod svg;

pub use collapsed::collapsed;
pub use format::program_name;
pub use formats::{Format, export};
pub use memory::{export_memory, save_memory};
pub use save::save;
pub use speedscope::speedscope;
pub use summary::{
    ListedFunction, ListedLine, MemoryUse, Style, bottleneck_table, comparison_table, line_listing,
    memory_table, run_table, stream_table, summary, summary_of_run,
};
pub use summary::{
    MonitorDevice, MonitorMemory, MonitorReport, MonitorSite, MonitorSystem, MonitorTiming,
    MonitorValidation, monitor_table,
};
pub use svg::svg;
