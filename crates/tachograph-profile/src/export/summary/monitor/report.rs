//! What a monitor saw of one call or block, as monitors report it.

use serde::Deserialize;

/// What a monitor saw; a part that was not asked for is absent.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct MonitorReport {
    /// The function or block.
    pub function_name: String,
    /// Seconds from its beginning to its end.
    pub total_duration: f64,
    /// The exception it ended with.
    pub error: Option<String>,
    /// Its time.
    pub timing: Option<MonitorTiming>,
    /// Its memory.
    pub memory: Option<MonitorMemory>,
    /// Processor, disk and network.
    pub system: Option<MonitorSystem>,
    /// Its graphics processors.
    pub gpu: Vec<MonitorDevice>,
    /// What validators said.
    pub validation: Option<MonitorValidation>,
    /// What a reader should know about the numbers.
    pub notes: Vec<String>,
}

/// Time on a chosen clock.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct MonitorTiming {
    /// Seconds.
    pub execution_time: f64,
    /// The clock.
    pub timing_mode: String,
    /// Decimals of the seconds that are shown; as many as count otherwise.
    pub precision: Option<usize>,
}

/// Memory of the process, in megabytes of 2^20 bytes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct MonitorMemory {
    /// The most it had at any moment.
    pub peak_memory_mb: f64,
    /// What it had more at the end than at the beginning.
    pub memory_diff_mb: f64,
    /// What it had at the beginning.
    pub start_memory_mb: Option<f64>,
    /// What it had at the end.
    pub end_memory_mb: Option<f64>,
    /// Where what is still there was allocated, most first.
    pub allocations: Vec<MonitorSite>,
}

/// A place that allocated memory.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct MonitorSite {
    /// The function.
    pub function: String,
    /// Its file and line.
    pub place: String,
    /// Megabytes.
    pub size_mb: f64,
}

/// What the machine did meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct MonitorSystem {
    /// CPU of the process over the whole time, in percent of one core.
    pub cpu_percent: Option<f64>,
    /// The most that was seen.
    pub peak_cpu: Option<f64>,
    /// The largest share of the machine's memory, in percent.
    pub peak_memory: Option<f64>,
    /// Megabytes read from disk.
    pub total_disk_read_mb: Option<f64>,
    /// Megabytes written to disk.
    pub total_disk_write_mb: Option<f64>,
    /// Megabytes the machine sent.
    pub total_net_sent_mb: Option<f64>,
    /// Megabytes the machine received.
    pub total_net_recv_mb: Option<f64>,
}

/// One graphics processor.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct MonitorDevice {
    /// What it is called.
    pub name: String,
    /// The most it was busy, in percent.
    pub peak_utilization: Option<f64>,
    /// The most memory in use, in megabytes.
    pub peak_memory_mb: Option<f64>,
    /// The highest temperature, in degrees Celsius.
    pub peak_temperature: Option<f64>,
    /// The highest power, in watts.
    pub peak_power: Option<f64>,
}

/// What validators said.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct MonitorValidation {
    /// No argument was rejected.
    pub input_valid: bool,
    /// The result was not rejected.
    pub output_valid: bool,
    /// Seconds the validators took.
    pub validation_time: f64,
    /// What was rejected, and why.
    pub errors: Vec<String>,
}
