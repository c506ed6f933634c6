//! How many calls of signals there were; every thread counts its own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One thread's count, which only that thread writes.
struct Count(Arc<AtomicU64>);

static COUNTS: Mutex<Vec<Arc<AtomicU64>>> = Mutex::new(Vec::new());
/// Calls of threads that have ended.
static ENDED: AtomicU64 = AtomicU64::new(0);
/// Calls that were forgotten.
static FORGOTTEN: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static OWN: Count = Count::new();
}

impl Count {
    fn new() -> Self {
        let count = Arc::new(AtomicU64::new(0));
        counts().push(Arc::clone(&count));
        Self(count)
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        let mut counts = counts();
        counts.retain(|count| !Arc::ptr_eq(count, &self.0));
        ENDED.fetch_add(self.0.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

fn counts() -> MutexGuard<'static, Vec<Arc<AtomicU64>>> {
    COUNTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts a call of this thread.
#[inline]
pub(super) fn count() {
    // While a thread is torn down it calls nothing that anyone counts.
    let _ = OWN.try_with(|Count(own)| {
        own.store(own.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    });
}

/// The calls of all threads.
pub(super) fn total() -> u64 {
    all().saturating_sub(FORGOTTEN.load(Ordering::Relaxed))
}

/// Forgets the calls so far.
pub(super) fn clear() {
    FORGOTTEN.store(all(), Ordering::Relaxed);
}

fn all() -> u64 {
    let counts = counts();
    let running: u64 = counts.iter().map(|count| count.load(Ordering::Relaxed)).sum();
    running + ENDED.load(Ordering::Relaxed)
}
