//! How much room the unwinder gets: enough for real code, little enough for a
//! small signal stack.
//!
//! The unwinder copies rows of its table on the stack. With its own allocation-free
//! storage a walk used 16 KB there, more than the signal stack that
//! `faulthandler` gives to Python's main thread has left. What does not fit
//! ends the walk early, and is counted as every other partial stack.

use std::hint::black_box;
use std::mem::MaybeUninit;

use framehop::AllocationPolicy;
use gimli::{
    EvaluationStorage, Piece, Reader, ReaderOffset, Register, RegisterRule, UnwindTableRow, Value,
};

/// Storage of fixed size, smaller than the unwinder's own.
pub(crate) struct SmallRoom;

/// Registers a table row can have a rule for: all that a call preserves and the
/// return address, with some to spare (x86-64 has 7 of them, aarch64 20).
const RULES: usize = if cfg!(target_arch = "x86_64") { 16 } else { 24 };

impl<T: ReaderOffset> gimli::UnwindContextStorage<T> for SmallRoom {
    type Rules = [(Register, RegisterRule<T>); RULES];
    type Stack = [UnwindTableRow<T, Self>; 4];
}

impl<R: Reader> EvaluationStorage<R> for SmallRoom {
    type Stack = [Value; 16];
    type ExpressionStack = [(R, R); 2];
    type Result = [Piece<R>; 1];
}

impl AllocationPolicy for SmallRoom {
    type GimliUnwindContextStorage<R: ReaderOffset> = Self;
    type GimliEvaluationStorage<R: Reader> = Self;
}

/// Stack that a walk needs, with a fault in one of its guarded reads on top.
///
/// A release build uses 3.1 KB and the fault 2 KB more; the test
/// `a_walk_fits_a_small_signal_stack` watches over it.
const NEEDED: u64 = if cfg!(debug_assertions) { 20 << 10 } else { 5_600 };

/// Code this near to the stack that was interrupted runs on that same stack.
const SAME_STACK: u64 = 1 << 20;

/// Whether a walk fits on the current stack.
///
/// A program may have given the thread a signal stack of any size. One that is
/// too small gets no native frames, rather than damage below it.
///
/// Context: signal handler.
pub(crate) fn has_room(interrupted_sp: u64) -> bool {
    let local = 0_u8;
    let here = black_box(&raw const local) as u64;
    if interrupted_sp.wrapping_sub(here) < SAME_STACK {
        return true;
    }
    let mut stack = MaybeUninit::<libc::stack_t>::zeroed();
    // SAFETY: asks only; the answer goes to a structure of ours.
    if unsafe { libc::sigaltstack(std::ptr::null(), stack.as_mut_ptr()) } != 0 {
        return true;
    }
    // SAFETY: a structure of integers and a pointer, zeroed and then filled.
    let stack = unsafe { stack.assume_init() };
    stack.ss_flags & libc::SS_ONSTACK == 0 || here.wrapping_sub(stack.ss_sp as u64) >= NEEDED
}
