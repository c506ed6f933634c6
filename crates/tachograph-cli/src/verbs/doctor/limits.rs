//! What this process may use: cores and memory, of the machine or of its container.

use super::finding::{Finding, Verdict};
use super::machine::Machine;

const GIB: f64 = (1u64 << 30) as f64;

/// `2 of 8 cores, cgroup limit 2.0, 24 GiB`
pub(super) fn limits(machine: &Machine) -> Finding {
    let cores = allowed_cores(machine).unwrap_or(1);
    let all = machine.list("sys/devices/system/cpu").iter().filter(|name| is_cpu(name)).count();
    let mut facts = vec![if all > cores {
        format!("{cores} of {all} cores")
    } else {
        format!("{cores} core{}", if cores == 1 { "" } else { "s" })
    }];
    let group = group(machine);
    let quota = quota(machine, &group);
    facts.extend(quota.map(|quota| format!("cgroup limit {quota:.1}")));
    let total = memory(machine);
    let limit = memory_limit(machine, &group).filter(|limit| total.is_none_or(|all| *limit < all));
    match (limit, total) {
        (Some(limit), Some(all)) => {
            facts.push(format!("{:.0} of {:.0} GiB", limit as f64 / GIB, all as f64 / GIB));
        }
        (None, Some(all)) => facts.push(format!("{:.0} GiB", all as f64 / GIB)),
        _ => {}
    }
    let usable = quota.map_or(cores as f64, |quota| quota.min(cores as f64));
    let effect = if usable <= 1.0 {
        "the sampler shares one core: --trigger perf costs least".to_owned()
    } else {
        format!("shares are of {usable:.0} cores")
    };
    Finding::new("limits", Verdict::Good, facts.join(", "), effect)
}

fn is_cpu(name: &str) -> bool {
    let number = name.strip_prefix("cpu").unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// How many cores the scheduler may put us on: `0-3,8` are five.
fn allowed_cores(machine: &Machine) -> Option<usize> {
    let list = machine.field("proc/self/status", "Cpus_allowed_list")?;
    let count = |range: &str| -> Option<usize> {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let (from, to): (usize, usize) = (from.parse().ok()?, to.parse().ok()?);
        Some(to.checked_sub(from)? + 1)
    };
    list.split(',').map(count).sum()
}

/// The folder of our control group, version 2; the root when unknown.
fn group(machine: &Machine) -> String {
    let groups = machine.read("proc/self/cgroup").unwrap_or_default();
    let own = groups.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
    format!("sys/fs/cgroup{own}").trim_end_matches('/').to_owned()
}

/// The smallest limit of `file` in `group` and the groups around it.
fn tightest<T: PartialOrd>(group: &str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
    let mut found: Option<T> = None;
    let mut folder = Some(group);
    while let Some(path) = folder.filter(|path| path.starts_with("sys/fs/cgroup")) {
        if let Some(limit) = read(path)
            && found.as_ref().is_none_or(|known| limit < *known)
        {
            found = Some(limit);
        }
        folder = path.rsplit_once('/').map(|(parent, _)| parent);
    }
    found
}

/// How many cores the control group allows, counted in CPU time.
fn quota(machine: &Machine, group: &str) -> Option<f64> {
    let second = tightest(group, |folder| {
        let text = machine.read(&format!("{folder}/cpu.max")).ok()?;
        let (quota, period) = text.split_once(' ')?;
        Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
    });
    second.or_else(|| {
        let quota: f64 = machine.number("sys/fs/cgroup/cpu/cpu.cfs_quota_us")?;
        let period: f64 = machine.number("sys/fs/cgroup/cpu/cpu.cfs_period_us")?;
        (quota > 0.0).then_some(quota / period)
    })
}

fn memory_limit(machine: &Machine, group: &str) -> Option<u64> {
    let second = tightest(group, |folder| machine.number(&format!("{folder}/memory.max")));
    second.or_else(|| machine.number("sys/fs/cgroup/memory/memory.limit_in_bytes"))
}

fn memory(machine: &Machine) -> Option<u64> {
    let text = machine.field("proc/meminfo", "MemTotal")?;
    Some(text.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::super::machine::Tree;
    use super::*;

    #[test]
    fn a_container_is_told_by_its_limits() {
        let tree = Tree::with(
            "limits",
            &[
                ("proc/self/status", "Cpus_allowed_list:\t0-3,8\n"),
                ("proc/self/cgroup", "0::/box/inner\n"),
                ("proc/meminfo", "MemTotal:       33554432 kB\n"),
                ("sys/fs/cgroup/box/cpu.max", "200000 100000\n"),
                ("sys/fs/cgroup/box/inner/cpu.max", "max 100000\n"),
                ("sys/fs/cgroup/box/inner/memory.max", "4294967296\n"),
                ("sys/devices/system/cpu/cpu0/x", ""),
                ("sys/devices/system/cpu/cpufreq/x", ""),
            ],
        );

        let found = limits(&tree.machine);

        assert_eq!(found.what, "5 cores, cgroup limit 2.0, 4 of 32 GiB");
        assert_eq!(found.effect, "shares are of 2 cores");
    }

    #[test]
    fn the_first_version_of_control_groups_is_read_too() {
        let tree = Tree::with(
            "limits1",
            &[
                ("proc/self/status", "Cpus_allowed_list:\t0\n"),
                ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"),
                ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
                ("proc/meminfo", "MemTotal:       8388608 kB\n"),
            ],
        );

        let found = limits(&tree.machine);

        assert_eq!(found.what, "1 core, cgroup limit 0.5, 8 GiB");
        assert!(found.effect.contains("--trigger perf"), "{found:?}");
    }

    #[test]
    fn a_machine_that_tells_nothing_has_one_core() {
        assert_eq!(limits(&Tree::with("mute", &[]).machine).what, "1 core");
    }
}
