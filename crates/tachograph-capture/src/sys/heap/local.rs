//! What each thread keeps for the hooks: one line of memory, no destructor.
//!
//! The count also carries every reason not to sample: 0 means that the thread
//! was never here, a very large one that it is inside of us or is ours. So the
//! fast path is one subtraction and one branch. The block lies in static
//! thread-local storage, which exists from a thread's first instruction to its
//! last; `thread_local!` in a library would ask the loader on every access.

use std::cell::Cell;

use super::control;
use crate::heap::gaps::{self, Random};
use crate::sys::signals;

/// A count that no thread uses up.
const PARKED: i64 = 1 << 60;

/// One thread's state. All-zero is a thread that was never here.
#[repr(C, align(64))]
pub(super) struct Local {
    /// Bytes until the next sample.
    pub(super) count: Cell<i64>,
    /// What a Python object asked for, while it is carried to `malloc`; else 0.
    pub(super) want: Cell<u64>,
    /// The count to go on with after that.
    kept: Cell<i64>,
    random: Cell<Random>,
    /// The period that the count was drawn with; 0 before the first.
    period: Cell<u64>,
    /// How deep we are inside of ourselves.
    busy: Cell<u32>,
    tid: Cell<i32>,
    /// The stack of whoever started the thread, if Python never saw it.
    pub(super) creator: Cell<u64>,
    /// Stacks that were read on this thread.
    reads: Cell<u32>,
    /// The thread blocks the signals of faults, as far as we know.
    is_deaf: Cell<bool>,
}

/// A thread is asked for the signals it blocks at its first sample and at every so many
/// later ones: the question takes a fifth of a sample.
const ASK_EVERY: u32 = 32;

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".pushsection .tbss.tachograph_heap,\"awT\",@nobits",
    ".p2align 6",
    ".globl tachograph_heap_local",
    ".hidden tachograph_heap_local",
    ".type tachograph_heap_local,@object",
    "tachograph_heap_local:",
    ".zero 64",
    ".size tachograph_heap_local, 64",
    ".popsection",
);

/// This thread's state.
///
/// Context: allocator hook.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn local<'thread>() -> &'thread Local {
    const { assert!(size_of::<Local>() == 64) };
    let address: *const Local;
    // SAFETY: reads the thread pointer and the offset that the loader put next to it;
    // nothing is written.
    unsafe {
        std::arch::asm!(
            "mov {0}, qword ptr fs:[0]",
            "add {0}, qword ptr [rip + tachograph_heap_local@GOTTPOFF]",
            out(reg) address,
            options(pure, readonly, nostack),
        );
    }
    // SAFETY: the block is 64 zeroed bytes, aligned, of this thread alone, for as
    // long as the thread runs; all-zero is a valid state.
    unsafe { &*address }
}

#[cfg(not(target_arch = "x86_64"))]
thread_local! {
    static LOCAL: Local = const {
        Local {
            count: Cell::new(0),
            want: Cell::new(0),
            kept: Cell::new(0),
            random: Cell::new(Random(0)),
            period: Cell::new(0),
            busy: Cell::new(0),
            tid: Cell::new(0),
            creator: Cell::new(0),
            reads: Cell::new(0),
            is_deaf: Cell::new(false),
        }
    };
}

/// This thread's state.
///
/// Context: allocator hook.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(super) fn local<'thread>() -> &'thread Local {
    let address = LOCAL.with(std::ptr::from_ref);
    // SAFETY: without a destructor the block lives as long as the thread.
    unsafe { &*address }
}

/// What to do with a block for which the count ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is not sampled after all.
    Pass,
    /// It is sampled and stands for this many bytes.
    Take(u64),
}

impl Local {
    /// Counts `size` bytes; true when the block may be one to sample. Then `decide`,
    /// `take_carried` or `ask_again` must follow: the count is below 0, which to this
    /// comparison is a very large one.
    ///
    /// Context: allocator hook.
    #[inline(always)]
    pub(super) fn count_down(&self, size: usize) -> bool {
        let (left, is_due) = self.count.get().cast_unsigned().overflowing_sub(size as u64);
        self.count.set(left.cast_signed());
        is_due
    }

    /// Decides about a block of `size` bytes, already counted, for which the
    /// count ran out; draws the next gap.
    ///
    /// Context: allocator hook.
    pub(super) fn decide(&self, size: usize) -> Verdict {
        if isize::try_from(size).is_err() {
            // No allocator serves it.
            self.count.set(self.count.get().wrapping_add(size as i64));
            return Verdict::Pass;
        }
        let (size, now) = (size as u64, control::period());
        let mut random = self.random.get();
        if self.period.get() == 0 {
            random = control::new_random();
            self.period.set(now);
            let counted = self.count.get();
            self.count.set(counted.wrapping_add(random.first_gap(now)));
        }
        let mut left = self.count.get();
        let drawn_with = self.period.get();
        if left >= 0 {
            self.random.set(random);
            return Verdict::Pass;
        }
        let is_certain = gaps::is_certain(size, drawn_with);
        if is_certain && drawn_with == now {
            left = left.wrapping_add(size.cast_signed());
        } else if is_certain {
            left = random.first_gap(now);
        } else if drawn_with != now {
            left += random.gap_between(drawn_with, now);
        }
        while left < 0 {
            left += random.gap(now);
        }
        self.count.set(left);
        self.period.set(now);
        self.random.set(random);
        if control::is_sampling() && !self.is_busy() {
            Verdict::Take(gaps::weight(size, drawn_with))
        } else {
            Verdict::Pass
        }
    }

