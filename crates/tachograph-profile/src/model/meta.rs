//! What was recorded, where, and how: the facts around the events.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::heap::HeapSettings;

/// The facts around a recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meta {
    /// Wall-clock time of the start, nanoseconds since 1970: the anchor of every [`Time`](super::Time).
    pub started_unix_ns: i64,
    /// How long the recording is.
    pub duration_ns: u64,
    /// Where a part of a recording begins; 0 for a whole one.
    pub from_ns: u64,
    /// The names of spans that a part was narrowed to, the first one first;
    /// empty for a whole recording.
    pub within: Vec<String>,
    /// How long at least one span of such a part was open.
    pub covered_ns: u64,
    /// CPU time of the whole process during the recording, in nanoseconds; 0
    /// for a part of one, where only the sampled threads are known.
    pub process_cpu_ns: u64,
    /// Process that was recorded.
    pub pid: u32,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The interpreter, if there was one.
    pub python: Option<PythonInfo>,
    /// The machine.
    pub machine: Machine,
    /// How it was recorded.
    pub settings: Settings,
    /// What tells own code from libraries.
    pub roots: Roots,
    /// Whatever the user wanted to remember.
    pub labels: BTreeMap<String, String>,
}

impl Meta {
    /// How long the recording took; of a part within spans, how long they did.
    #[must_use]
    pub fn elapsed_ns(&self) -> u64 {
        if self.within.is_empty() {
            self.duration_ns.saturating_sub(self.from_ns)
        } else {
            self.covered_ns
        }
    }
}

/// The interpreter that ran the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PythonInfo {
    /// Such as `3.12.1`.
    pub version: String,
    /// Such as `CPython`.
    pub implementation: String,
    /// Path of the interpreter.
    pub executable: String,
    /// Built without the interpreter lock.
    pub free_threaded: bool,
}

/// The machine a program ran on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// Host name.
    pub host: String,
    /// Operating system and kernel release, such as `Linux 6.1.0`.
    pub system: String,
    /// Such as `x86_64`.
    pub architecture: String,
    /// Processors the process may use.
    pub cores: u32,
    /// Memory of the machine.
    pub memory_bytes: u64,
}

/// How a recording was made, one part per source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The CPU source, if it ran.
    pub cpu: Option<CpuSettings>,
    /// The heap source, if it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heap: Option<HeapSettings>,
    /// The machine source, if it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineSettings>,
}

/// How the process, the machine and its devices were read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineSettings {
    /// Time between two readings that was asked for.
    pub interval_ns: u64,
    /// Energy was measured; otherwise it is modelled.
    pub energy_measured: bool,
    /// How energy is known, and if it is modelled why.
    pub energy_source: String,
}

/// How CPU samples were taken.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CpuSettings {
    /// Which time was sampled.
    pub mode: Mode,
    /// The interval that was asked for.
    pub interval_ns: u64,
    /// What made the sampler look.
    pub trigger: Trigger,
    /// Why that one, in a few words.
    pub trigger_reason: String,
    /// Native frames were taken.
    pub native: bool,
    /// Frames kept per stack.
    pub max_depth: u32,
    /// Room for samples in memory.
    pub memory_limit_bytes: u64,
    /// What came of it.
    pub report: CpuReport,
}

/// Which time is sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Time on a processor.
    #[default]
    Cpu,
    /// Elapsed time, waiting included.
    Wall,
}

/// What makes the sampler look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// A thread of ours that wakes up on a jittered beat.
    #[default]
    Tick,
    /// The kernel's performance events, per thread.
    Perf,
    /// POSIX timers on each thread's CPU clock.
    CpuTimer,
}

impl Trigger {
    /// Its name in the API and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tick => "tick",
            Self::Perf => "perf",
            Self::CpuTimer => "cpu-timer",
        }
    }
}

/// What came of the asked-for sampling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CpuReport {
    /// Samples that were kept.
    pub samples: u64,
    /// CPU time of all threads that were watched.
    pub watched_cpu_ns: u64,
    /// How often the sampler looked.
    pub ticks: u64,
    /// Half of the ticks came later than this after their deadline.
    pub median_lateness_ns: u64,
    /// CPU time of our own threads, by their clocks.
    pub own_cpu_ns: u64,
    /// Estimated CPU time that taking the samples cost the program's threads.
    pub sampling_cpu_ns: u64,
    /// For the perf trigger: CPU time that came from the repair tick.
    pub repaired_cpu_ns: u64,
    /// Samples left out because the thread stood in a finished wait.
    pub waiting_samples: u64,
}

impl CpuReport {
    /// Samples per second of CPU time that was watched.
    #[must_use]
    pub fn rate_hz(&self) -> f64 {
        if self.watched_cpu_ns == 0 {
            return 0.0;
        }
        self.samples as f64 * 1e9 / self.watched_cpu_ns as f64
    }

    /// What sampling cost, as a share of the CPU time that was watched.
    #[must_use]
    pub fn cost(&self) -> f64 {
        if self.watched_cpu_ns == 0 {
            return 0.0;
        }
        self.own_cpu_ns.saturating_add(self.sampling_cpu_ns) as f64 / self.watched_cpu_ns as f64
    }
}

/// Directories that tell own code from libraries. Decided once, when recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Roots {
    /// Where the program was started.
    pub working_directory: String,
    /// The script or module that was run; empty when unknown.
    pub script: String,
    /// Directories of the standard library.
    pub standard_library: Vec<String>,
    /// Directories of installed packages.
    pub site_packages: Vec<String>,
}

impl Roots {
    /// Whether `file` is the user's own code: not of the standard library, not
    /// installed, and not made up by the interpreter (`<string>`, `<frozen …>`).
    #[must_use]
    pub fn is_own(&self, file: &str) -> bool {
        if file.is_empty() || file.starts_with('<') {
            return false;
        }
        let inside = |root: &String| {
            !root.is_empty()
                && file.strip_prefix(root.as_str()).is_some_and(|rest| {
                    root.ends_with('/') || rest.is_empty() || rest.starts_with('/')
                })
        };
        !self.site_packages.iter().any(inside) && !self.standard_library.iter().any(inside)
    }
}
