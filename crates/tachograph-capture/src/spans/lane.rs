//! A thread's own lane: its part of every meter, its latest timeline entries,
//! and the events that wait for the collector.
//!
//! Only its thread writes to a lane; the lock is there for those who read. A
//! lane outlives its thread and is taken over by the next new one, so there are
//! as many as there were threads at once. A forked child starts with none: the
//! locks of its parent's lanes may be held by threads it does not have.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::clock::Anchor;
use super::events::Pending;
use super::meter::Shards;
use super::timeline::Ring;
use crate::sys::{fork, leaked, threads};

/// One thread's lane.
pub(crate) struct Lane {
    number: u32,
    generation: u32,
    is_taken: AtomicBool,
    /// Spans begun on it so far; only its thread writes.
    begun: AtomicU64,
    /// Calls counted on it so far, and how many of them are forgotten.
    calls: AtomicU64,
    forgotten_calls: AtomicU64,
    content: Mutex<Content>,
}

/// What a lane holds.
#[derive(Default)]
pub(crate) struct Content {
    /// This thread's part of every meter.
    pub(crate) shards: Shards,
    /// Its latest timeline entries.
    pub(crate) ring: Ring,
    /// Events for the collector.
    pub(crate) pending: Pending,
}

/// All lanes of one process.
struct Lanes {
    generation: u32,
    next: AtomicU32,
    all: Mutex<Vec<&'static Lane>>,
}

static LANES: AtomicPtr<Lanes> = AtomicPtr::new(std::ptr::null_mut());

/// What only the thread itself uses; in one place, because finding that place
/// costs as much as using it.
pub(crate) struct Own {
    lane: Cell<Option<&'static Lane>>,
    /// The innermost open span; 0 when there is none.
    pub(crate) current: Cell<u64>,
    /// Its clock.
    pub(crate) anchor: Anchor,
    /// State of a small random generator.
    dice: Cell<u64>,
}

thread_local! {
    static OWN: Own = const {
        Own {
            lane: Cell::new(None),
            current: Cell::new(0),
            anchor: Anchor::new(),
            dice: Cell::new(0),
        }
    };
    /// Gives the lane back when the thread ends.
    static LEASE: RefCell<Option<Lease>> = const { RefCell::new(None) };
}

struct Lease(&'static Lane);

impl Drop for Lease {
    fn drop(&mut self) {
        OWN.with(|own| own.lane.set(None));
        self.0.is_taken.store(false, Ordering::Release);
    }
}

impl Lane {
    /// Its content, locked.
    pub(crate) fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The calling thread's lane; `None` while the thread is being torn down.
#[inline]
pub(crate) fn own() -> Option<&'static Lane> {
    OWN.with(Own::lane)
}

/// Looks at what the calling thread has of its own.
#[inline]
pub(crate) fn with_own<R>(look: impl FnOnce(&Own) -> R) -> R {
    OWN.with(look)
}

impl Own {
    /// The thread's lane; `None` while the thread is being torn down.
    #[inline]
    pub(crate) fn lane(&self) -> Option<&'static Lane> {
        match self.lane.get() {
            Some(lane) if lane.generation == fork::generation() => Some(lane),
            _ => attach(),
        }
    }
}

#[cold]
fn attach() -> Option<&'static Lane> {
    fork::watch();
    let lanes = lanes();
    LEASE
        .try_with(|lease| {
            let lane = lanes.free_lane();
            lane.content().pending.change_thread(threads::own_id());
            // The old lease, if any, is one of before a fork: nobody waits for it.
            lease.replace(Some(Lease(lane)));
            OWN.with(|own| {
                own.lane.set(Some(lane));
                own.current.set(0);
            });
            lane
        })
        .ok()
}

impl Lanes {
    fn free_lane(&self) -> &'static Lane {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let free = all.iter().find(|lane| {
            let (order, other) = (Ordering::AcqRel, Ordering::Relaxed);
            lane.is_taken.compare_exchange(false, true, order, other).is_ok()
        });
        if let Some(lane) = free {
            return lane;
        }
        let lane: &'static Lane = Box::leak(Box::new(Lane {
            number: self.next.fetch_add(1, Ordering::Relaxed),
            generation: self.generation,
            is_taken: AtomicBool::new(true),
            begun: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            forgotten_calls: AtomicU64::new(0),
            content: Mutex::default(),
        }));
        all.push(lane);
        lane
    }
}

fn lanes() -> &'static Lanes {
    let generation = fork::generation();
    let known = leaked::get(&LANES);
    if let Some(known) = known.filter(|known| known.generation == generation) {
        return known;
    }
    let all = Mutex::default();
    leaked::replace(&LANES, known, Lanes { generation, next: AtomicU32::new(1), all })
}

/// Every lane, those whose thread ended included.
pub(crate) fn all() -> Vec<&'static Lane> {
    lanes().all.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// A number for a new span that no other span of the process has.
#[inline]
pub(crate) fn new_span(lane: &Lane) -> u64 {
    let begun = lane.begun.load(Ordering::Relaxed) + 1;
    lane.begun.store(begun, Ordering::Relaxed);
    (u64::from(lane.number) << 40) | (begun & ((1 << 40) - 1))
}

/// Counts one call, of whatever the caller counts.
#[inline]
pub fn count_call() {
    if let Some(lane) = own() {
        // Only this thread writes.
        lane.calls.store(lane.calls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

/// The calls that all threads counted.
#[must_use]
pub fn calls() -> u64 {
    let count = |lane: &&Lane| {
        let forgotten = lane.forgotten_calls.load(Ordering::Relaxed);
        lane.calls.load(Ordering::Relaxed).saturating_sub(forgotten)
    };
    all().iter().map(count).sum()
}

/// Forgets the calls so far.
pub fn clear_calls() {
    for lane in all() {
        lane.forgotten_calls.store(lane.calls.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// The innermost span that is open on this thread; 0 when there is none.
#[inline]
pub(crate) fn current() -> u64 {
    OWN.with(|own| own.current.get())
}

/// Makes `span` the innermost one.
#[inline]
pub(crate) fn set_current(span: u64) {
    OWN.with(|own| own.current.set(span));
}

/// A random number, the next of this thread.
#[inline]
pub(crate) fn dice() -> u32 {
    OWN.with(|own| {
        let mut state = own.dice.get();
        if state == 0 {
            state = fastrand::u64(1..);
        }
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        own.dice.set(state);
        (state >> 32) as u32
    })
}
