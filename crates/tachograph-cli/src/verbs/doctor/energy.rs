//! Whether the processor's energy counter can be read.

use super::finding::{Finding, Verdict};
use super::machine::Machine;

const ZONES: &str = "sys/class/powercap";

/// The counter of the first package, which the kernel calls RAPL.
pub(super) fn rapl(machine: &Machine) -> Finding {
    let is_package = |name: &String| {
        let number = name.strip_prefix("intel-rapl:");
        number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let zones: Vec<_> = machine.list(ZONES).into_iter().filter(is_package).collect();
    let modelled = "energy is modelled from CPU time";
    let Some(first) = zones.first() else {
        let what = "no energy counter (RAPL)";
        return Finding::new("energy", Verdict::Absent, what, modelled);
    };
    let counter = format!("{ZONES}/{first}/energy_uj");
    if machine.can_read(&counter) {
        let what = format!("energy counters (RAPL, {} packages)", zones.len());
        let what = what.replace("1 packages", "1 package");
        return Finding::new("energy", Verdict::Good, what, "energy is measured");
    }
    Finding::new("energy", Verdict::Improvable, "energy counters are not readable (RAPL)", modelled)
        .with_remedy(format!("sudo chmod o+r /{counter}"))
}

#[cfg(test)]
mod tests {
    use super::super::machine::Tree;
    use super::*;

    #[test]
    fn a_counter_that_can_be_read_measures() {
        let tree = Tree::with(
            "rapl",
            &[
                ("sys/class/powercap/intel-rapl:0/energy_uj", "12\n"),
                ("sys/class/powercap/intel-rapl:0:0/energy_uj", "4\n"),
            ],
        );

        assert_eq!(rapl(&tree.machine).what, "energy counters (RAPL, 1 package)");
    }

    #[test]
    fn a_counter_that_cannot_be_read_is_told_with_its_command() {
        // A folder in its place cannot be read by anybody, root included.
        let tree = Tree::with("closed", &[("sys/class/powercap/intel-rapl:0/energy_uj/x", "")]);

        let found = rapl(&tree.machine);

        assert_eq!(found.verdict, Verdict::Improvable);
        let remedy = "sudo chmod o+r /sys/class/powercap/intel-rapl:0/energy_uj";
        assert_eq!(found.remedy.as_deref(), Some(remedy));
    }

    #[test]
    fn a_machine_without_counters_models() {
        assert_eq!(rapl(&Tree::with("no-rapl", &[]).machine).verdict, Verdict::Absent);
    }
}
