//! Which code objects are watched, and what was counted of each.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use super::ledger::{Count, Ledger, Lost};
use super::own;
use crate::sys::{clock, fork};

/// Every watched code object, by its key.
static BOOK: LazyLock<Mutex<HashMap<usize, Arc<Code>>>> = LazyLock::new(Mutex::default);

/// Changes whenever the book does.
static EDITION: AtomicU32 = AtomicU32::new(0);

/// A bit for every watched key; keys may share one.
static HINTS: [AtomicU64; 16] = [const { AtomicU64::new(0) }; 16];

/// A code object that is watched, or was.
pub struct Code {
    key: usize,
    first_line: u32,
    lines: usize,
    /// The line of every instruction, 0 for those that have none.
    line_of: Vec<u32>,
    watches: AtomicUsize,
    counted: Mutex<Counted>,
}

struct Counted {
    /// What threads counted that are gone.
    past: Vec<Count>,
    ledgers: Vec<Arc<Ledger>>,
    generation: u32,
}

/// Keeps a code object watched.
pub struct Watch(Arc<Code>);

/// Watches the code object with this key, whose lines are from `first_line` to
/// `last_line`; `line_of` has the line of every instruction, 0 for those that
/// have none. Two watches of one key share their counts.
///
/// The key, an address say, must not be used for anything else until the last
/// watch is dropped.
#[must_use]
pub fn watch(key: usize, first_line: u32, last_line: u32, line_of: Vec<u32>) -> Watch {
    fork::watch();
    let mut book = book();
    let code = book.entry(key).or_insert_with(|| {
        let lines = last_line.saturating_sub(first_line) as usize + 1;
        let past = vec![Count::default(); lines];
        let counted = Counted { past, ledgers: Vec::new(), generation: fork::generation() };
        Arc::new(Code {
            key,
            first_line,
            lines,
            line_of,
            watches: AtomicUsize::new(0),
            counted: Mutex::new(counted),
        })
    });
    code.watches.fetch_add(1, Ordering::Relaxed);
    let watch = Watch(Arc::clone(code));
    changed(&book);
    watch
}

impl Watch {
    /// What is watched.
    #[must_use]
    pub fn code(&self) -> &Arc<Code> {
        &self.0
    }

    /// Whether nobody else watches it.
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.0.watches.load(Ordering::Relaxed) == 1
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut book = book();
        if self.0.watches.fetch_sub(1, Ordering::Relaxed) == 1 {
            book.remove(&self.0.key);
            changed(&book);
        }
    }
}

impl Code {
    /// The line of the first count.
    #[must_use]
    pub fn first_line(&self) -> u32 {
        self.first_line
    }

    /// The line of an instruction; 0 if it has none.
    #[inline]
    pub(super) fn line_of(&self, instruction: usize) -> u32 {
        self.line_of.get(instruction).copied().unwrap_or(0)
    }

    /// What every thread counted so far, line by line; lines that run now
    /// count up to this moment.
    #[must_use]
    pub fn counts(&self) -> Vec<Count> {
        let counted = self.counted();
        let mut sums = counted.past.clone();
        let now = clock::monotonic();
        for ledger in &counted.ledgers {
            ledger.add_to(&mut sums, now);
        }
        sums
    }

    /// A ledger for the calling thread.
    pub(super) fn new_ledger(&self, lost: &Arc<Lost>) -> Arc<Ledger> {
        let ledger = Arc::new(Ledger::new(self.first_line, self.lines, Arc::clone(lost)));
        self.counted().ledgers.push(Arc::clone(&ledger));
        ledger
    }

    /// The thread of `ledger` ends: what it counted stays.
    pub(super) fn retire(&self, ledger: &Arc<Ledger>) {
        let mut counted = self.counted();
        let Counted { past, ledgers, .. } = &mut *counted;
        ledger.abandon();
        ledger.add_to(past, 0);
        ledgers.retain(|other| !Arc::ptr_eq(other, ledger));
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.generation != fork::generation() {
            counted.generation = fork::generation();
            // The child of a fork has none of the other threads.
            for ledger in &counted.ledgers {
                if !own::holds(ledger) {
                    ledger.abandon();
                }
            }
        }
        counted
    }
}

/// Tells everyone that the book has changed.
fn changed(book: &HashMap<usize, Arc<Code>>) {
    let mut hints = [0; HINTS.len()];
    for (word, bit) in book.keys().map(|key| hint(*key)) {
        hints[word] |= bit;
    }
    for (place, bits) in HINTS.iter().zip(hints) {
        place.store(bits, Ordering::Relaxed);
    }
    EDITION.fetch_add(1, Ordering::Release);
}

#[inline]
fn hint(key: usize) -> (usize, u64) {
    let mixed = (key >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
    (mixed / 64 % HINTS.len(), 1 << (mixed % 64))
}

/// Whether the code object may be watched; a quick no for most others.
#[inline]
#[must_use]
pub fn may_be_watched(key: usize) -> bool {
    let (word, bit) = hint(key);
    HINTS[word].load(Ordering::Relaxed) & bit != 0
}

/// The watched code object with this key.
pub(super) fn find(key: usize) -> Option<Arc<Code>> {
    book().get(&key).map(Arc::clone)
}

/// A number that differs after each change of what is watched.
#[inline]
pub(super) fn edition() -> u32 {
    EDITION.load(Ordering::Acquire)
}

fn book() -> MutexGuard<'static, HashMap<usize, Arc<Code>>> {
    BOOK.lock().unwrap_or_else(PoisonError::into_inner)
}
