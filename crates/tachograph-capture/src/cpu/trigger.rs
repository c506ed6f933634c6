//! Which trigger to use, and why.
//!
//! The jittered tick is the default at every rate: it needs no permission, costs
//! nothing per context switch and survives exec. Performance events serve one
//! usable core (the tick's own thread would take the program's processor) and
//! periods below a millisecond. POSIX CPU timers only on request.

use tachograph_profile::{Mode, Trigger};

use crate::error::Error;
use crate::options::TriggerChoice;
use crate::sys::{perf, threads};

/// A trigger and the reason for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// What makes the sampler look.
    pub(crate) trigger: Trigger,
    /// Why that one, in a few words.
    pub(crate) reason: String,
}

const ASKED_FOR: &str = "asked for";

impl Chosen {
    /// The caller named this trigger.
    pub(crate) fn is_asked_for(&self) -> bool {
        self.reason == ASKED_FOR
    }
}

/// Share of a processor that performance events may cost before the tick is
/// the better choice.
pub(crate) const PERF_BUDGET: f64 = 0.03;

/// What performance events cost, as a share of one processor: 20 µs a sample
/// and 11 µs a context switch, measured on a virtual machine.
pub(crate) fn perf_cost(interval_ns: u64, switches_per_second: f64) -> f64 {
    20e3 / interval_ns.max(1) as f64 + switches_per_second * 11e-6
}

/// Finds the trigger for what was asked.
pub(crate) fn choose(choice: TriggerChoice, mode: Mode, interval_ns: u64) -> Result<Chosen, Error> {
    let chosen = |trigger, reason: &str| Ok(Chosen { trigger, reason: reason.to_owned() });
    if mode == Mode::Wall {
        return match choice {
            TriggerChoice::Auto => chosen(Trigger::Tick, "wall time"),
            TriggerChoice::Tick => chosen(Trigger::Tick, ASKED_FOR),
            TriggerChoice::Perf => Err(Error::TriggerForCpuOnly { trigger: "perf" }),
            TriggerChoice::CpuTimer => Err(Error::TriggerForCpuOnly { trigger: "cpu-timer" }),
        };
    }
    match choice {
        TriggerChoice::Tick => chosen(Trigger::Tick, ASKED_FOR),
        TriggerChoice::CpuTimer => chosen(Trigger::CpuTimer, ASKED_FOR),
        TriggerChoice::Perf => match perf_obstacle() {
            None => chosen(Trigger::Perf, ASKED_FOR),
            Some(reason) => Err(Error::TriggerUnavailable { trigger: "perf", reason }),
        },
        TriggerChoice::Auto => {
            let wish = if threads::usable_cores() == 1 {
                "one usable core"
            } else if interval_ns < 1_000_000 {
                "interval below 1 ms"
            } else {
                return chosen(Trigger::Tick, "default");
            };
            match perf_obstacle() {
                None => chosen(Trigger::Perf, wish),
                Some(obstacle) => {
                    chosen(Trigger::Tick, &format!("{wish}, but no perf events: {obstacle}"))
                }
            }
        }
    }
}

/// Why performance events cannot be used here, or `None`.
fn perf_obstacle() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    if tracer.is_some_and(|pid| pid.trim() != "0") {
        return Some("a debugger is attached, and it would see every trap".to_owned());
    }
    if !crate::sys::handler::trap_is_free() {
        return Some("the program handles SIGTRAP itself".to_owned());
    }
    perf::unavailable()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tick_is_the_default_on_more_than_one_core() {
        if threads::usable_cores() < 2 {
            return;
        }
        let chosen = choose(TriggerChoice::Auto, Mode::Cpu, 10_000_000).unwrap();
        assert_eq!((chosen.trigger, chosen.reason.as_str()), (Trigger::Tick, "default"));
    }

    #[test]
    fn performance_events_pay_at_one_millisecond_up_to_about_900_switches_a_second() {
        assert!(perf_cost(1_000_000, 800.0) < PERF_BUDGET);
        assert!(perf_cost(1_000_000, 1_000.0) > PERF_BUDGET);
    }

    #[test]
    fn wall_time_cannot_be_sampled_by_a_cpu_clock() {
        let error = choose(TriggerChoice::CpuTimer, Mode::Wall, 10_000_000).unwrap_err();
        assert!(error.to_string().contains("cpu-timer"), "{error}");
    }
}
