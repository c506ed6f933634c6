//! A second witness for threads that make short system calls.
//!
//! The tick's signal takes microseconds to arrive. A thread that makes a system
//! call every few microseconds meets it there, wherever it was when it was asked.
//! A timer on the thread's CPU clock fires on the thread's own processor and has
//! no such delay, but only a few hundred times a second. So a thread with many
//! doubtful looks gets one, and the collector believes it where ticks are doubtful.

use std::sync::atomic::Ordering;

use super::watched::Watched;
use crate::sys::cpu_timer::CpuTimer;
use crate::sys::handler::SAMPLE_SIGNAL;

/// What one doubtful look weighs against others: about one in seventeen tips the scales.
const DOUBTFUL: u64 = 16;
/// Doubt at which a timer is worth having: two doubtful looks in a row.
const ENOUGH: u64 = 2 * DOUBTFUL;
/// Most doubt that is kept: the timer ends this many looks after the last doubtful one.
const MOST: u64 = 256;

/// The doubt about one thread, and its timer while there is enough of it.
#[derive(Debug, Default)]
pub(crate) struct SecondLooks {
    counted: u64,
    doubt: u64,
    timer: Option<CpuTimer>,
}

impl SecondLooks {
    /// Follows the doubt about `thread`, which is about to be asked again.
    pub(crate) fn follow(&mut self, thread: &Watched, interval_ns: u64) {
        let counted = thread.slot.doubtful.load(Ordering::Relaxed);
        let is_new = counted != self.counted;
        self.counted = counted;
        let before = self.doubt;
        self.doubt = doubt_after(before, is_new);
        if self.timer.is_none() && before < ENOUGH && self.doubt >= ENOUGH {
            // Without a timer the ticks have to do; asked for again when doubt comes back.
            let (tid, ticket) = (thread.tid, thread.slot.ticket());
            let first = interval_ns / 2;
            self.timer = CpuTimer::start(tid, SAMPLE_SIGNAL, ticket, first, interval_ns).ok();
        } else if self.doubt == 0 {
            self.timer = None;
        }
    }
}

/// The doubt after one more look, doubtful or not.
fn doubt_after(doubt: u64, is_doubtful: bool) -> u64 {
    if is_doubtful { (doubt + DOUBTFUL).min(MOST) } else { doubt.saturating_sub(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubt_of(looks: impl Iterator<Item = bool>) -> u64 {
        looks.fold(0, doubt_after)
    }

    #[test]
    fn a_doubtful_look_now_and_then_is_not_enough() {
        let once_in_forty = (0..4_000).map(|look| look % 40 == 0);

        assert!(doubt_of(once_in_forty) < ENOUGH);
    }

    #[test]
    fn one_doubtful_look_in_ten_is_enough_and_passes() {
        let often = || (0..100).map(|look| look % 10 == 0);

        assert!(doubt_of(often()) >= ENOUGH);
        assert_eq!(doubt_of(often().chain((0..MOST).map(|_| false))), 0);
    }
}
