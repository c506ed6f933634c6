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

/// Finds the trigger for what was asked.
pub(crate) fn choose(choice: TriggerChoice, mode: Mode, interval_ns: u64) -> Result<Chosen, Error> {
    let chosen = |trigger, reason: &str| Ok(Chosen { trigger, reason: reason.to_owned() });
    if mode == Mode::Wall {
        return match choice {
            TriggerChoice::Auto => chosen(Trigger::Tick, "wall time"),
            TriggerChoice::Tick => chosen(Trigger::Tick, "asked for"),
            TriggerChoice::Perf => Err(cpu_only("perf")),
            TriggerChoice::CpuTimer => Err(cpu_only("cpu-timer")),
        };
    }
    match choice {
        TriggerChoice::Tick => chosen(Trigger::Tick, "asked for"),
        TriggerChoice::CpuTimer => chosen(Trigger::CpuTimer, "asked for"),
        TriggerChoice::Perf => match perf_obstacle() {
            None => chosen(Trigger::Perf, "asked for"),
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

fn cpu_only(trigger: &'static str) -> Error {
    let reason = "it counts CPU time, and mode=\"wall\" samples elapsed time".to_owned();
    Error::TriggerUnavailable { trigger, reason }
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
    fn wall_time_cannot_be_sampled_by_a_cpu_clock() {
        let error = choose(TriggerChoice::CpuTimer, Mode::Wall, 10_000_000).unwrap_err();
        assert!(error.to_string().contains("cpu-timer"), "{error}");
    }
}
