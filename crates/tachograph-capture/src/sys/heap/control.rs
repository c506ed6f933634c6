//! Turning sampling on and off, and what it counted.
//!
//! Hooks stay once they are in place. Off is a flag that is looked at when a
//! thread's count runs out, so it costs nothing in between.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use super::{desk, hooks, store};
use crate::heap::gaps::Random;
use crate::sys::linker;

/// The smallest period: a table of live samples must stay smaller than the heap.
const LEAST_PERIOD: u64 = 1 << 10;

static SAMPLING: AtomicBool = AtomicBool::new(false);
static TRACKING: AtomicBool = AtomicBool::new(false);
static NATIVE: AtomicBool = AtomicBool::new(false);
static PERIOD: AtomicU64 = AtomicU64::new(512 << 10);
static DEPTH: AtomicUsize = AtomicUsize::new(128);
static SEED: AtomicU64 = AtomicU64::new(0);
static THREADS: AtomicU64 = AtomicU64::new(0);

/// Figures of the hooks since the process began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Samples that were kept.
    pub(crate) taken: u64,
    /// Samples for which there was no room.
    pub(crate) dropped: u64,
    /// How full the index is, 0 to 1.
    pub(crate) load: f64,
    /// Inserts into the index that met another entry.
    pub(crate) collisions: u64,
    /// Memory of the hooks' tables.
    pub(crate) bytes: u64,
}

/// Puts the hooks in place, the first time; brings them into libraries that were
/// loaded since, every time.
///
/// Not for hooks or handlers.
pub(crate) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        seed();
        // It walks the loader's list, whose lock a forked child could not take again.
        let _turn = crate::sys::native_fork::Turn::take();
        hooks::register();
    });
    desk::prepare();
    linker::scan();
}

/// Samples from now on, every `period` bytes on average.
pub(crate) fn resume(period: u64, native: bool, depth: usize) {
    PERIOD.store(period.max(LEAST_PERIOD), Ordering::Release);
    NATIVE.store(native, Ordering::Release);
    DEPTH.store(depth.max(1), Ordering::Release);
    TRACKING.store(true, Ordering::Release);
    SAMPLING.store(true, Ordering::Release);
}

/// Samples nothing more; frees are still seen.
pub(crate) fn pause() {
    SAMPLING.store(false, Ordering::Release);
}

/// Samples nothing more and forgets everything.
pub(crate) fn stop() {
    SAMPLING.store(false, Ordering::Release);
    TRACKING.store(false, Ordering::Release);
    store::clear();
}

/// In a forked child nobody samples. Context: the child of a fork.
pub(super) fn forget() {
    SAMPLING.store(false, Ordering::Release);
    TRACKING.store(false, Ordering::Release);
    store::forget_in_child();
    // Or parent and child would draw the same numbers.
    SEED.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::AcqRel);
}

fn seed() {
    let mut seed = 0_u64;
    // SAFETY: the buffer is eight bytes of ours.
    let filled = unsafe { libc::getrandom((&raw mut seed).cast(), 8, libc::GRND_NONBLOCK) };
    if filled != 8 {
        seed = crate::sys::clock::monotonic();
    }
    SEED.store(seed, Ordering::Release);
}

/// Context: allocator hook.
#[inline]
pub(super) fn is_sampling() -> bool {
    SAMPLING.load(Ordering::Relaxed)
}

/// Frees are looked for. Context: allocator hook.
#[inline]
pub(super) fn is_tracking() -> bool {
    TRACKING.load(Ordering::Relaxed)
}

/// Context: allocator hook.
pub(super) fn wants_native() -> bool {
    NATIVE.load(Ordering::Relaxed)
}

/// Context: allocator hook.
pub(super) fn depth() -> usize {
    DEPTH.load(Ordering::Relaxed)
}

/// Context: allocator hook.
pub(super) fn period() -> u64 {
    PERIOD.load(Ordering::Relaxed)
}

/// A sample came to nothing. Context: allocator hook.
pub(super) fn drop_one() {
    store::DROPPED.fetch_add(1, Ordering::Relaxed);
}

/// The random numbers of a thread that is new here. Context: allocator hook.
pub(super) fn new_random() -> Random {
    let index = THREADS.fetch_add(1, Ordering::Relaxed);
    Random::of_thread(SEED.load(Ordering::Relaxed), index)
}

/// Figures so far.
pub(crate) fn counts() -> Counts {
    let (load, collisions, bytes) = store::figures();
    Counts {
        taken: store::TAKEN.load(Ordering::Relaxed),
        dropped: store::DROPPED.load(Ordering::Relaxed),
        load,
        collisions,
        bytes: (bytes + desk::bytes()) as u64,
    }
}
