//! The memory of another process at one moment, copied in few system calls.
//!
//! A thread that is stopped to be read must not stand for long. What the last
//! walks of the thread touched is copied at once, in one call; what this walk
//! needs besides is copied when it is asked for. Nothing outlives the moment:
//! the next walk begins with an empty copy.

use std::cell::RefCell;

use rustc_hash::FxHashMap;
use tachograph_probe::memory::ReadMemory;

use crate::sys::remote_read::{read_pieces, read_process};

/// Bytes of a block, the smallest part that is copied.
const BLOCK: usize = 256;
/// Blocks that are fetched together when one is missing.
const GROUP: u64 = 4;
/// Blocks of one moment; 1 MB.
const MOST_BLOCKS: usize = 4096;
/// Slots of the index, a power of two above twice the blocks.
const SLOTS: usize = 16_384;
/// Walks after which a block that no walk touched is no longer expected.
const FORGET_AFTER: u32 = 16;
/// Blocks that are copied on expectation; 128 KB.
const MOST_EXPECTED: usize = 512;
/// Blocks between two expected ones that are copied along: half a page costs the
/// kernel less than beginning anew behind it.
const LARGEST_GAP: u64 = 8;

/// What the walks of one thread have touched lately.
#[derive(Debug, Default)]
pub(crate) struct Habit {
    walks: u32,
    last_touched: FxHashMap<u64, u32>,
    /// The blocks to expect, in order.
    expected: Vec<u64>,
    /// The same as pieces of memory, each an address and a length.
    pieces: Vec<(u64, usize)>,
}

impl Habit {
    fn learn(&mut self, touched: impl Iterator<Item = u64>) {
        self.walks = self.walks.wrapping_add(1);
        let walks = self.walks;
        let mut is_new = false;
        for block in touched {
            is_new |= self.last_touched.insert(block, walks).is_none();
        }
        if is_new || walks.is_multiple_of(FORGET_AFTER) {
            self.last_touched.retain(|_, last| walks.wrapping_sub(*last) < FORGET_AFTER);
            if self.last_touched.len() > MOST_EXPECTED {
                self.last_touched.retain(|_, last| *last == walks);
            }
            self.expect();
        }
    }

    /// Lists the blocks to expect, and those between two that are close.
    fn expect(&mut self) {
        let mut touched: Vec<u64> = self.last_touched.keys().copied().collect();
        touched.sort_unstable();
        self.expected.clear();
        for block in touched.into_iter().take(MOST_EXPECTED) {
            let next = self.expected.last().map_or(block, |last| last + 1);
            if block - next <= LARGEST_GAP {
                self.expected.extend(next..block);
            }
            self.expected.push(block);
        }
        self.expected.truncate(MOST_EXPECTED);
        join(&self.expected, &mut self.pieces);
    }
}

/// Blocks that are found again without the index.
const NEAR: usize = 16;
/// No block has this number.
const NOWHERE: (u64, usize) = (u64::MAX, 0);

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    block: u64,
    moment: u32,
    position: u32,
}

#[derive(Debug)]
struct Copied {
    moment: u32,
    slots: Vec<Slot>,
    /// The blocks in the order of `bytes`, and whether a read touched them.
    blocks: Vec<(u64, bool)>,
    /// What was copied on expectation, in order: the first block of each run, how
    /// many there are, and where it is among `blocks`. The index has the others.
    runs: Vec<(u64, u64, usize)>,
    /// Blocks that were read lately, and where they are among `blocks`.
    near: [(u64, usize); NEAR],
    /// Room that is never given back; the bytes of `blocks` are its beginning.
    bytes: Vec<u8>,
    pieces: Vec<(u64, usize)>,
}

/// The memory of a process at one moment.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pid: i32,
    copied: RefCell<Copied>,
}

