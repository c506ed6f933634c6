//! What a recording does not hold although it should. Loss is data, not an error.

use serde::{Deserialize, Serialize};

/// Counts of everything that was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Loss {
    /// Ticks of the sampler that came a whole period late or not at all.
    pub late_ticks: u64,
    /// Samples for which there was no room.
    pub dropped_samples: u64,
    /// Sampled blocks for which there was no room.
    pub dropped_allocations: u64,
    /// Spans and values of metrics for which there was no room.
    pub dropped_spans: u64,
    /// Stacks that could not be read as one piece; their time went to the
    /// thread's other samples.
    pub unreadable_stacks: u64,
    /// Stacks deeper than the limit; their outermost frames are missing.
    pub truncated_stacks: u64,
    /// Frames whose code was gone before its name could be read.
    pub unnamed_frames: u64,
    /// Native stacks that ended early because unwind information was missing.
    pub partial_native_stacks: u64,
    /// Threads that block the sampling signal and were never seen running.
    pub blocked_threads: u64,
}

impl Loss {
    /// Samples that are missing for any reason: no room, or unreadable.
    #[must_use]
    pub fn missing_samples(&self) -> u64 {
        self.dropped_samples.saturating_add(self.unreadable_stacks)
    }

    /// Adds the counts of `other`, for recordings that are merged.
    pub fn add(&mut self, other: &Self) {
        self.combine(other, u64::saturating_add);
    }

    /// What was lost since `earlier`, an older state of the same counts.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut lost = *self;
        lost.combine(earlier, u64::saturating_sub);
        lost
    }

    fn combine(&mut self, other: &Self, with: impl Fn(u64, u64) -> u64) {
        for (mine, theirs) in [
            (&mut self.late_ticks, other.late_ticks),
            (&mut self.dropped_samples, other.dropped_samples),
            (&mut self.dropped_allocations, other.dropped_allocations),
            (&mut self.dropped_spans, other.dropped_spans),
            (&mut self.unreadable_stacks, other.unreadable_stacks),
            (&mut self.truncated_stacks, other.truncated_stacks),
            (&mut self.unnamed_frames, other.unnamed_frames),
            (&mut self.partial_native_stacks, other.partial_native_stacks),
            (&mut self.blocked_threads, other.blocked_threads),
        ] {
            *mine = with(*mine, theirs);
        }
    }
}
