//! Meters: live aggregates of a named number, one part per thread.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tachograph_profile::stats::Summary;

use super::{clock, lane};

/// The aggregate of a number that many threads add to, without waiting for
/// each other. Clones are the same meter; with the last one its memory goes.
///
/// ```
/// use tachograph_capture::spans::Meter;
///
/// let meter = Meter::new();
/// meter.add(2.0);
/// meter.add(4.0);
///
/// assert_eq!(meter.summary().mean(), 3.0);
/// ```
#[derive(Clone, Debug)]
pub struct Meter(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Where its part is in every lane.
    slot: usize,
    /// Parts that carry another key are none of its own, or older than the last `clear`.
    key: AtomicU64,
}

/// A lane's parts of all meters, by slot.
#[derive(Debug, Default)]
pub(crate) struct Shards(Vec<Option<Box<Shard>>>);

#[derive(Debug)]
struct Shard {
    key: u64,
    summary: Summary,
}

static NEXT_SLOT: AtomicUsize = AtomicUsize::new(0);
static NEXT_KEY: AtomicU64 = AtomicU64::new(1);
/// Only ever tried, never waited for: after a fork it may stay locked.
static FREE_SLOTS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

impl Meter {
    /// A meter without values.
    #[must_use]
    pub fn new() -> Self {
        let free = FREE_SLOTS.try_lock().ok().and_then(|mut free| free.pop());
        let slot = free.unwrap_or_else(|| NEXT_SLOT.fetch_add(1, Ordering::Relaxed));
        Self(Arc::new(Inner { slot, key: AtomicU64::new(new_key()) }))
    }

    /// Adds a value. What is no number is left out.
    pub fn add(&self, value: f64) {
        if let Some(lane) = lane::own() {
            let now = clock::now_ns();
            lane.content().shards.add(self, value, now);
        }
    }

    /// What came so far, from all threads.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let (slot, key) = (self.0.slot, self.key());
        let mut whole = Summary::default();
        for lane in lane::all() {
            if let Some(part) = lane.content().shards.get(slot, key) {
                whole.merge(part);
            }
        }
        whole
    }

    /// Forgets all values.
    pub fn clear(&self) {
        self.0.key.store(new_key(), Ordering::Release);
    }

    fn key(&self) -> u64 {
        self.0.key.load(Ordering::Acquire)
    }
}

impl Default for Meter {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        for lane in lane::all() {
            lane.content().shards.remove(self.slot);
        }
        if let Ok(mut free) = FREE_SLOTS.try_lock() {
            free.push(self.slot);
        }
    }
}

impl Shards {
    /// Adds `value` to this lane's part of `meter`.
    #[inline]
    pub(crate) fn add(&mut self, meter: &Meter, value: f64, time_ns: u64) {
        let (slot, key) = (meter.0.slot, meter.key());
        match self.0.get_mut(slot) {
            Some(Some(shard)) if shard.key == key => shard.summary.add(value, time_ns),
            _ => self.begin(slot, key).add(value, time_ns),
        }
    }

    #[cold]
    fn begin(&mut self, slot: usize, key: u64) -> &mut Summary {
        if self.0.len() <= slot {
            self.0.resize_with(slot + 1, || None);
        }
        let shard = Box::new(Shard { key, summary: Summary::default() });
        &mut self.0[slot].insert(shard).summary
    }

    fn get(&self, slot: usize, key: u64) -> Option<&Summary> {
        let shard = self.0.get(slot)?.as_ref()?;
        (shard.key == key).then_some(&shard.summary)
    }

    fn remove(&mut self, slot: usize) {
        if let Some(place) = self.0.get_mut(slot) {
            *place = None;
        }
    }
}

fn new_key() -> u64 {
    NEXT_KEY.fetch_add(1, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn values_of_all_threads_are_counted_also_of_those_that_ended() {
        let meter = Meter::new();
        for round in 0..4 {
            thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| (0..100).for_each(|value| meter.add(f64::from(value))));
                }
            });
            assert_eq!(meter.summary().count(), (round + 1) * 800);
        }
        assert_eq!(meter.summary().mean(), 49.5);
    }

    #[test]
    fn a_cleared_meter_begins_anew() {
        let meter = Meter::new();
        meter.add(1.0);
        meter.clear();
        assert_eq!(meter.summary().count(), 0);
        meter.add(5.0);
        assert_eq!((meter.summary().count(), meter.summary().max()), (1, 5.0));
    }

    #[test]
    fn a_new_meter_knows_nothing_of_one_that_is_gone() {
        for value in 0..100 {
            let meter = Meter::new();
            meter.add(f64::from(value));
            assert_eq!(meter.summary().sum(), f64::from(value));
        }
    }
}
