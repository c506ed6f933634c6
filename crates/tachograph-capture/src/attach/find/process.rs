//! What the kernel says of a process as a whole.

use std::path::Path;

use tachograph_profile::Roots;

/// The program and its arguments.
pub(crate) fn command(pid: i32) -> Vec<String> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
    let mut parts: Vec<String> = bytes.split(|byte| *byte == 0).map(text).collect();
    if parts.last().is_some_and(String::is_empty) {
        parts.pop();
    }
    parts
}

/// The path of the program.
pub(crate) fn program(pid: i32) -> String {
    let path = std::fs::read_link(format!("/proc/{pid}/exe"));
    let path = path.map(|path| path.to_string_lossy().into_owned());
    path.unwrap_or_else(|_| command(pid).into_iter().next().unwrap_or_default())
}

/// What people call the program: its script or module, else its name.
#[must_use]
pub fn title(pid: i32) -> String {
    let command = command(pid);
    let file_name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let script = script(&command);
    match (script, command.first()) {
        (Some(script), _) => file_name(&script),
        (None, Some(first)) => file_name(first),
        (None, None) => program(pid),
    }
}

/// The script or module that an interpreter's command line names.
pub(crate) fn script(command: &[String]) -> Option<String> {
    let mut arguments = command.iter().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "-c" => return None,
            "-m" => return arguments.next().cloned(),
            "-W" | "-X" | "--check-hash-based-pycs" => {
                arguments.next();
            }
            option if option.starts_with('-') => {}
            script => return Some(script.to_owned()),
        }
    }
    None
}

/// What tells own code from libraries, guessed from where the interpreter is.
pub(crate) fn roots(pid: i32, minor: u8) -> Roots {
    let directory = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
    let program = program(pid);
    let prefix = Path::new(&program).parent().and_then(Path::parent);
    let prefix = prefix.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
    let library = format!("{prefix}/lib/python3.{minor}");
    let installed = [
        format!("{library}/site-packages"),
        format!("{prefix}/lib/python3/dist-packages"),
        format!("{prefix}/local/lib/python3.{minor}/dist-packages"),
    ];
    Roots {
        working_directory: directory.to_string_lossy().into_owned(),
        script: script(&command(pid)).unwrap_or_default(),
        standard_library: vec![library],
        site_packages: installed.into(),
    }
}

/// Why the kernel does not let us read process `pid`, with the remedy.
pub(crate) fn why_denied(pid: i32) -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let scope = read("/proc/sys/kernel/yama/ptrace_scope");
    let owner = |pid: &str| {
        let status = read(&format!("/proc/{pid}/status"));
        let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?.to_owned();
        line.split_whitespace().next()?.parse::<u32>().ok()
    };
    let (theirs, ours) = (owner(&pid.to_string()), owner("self"));
    let tracer = read(&format!("/proc/{pid}/status"));
    let tracer = tracer.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    if let Some(tracer) = tracer.map(str::trim).filter(|tracer| *tracer != "0") {
        return format!("process {tracer} already traces it; stop that debugger or profiler");
    }
    match (theirs, ours, scope.trim()) {
        (Some(theirs), Some(ours), _) if theirs != ours => {
            format!("it belongs to user {theirs} and you are user {ours}; run this with sudo")
        }
        (_, _, scope @ ("1" | "2" | "3")) => format!(
            "permission denied (ptrace_scope is {scope}); give tachograph CAP_SYS_PTRACE, or start \
             the program with `tachograph run`"
        ),
        _ => "permission denied; in a container give it CAP_SYS_PTRACE (docker run --cap-add \
              SYS_PTRACE), else run this with sudo"
            .to_owned(),
    }
}

/// Resident memory in bytes.
#[must_use]
pub fn resident_bytes(pid: i32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
    kilobytes.map_or(0, |kilobytes: u64| kilobytes * 1024)
}

/// How long the process has been running, in nanoseconds.
#[must_use]
pub fn uptime_ns(pid: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let started = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(19));
    let started = started.and_then(|ticks| ticks.parse::<f64>().ok());
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    let uptime = uptime.split(' ').next().and_then(|seconds| seconds.parse::<f64>().ok());
    // The kernel shows times to user programs in hundredths of a second.
    let seconds = started.zip(uptime).map_or(0.0, |(started, uptime)| uptime - started / 100.0);
    (seconds.max(0.0) * 1e9) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_told_from_the_interpreters_options() {
        let named = |line: &str| script(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());

        assert_eq!(named("python -u train.py --epochs 3").as_deref(), Some("train.py"));
        assert_eq!(named("python -X dev -m pkg.main").as_deref(), Some("pkg.main"));
        assert_eq!(named("python -c pass"), None);
        assert_eq!(named("python"), None);
    }

    #[test]
    fn this_process_has_memory_and_an_age() {
        let pid = crate::sys::threads::process_id();
        assert!(resident_bytes(pid) > 1 << 20);
        assert!(uptime_ns(pid) < 3_600_000_000_000);
        assert!(!program(pid).is_empty());
    }
}
