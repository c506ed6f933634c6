//! A queue that carries records of words out of a signal handler or an
//! allocator hook.
//!
//! The producer is the interrupted thread, the consumer is the collector
//! thread. When there is no room for a whole record it is dropped and counted;
//! the producer never waits. There is one ring per thread, and a hook that is
//! already running on a thread does not push again, so there is never more
//! than one producer.
//!
//! Words are `AtomicU64`, so a torn read cannot be undefined behaviour and this
//! file needs no `unsafe`.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use Ordering::{Acquire, Relaxed, Release};

/// A ring of `WORDS` words; `WORDS` is a power of two.
#[derive(Debug)]
pub struct Ring<const WORDS: usize> {
    pushed: AtomicUsize,
    popped: AtomicUsize,
    dropped: AtomicU64,
    words: [AtomicU64; WORDS],
}

impl<const WORDS: usize> Default for Ring<WORDS> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const WORDS: usize> Ring<WORDS> {
    /// An empty ring.
    #[must_use]
    pub const fn new() -> Self {
        const { assert!(WORDS.is_power_of_two()) };
        Self {
            pushed: AtomicUsize::new(0),
            popped: AtomicUsize::new(0),
            dropped: AtomicU64::new(0),
            words: [const { AtomicU64::new(0) }; WORDS],
        }
    }

    /// Words that wait to be popped.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pushed.load(Acquire).wrapping_sub(self.popped.load(Acquire)).min(WORDS)
    }

    /// Nothing waits to be popped.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Records that found no room, since the start.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    /// Begins a record of `length` words; `None` (and counted) when there is no room.
    ///
    /// Context: signal handler. Nothing is visible to the consumer until
    /// [`Record::commit`]; a record that is not committed never was.
    pub fn begin(&self, length: usize) -> Option<Record<'_, WORDS>> {
        let record = self.begin_below(length, WORDS);
        if record.is_none() {
            self.dropped.fetch_add(1, Relaxed);
        }
        record
    }

    /// Begins a record that must not fill the ring beyond `limit` words; `None`
    /// (and not counted) when it would. For what can be told later as well.
    ///
    /// Context: signal handler.
    pub fn begin_below(&self, length: usize, limit: usize) -> Option<Record<'_, WORDS>> {
        let pushed = self.pushed.load(Relaxed);
        let used = pushed.wrapping_sub(self.popped.load(Acquire));
        if used.saturating_add(length) > limit.min(WORDS) {
            return None;
        }
        Some(Record { ring: self, at: pushed, end: pushed.wrapping_add(length) })
    }

    /// Moves everything that waits into `visit`, word by word, in order.
    ///
    /// Only the consumer calls this. Records are committed whole, so what is
    /// visited is a whole number of records.
    pub fn drain(&self, mut visit: impl FnMut(u64)) {
        let (from, to) = (self.popped.load(Relaxed), self.pushed.load(Acquire));
        let mut at = from;
        while at != to {
            if let Some(word) = self.words.get(at & (WORDS - 1)) {
                visit(word.load(Relaxed));
            }
            at = at.wrapping_add(1);
        }
        self.popped.store(to, Release);
    }

    /// Forgets everything, for a thread that is gone. Neither side may be at work.
    pub fn reset(&self) {
        self.popped.store(0, Relaxed);
        self.dropped.store(0, Relaxed);
        self.pushed.store(0, Release);
    }
}

/// A record that is being written.
#[derive(Debug)]
pub struct Record<'ring, const WORDS: usize> {
    ring: &'ring Ring<WORDS>,
    at: usize,
    end: usize,
}

impl<const WORDS: usize> Record<'_, WORDS> {
    /// Appends one word; words past the announced length are ignored.
    ///
    /// Context: signal handler.
    pub fn put(&mut self, word: u64) {
        if self.at == self.end {
            return;
        }
        if let Some(cell) = self.ring.words.get(self.at & (WORDS - 1)) {
            cell.store(word, Relaxed);
        }
        self.at = self.at.wrapping_add(1);
    }

    /// Makes the record visible. A record shorter than announced is padded with zeros.
    ///
    /// Context: signal handler.
    pub fn commit(mut self) {
        while self.at != self.end {
            self.put(0);
        }
        self.ring.pushed.store(self.end, Release);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn a_record_comes_out_as_it_went_in() {
        let ring = Ring::<8>::new();
        let mut record = ring.begin(2).unwrap();
        record.put(7);
        record.put(9);
        record.commit();

        let mut out = Vec::new();
        ring.drain(|word| out.push(word));

        assert_eq!(out, [7, 9]);
        assert!(ring.is_empty());
    }

    #[test]
    fn a_record_without_room_is_dropped_and_counted() {
        let ring = Ring::<4>::new();
        ring.begin(3).unwrap().commit();

        assert!(ring.begin(2).is_none());

        assert_eq!((ring.dropped(), ring.len()), (1, 3));
    }

    #[test]
    fn a_record_that_can_wait_leaves_room_and_is_not_counted() {
        let ring = Ring::<8>::new();
        ring.begin_below(6, 6).unwrap().commit();

        assert!(ring.begin_below(1, 6).is_none());
        assert!(ring.begin_below(1, 100).is_some());
        assert!(ring.begin_below(3, 100).is_none());

        assert_eq!((ring.dropped(), ring.len()), (0, 6));
    }

    #[test]
    fn a_record_that_is_not_committed_never_was() {
        let ring = Ring::<4>::new();
        ring.begin(3).unwrap().put(1);

        assert!(ring.is_empty());
        assert!(ring.begin(4).is_some());
    }

    #[test]
    fn every_record_is_either_delivered_whole_or_counted() {
        static RING: Ring<64> = Ring::new();
        const N: u64 = 200_000;
        let producer = std::thread::spawn(|| {
            for value in 0..N {
                if let Some(mut record) = RING.begin(3) {
                    record.put(value);
                    record.put(!value);
                    record.put(value ^ 0x5555);
                    record.commit();
                }
            }
        });

        let (mut words, mut delivered) = (Vec::new(), 0);
        loop {
            let finished = producer.is_finished();
            RING.drain(|word| words.push(word));
            for record in words.chunks_exact(3) {
                assert_eq!(record[1], !record[0], "a torn record came out");
                assert_eq!(record[2], record[0] ^ 0x5555, "a torn record came out");
                delivered += 1;
            }
            words.clear();
            if finished {
                break;
            }
        }
        producer.join().unwrap();

        assert_eq!(delivered + RING.dropped(), N);
    }
}
