//! The calling thread's ledgers, and the events that write to them.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::book::{self, Code};
use super::costs;
use super::ledger::{Ledger, Lost};
use crate::spans::Anchor;

/// A watched code object on this thread.
struct Entry {
    key: usize,
    code: Arc<Code>,
    ledger: Arc<Ledger>,
    /// What runs in the outer calls of a recursion.
    outer: Vec<u32>,
}

struct Own {
    anchor: Anchor,
    lost: Arc<Lost>,
    edition: Cell<u32>,
    /// Where the last event's code object is among the entries.
    last: Cell<usize>,
    entries: RefCell<Entries>,
}

#[derive(Default)]
struct Entries {
    list: Vec<Entry>,
    /// Where each key is in the list.
    places: FxHashMap<usize, usize>,
}

thread_local! {
    static OWN: Own = Own {
        anchor: Anchor::new(),
        lost: Arc::default(),
        edition: Cell::new(0),
        last: Cell::new(0),
        entries: RefCell::default(),
    };
}

/// A line of the code object `key` begins on this thread.
///
/// Whether the call was seen to begin does not matter: a watch may start while
/// it runs.
#[inline]
pub fn line(key: usize, line: u32) {
    with(key, || costs::line(line), |entry, now| entry.ledger.line(line, now));
}

/// A call of the code object `key` begins. Returns whether it is watched.
#[inline]
pub fn start(key: usize) -> bool {
    with(key, costs::call, |entry, now| entry.enter(None, now))
}

/// A call that was suspended goes on in the middle of `line`.
#[inline]
pub fn resume(key: usize, line: u32) {
    with(key, costs::call, |entry, now| entry.enter(Some(line), now));
}

/// A call that was suspended goes on in the middle of the line of `instruction`.
#[inline]
pub fn resume_at(key: usize, instruction: usize) {
    with(key, costs::call, |entry, now| {
        let line = entry.code.line_of(instruction);
        entry.enter(Some(line), now);
    });
}

/// The innermost call returns, is left by an exception, or is suspended.
#[inline]
pub fn stop(key: usize) {
    with(key, costs::call, |entry, now| {
        let outer = entry.outer.pop();
        entry.ledger.leave(outer, now);
    });
}

/// Whether anyone watches the code object `key`.
#[must_use]
pub fn is_watched(key: usize) -> bool {
    book::find(key).is_some()
}

/// Whether `ledger` is one of this thread.
pub(super) fn holds(ledger: &Arc<Ledger>) -> bool {
    let held = |own: &Own| {
        let entries = own.entries.try_borrow();
        entries.is_ok_and(|entries| entries.list.iter().any(|one| Arc::ptr_eq(&one.ledger, ledger)))
    };
    OWN.try_with(held).unwrap_or(false)
}

/// Takes the time, then writes to the ledger of `key`; what that took is left
/// out of every line that runs.
#[inline]
fn with(key: usize, cost: impl FnOnce() -> u64, write: impl FnOnce(&mut Entry, u64)) -> bool {
    // A thread that is ending has no ledgers any more.
    let seen = OWN.try_with(|own| {
        let now = own.anchor.now().saturating_sub(own.lost.ns());
        let Ok(mut entries) = own.entries.try_borrow_mut() else { return false };
        if own.edition.get() != book::edition() {
            own.read_again(&mut entries);
        }
        let last = own.last.get();
        let known = matches!(entries.list.get(last), Some(entry) if entry.key == key);
        let Some(place) = (if known { Some(last) } else { own.find(&mut entries, key) }) else {
            return false;
        };
        if let Some(entry) = entries.list.get_mut(place) {
            write(entry, now);
        }
        own.lost.add(cost());
        true
    });
    seen.unwrap_or(false)
}

impl Entry {
    #[inline]
    fn enter(&mut self, line: Option<u32>, now: u64) {
        if let Some(outer) = self.ledger.enter(line, now) {
            self.outer.push(outer);
        }
    }
}

impl Own {
    /// Forgets what is no longer watched: its key may mean something else now.
    #[cold]
    fn read_again(&self, entries: &mut Entries) {
        self.edition.set(book::edition());
        entries.list.retain(|entry| {
            book::find(entry.key).is_some_and(|code| Arc::ptr_eq(&code, &entry.code))
        });
        let places = entries.list.iter().enumerate().map(|(place, entry)| (entry.key, place));
        entries.places = places.collect();
    }

