//! What must happen in a child of `fork`.
//!
//! Only the forking thread lives on in the child: our threads, and whoever held
//! one of our locks, are gone. So the child forgets the session as a whole, by
//! atomics alone, and a new `start()` there begins afresh.

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

/// Counts the forks between this process and the first one that loaded us.
static GENERATION: AtomicU32 = AtomicU32::new(0);
static REGISTER: Once = Once::new();

/// A number that differs between a process and its forked child.
pub(crate) fn generation() -> u32 {
    GENERATION.load(Ordering::Acquire)
}

/// Makes `generation` change in every child from now on.
pub(crate) fn watch() {
    REGISTER.call_once(|| {
        // The last to be registered is the first before a fork, and the last after it:
        // locks that a hook may wait for are taken after all others and given back first.
        super::native::fork::watch_forks();
        // SAFETY: the handlers are functions without arguments that stay loaded.
        unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
    });
}

/// Context: before a fork, on the thread that forks.
extern "C" fn before() {
    crate::spans::hold();
}

/// Context: after a fork, in the parent.
extern "C" fn in_parent() {
    crate::spans::let_go();
}

/// Context: the child of a fork, on its only thread.
extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::AcqRel);
    super::handler::forget();
    super::guard::forget_users();
    crate::own::forget();
    crate::spans::forget_recording();
    crate::spans::let_go();
}
