//! What an event of ours costs the line it interrupts.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Parts of a nanosecond that costs are counted in.
const PARTS: u64 = 256;

static LINE: AtomicU64 = AtomicU64::new(0);
static FAR_LINE: AtomicU64 = AtomicU64::new(0);
static FAR: AtomicU32 = AtomicU32::new(u32::MAX);
static CALL: AtomicU64 = AtomicU64::new(0);

/// Nanoseconds that one event takes, measured where it happens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Costs {
    /// A line begins.
    pub line_ns: f64,
    /// The last line with that cost: a number beyond it is an object that the
    /// interpreter makes for each event.
    pub last_near_line: u32,
    /// A line beyond it begins.
    pub far_line_ns: f64,
    /// A call begins or ends.
    pub call_ns: f64,
}

/// Leaves so much out of every line's time from now on.
pub fn set_costs(costs: Costs) {
    let parts = |ns: f64| (ns.clamp(0.0, 10_000.0) * PARTS as f64) as u64;
    LINE.store(parts(costs.line_ns), Ordering::Relaxed);
    FAR_LINE.store(parts(costs.far_line_ns), Ordering::Relaxed);
    FAR.store(costs.last_near_line, Ordering::Relaxed);
    CALL.store(parts(costs.call_ns), Ordering::Relaxed);
}

/// Cost of the event of the line with this number, in parts.
#[inline]
pub(super) fn line(number: u32) -> u64 {
    let cost = if number > FAR.load(Ordering::Relaxed) { &FAR_LINE } else { &LINE };
    cost.load(Ordering::Relaxed)
}

/// Cost of a call's beginning or end, in parts.
#[inline]
pub(super) fn call() -> u64 {
    CALL.load(Ordering::Relaxed)
}

/// `parts` as nanoseconds.
#[inline]
pub(super) fn as_ns(parts: u64) -> u64 {
    parts / PARTS
}
