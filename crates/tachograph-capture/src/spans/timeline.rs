//! The timeline: the latest entries of all threads, for a report while the
//! program runs.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

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

/// The latest entries of one lane.
#[derive(Debug, Default)]
pub(crate) struct Ring(VecDeque<Entry>);

impl Ring {
    /// Adds an entry; the oldest makes room.
    #[inline]
    pub(crate) fn push(&mut self, entry: Entry) {
        let capacity = CAPACITY.load(Ordering::Relaxed);
        while self.0.len() >= capacity.max(1) {
            self.0.pop_front();
        }
        if capacity > 0 {
            self.0.push_back(entry);
        }
    }
}

/// The latest entries of all threads, the oldest first, and nanoseconds to add
/// to their times to count from 1970.
#[must_use]
pub fn timeline() -> (Vec<Entry>, i64) {
    let mut entries: Vec<Entry> = Vec::new();
    for lane in lane::all() {
        entries.extend(lane.content().ring.0.iter().cloned());
    }
    entries.sort_by_key(|entry| entry.end_ns);
    let surplus = entries.len().saturating_sub(CAPACITY.load(Ordering::Relaxed));
    entries.drain(..surplus);
    let monotonic = i64::try_from(clock::monotonic()).unwrap_or(0);
    (entries, clock::wall() - monotonic)
}

/// Forgets all entries.
pub fn clear_timeline() {
    for lane in lane::all() {
        let old = std::mem::take(&mut lane.content().ring.0);
        drop(old);
    }
}

/// Keeps so many entries from now on; the oldest go if there are more.
pub fn set_timeline_capacity(entries: usize) {
    CAPACITY.store(entries, Ordering::Relaxed);
    for lane in lane::all() {
        let mut content = lane.content();
        let ring = &mut content.ring.0;
        let surplus = ring.len().saturating_sub(entries);
        ring.drain(..surplus);
        ring.shrink_to(entries);
    }
}
