//! The moment when most sampled memory was live.

use super::events::{Allocation, Time};
use super::profile::Profile;

/// The moment when most memory was live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// When; the first such moment.
    pub time: Time,
    /// How much was live then.
    pub bytes: u64,
}

impl Allocation {
    /// How many blocks this sample stands for, at least 1.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        let blocks = self.weight_bytes as f64 / self.size_bytes.max(1) as f64;
        (blocks.round() as u64).max(1)
    }

    /// Whether the block was live at `time`: allocated by then, and not freed
    /// yet. One that is freed at the very moment it is allocated never was.
    #[must_use]
    pub fn is_live_at(&self, time: Time) -> bool {
        self.time <= time && self.freed.is_none_or(|freed| time < freed)
    }
}

impl Profile {
    /// When most of the sampled memory was live, and how much it was.
    ///
    /// It counts what was allocated during the recording, or during the part
    /// of it that this profile is.
    ///
    /// ```
    /// use tachograph_profile::{Allocation, Peak, Profile, Time, TrackId};
    ///
    /// let mut profile = Profile::from_stacks(&[(0, 1, &[("main", "train.py", 1)])]);
    /// for (time, freed, size) in [(10, Some(30), 500), (20, None, 200), (40, None, 100)] {
    ///     profile.allocations.push(Allocation {
    ///         time: Time(time),
    ///         freed: freed.map(Time),
    ///         track: TrackId(1),
    ///         stack: Default::default(),
    ///         address: 0,
    ///         size_bytes: size,
    ///         weight_bytes: size,
    ///         allocator: Default::default(),
    ///     });
    /// }
    /// assert_eq!(profile.peak(), Peak { time: Time(20), bytes: 700 });
    /// ```
    #[must_use]
    pub fn peak(&self) -> Peak {
        let mut peak = Peak::default();
        self.sweep_live(|time, bytes| {
            if bytes > peak.bytes {
                peak = Peak { time, bytes };
            }
        });
        peak
    }

    /// Tells `step` how much is live from each moment at which that changes, in
    /// order of time.
    pub(crate) fn sweep_live(&self, mut step: impl FnMut(Time, u64)) {
        let mut frees: Vec<(Time, u64)> = self
            .allocations
            .iter()
            .filter_map(|block| block.freed.map(|freed| (freed, block.weight_bytes)))
            .collect();
        frees.sort_unstable();
        let mut begins = self.allocations.iter().peekable();
        let mut ends = frees.into_iter().peekable();
        let mut live = 0_u64;
        loop {
            let next = begins.peek().map(|block| block.time);
            let Some(now) = next.into_iter().chain(ends.peek().map(|end| end.0)).min() else {
                break;
            };
            // First what begins, so that nothing is taken off before it was put on.
            while let Some(block) = begins.next_if(|block| block.time <= now) {
                live = live.saturating_add(block.weight_bytes);
            }
            while let Some((_, weight)) = ends.next_if(|end| end.0 <= now) {
                live = live.saturating_sub(weight);
            }
            step(now, live);
        }
    }
}
