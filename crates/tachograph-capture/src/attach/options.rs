//! What a recording from outside is asked for, and what it says of itself.

use tachograph_profile::{CpuSettings, Meta, Mode, PythonInfo, Settings, Trigger};

use crate::attach::find::process;
use crate::attach::find::target::Target;
use crate::collect::machine;
use crate::sys::clock;

/// How a program is recorded from outside.
#[derive(Clone, Copy, Debug)]
pub struct AttachOptions {
    /// Time between two looks, in nanoseconds.
    pub interval_ns: u64,
    /// Which time is sampled.
    pub mode: Mode,
    /// Take native frames too.
    pub native: bool,
    /// Frames kept per stack.
    pub max_depth: u32,
    /// Keep the text of own source files that are on a stack.
    pub source: bool,
}

impl Default for AttachOptions {
    fn default() -> Self {
        let interval_ns = 10_000_000;
        Self { interval_ns, mode: Mode::Cpu, native: true, max_depth: 512, source: true }
    }
}

/// How a recording goes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// How long it is.
    pub elapsed_ns: u64,
    /// Samples so far.
    pub samples: u64,
    /// CPU time of the program since it began.
    pub program_cpu_ns: u64,
    /// Samples that could not be read.
    pub unreadable: u64,
}

/// What is known of a recording when it begins.
pub(crate) fn meta_of(target: &Target, options: &AttachOptions) -> Meta {
    let (pid, version) = (target.pid, target.interpreter.version);
    let python = PythonInfo {
        version: version.to_string(),
        implementation: "CPython".to_owned(),
        executable: process::program(pid),
        free_threaded: target.interpreter.free_threaded,
    };
    let cpu = CpuSettings {
        mode: options.mode,
        interval_ns: options.interval_ns,
        trigger: Trigger::Tick,
        trigger_reason: "read from outside, each thread stopped while it is read".to_owned(),
        native: options.native,
        max_depth: options.max_depth,
        ..CpuSettings::default()
    };
    Meta {
        started_unix_ns: clock::wall(),
        pid: u32::try_from(pid).unwrap_or(0),
        command: process::command(pid),
        python: Some(python),
        machine: machine(),
        settings: Settings { cpu: Some(cpu), ..Settings::default() },
        roots: process::roots(pid, version.minor()),
        ..Meta::default()
    }
}