    /// Makes the next call to `malloc` of this thread carry an object.
    ///
    /// Context: allocator hook.
    pub(super) fn carry(&self, want: u64) {
        self.kept.set(self.count.get());
        self.count.set(0);
        self.want.set(want);
    }

    /// Nothing was decided about the block that was counted last, as when what is carried
    /// is meant for another: the next one is due again.
    ///
    /// Context: allocator hook.
    pub(super) fn ask_again(&self) {
        self.count.set(0);
    }

    /// Takes what is carried; 0 when nothing is.
    ///
    /// Context: allocator hook.
    pub(super) fn take_carried(&self) -> u64 {
        let want = self.want.replace(0);
        if want != 0 {
            self.count.set(self.kept.get());
        }
        want
    }

    /// Runs `work` without counting what it allocates; frees are seen.
    ///
    /// Context: allocator hook.
    #[inline]
    pub(super) fn quiet<T>(&self, work: impl FnOnce() -> T) -> T {
        let count = self.count.replace(PARKED);
        let outcome = work();
        self.count.set(count);
        outcome
    }

    /// Runs `work` inside of us: its allocations are not counted.
    ///
    /// Context: allocator hook.
    #[inline]
    pub(super) fn parked<T>(&self, work: impl FnOnce() -> T) -> T {
        let count = self.count.replace(PARKED);
        self.busy.set(self.busy.get() + 1);
        let outcome = work();
        self.busy.set(self.busy.get() - 1);
        self.count.set(count);
        outcome
    }

    /// We are at work on this thread until `leave`: nothing is sampled and no lock taken.
    pub(super) fn enter(&self) {
        self.busy.set(self.busy.get() + 1);
    }

    /// The end of what `enter` began.
    pub(super) fn leave(&self) {
        self.busy.set(self.busy.get().saturating_sub(1));
    }

    /// We are at work on this thread.
    #[inline]
    pub(super) fn is_busy(&self) -> bool {
        self.busy.get() != 0
    }

    /// Runs `work`, whose reads may fault. In a thread that blocks all signals, as threads
    /// of libraries often do, a fault would end the program at once; so it lets those of
    /// faults through for as long as that.
    ///
    /// Context: allocator hook.
    pub(super) fn with_faults<T>(&self, work: impl FnOnce() -> T) -> T {
        let reads = self.reads.get();
        self.reads.set(reads.wrapping_add(1));
        if !reads.is_multiple_of(ASK_EVERY) && !self.is_deaf.get() {
            return work();
        }
        let blocked = signals::let_faults_through();
        self.is_deaf.set(blocked.is_some());
        let outcome = work();
        if let Some(mask) = blocked {
            signals::set_mask(&mask);
        }
        outcome
    }

    /// The kernel's number of this thread.
    ///
    /// Context: allocator hook.
    pub(super) fn tid(&self) -> i32 {
        if self.tid.get() == 0 {
            self.tid.set(crate::sys::threads::own_id());
        }
        self.tid.get()
    }

    /// The only thread of a forked child has another number.
    pub(super) fn forget_tid(&self) {
        self.tid.set(0);
    }
}

/// The calling thread is one of ours: what it allocates is never sampled.
pub(crate) fn exempt_this_thread() {
    let local = local();
    local.period.set(u64::MAX);
    local.count.set(1 << 62);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_has_a_block_of_its_own() {
        let here = local().tid();
        let (other, place) =
            std::thread::spawn(|| (local().tid(), std::ptr::from_ref(local()) as usize))
                .join()
                .unwrap();

        assert_eq!(here, crate::sys::threads::own_id());
        assert_ne!(here, other);
        assert_ne!(place, std::ptr::from_ref(local()) as usize);
    }

    #[test]
    fn a_size_that_no_allocator_serves_leaves_the_count_usable() {
        let local = local();
        let before = local.count.replace(1_000);
        for size in [usize::MAX, usize::MAX / 2 + 1, usize::MAX - 4_000, 1 << 63 | 1 << 62] {
            local.count.set(1_000);
            local.period.set(64 << 10);
            if local.count_down(size) {
                local.decide(size);
            }
            assert!((1_000..200_000).contains(&local.count.get()), "{size}: {}", local.count.get());
        }
        local.count.set(before);
    }

    #[test]
    fn a_thread_of_ours_never_runs_out() {
        std::thread::spawn(|| {
            exempt_this_thread();
            assert!(!local().count_down(usize::MAX >> 4));
        })
        .join()
        .unwrap();
    }
}