impl Snapshot {
    /// Nothing copied yet from process `pid`.
    pub(crate) fn of(pid: i32) -> Self {
        let copied = Copied {
            moment: 0,
            slots: vec![Slot::default(); SLOTS],
            blocks: Vec::with_capacity(MOST_BLOCKS),
            runs: Vec::new(),
            near: [NOWHERE; NEAR],
            bytes: Vec::new(),
            pieces: Vec::new(),
        };
        Self { pid, copied: RefCell::new(copied) }
    }

    /// A new moment: copies what `habit` expects and forgets everything else.
    pub(crate) fn begin(&self, habit: Option<&Habit>) {
        let copied = &mut *self.copied.borrow_mut();
        copied.moment = copied.moment.wrapping_add(1);
        copied.blocks.clear();
        copied.runs.clear();
        copied.near = [NOWHERE; NEAR];
        if let Some(habit) = habit {
            copied.expect(self.pid, habit);
        }
    }

    /// Tells `habit` what was touched since [`begin`](Self::begin).
    pub(crate) fn end(&self, habit: &mut Habit) {
        let copied = self.copied.borrow();
        habit.learn(copied.blocks.iter().filter(|block| block.1).map(|block| block.0));
    }
}

impl Copied {
    /// Copies what `habit` expects, as far as it can be read.
    fn expect(&mut self, pid: i32, habit: &Habit) {
        let came = self.read(pid, &habit.pieces, habit.expected.len());
        self.blocks.extend(habit.expected.iter().take(came).map(|block| (*block, false)));
        let mut position = 0;
        for (address, length) in &habit.pieces {
            let count = (length / BLOCK).min(came - position);
            self.runs.push((address / BLOCK as u64, count as u64, position));
            position += count;
        }
    }

    /// Copies `blocks`, which are in order, as far as they can be read.
    fn fetch(&mut self, pid: i32, blocks: &[u64]) {
        let mut pieces = std::mem::take(&mut self.pieces);
        join(blocks, &mut pieces);
        let came = self.read(pid, &pieces, blocks.len());
        self.pieces = pieces;
        for block in blocks.iter().take(came) {
            self.keep(*block);
        }
    }

    /// Copies `pieces`, which are `count` blocks, behind the blocks that are there;
    /// gives the number of blocks that came.
    fn read(&mut self, pid: i32, pieces: &[(u64, usize)], count: usize) -> usize {
        let begin = self.blocks.len() * BLOCK;
        let end = begin + count * BLOCK;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        let room = self.bytes.get_mut(begin..end).unwrap_or_default();
        read_pieces(pid, pieces, room) / BLOCK
    }

    /// Enters the block whose bytes were added last.
    fn keep(&mut self, block: u64) {
        let position = self.blocks.len();
        self.blocks.push((block, false));
        let mut at = slot_of(block);
        while let Some(slot) = self.slots.get_mut(at) {
            if slot.moment != self.moment {
                *slot = Slot { block, moment: self.moment, position: position as u32 };
                return;
            }
            at = (at + 1) % SLOTS;
        }
    }

    #[inline]
    fn position(&self, block: u64) -> Option<usize> {
        let after = self.runs.partition_point(|(first, ..)| *first <= block);
        if let Some((first, count, position)) = self.runs.get(after.wrapping_sub(1))
            && block - first < *count
        {
            return Some(position + (block - first) as usize);
        }
        let mut at = slot_of(block);
        loop {
            let slot = self.slots.get(at)?;
            if slot.moment != self.moment {
                return None;
            }
            if slot.block == block {
                return Some(slot.position as usize);
            }
            at = (at + 1) % SLOTS;
        }
    }

    /// Where the bytes of `block` begin, fetched if need be.
    #[inline]
    fn block(&mut self, pid: i32, block: u64) -> Option<usize> {
        let place = (block % NEAR as u64) as usize;
        if let Some((_, position)) = self.near.get(place).filter(|near| near.0 == block) {
            return Some(position * BLOCK);
        }
        let position = match self.position(block) {
            Some(position) => position,
            None => self.miss(pid, block)?,
        };
        self.blocks.get_mut(position)?.1 = true;
        *self.near.get_mut(place)? = (block, position);
        Some(position * BLOCK)
    }

