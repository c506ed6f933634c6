//! Equal stacks of one thread, added up.

use rustc_hash::FxHashMap;

use crate::{Measure, Profile, StackId, TrackId};

/// One distinct stack of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackRow {
    /// The thread.
    pub track: TrackId,
    /// The stack.
    pub stack: StackId,
    /// How often it was seen.
    pub count: u64,
    /// What it weighs, in the unit of the measure.
    pub weight: u64,
}

/// Adds up equal stacks of each thread, in the order they were first seen.
///
/// ```
/// use tachograph_profile::{Measure, Profile, analyze::stacks};
///
/// let frames: &[_] = &[("main", "train.py", 1)];
/// let profile = Profile::from_stacks(&[(0, 30, frames), (40, 10, frames)]);
/// let rows = stacks(&profile, Measure::CpuTime);
/// assert_eq!(rows.len(), 1);
/// assert_eq!((rows[0].count, rows[0].weight), (2, 40));
/// ```
#[must_use]
pub fn stacks(profile: &Profile, measure: Measure) -> Vec<StackRow> {
    let mut rows: Vec<StackRow> = Vec::new();
    let mut known: FxHashMap<(TrackId, StackId), usize> = FxHashMap::default();
    for weight in profile.weights(measure) {
        let row = *known.entry((weight.track, weight.stack)).or_insert_with(|| {
            rows.push(StackRow { track: weight.track, stack: weight.stack, count: 0, weight: 0 });
            rows.len() - 1
        });
        rows[row].count += 1;
        rows[row].weight = rows[row].weight.saturating_add(weight.weight);
    }
    rows
}

/// What each stack weighs over all threads, by stack id.
pub(super) fn weight_by_stack(profile: &Profile, measure: Measure) -> Vec<(StackId, u64)> {
    let mut weights = vec![0u64; profile.tables.stacks.len()];
    for weight in profile.weights(measure) {
        if let Some(sum) = weights.get_mut(weight.stack.index()) {
            *sum = sum.saturating_add(weight.weight);
        }
    }
    let stacks = weights.into_iter().enumerate();
    stacks.filter(|(_, weight)| *weight > 0).map(|(index, weight)| (index.into(), weight)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interner, Time, TrackKind};

    #[test]
    fn the_same_stack_on_two_threads_stays_two_rows() {
        let frames: &[_] = &[("main", "a.py", 1)];
        let mut profile = Profile::from_stacks(&[(0, 5, frames), (9, 7, frames)]);
        let mut tables = Interner::from_tables(std::mem::take(&mut profile.tables));
        let other = tables.track(TrackKind::Thread, None, 2, "loader", Time(0));
        profile.tables = tables.into_tables();
        profile.samples[1].track = other;

        let rows = stacks(&profile, Measure::CpuTime);

        let found: Vec<_> = rows.iter().map(|r| (r.track, r.count, r.weight)).collect();
        assert_eq!(found, [(TrackId(1), 1, 5), (other, 1, 7)]);
    }
}
