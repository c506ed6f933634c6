//! Where a hook writes a stack down before it is kept.
//!
//! A thread's own stack may be small, and a desk of its own for every thread
//! would be much memory. So there are some desks for all; a hook that finds none
//! free lets its sample go, and counts it.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, fence};
use std::time::Duration;

use tachograph_probe::walk::{EntryKind, RawFrame, WalkState, walk};

use super::control;
use super::local::local;
use crate::sys::handler::{self, Guarded};
use crate::sys::native::unwind::{NativeRaw, Scratch};
use crate::sys::{clock, leaked, native};

/// Entries of a Python stack that fit.
pub(crate) const MOST_ENTRIES: usize = 1024;
/// Native frames that fit.
const MOST_NATIVE: usize = 192;
/// Most desks: about 115 KB each.
const MOST_DESKS: usize = 48;
/// How long a hook that lost its processor at a desk is waited for, in nanoseconds.
const PATIENCE_NS: u64 = 1_000_000_000;
/// Frames of ours at the inner end of a native stack; there are about five.
const OWN_FRAMES: usize = 16;

/// A stack as a hook saw it, innermost first.
pub(super) struct Stack<'a> {
    /// Equal for equal stacks; 0 for one without any frame.
    pub(super) key: u64,
    pub(super) entries: &'a [RawFrame],
    pub(super) native: &'a [u64],
    pub(super) truncated: bool,
    pub(super) partial_native: bool,
}

struct Inside {
    scratch: Scratch,
    entries: [RawFrame; MOST_ENTRIES],
    frames: [NativeRaw; MOST_NATIVE],
    words: [u64; MOST_NATIVE],
}

struct Desk {
    taken: AtomicBool,
    inside: UnsafeCell<Inside>,
}

// SAFETY: the flag gives the inside to one thread at a time.
unsafe impl Sync for Desk {}

static DESKS: [AtomicPtr<Desk>; MOST_DESKS] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; MOST_DESKS];
static COUNT: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" {
    #[link_name = "__start_tacho_heap"]
    static OWN_CODE: u8;
    #[link_name = "__stop_tacho_heap"]
    static OWN_CODE_END: u8;
}

/// Makes desks for as many threads as can be in a hook at once, and a few for
/// threads that lost their processor there.
pub(super) fn prepare() {
    let wanted = (2 * crate::sys::threads::usable_cores() as usize + 6).min(MOST_DESKS);
    for place in DESKS.iter().take(wanted) {
        if leaked::get(place).is_none() {
            let inside = Inside {
                scratch: Scratch::default(),
                entries: [RawFrame { code: 0, place: 0 }; MOST_ENTRIES],
                frames: [NativeRaw::default(); MOST_NATIVE],
                words: [0; MOST_NATIVE],
            };
            let desk = Desk { taken: AtomicBool::new(false), inside: UnsafeCell::new(inside) };
            leaked::replace(place, None, desk);
        }
    }
    COUNT.store(DESKS.iter().filter_map(leaked::get).count(), Ordering::Relaxed);
}

/// Bytes of all desks.
pub(super) fn bytes() -> usize {
    COUNT.load(Ordering::Relaxed) * size_of::<Desk>()
}

/// Makes every desk free: in a forked child nobody sits at one.
pub(super) fn forget() {
    for desk in DESKS.iter().map_while(leaked::get) {
        desk.taken.store(false, Ordering::Release);
    }
}

/// Waits until no hook sits at a desk. Called when nobody samples any more: then a hook
/// that comes later reads nothing. False when one is still there after a second.
pub(super) fn wait_until_empty() -> bool {
    // Either the hook sees that nobody samples, or we see its desk taken.
    fence(Ordering::SeqCst);
    let patience = clock::monotonic() + PATIENCE_NS;
    let is_taken = |desk: &Desk| desk.taken.load(Ordering::Acquire);
    while DESKS.iter().filter_map(leaked::get).any(is_taken) {
        if clock::monotonic() > patience {
            return false;
        }
        std::thread::sleep(Duration::from_micros(20));
    }
    true
}

