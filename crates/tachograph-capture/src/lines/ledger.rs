//! What one thread counted of one code object.
//!
//! Only its thread writes, so plain loads and stores of atomics are enough;
//! whoever takes a snapshot reads them meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};

use super::costs;

/// No call of the function is running on this thread.
const IDLE: u32 = 0;
/// A call is running that has not reached a line yet.
const BEFORE_LINES: u32 = 1;
/// What is added to a line's place when it is the running one.
const FIRST: u32 = 2;

/// How often a line began, and how long it ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Times it began.
    pub hits: u64,
    /// Nanoseconds, without what measuring took; the error of single lines can
    /// make a sum that is nearly zero a negative one.
    pub time_ns: i64,
}

#[derive(Default)]
struct Cell {
    hits: AtomicU64,
    time_ns: AtomicI64,
}

/// A thread's clock: real time without what our events took.
#[derive(Default)]
pub(super) struct Lost(AtomicU64);

impl Lost {
    #[inline]
    pub(super) fn ns(&self) -> u64 {
        costs::as_ns(self.0.load(Relaxed))
    }

    #[inline]
    pub(super) fn add(&self, parts: u64) {
        self.0.store(self.0.load(Relaxed) + parts, Relaxed);
    }
}

/// One thread's counts of one code object.
pub(super) struct Ledger {
    first_line: u32,
    cells: Box<[Cell]>,
    /// The running line of the innermost call, and since when.
    running: AtomicU32,
    since: AtomicU64,
    lost: Arc<Lost>,
}

impl Ledger {
    /// An empty one for lines from `first_line` on.
    pub(super) fn new(first_line: u32, lines: usize, lost: Arc<Lost>) -> Self {
        let cells = (0..lines).map(|_| Cell::default()).collect();
        Self { first_line, cells, running: AtomicU32::new(IDLE), since: AtomicU64::new(0), lost }
    }

    #[inline]
    fn place(&self, line: u32) -> u32 {
        line.wrapping_sub(self.first_line).saturating_add(FIRST)
    }

    #[inline]
    fn cell(&self, running: u32) -> Option<&Cell> {
        self.cells.get(running.wrapping_sub(FIRST) as usize)
    }

    /// Gives the running line its time, and makes `next` the running one.
    #[inline]
    fn turn(&self, next: u32, now: u64) {
        if let Some(cell) = self.cell(self.running.load(Relaxed)) {
            let took = now.wrapping_sub(self.since.load(Relaxed)) as i64;
            cell.time_ns.store(cell.time_ns.load(Relaxed).wrapping_add(took), Relaxed);
        }
        self.running.store(next, Relaxed);
        self.since.store(now, Relaxed);
    }

    /// A line begins.
    #[inline]
    pub(super) fn line(&self, line: u32, now: u64) {
        let place = self.place(line);
        self.turn(place, now);
        if let Some(cell) = self.cell(place) {
            cell.hits.store(cell.hits.load(Relaxed) + 1, Relaxed);
        }
    }

    /// A call begins, or goes on in the middle of `line`. Returns what ran on
    /// this thread until now, if a call of the same function did.
    #[inline]
    pub(super) fn enter(&self, line: Option<u32>, now: u64) -> Option<u32> {
        let outer = self.running.load(Relaxed);
        self.turn(line.map_or(BEFORE_LINES, |line| self.place(line)), now);
        (outer != IDLE).then_some(outer)
    }

    /// The innermost call ends or is suspended; `outer` goes on.
    #[inline]
    pub(super) fn leave(&self, outer: Option<u32>, now: u64) {
        self.turn(outer.unwrap_or(IDLE), now);
    }

    /// Forgets that a call runs: its thread does not exist in this process.
    pub(super) fn abandon(&self) {
        self.running.store(IDLE, Relaxed);
    }

    /// Adds what was counted to `sums`; `now` is the time without losses
    /// taken off. The running line counts up to now.
    ///
    /// Without an interpreter lock the thread may go on while it is read; then
    /// it is read again, a few times.
    pub(super) fn add_to(&self, sums: &mut [Count], now: u64) {
        for _ in 0..16 {
            let since = self.since.load(Relaxed);
            let running = self.running.load(Relaxed);
            let counts: Vec<_> = self.cells.iter().map(Cell::count).collect();
            let until = now.saturating_sub(self.lost.ns());
            if self.since.load(Relaxed) != since || self.running.load(Relaxed) != running {
                continue;
            }
            for (sum, count) in sums.iter_mut().zip(&counts) {
                sum.hits += count.hits;
                sum.time_ns += count.time_ns;
            }
            if let Some(sum) = sums.get_mut(running.wrapping_sub(FIRST) as usize) {
                sum.time_ns += until.wrapping_sub(since) as i64;
            }
            return;
        }
        for (sum, cell) in sums.iter_mut().zip(&self.cells) {
            let count = cell.count();
            sum.hits += count.hits;
            sum.time_ns += count.time_ns;
        }
    }
}

impl Cell {
    fn count(&self) -> Count {
        Count { hits: self.hits.load(Relaxed), time_ns: self.time_ns.load(Relaxed) }
    }
}
