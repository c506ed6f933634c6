//! The timeline: the latest entries of all threads, for a report while the
//! program runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use super::attributes::Attributes;
use super::lane;
use super::names::Name;
use crate::sys::clock;

/// Entries kept unless someone says otherwise.
const DEFAULT_CAPACITY: usize = 1000;

static CAPACITY: AtomicUsize = AtomicUsize::new(DEFAULT_CAPACITY);

/// How an end enters the timeline.
#[derive(Clone, Debug, Default)]
pub struct Timing {
    /// It was a block, not a decorated function.
    pub is_block: bool,
    /// Words its maker gave it.
    pub tags: Option<Arc<[Name]>>,
}

/// One stretch of time that ended.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What it is called.
    pub name: Name,
    /// When it ended, on the monotonic clock.
    pub end_ns: u64,
    /// How long it took.
    pub duration_ns: u64,
    /// It ended with an exception.
    pub failed: bool,
    /// How it was measured.
    pub timing: Timing,
    /// What the caller attached.
    pub attributes: Attributes,
}

/// The latest entries of one lane, overwritten in turn.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    entries: Vec<Entry>,
    /// The oldest, once there are as many as are kept.
    oldest: usize,
    /// Where entries go when none are kept.
    unkept: Option<Entry>,
}

impl Ring {
    /// The place of the next entry, to be filled in: that of the oldest, once
    /// there are as many as are kept.
    #[inline]
    pub(crate) fn next(&mut self, name: Name) -> &mut Entry {
        let at = self.oldest;
        let full = self.entries.len() >= CAPACITY.load(Ordering::Relaxed);
        if !full || at >= self.entries.len() {
            return self.grow(name, full);
        }
        self.oldest = if at + 1 == self.entries.len() { 0 } else { at + 1 };
        &mut self.entries[at]
    }

    #[cold]
    fn grow(&mut self, name: Name, full: bool) -> &mut Entry {
        let (timing, attributes) = (Timing::default(), Attributes::default());
        let entry = Entry { name, end_ns: 0, duration_ns: 0, failed: false, timing, attributes };
        self.straighten();
        if full {
            return self.unkept.insert(entry);
        }
        let at = self.entries.len();
        self.entries.push(entry);
        &mut self.entries[at]
    }

    /// Puts the oldest first.
    fn straighten(&mut self) {
        self.entries.rotate_left(self.oldest);
        self.oldest = 0;
    }

    fn keep(&mut self, entries: usize) {
        self.straighten();
        let surplus = self.entries.len().saturating_sub(entries);
        self.entries.drain(..surplus);
        self.entries.shrink_to(entries);
    }
}

/// The latest entries of all threads, the oldest first, and nanoseconds to add
/// to their times to count from 1970.
#[must_use]
pub fn timeline() -> (Vec<Entry>, i64) {
    let mut entries: Vec<Entry> = Vec::new();
    for lane in lane::all() {
        entries.extend(lane.content().ring.entries.iter().cloned());
    }
    entries.sort_by_key(|entry| entry.end_ns);
    let surplus = entries.len().saturating_sub(CAPACITY.load(Ordering::Relaxed));
    entries.drain(..surplus);
    (entries, to_unix())
}

/// Nanoseconds between the monotonic clock and 1970. The same every time,
/// unless someone set the clock: an entry keeps its date.
fn to_unix() -> i64 {
    static KNOWN: AtomicI64 = AtomicI64::new(0);
    let (now, uncertain) = clock::monotonic_to_unix();
    let known = KNOWN.load(Ordering::Relaxed);
    if known != 0 && now.abs_diff(known) < 1_000_000 + uncertain {
        return known;
    }
    KNOWN.store(now, Ordering::Relaxed);
    now
}

/// Forgets all entries.
pub fn clear_timeline() {
    for lane in lane::all() {
        let old = std::mem::take(&mut lane.content().ring);
        drop(old);
    }
}

/// Keeps so many entries from now on; the oldest go if there are more.
pub fn set_timeline_capacity(entries: usize) {
    CAPACITY.store(entries, Ordering::Relaxed);
    for lane in lane::all() {
        lane.content().ring.keep(entries);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(ring: &mut Ring, end_ns: u64) {
        ring.next(Name::of("timeline")).end_ns = end_ns;
    }

    fn ends(ring: &mut Ring) -> Vec<u64> {
        ring.straighten();
        ring.entries.iter().map(|entry| entry.end_ns).collect()
    }

    #[test]
    fn the_latest_entries_are_kept_in_their_order() {
        let mut ring = Ring::default();
        let last = DEFAULT_CAPACITY as u64 + 10;
        (0..last).for_each(|time| push(&mut ring, time));

        let kept = ends(&mut ring);
        assert_eq!(kept.len(), DEFAULT_CAPACITY);
        assert!(kept.iter().copied().eq(10..last));

        ring.keep(3);
        assert_eq!(ends(&mut ring), [last - 3, last - 2, last - 1]);
        push(&mut ring, last);
        assert_eq!(ends(&mut ring).len(), 4);
    }
}