    #[inline(never)]
    fn find(&self, entries: &mut Entries, key: usize) -> Option<usize> {
        let place = match entries.places.get(&key) {
            Some(place) => *place,
            None => {
                let code = book::find(key)?;
                let ledger = code.new_ledger(&self.lost);
                entries.list.push(Entry { key, code, ledger, outer: Vec::new() });
                let place = entries.list.len() - 1;
                entries.places.insert(key, place);
                place
            }
        };
        self.last.set(place);
        Some(place)
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        for entry in self.entries.get_mut().list.drain(..) {
            entry.code.retire(&entry.ledger);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::{Count, Watch, watch};
    use super::*;

    /// A key that no other test uses.
    fn watched() -> (usize, Watch) {
        static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(1);
        let key = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        (key, watch(key, 10, 14, Vec::new()))
    }

    /// Lets so many milliseconds pass, and says how many nanoseconds it really took.
    fn pass(ms: u64) -> i64 {
        let begin = Instant::now();
        std::thread::sleep(Duration::from_millis(ms));
        begin.elapsed().as_nanos() as i64
    }

    fn hits(watch: &Watch) -> Vec<u64> {
        watch.code().counts().iter().map(|count| count.hits).collect()
    }

    /// Whether a line has the time that `passed` while it ran, and of the `whole` time what
    /// did not pass elsewhere. Two clocks may differ by half a millisecond.
    fn has(count: &Count, passed: i64, whole: Instant, elsewhere: i64) -> bool {
        let most = whole.elapsed().as_nanos() as i64 - elsewhere;
        (passed - 500_000..=most + 500_000).contains(&count.time_ns)
    }

    #[test]
    fn a_line_lasts_until_the_next_one_or_the_end_of_the_call() {
        let (key, watch) = watched();

        let whole = Instant::now();
        assert!(start(key));
        line(key, 10);
        let first = pass(100);
        line(key, 11);
        stop(key);
        let after = pass(100);

        let counts = watch.code().counts();
        assert_eq!(hits(&watch), [1, 1, 0, 0, 0]);
        assert!(has(&counts[0], first, whole, after), "{counts:?}");
        assert!(has(&counts[1], 0, whole, first + after), "{counts:?}");
    }

    #[test]
    fn time_of_a_recursion_counts_once() {
        let (key, watch) = watched();

        let whole = Instant::now();
        start(key);
        line(key, 10);
        start(key);
        line(key, 11);
        let inner = pass(100);
        stop(key);
        let outer = pass(200);
        stop(key);

        let counts = watch.code().counts();
        assert!(has(&counts[1], inner, whole, outer), "{counts:?}");
        assert!(has(&counts[0], outer, whole, inner), "{counts:?}");
    }

    #[test]
    fn a_suspended_call_goes_on_in_its_line_without_a_hit() {
        let (key, watch) = watched();

        let whole = Instant::now();
        start(key);
        line(key, 12);
        stop(key);
        let suspended = pass(100);
        resume(key, 12);
        let running = pass(200);
        stop(key);

        let counts = watch.code().counts();
        assert_eq!(counts[2].hits, 1);
        assert!(has(&counts[2], running, whole, suspended), "{counts:?}");
    }

    #[test]
    fn a_thread_that_ended_is_still_counted_and_a_running_line_counts_until_now() {
        let (key, watch) = watched();

        std::thread::spawn(move || line(key, 10)).join().unwrap();
        let whole = Instant::now();
        line(key, 11);
        let running = pass(100);

        let counts = watch.code().counts();
        assert_eq!(hits(&watch), [1, 1, 0, 0, 0]);
        assert!(has(&counts[1], running, whole, 0), "{counts:?}");
    }

    #[test]
    fn what_is_not_watched_any_more_is_not_counted() {
        let (key, watch) = watched();
        line(key, 10);
        drop(watch);

        line(key, 10);
        assert!(!start(key));

        let again = super::super::watch(key, 10, 14, Vec::new());
        line(key, 99);
        assert_eq!(hits(&again), [0; 5]);
    }
}
