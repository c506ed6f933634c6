//! What a door asks of the session, and the facts only the host program knows.

use std::path::PathBuf;

use tachograph_profile::{Mode, PythonInfo, Roots};

/// What one door wants.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// CPU samples, and how.
    pub cpu: Option<CpuOptions>,
    /// Sampled blocks of memory, and how.
    pub heap: Option<HeapOptions>,
    /// Readings of the process, the machine and its devices, and how often.
    pub machine: Option<MachineOptions>,
    /// Write the recording here while it is made.
    pub path: Option<PathBuf>,
    /// Room for the encoded recording in memory; 0 means 100 MB.
    pub memory_limit_bytes: u64,
    /// Keep the text of own source files that are on a stack.
    pub source: bool,
    /// Take no spans and values: the door shows memory alone, maybe for as long
    /// as the program runs, and what it does not show must cost nothing.
    pub without_spans: bool,
}

/// How a door wants CPU samples.
#[derive(Clone, Copy, Debug)]
pub struct CpuOptions {
    /// Time between two looks at a running thread, in nanoseconds.
    pub interval_ns: u64,
    /// Which time is sampled.
    pub mode: Mode,
    /// What makes the sampler look.
    pub trigger: TriggerChoice,
    /// Take native frames too.
    pub native: bool,
    /// Frames kept per stack; 0 means 512.
    pub max_depth: u32,
}

impl Default for CpuOptions {
    fn default() -> Self {
        Self {
            interval_ns: 10_000_000,
            mode: Mode::Cpu,
            trigger: TriggerChoice::Auto,
            native: false,
            max_depth: 0,
        }
    }
}

/// How a door wants the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineOptions {
    /// Time between two readings, in nanoseconds.
    pub interval_ns: u64,
}

impl Default for MachineOptions {
    fn default() -> Self {
        Self { interval_ns: 100_000_000 }
    }
}

/// How a door wants blocks of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapOptions {
    /// Bytes between two samples, on average; 0 means 512 KB.
    pub rate_bytes: u64,
    /// Sample Python's small objects one by one, where the interpreter allows it.
    pub python_objects: bool,
    /// Take native frames too.
    pub native: bool,
    /// Frames kept per stack; 0 means 128.
    pub max_depth: u32,
    /// Sampled blocks that can be live at once; 0 means a million. From half of that on
    /// blocks are sampled less and less often; sums stay right on average.
    pub most_live: u32,
}

impl Default for HeapOptions {
    fn default() -> Self {
        Self {
            rate_bytes: 512 << 10,
            python_objects: true,
            native: true,
            max_depth: 0,
            most_live: 0,
        }
    }
}

/// Which trigger a door asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TriggerChoice {
    /// Whatever suits this machine; the recording says which and why.
    #[default]
    Auto,
    /// A jittered tick.
    Tick,
    /// Performance events.
    Perf,
    /// POSIX CPU timers.
    CpuTimer,
}

impl TriggerChoice {
    /// The choice called `name` in the API.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "auto" => Self::Auto,
            "tick" => Self::Tick,
            "perf" => Self::Perf,
            "cpu-timer" => Self::CpuTimer,
            _ => return None,
        })
    }
}

/// Facts that only the host program knows.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// The interpreter, when the host is one.
    pub python: Option<PythonInfo>,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// What tells own code from libraries.
    pub roots: Roots,
    /// Names of threads by OS thread id.
    pub thread_names: Vec<(u64, String)>,
}
