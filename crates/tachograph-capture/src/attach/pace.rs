//! When the next look is due.

use std::time::Duration;

use crate::cpu::Deadlines;
use crate::sys::clock;

/// Looks whose lateness is kept, the first of a recording.
const MOST_KEPT: usize = 1 << 16;

/// The jittered tick of a recording, and how late it was.
#[derive(Debug)]
pub(crate) struct Pace {
    deadlines: Deadlines,
    lateness: Vec<u64>,
    /// Looks so far.
    pub(crate) ticks: u64,
}

impl Pace {
    /// A look every `interval_ns`, from `start` on.
    pub(crate) fn new(interval_ns: u64, start: u64) -> Self {
        let deadlines = Deadlines::new(interval_ns, start);
        Self { deadlines, lateness: Vec::new(), ticks: 0 }
    }

    /// Sleeps until the next look is due or `until` is reached, on the monotonic
    /// clock; gives the time then, and how many looks were passed over.
    pub(crate) fn sleep(&mut self, until: u64) -> (u64, u64) {
        let now = clock::monotonic();
        let next = self.deadlines.next().min(until);
        if next > now {
            std::thread::sleep(Duration::from_nanos(next - now));
        }
        let now = clock::monotonic();
        self.ticks += 1;
        if self.lateness.len() < MOST_KEPT {
            self.lateness.push(now.saturating_sub(self.deadlines.next()));
        }
        (now, self.deadlines.advance(now))
    }

    /// How late a look was, in the middle of all.
    pub(crate) fn median_lateness_ns(&mut self) -> u64 {
        self.lateness.sort_unstable();
        self.lateness.get(self.lateness.len() / 2).copied().unwrap_or(0)
    }
}
