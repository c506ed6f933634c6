//! Turning sampling on and off, and what it counted.
//!
//! The hooks of `malloc` stay once they are in place. Off is a flag that is looked at
//! when a thread's count runs out, so it costs nothing in between.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use super::apart::Apart;
use super::{block, desk, hooks, mappings, store};
use crate::heap::gaps::Random;
use crate::sys::linker;
use crate::sys::native::fork::Turn;

/// The smallest period: a table of live samples must stay smaller than the heap.
const LEAST_PERIOD: u64 = 1 << 10;

/// The period while nobody samples. What a thread has drawn by then is what its first
/// sample stands for, so it is short; looking every so many bytes whether to sample
/// costs nothing that can be measured.
const IDLE_PERIOD: u64 = 64 << 10;

/// As often as the period can double while tables fill up: once for each part of
/// the table between half full and full.
const MOST_DOUBLINGS: u32 = 16;

/// What hooks look at; it changes when doors open and close, and when tables fill up.
struct Wishes {
    sampling: AtomicBool,
    tracking: AtomicBool,
    native: AtomicBool,
    period: AtomicU64,
    depth: AtomicUsize,
}

static WISHES: Apart<Wishes> = Apart(Wishes {
    sampling: AtomicBool::new(false),
    tracking: AtomicBool::new(false),
    native: AtomicBool::new(false),
    period: AtomicU64::new(IDLE_PERIOD),
    depth: AtomicUsize::new(128),
});

/// What was asked for; the period is longer while tables are nearly full.
static ASKED: AtomicU64 = AtomicU64::new(512 << 10);
/// The longest period since sampling began.
static LONGEST: AtomicU64 = AtomicU64::new(0);
static SEED: AtomicU64 = AtomicU64::new(0);
static THREADS: Apart<AtomicU64> = Apart(AtomicU64::new(0));

/// The allocator is one that can be hooked.
static HOOKED: AtomicBool = AtomicBool::new(false);

/// Whether blocks of `malloc` can be seen in this process, once [`prepare`] was called.
pub(crate) fn is_hooked() -> bool {
    HOOKED.load(Ordering::Acquire)
}

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
    /// The longest period, in bytes, that full tables led to; 0 when they never were.
    pub(crate) longest_period: u64,
    /// Memory of the hooks' tables.
    pub(crate) bytes: u64,
}

/// Puts the hooks in place, the first time; brings them into libraries that were
/// loaded since, every time.
///
/// Not for hooks or handlers.
pub(crate) fn prepare() {
    static ONCE: Once = Once::new();
    {
        // It walks the loader's list, whose lock a forked child could not take again; nor
        // could it go on with what is done once and was half done.
        let _turn = Turn::take();
        ONCE.call_once(|| {
            seed();
            HOOKED.store(hooks::register(), Ordering::Release);
        });
    }
    desk::prepare();
    linker::scan();
}

/// Samples from now on, every `period` bytes on average; as long as there is room for
/// all of `most_live` samples (0: as many as there can be), else less often.
pub(crate) fn resume(period: u64, native: bool, depth: usize, most_live: u32) {
    let asked = period.max(LEAST_PERIOD);
    let before = ASKED.swap(asked, Ordering::AcqRel);
    if !is_sampling() || before != asked {
        WISHES.period.store(asked, Ordering::Release);
    }
    store::set_most(most_live);
    WISHES.native.store(native, Ordering::Release);
    WISHES.depth.store(depth.max(1), Ordering::Release);
    WISHES.tracking.store(true, Ordering::Release);
    WISHES.sampling.store(true, Ordering::Release);
}

/// Samples half as often from each thread's next gap on, because tables fill up.
///
/// Context: allocator hook.
pub(super) fn double_period() {
    let longest = ASKED.load(Ordering::Relaxed) << MOST_DOUBLINGS;
    let doubled = (WISHES.period.load(Ordering::Relaxed) * 2).min(longest);
    WISHES.period.store(doubled, Ordering::Release);
    LONGEST.fetch_max(doubled, Ordering::AcqRel);
}

/// Samples as often as was asked for again, if tables that filled up have room.
pub(crate) fn recover() {
    let asked = ASKED.load(Ordering::Acquire);
    if WISHES.period.load(Ordering::Acquire) != asked && store::recovers() {
        WISHES.period.store(asked, Ordering::Release);
    }
}

/// Samples nothing more; frees are still seen.
pub(crate) fn pause() {
    WISHES.sampling.store(false, Ordering::Release);
    WISHES.period.store(IDLE_PERIOD, Ordering::Release);
}

/// Samples nothing more and forgets everything. False when a hook is still at a sample
/// that it began before: then the faults of its reads must still be caught.
#[must_use]
pub(crate) fn stop() -> bool {
    WISHES.sampling.store(false, Ordering::Release);
    WISHES.period.store(IDLE_PERIOD, Ordering::Release);
    WISHES.tracking.store(false, Ordering::Release);
    let is_quiet = desk::wait_until_empty();
    store::clear();
    mappings::clear();
    LONGEST.store(0, Ordering::Release);
    is_quiet
}

/// In a forked child nobody samples. Context: the child of a fork.
pub(super) fn forget() {
    WISHES.sampling.store(false, Ordering::Release);
    WISHES.period.store(IDLE_PERIOD, Ordering::Release);
    WISHES.tracking.store(false, Ordering::Release);
    store::forget_in_child();
    crate::heap::forget_holders();
    mappings::clear();
    LONGEST.store(0, Ordering::Release);
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
    WISHES.sampling.load(Ordering::Relaxed)
}

/// Frees are looked for. Context: allocator hook.
#[inline]
pub(super) fn is_tracking() -> bool {
    WISHES.tracking.load(Ordering::Relaxed)
}

/// Context: allocator hook.
pub(super) fn wants_native() -> bool {
    WISHES.native.load(Ordering::Relaxed)
}

/// Context: allocator hook.
pub(super) fn depth() -> usize {
    WISHES.depth.load(Ordering::Relaxed)
}

/// Context: allocator hook.
pub(super) fn period() -> u64 {
    WISHES.period.load(Ordering::Relaxed)
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
        longest_period: LONGEST.load(Ordering::Relaxed),
        bytes: (bytes + desk::bytes() + block::kept_bytes()) as u64,
    }
}
