//! What a monitor saw of one call or block.

mod report;
mod table;

pub use report::{
    MonitorDevice, MonitorMemory, MonitorReport, MonitorSite, MonitorSystem, MonitorTiming,
    MonitorValidation,
};
pub use table::monitor_table;
