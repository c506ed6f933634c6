//! The lock around the store, for code inside allocator hooks.
//!
//! It sleeps in the kernel rather than spin, so a thread of high priority does
//! not keep the holder from finishing. A fork does not take it: handlers of other
//! libraries that run before a fork may wait for their own threads, which may wait for
//! the lock. The child makes it free and forgets all that it guards, half done or not.

use std::sync::atomic::{AtomicU32, Ordering};

use super::apart::Apart;
use super::local::local;

const FREE: u32 = 0;
const HELD: u32 = 1;
const WANTED: u32 = 2;

/// Tries before the kernel is asked to wait.
const TRIES: u32 = 40;

/// A lock that needs no memory.
pub(super) struct Lock(AtomicU32);

impl Lock {
    /// Nobody has it.
    pub(super) const fn new() -> Self {
        Self(AtomicU32::new(FREE))
    }

    /// Waits for the lock.
    ///
    /// Context: allocator hook. The holder does a bounded amount of work.
    pub(super) fn take(&self) {
        for _ in 0..TRIES {
            if self.0.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                return;
            }
            std::hint::spin_loop();
        }
        while self.0.swap(WANTED, Ordering::Acquire) != FREE {
            self.futex(libc::FUTEX_WAIT, WANTED);
        }
    }

    /// Gives it back.
    ///
    /// Context: allocator hook.
    pub(super) fn give_back(&self) {
        if self.0.swap(FREE, Ordering::Release) == WANTED {
            self.futex(libc::FUTEX_WAKE, 1);
        }
    }

    fn futex(&self, operation: libc::c_int, value: u32) {
        let timeout = std::ptr::null::<libc::timespec>();
        let operation = operation | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: the word is ours and stays mapped; the kernel only compares or wakes.
        unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), operation, value, timeout) };
    }
}

/// Around everything in the store that changes.
pub(super) static STORE: Apart<Lock> = Apart(Lock::new());

/// Context: before a fork, on the thread that forks.
pub(crate) fn before_fork() {
    // In the child other handlers may run before ours, and must not wait for a lock whose
    // holder did not come along.
    local().enter();
}

/// Context: after a fork, in the parent.
pub(crate) fn after_fork_in_parent() {
    local().leave();
}

/// Context: the child of a fork, on its only thread.
pub(crate) fn after_fork_in_child() {
    local().leave();
    STORE.0.0.store(FREE, Ordering::Release);
    local().forget_tid();
    super::desk::forget();
    #[cfg(target_arch = "x86_64")]
    super::threads::forget();
    super::control::forget();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn one_thread_at_a_time_has_it() {
        static LOCK: Lock = Lock::new();
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let work = || {
            for _ in 0..20_000 {
                LOCK.take();
                let seen = COUNT.load(Ordering::Relaxed);
                COUNT.store(seen + 1, Ordering::Relaxed);
                LOCK.give_back();
            }
        };
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(work)).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());

        assert_eq!(COUNT.load(Ordering::Relaxed), 80_000);
    }
}
