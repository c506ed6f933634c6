//! The facts around a recording: the machine and the process.

use tachograph_profile::{Machine, Meta};

use crate::options::Host;
use crate::sys::{clock, threads};

/// What is known when a recording begins.
pub(crate) fn at_start(host: &Host) -> Meta {
    Meta {
        started_unix_ns: clock::wall(),
        pid: u32::try_from(threads::process_id()).unwrap_or(0),
        command: host.command.clone(),
        python: host.python.clone(),
        machine: machine(),
        roots: host.roots.clone(),
        ..Meta::default()
    }
}

/// The machine we are on.
pub(crate) fn machine() -> Machine {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let memory = read("/proc/meminfo");
    let total = memory.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes = total.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    Machine {
        host: read("/proc/sys/kernel/hostname"),
        system: format!("Linux {}", read("/proc/sys/kernel/osrelease")),
        architecture: std::env::consts::ARCH.to_owned(),
        cores: threads::usable_cores(),
        memory_bytes: kilobytes.unwrap_or(0) * 1024,
    }
}
