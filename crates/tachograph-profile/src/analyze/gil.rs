//! Who held the interpreter lock while a thread waited for it.

use rustc_hash::FxHashMap;

use super::threads::track_name;
use crate::{Profile, ThreadState, TrackId};

/// The thread that kept another one waiting most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GilHolder {
    /// The thread that held the lock.
    pub track: TrackId,
    /// Its name.
    pub name: String,
    /// How long it was seen holding the lock while the other waited.
    pub held_ns: u64,
    /// How long the other waited in all.
    pub waited_ns: u64,
}

/// The thread that held the interpreter lock most of the time `waiter` waited
/// for it; `None` when no holder was seen.
///
/// Threads are not looked at in the same instant. A waiting sample is credited
/// to the thread that was seen with the lock nearest in time, if that was
/// within two sampling intervals.
#[must_use]
pub fn gil_holder(profile: &Profile, waiter: TrackId) -> Option<GilHolder> {
    let interval = profile.meta.settings.cpu.as_ref()?.interval_ns;
    let holders: Vec<_> = profile
        .samples
        .iter()
        .filter(|sample| sample.track != waiter && sample.state == ThreadState::RunningWithGil)
        .map(|sample| (sample.time.0, sample.track))
        .collect();
    let mut held: FxHashMap<TrackId, u64> = FxHashMap::default();
    let mut waited_ns = 0u64;
    for sample in &profile.samples {
        if sample.track != waiter || sample.state != ThreadState::WaitingForGil {
            continue;
        }
        waited_ns = waited_ns.saturating_add(sample.wall_ns);
        let next = holders.partition_point(|(time, _)| *time < sample.time.0);
        let around = [next.checked_sub(1), Some(next)];
        let near = around
            .into_iter()
            .filter_map(|index| holders.get(index?))
            .map(|(time, track)| (time.abs_diff(sample.time.0), *track))
            .min();
        if let Some((_, track)) = near.filter(|(gap, _)| *gap <= interval.saturating_mul(2)) {
            let sum = held.entry(track).or_default();
            *sum = sum.saturating_add(sample.wall_ns);
        }
    }
    let longest = held.into_iter().map(|(track, ns)| (ns, track));
    let (held_ns, track) = longest.max_by_key(|(ns, track)| (*ns, std::cmp::Reverse(*track)))?;
    (held_ns > 0).then(|| GilHolder { track, name: track_name(profile, track), held_ns, waited_ns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CpuSettings, Interner, Time, TrackKind};

    #[test]
    fn the_nearest_holder_is_credited_with_the_wait() {
        let main: &[_] = &[("main", "a.py", 1)];
        let mut profile =
            Profile::from_stacks(&[(100, 10, main), (105, 10, main), (500, 10, main)]);
        let mut tables = Interner::from_tables(std::mem::take(&mut profile.tables));
        let loader = tables.track(TrackKind::Thread, None, 2, "loader", Time(0));
        profile.tables = tables.into_tables();
        profile.samples[0].state = ThreadState::WaitingForGil;
        profile.samples[1].track = loader;
        profile.samples[1].state = ThreadState::RunningWithGil;
        profile.samples[2].state = ThreadState::WaitingForGil;
        profile.meta.settings.cpu = Some(CpuSettings { interval_ns: 10, ..CpuSettings::default() });

        let holder = gil_holder(&profile, TrackId(1)).unwrap();

        assert_eq!((holder.name.as_str(), holder.held_ns), ("loader", 10));
        assert_eq!(holder.waited_ns, 20);
        assert_eq!(gil_holder(&profile, loader), None);
    }
}
