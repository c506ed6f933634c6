//! Calls of BLAS and LAPACK, counted where one library calls another.
//!
//! The sizes of a product are arguments of the call, so what it computes is
//! known exactly, whoever implements it. The hooks are written into the slots of
//! loaded objects by the one scanner (`linker`). They add a number and call
//! the real function; they neither allocate nor lock. A call from inside
//! another one is part of it and is not counted again.

mod cblas;
mod fortran;

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::native::fork::Turn;
use super::{dynamic, linker, native};

/// Windows that are open; without any, hooks only pass on.
static WANTED: AtomicUsize = AtomicUsize::new(0);
/// Operations counted so far.
static TOTAL: AtomicU64 = AtomicU64::new(0);

/// How many libraries had been loaded when they were last looked at.
static LOADED: AtomicU64 = AtomicU64::new(0);
/// Threads inside of something that is counted elsewhere.
static ELSEWHERE: AtomicUsize = AtomicUsize::new(0);
/// `PyGILState_GetThisThreadState`, once it is known.
static THREAD_STATE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// This thread is inside a call that was counted, or is counted elsewhere.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Begins to count; libraries that were loaded since the last time are hooked.
pub(crate) fn want() {
    // A fork waits meanwhile: its child could not take the loader's list lock again.
    let turn = Turn::take();
    let loaded = native::objects::changes().0;
    if LOADED.swap(loaded, Ordering::AcqRel) != loaded {
        for table in cblas::TABLES.iter().chain(fortran::TABLES) {
            linker::register(table);
            linker::resolve(table);
        }
        drop(turn);
        linker::scan();
    } else {
        drop(turn);
        // A slot that was being resolved is looked at again.
        linker::rescan_if_changed();
    }
    if let Some(address) = dynamic::symbol(c"PyGILState_GetThisThreadState") {
        THREAD_STATE.store(address, Ordering::Release);
    }
    WANTED.fetch_add(1, Ordering::AcqRel);
}

/// One window fewer.
pub(crate) fn unwant() {
    let fewer = |windows: usize| windows.checked_sub(1);
    // Nothing is open: nothing to close.
    let _ = WANTED.fetch_update(Ordering::AcqRel, Ordering::Acquire, fewer);
}

/// Operations counted so far, in all threads.
pub(crate) fn total() -> u64 {
    TOTAL.load(Ordering::Acquire)
}

/// Leaves out what this thread and its helpers call: it is counted elsewhere.
/// Returns whether it was not left out already.
pub(crate) fn leave_out() -> bool {
    let entered = enter();
    ELSEWHERE.fetch_add(usize::from(entered), Ordering::AcqRel);
    entered
}

/// Counts this thread's calls again.
pub(crate) fn let_in() {
    ELSEWHERE.fetch_sub(1, Ordering::AcqRel);
    leave();
}

/// Marks this thread as inside of a call; false if it is already.
#[inline]
fn enter() -> bool {
    INSIDE.try_with(|inside| !inside.replace(true)).unwrap_or(false)
}

#[inline]
fn leave() {
    // A thread that is ending counts nothing any more.
    let _ = INSIDE.try_with(|inside| inside.set(false));
}

/// Whether this thread works for one whose calls are counted elsewhere: such
/// threads are made by a library, and Python does not know them.
#[inline]
fn is_helper() -> bool {
    if ELSEWHERE.load(Ordering::Acquire) == 0 {
        return false;
    }
    let address = THREAD_STATE.load(Ordering::Acquire);
    if address == 0 {
        return false;
    }
    // SAFETY: the address is that of the function with this name, which takes
    // nothing and returns a pointer.
    let state = unsafe { std::mem::transmute::<usize, extern "C" fn() -> *const ()>(address) };
    state().is_null()
}

/// Runs the real function; `operations` are counted unless it is called from
/// inside another one.
///
/// Context: a hook of a foreign function.
#[inline]
fn counted<R>(operations: impl FnOnce() -> u64, real: impl FnOnce() -> R) -> R {
    if WANTED.load(Ordering::Relaxed) == 0 || is_helper() || !enter() {
        return real();
    }
    TOTAL.fetch_add(operations(), Ordering::Relaxed);
    let result = real();
    leave();
    result
}

/// A size that the caller gave; nonsense is nothing.
#[inline]
fn size(given: i64) -> u64 {
    u64::try_from(given).unwrap_or(0)
}

/// `factors` multiplied.
#[inline]
fn product(factors: &[u64]) -> u64 {
    factors.iter().fold(1, |product, factor| product.saturating_mul(*factor))
}

/// Solving `n` equations with `sides` right-hand sides.
fn solve(n: u64, sides: u64) -> u64 {
    (2 * product(&[n, n, n]) / 3).saturating_add(2 * product(&[n, n, sides]))
}

/// Factors of an `m` by `n` matrix, lower times upper.
fn factors(m: u64, n: u64) -> u64 {
    let (long, short) = (m.max(n), m.min(n));
    product(&[long, short, short]).saturating_sub(product(&[short, short, short]) / 3)
}