    #[cold]
    fn miss(&mut self, pid: i32, block: u64) -> Option<usize> {
        if self.blocks.len() + GROUP as usize > MOST_BLOCKS {
            return None;
        }
        let first = block - block % GROUP;
        let around = (first..first + GROUP).filter(|block| self.position(*block).is_none());
        let around: Vec<u64> = around.collect();
        self.fetch(pid, &around);
        self.position(block)
    }
}

/// Joins `blocks`, which are in order, into as few pieces as they make.
fn join(blocks: &[u64], pieces: &mut Vec<(u64, usize)>) {
    pieces.clear();
    for block in blocks {
        let address = block * BLOCK as u64;
        match pieces.last_mut() {
            Some((start, length)) if *start + *length as u64 == address => *length += BLOCK,
            _ => pieces.push((address, BLOCK)),
        }
    }
}

fn slot_of(block: u64) -> usize {
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    (block.wrapping_mul(MULTIPLIER) >> 40) as usize % SLOTS
}

impl ReadMemory for Snapshot {
    #[inline]
    fn word(&self, address: u64) -> Option<u64> {
        let within = (address % BLOCK as u64) as usize;
        if within > BLOCK - 8 {
            let mut word = [0; 8];
            return self.bytes(address, &mut word).then(|| u64::from_le_bytes(word));
        }
        let mut copied = self.copied.borrow_mut();
        let at = copied.block(self.pid, address / BLOCK as u64)? + within;
        let bytes = copied.bytes.get(at..at + 8)?;
        bytes.try_into().ok().map(u64::from_le_bytes)
    }

    fn bytes(&self, mut address: u64, mut out: &mut [u8]) -> bool {
        if out.len() > 16 * BLOCK {
            return read_process(self.pid, address, out).is_ok();
        }
        let mut copied = self.copied.borrow_mut();
        while !out.is_empty() {
            let within = (address % BLOCK as u64) as usize;
            let (now, later) = out.split_at_mut((BLOCK - within).min(out.len()));
            let Some(at) = copied.block(self.pid, address / BLOCK as u64) else {
                return false;
            };
            let Some(bytes) = copied.bytes.get(at + within..at + within + now.len()) else {
                return false;
            };
            now.copy_from_slice(bytes);
            address = address.wrapping_add(now.len() as u64);
            out = later;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::threads::process_id;

    #[test]
    fn words_and_bytes_are_those_of_the_moment() {
        let mut values: Vec<u64> = (0..1000).collect();
        let at = |index: usize, values: &[u64]| values.as_ptr() as u64 + 8 * index as u64;
        let (memory, mut habit) = (Snapshot::of(process_id()), Habit::default());
        memory.begin(Some(&habit));
        assert_eq!(memory.word(at(7, &values)), Some(7));
        values[7] = 70;
        assert_eq!(memory.word(at(7, &values)), Some(7), "the copy is of one moment");
        let mut bytes = vec![0; 3000];
        assert!(memory.bytes(at(100, &values) + 3, &mut bytes));
        assert_eq!(bytes[5], 101);
        memory.end(&mut habit);

        memory.begin(Some(&habit));

        assert!(!habit.expected.is_empty());
        assert_eq!(memory.word(at(7, &values)), Some(70));
        assert_eq!(memory.word(8), None);
    }

    #[test]
    fn what_is_gone_is_not_expected_for_ever() {
        let (memory, mut habit) = (Snapshot::of(process_id()), Habit::default());
        habit.learn([1, 2, 3].into_iter());
        let value = 5_u64;
        for _ in 0..3 * FORGET_AFTER {
            memory.begin(Some(&habit));
            assert_eq!(memory.word(std::ptr::from_ref(&value) as u64), Some(5));
            memory.end(&mut habit);
        }
        assert_eq!(habit.expected.len(), 1);
    }
}
