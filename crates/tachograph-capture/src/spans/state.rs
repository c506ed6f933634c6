//! Who wants spans at the moment: the live report, a recording, or nobody.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::lane;

/// The live report wants them.
const PROFILING: u32 = 1;
/// A recording wants them; counted, one per session.
const RECORDING: u32 = 2;

static WANTED: AtomicU32 = AtomicU32::new(0);

/// A call is left out of the live report when its dice shows more than this.
static LEAVE_OUT_ABOVE: AtomicU32 = AtomicU32::new(u32::MAX);
/// Nothing is kept at all.
static KEEP_NONE: AtomicBool = AtomicBool::new(false);

/// Whether the live report is on.
#[inline]
#[must_use]
pub fn is_profiling() -> bool {
    WANTED.load(Ordering::Relaxed) & PROFILING != 0
}

/// Whether a recording takes spans.
#[inline]
#[must_use]
pub fn is_recording() -> bool {
    WANTED.load(Ordering::Relaxed) >= RECORDING
}

/// Turns the live report on or off.
pub fn set_profiling(on: bool) {
    if on {
        WANTED.fetch_or(PROFILING, Ordering::AcqRel);
    } else {
        WANTED.fetch_and(!PROFILING, Ordering::AcqRel);
    }
}

/// The share of calls that the live report keeps, 0 to 1.
pub fn set_sample_rate(rate: f64) {
    let rate = rate.clamp(0.0, 1.0);
    LEAVE_OUT_ABOVE.store((rate * f64::from(u32::MAX)) as u32, Ordering::Relaxed);
    KEEP_NONE.store(rate == 0.0, Ordering::Relaxed);
}

/// Whether the live report keeps this call; asked once per call.
#[inline]
#[must_use]
pub fn is_sampled() -> bool {
    match LEAVE_OUT_ABOVE.load(Ordering::Relaxed) {
        u32::MAX => true,
        limit => !KEEP_NONE.load(Ordering::Relaxed) && lane::dice() <= limit,
    }
}

/// A session begins to take spans.
pub(crate) fn start_recording() {
    WANTED.fetch_add(RECORDING, Ordering::AcqRel);
}

/// A session takes no more spans.
pub(crate) fn stop_recording() {
    WANTED.fetch_sub(RECORDING, Ordering::AcqRel);
}

/// A forked child has no session. Context: the child of a fork.
pub(crate) fn forget_recording() {
    WANTED.fetch_and(PROFILING, Ordering::AcqRel);
}
