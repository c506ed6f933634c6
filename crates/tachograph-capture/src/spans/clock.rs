//! The monotonic clock, read from the processor's counter where that is steady.
//!
//! Two readings of the kernel's clock are half of what a span costs. Between
//! two anchors, a hundredth of a second apart at most, the counter is used.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::lane;
use crate::sys::{clock, ticks};

/// Age at which an anchor is taken anew, in nanoseconds.
const ANCHOR_NS: u64 = 10_000_000;

/// Shortest and longest stretch over which the counter's rate is measured.
const RATE_NS: std::ops::Range<u64> = 20_000_000..10_000_000_000;

/// Ticks that reading both clocks may take; more means we were interrupted.
const CLOSE_TICKS: u64 = 2_000;

/// Nanoseconds per tick, times 2^32; 0 while it is not known.
static RATE: AtomicU64 = AtomicU64::new(0);

/// Both clocks at the moment from which the rate is measured.
static SINCE: Mutex<Option<Pair>> = Mutex::new(None);

#[derive(Clone, Copy)]
struct Pair {
    ticks: u64,
    ns: u64,
}

/// A thread's last anchor.
pub(crate) struct Anchor {
    ticks: Cell<u64>,
    ns: Cell<u64>,
    /// Ticks for which it holds; 0 at first.
    lasts: Cell<u64>,
    /// The last answer: time does not go backwards at a new anchor.
    told: Cell<u64>,
}

/// Nanoseconds on the monotonic clock; never less than this thread's last answer.
#[inline]
#[must_use]
pub fn now_ns() -> u64 {
    lane::with_own(|own| own.anchor.now())
}

/// Waits until reading the clock takes its usual time: the rate of the
/// processor's counter is known some 20 ms after the first reading.
pub fn settle() {
    let until = clock::monotonic() + 2 * RATE_NS.start;
    while ticks::are_steady() && RATE.load(Ordering::Relaxed) == 0 && clock::monotonic() < until {
        let _ = now_ns();
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// CPU time of the whole process, in nanoseconds.
#[must_use]
pub fn process_cpu_ns() -> u64 {
    clock::process_cpu()
}

/// CPU time of the calling thread, in nanoseconds.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    clock::own_thread_cpu()
}

impl Anchor {
    /// No anchor yet.
    pub(crate) const fn new() -> Self {
        Self { ticks: Cell::new(0), ns: Cell::new(0), lasts: Cell::new(0), told: Cell::new(0) }
    }

    /// Nanoseconds on the monotonic clock.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        let passed = ticks::now().wrapping_sub(self.ticks.get());
        let now = if passed < self.lasts.get() {
            self.ns.get() + scaled(passed, RATE.load(Ordering::Relaxed))
        } else {
            self.renew()
        };
        let now = now.max(self.told.get());
        self.told.set(now);
        now
    }

    #[cold]
    fn renew(&self) -> u64 {
        if !ticks::are_steady() {
            return clock::monotonic();
        }
        let pair = read_both();
        learn(pair);
        self.ticks.set(pair.ticks);
        self.ns.set(pair.ns);
        let rate = RATE.load(Ordering::Relaxed);
        let lasts = (u128::from(ANCHOR_NS) << 32).checked_div(u128::from(rate));
        self.lasts.set(lasts.map_or(0, |ticks| u64::try_from(ticks).unwrap_or(0)));
        pair.ns
    }
}

#[inline]
fn scaled(ticks: u64, rate: u64) -> u64 {
    ((u128::from(ticks) * u128::from(rate)) >> 32) as u64
}

/// Both clocks at one moment.
fn read_both() -> Pair {
    let mut best = Pair { ticks: 0, ns: 0 };
    let mut closest = u64::MAX;
    for _ in 0..4 {
        let before = ticks::now();
        let ns = clock::monotonic();
        let took = ticks::now().wrapping_sub(before);
        if took < closest {
            closest = took;
            best = Pair { ticks: before.wrapping_add(took / 2), ns };
        }
        if closest < CLOSE_TICKS {
            break;
        }
    }
    best
}

/// Measures the rate anew once enough time has passed.
fn learn(now: Pair) {
    // Whoever finds it taken can do without.
    let Ok(mut since) = SINCE.try_lock() else { return };
    let Some(begin) = *since else {
        *since = Some(now);
        return;
    };
    let (ticks, ns) = (now.ticks.wrapping_sub(begin.ticks), now.ns.saturating_sub(begin.ns));
    if ns < RATE_NS.start || ticks == 0 {
        return;
    }
    let rate = (u128::from(ns) << 32) / u128::from(ticks);
    RATE.store(u64::try_from(rate).unwrap_or(0), Ordering::Relaxed);
    if ns > RATE_NS.end {
        *since = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_the_kernels_clock() {
        let mut worst = 0;
        let until = clock::monotonic() + 120_000_000;
        while clock::monotonic() < until {
            let before = clock::monotonic();
            let told = now_ns();
            let after = clock::monotonic();
            if after - before < 2_000 {
                worst = worst.max(before.saturating_sub(told)).max(told.saturating_sub(after));
            }
        }
        assert!(worst < 20_000, "{worst} ns off");
    }

    #[test]
    fn it_never_goes_backwards() {
        let until = clock::monotonic() + 50_000_000;
        let mut last = 0;
        while last < until {
            let now = now_ns();
            assert!(now >= last);
            last = now;
        }
    }
}
