//! What doors want of CPU samples, each alone and all together.

use tachograph_profile::{CpuSettings, Mode, Trigger};

use crate::cpu::{Chosen, Plan};
use crate::options::{CpuOptions, TriggerChoice};
use crate::sys::slots::MAX_ENTRIES;

/// Frames kept per stack unless the caller says otherwise.
const DEFAULT_DEPTH: usize = 512;

/// What serves one wish; the trigger is chosen elsewhere.
pub(crate) fn plan_for(wish: &CpuOptions) -> Plan {
    Plan {
        interval_ns: wish.interval_ns.max(1),
        mode: wish.mode,
        trigger: Trigger::Tick,
        native: wish.native,
        max_depth: depth(wish),
    }
}

/// What serves both: the finer interval, wall time if one wants it, native
/// frames if one wants them. Of two with the same interval, the one that names
/// a trigger has its way.
pub(crate) fn finest(one: CpuOptions, other: CpuOptions) -> CpuOptions {
    let (fine, coarse) =
        if one.interval_ns <= other.interval_ns { (one, other) } else { (other, one) };
    let is_wall = fine.mode == Mode::Wall || coarse.mode == Mode::Wall;
    let is_open = fine.trigger == TriggerChoice::Auto && fine.interval_ns == coarse.interval_ns;
    let trigger = if is_open { coarse.trigger } else { fine.trigger };
    CpuOptions {
        interval_ns: fine.interval_ns,
        mode: if is_wall { Mode::Wall } else { Mode::Cpu },
        trigger: if is_wall { TriggerChoice::Auto } else { trigger },
        native: fine.native || coarse.native,
        max_depth: depth(&fine).max(depth(&coarse)) as u32,
    }
}

/// What a recording says about how its samples are taken.
pub(crate) fn settings(wish: &CpuOptions, plan: &Plan, chosen: Chosen) -> CpuSettings {
    CpuSettings {
        mode: wish.mode,
        interval_ns: wish.interval_ns,
        trigger: chosen.trigger,
        trigger_reason: chosen.reason,
        native: plan.native,
        max_depth: u32::try_from(plan.max_depth).unwrap_or(u32::MAX),
        ..CpuSettings::default()
    }
}

/// Frames per stack, as far as a slot has room.
fn depth(wish: &CpuOptions) -> usize {
    match wish.max_depth as usize {
        0 => DEFAULT_DEPTH,
        asked => asked.min(MAX_ENTRIES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every(interval_ns: u64) -> CpuOptions {
        CpuOptions { interval_ns, ..CpuOptions::default() }
    }

    #[test]
    fn the_finer_interval_wins_and_nobody_loses_depth_or_native_frames() {
        let coarse = CpuOptions { native: true, max_depth: 100, ..every(10) };

        for both in [finest(every(1), coarse), finest(coarse, every(1))] {
            assert_eq!((both.interval_ns, both.native), (1, true));
            assert_eq!(both.max_depth, 512, "the default is deeper than 100");
        }
    }

    #[test]
    fn a_named_trigger_wins_over_a_free_choice_at_the_same_interval() {
        let named = CpuOptions { trigger: TriggerChoice::CpuTimer, ..every(10) };

        assert_eq!(finest(every(10), named).trigger, TriggerChoice::CpuTimer);
        assert_eq!(finest(named, every(10)).trigger, TriggerChoice::CpuTimer);
        assert_eq!(finest(named, every(1)).trigger, TriggerChoice::Auto);
    }

    #[test]
    fn wall_time_leaves_the_trigger_open_because_a_cpu_clock_cannot_serve_it() {
        let named = CpuOptions { trigger: TriggerChoice::CpuTimer, ..every(1) };
        let wall = CpuOptions { mode: Mode::Wall, ..every(10) };

        let both = finest(named, wall);

        assert_eq!((both.mode, both.trigger), (Mode::Wall, TriggerChoice::Auto));
    }

    #[test]
    fn a_plan_never_asks_for_more_than_a_slot_holds_or_for_no_interval() {
        let plan = plan_for(&CpuOptions { max_depth: u32::MAX, ..every(0) });

        assert_eq!((plan.interval_ns, plan.max_depth), (1, MAX_ENTRIES));
    }
}
