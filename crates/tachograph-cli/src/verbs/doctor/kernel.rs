//! What the kernel lets us do to other processes and to the clock.

use super::finding::{Finding, Verdict};
use super::machine::Machine;

/// Kernel capabilities by their numbers.
const SYS_PTRACE: u32 = 19;
const SYS_ADMIN: u32 = 21;
const PERFMON: u32 = 38;

/// Whether other processes may be read.
pub(super) fn ptrace(machine: &Machine) -> Finding {
    let scope: Option<u8> = machine.number("proc/sys/kernel/yama/ptrace_scope");
    if machine.has_capability(SYS_PTRACE) {
        let what = "other processes may be read (CAP_SYS_PTRACE)";
        return Finding::new("ptrace", Verdict::Good, what, "attach and dump work on any program");
    }
    let what = |scope: u8| format!("reading other processes is limited (ptrace_scope {scope})");
    let effect = "programs must be started with `tachograph run`";
    match scope {
        None | Some(0) => Finding::new(
            "ptrace",
            Verdict::Good,
            "own processes may be read",
            "attach and dump work on your programs",
        ),
        Some(scope @ 1..=2) => Finding::new("ptrace", Verdict::Improvable, what(scope), effect)
            .with_remedy("sudo sysctl kernel.yama.ptrace_scope=0"),
        Some(scope) => Finding::new("ptrace", Verdict::Improvable, what(scope), effect)
            .with_remedy("set kernel.yama.ptrace_scope=0 in /etc/sysctl.d and restart the machine"),
    }
}

/// Whether the kernel counts CPU time for us.
pub(super) fn perf(machine: &Machine) -> Finding {
    let Some(paranoid) = machine.number::<i8>("proc/sys/kernel/perf_event_paranoid") else {
        return Finding::new(
            "perf",
            Verdict::Absent,
            "no performance events in this kernel",
            "sampling is by a tick, which needs none",
        );
    };
    let may = machine.has_capability(PERFMON) || machine.has_capability(SYS_ADMIN);
    // From 3 on, a Debian addition, ordinary users may not even watch themselves.
    if paranoid <= 2 || may {
        let effect = "--trigger perf samples with the least CPU";
        let what = format!("performance events (paranoid {paranoid})");
        return Finding::new("perf", Verdict::Good, what, effect);
    }
    let what = format!("performance events are refused (paranoid {paranoid})");
    Finding::new("perf", Verdict::Improvable, what, "sampling is by a tick, which needs none")
        .with_remedy("sudo sysctl kernel.perf_event_paranoid=2")
}

/// Whether spans can read the processor's counter.
pub(super) fn clock(machine: &Machine) -> Finding {
    const SOURCE: &str = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    match machine.read(SOURCE) {
        Ok(name) if name == "tsc" || name == "arch_sys_counter" => Finding::new(
            "clock",
            Verdict::Good,
            format!("the kernel trusts the processor's clock ({name})"),
            "a span costs tens of nanoseconds",
        ),
        Ok(name) => Finding::new(
            "clock",
            Verdict::Absent,
            format!("the kernel's clock is {name}"),
            "a span costs a system call or two",
        ),
        Err(_) => Finding::new(
            "clock",
            Verdict::Absent,
            "the kernel does not say which clock it uses",
            "spans use the monotonic clock",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::machine::Tree;
    use super::*;

    const SCOPE: &str = "proc/sys/kernel/yama/ptrace_scope";
    const PARANOID: &str = "proc/sys/kernel/perf_event_paranoid";
    const STATUS: &str = "proc/self/status";

    #[test]
    fn a_limit_on_ptrace_is_told_with_the_command_that_lifts_it() {
        let tree = Tree::with("scope1", &[(SCOPE, "1\n"), (STATUS, "CapEff:\t0000000000000000\n")]);

        let found = ptrace(&tree.machine);

        assert_eq!(found.verdict, Verdict::Improvable);
        assert_eq!(found.what, "reading other processes is limited (ptrace_scope 1)");
        assert_eq!(found.remedy.as_deref(), Some("sudo sysctl kernel.yama.ptrace_scope=0"));
    }

    #[test]
    fn a_capability_lifts_the_limit_and_scope_three_needs_a_restart() {
        let able = Tree::with("able", &[(SCOPE, "1"), (STATUS, "CapEff:\t0000000000080000\n")]);
        assert_eq!(ptrace(&able.machine).verdict, Verdict::Good);
        let locked = Tree::with("locked", &[(SCOPE, "3")]);
        assert!(ptrace(&locked.machine).remedy.is_some_and(|text| text.contains("restart")));
        let open = Tree::with("open", &[]);
        assert_eq!(ptrace(&open.machine).verdict, Verdict::Good);
    }

    #[test]
    fn performance_events_depend_on_the_level_and_on_capabilities() {
        let at = |name, level, capabilities: &str| {
            let status = format!("CapEff:\t{capabilities}\n");
            perf(&Tree::with(name, &[(PARANOID, level), (STATUS, &status)]).machine)
        };
        assert_eq!(at("p2", "2", "0").verdict, Verdict::Good);
        assert_eq!(at("p-1", "-1", "0").verdict, Verdict::Good);
        let refused = at("p3", "3", "0");
        assert_eq!(refused.verdict, Verdict::Improvable);
        assert_eq!(refused.remedy.as_deref(), Some("sudo sysctl kernel.perf_event_paranoid=2"));
        assert_eq!(at("p4", "4", "0000004000000000").verdict, Verdict::Good);
        assert_eq!(perf(&Tree::with("none", &[]).machine).verdict, Verdict::Absent);
    }

    #[test]
    fn the_kernels_clock_is_named() {
        const SOURCE: &str = "sys/devices/system/clocksource/clocksource0/current_clocksource";
        let tsc = Tree::with("tsc", &[(SOURCE, "tsc\n")]);
        assert_eq!(clock(&tsc.machine).verdict, Verdict::Good);
        let hpet = Tree::with("hpet", &[(SOURCE, "hpet\n")]);
        assert_eq!(clock(&hpet.machine).what, "the kernel's clock is hpet");
    }
}
