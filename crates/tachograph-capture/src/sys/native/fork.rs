//! Keeps `fork` away while we talk to the dynamic loader.
//!
//! The loader's list lock is not reset in a forked child. Were a fork to happen
//! while a thread of ours holds it, the child would hang in its next `dlopen`. So work
//! on the list of objects takes a turn, and a fork waits for the turn to end: some
//! microseconds for most of them, and longer while new libraries are being looked at.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::yield_now;

use crate::sys::threads::own_id;

/// The kernel's number of the thread that has the turn; 0 when nobody has it.
static TAKEN: AtomicI32 = AtomicI32::new(0);
/// The fork in progress has the turn.
static TAKEN_BY_FORK: AtomicBool = AtomicBool::new(false);
static HOOKED: Once = Once::new();

/// The right to talk to the loader; given back on drop.
#[derive(Debug)]
pub(crate) struct Turn(());

impl Turn {
    /// Waits for the turn. Not for handlers.
    pub(crate) fn take() -> Self {
        watch_forks();
        wait();
        Self(())
    }

    /// The turn, if nobody has it just now.
    pub(crate) fn try_take() -> Option<Self> {
        watch_forks();
        // Made only when it was taken: one that is made and dropped gives the turn back.
        take_if_free().then(|| Self(()))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        TAKEN.store(0, Ordering::Release);
    }
}

/// Makes forks wait for the turn from now on.
pub(crate) fn watch_forks() {
    HOOKED.call_once(|| {
        // SAFETY: the three functions live as long as this library, which
        // the interpreter never unloads, and only touch atomics.
        unsafe {
            libc::pthread_atfork(Some(before_fork), Some(after_in_parent), Some(after_in_child))
        };
    });
}

/// Takes the turn for the calling thread, if nobody has it; whether it did.
fn take_if_free() -> bool {
    TAKEN.compare_exchange(0, own_id(), Ordering::Acquire, Ordering::Relaxed).is_ok()
}

fn wait() {
    while !take_if_free() {
        yield_now();
    }
}

extern "C" fn before_fork() {
    // A signal handler that forks may have interrupted us on this very thread.
    if TAKEN.load(Ordering::Relaxed) != own_id() {
        wait();
        TAKEN_BY_FORK.store(true, Ordering::Relaxed);
    }
    crate::sys::heap::before_fork();
}

extern "C" fn after_in_parent() {
    crate::sys::heap::after_fork_in_parent();
    if TAKEN_BY_FORK.swap(false, Ordering::Relaxed) {
        TAKEN.store(0, Ordering::Release);
    }
}

extern "C" fn after_in_child() {
    super::rules::forget_readers();
    crate::sys::heap::after_fork_in_child();
    TAKEN_BY_FORK.store(false, Ordering::Relaxed);
    TAKEN.store(0, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_that_is_refused_stays_with_whoever_has_it() {
        let turn = Turn::take();

        assert!(Turn::try_take().is_none());
        assert!(Turn::try_take().is_none(), "the first refusal gave it away");

        drop(turn);
        // Other tests of this process talk to the loader too.
        while Turn::try_take().is_none() {
            yield_now();
        }
    }

    #[test]
    fn a_fork_on_the_thread_that_has_the_turn_does_not_wait_for_itself() {
        let turn = Turn::take();

        before_fork();
        after_in_parent();

        assert!(Turn::try_take().is_none(), "the fork gave away what was not its own");
        drop(turn);
    }
}
