//! Keeps `fork` away while we talk to the dynamic loader.
//!
//! The loader's list lock is not reset in a forked child. Were a fork to happen
//! while our thread holds it, the child would hang in its next `dlopen`. So work
//! on the list of objects takes a turn, and a fork waits for the turn to end:
//! some hundred microseconds at most, and only while the list is being rebuilt.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::yield_now;

static TAKEN: AtomicBool = AtomicBool::new(false);
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
        let taken = TAKEN.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        // Made only when it was taken: one that is made and dropped gives the turn back.
        taken.is_ok().then(|| Self(()))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        TAKEN.store(false, Ordering::Release);
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

fn wait() {
    while TAKEN.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
        yield_now();
    }
}

extern "C" fn before_fork() {
    wait();
    crate::sys::heap::before_fork();
}

extern "C" fn after_in_parent() {
    crate::sys::heap::after_fork_in_parent();
    TAKEN.store(false, Ordering::Release);
}

extern "C" fn after_in_child() {
    super::rules::forget_readers();
    crate::sys::heap::after_fork_in_child();
    TAKEN.store(false, Ordering::Release);
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
}
