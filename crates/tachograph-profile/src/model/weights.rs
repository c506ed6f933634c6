//! The one door for everything that draws stacks: `(stack, track, time, weight)`.

use super::events::Time;
use super::ids::{StackId, TrackId};
use super::profile::Profile;

/// What a weight means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Measure {
    /// Elapsed time, in nanoseconds.
    WallTime,
    /// Time on a processor, in nanoseconds.
    #[default]
    CpuTime,
    /// Number of samples.
    Samples,
    /// Bytes allocated, freed since or not.
    BytesAllocated,
    /// Bytes allocated and not freed.
    BytesLive,
    /// Bytes that were live when most were.
    BytesAtPeak,
    /// Number of blocks allocated.
    Allocations,
}

/// How much of a measure fell on one stack of one track at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weight {
    /// The stack.
    pub stack: StackId,
    /// The thread it belongs to.
    pub track: TrackId,
    /// When.
    pub time: Time,
    /// How much, in the unit of the measure.
    pub weight: u64,
}

impl Profile {
    /// Every stack that carries some of `measure`, in order of time.
    ///
    /// ```
    /// use tachograph_profile::{Measure, Profile};
    ///
    /// let profile = Profile::from_stacks(&[(0, 30, &[("main", "train.py", 1)])]);
    /// assert_eq!(profile.weights(Measure::CpuTime).map(|w| w.weight).sum::<u64>(), 30);
    /// assert_eq!(profile.weights(Measure::Samples).map(|w| w.weight).sum::<u64>(), 1);
    /// ```
    pub fn weights(&self, measure: Measure) -> impl Iterator<Item = Weight> + '_ {
        let samples = self.samples.iter().filter_map(move |s| {
            let weight = match measure {
                Measure::WallTime => s.wall_ns,
                Measure::CpuTime => s.cpu_ns,
                Measure::Samples => 1,
                _ => 0,
            };
            (weight > 0).then_some(Weight { stack: s.stack, track: s.track, time: s.time, weight })
        });
        let peak = if measure == Measure::BytesAtPeak { self.peak().time } else { Time(0) };
        let blocks = self.allocations.iter().filter_map(move |a| {
            let weight = match measure {
                Measure::BytesAllocated => a.weight_bytes,
                Measure::BytesLive if a.freed.is_none() => a.weight_bytes,
                Measure::BytesAtPeak if a.is_live_at(peak) => a.weight_bytes,
                Measure::Allocations => a.blocks(),
                _ => 0,
            };
            (weight > 0).then_some(Weight { stack: a.stack, track: a.track, time: a.time, weight })
        });
        samples.chain(blocks)
    }
}