/// Runs `work` with the calling thread's stack; `None` when no desk is free, or
/// nobody samples.
///
/// Context: allocator hook.
#[inline(never)]
pub(super) fn with_stack<T>(work: impl FnOnce(&Stack<'_>) -> T) -> Option<T> {
    // Each thread begins at another one, which still has its rules at hand.
    let first = local().tid().cast_unsigned() as usize % COUNT.load(Ordering::Relaxed).max(1);
    let (before, from) = DESKS.split_at_checked(first)?;
    let desk = from.iter().chain(before).filter_map(leaked::get).find(|desk| {
        !desk.taken.load(Ordering::Relaxed) && !desk.taken.swap(true, Ordering::Acquire)
    })?;
    fence(Ordering::SeqCst);
    // The faults of guarded reads are caught only while someone samples.
    let outcome = control::is_sampling().then(|| {
        // SAFETY: the flag makes this the only reference until it is cleared below.
        let inside = unsafe { &mut *desk.inside.get() };
        local().with_faults(|| work(&capture(inside)))
    });
    desk.taken.store(false, Ordering::Release);
    outcome
}

#[inline(never)]
fn capture(inside: &mut Inside) -> Stack<'_> {
    let Inside { scratch, entries, frames, words } = inside;
    let wants_native = control::wants_native();
    let limit = control::depth().min(MOST_ENTRIES);
    let (mut depth, mut truncated) = (0, false);
    let mut has_python = false;
    if let Some(python) = handler::python()
        && let (state, _) = python.own_state()
        && state != 0
        && let Some(room) = entries.get_mut(..limit)
    {
        let seen = walk(&Guarded, &python.layout, state, wants_native, room);
        if seen.state != WalkState::Unreadable {
            (depth, truncated) = (seen.depth, seen.truncated);
            has_python = seen.state == WalkState::Complete;
        }
    }
    let maker = local().creator.get();
    let is_made = !has_python && maker != 0;
    if is_made && let Some(first) = entries.first_mut() {
        // Python never saw this thread: its stack stands on its maker's.
        *first = RawFrame::boundary(maker);
        depth = 1;
    }
    let entries = entries.get(..depth).unwrap_or_default();

    let (mut count, mut partial_native) = (0, false);
    if wants_native {
        let unwound = native::unwind::unwind(native::step::registers_here(), scratch, frames);
        let frames = frames.get(..unwound.depth).unwrap_or_default();
        let frames = frames.get(own(frames)..).unwrap_or_default();
        for (word, code) in words.iter_mut().zip(handler::native_words(entries, frames)) {
            *word = code;
            count += 1;
        }
        partial_native = !unwound.complete;
    }
    let native = words.get(..count).unwrap_or_default();
    let mut key = maker.wrapping_mul(u64::from(is_made));
    for entry in entries {
        // A boundary's address differs from call to call; that it is there is enough.
        let is_python = entry.kind() == EntryKind::Python;
        key = if is_python { mix(key, entry.code, entry.place) } else { mix(key, 1, 2) };
    }
    for pair in native.chunks(2) {
        let (first, second) = (pair.first().copied(), pair.get(1).copied());
        key = mix(key, first.unwrap_or(0), second.unwrap_or(0));
    }
    if !entries.is_empty() || !native.is_empty() {
        key |= 1;
    }
    Stack { key, entries, native, truncated, partial_native }
}

/// How many of the innermost frames are our own.
fn own(frames: &[NativeRaw]) -> usize {
    let (start, end) = ((&raw const OWN_CODE) as u64, (&raw const OWN_CODE_END) as u64);
    let inner = frames.get(..frames.len().min(OWN_FRAMES)).unwrap_or_default();
    let last = inner.iter().rposition(|frame| (start..end).contains(&frame.pc));
    last.map_or(0, |last| last + 1)
}

/// Folds two words into `key` so that every bit matters.
fn mix(key: u64, first: u64, second: u64) -> u64 {
    let left = key ^ first ^ 0x2d35_8dcc_aa6c_78a5;
    let wide = u128::from(left) * u128::from(second ^ 0x9e37_79b9_7f4a_7c15);
    (wide as u64) ^ (wide >> 64) as u64 ^ key.rotate_left(23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_that_is_still_reading_is_waited_for_and_none_begins_after_that() {
        prepare();
        let desk = leaked::get(&DESKS[0]).unwrap();
        desk.taken.store(true, Ordering::Release);
        static IS_OVER: AtomicBool = AtomicBool::new(false);
        let hook = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            IS_OVER.store(true, Ordering::Release);
            desk.taken.store(false, Ordering::Release);
        });

        while !wait_until_empty() {}
        assert!(IS_OVER.load(Ordering::Acquire));
        hook.join().unwrap();

        assert!(!control::is_sampling(), "no test of this program samples");
        assert_eq!(with_stack(|_| ()), None);
        assert!(!desk.taken.load(Ordering::Acquire));
    }
}
