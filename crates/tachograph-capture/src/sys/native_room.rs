//! How much room the unwinder gets: enough for real code, little enough for a
//! small signal stack.
//!
//! The unwinder copies rows of its table on the stack. With its own allocation-free
//! storage a walk used 16 KB there, more than the signal stack that
//! `faulthandler` gives to Python's main thread has left. What does not fit
//! ends the walk early, and is counted as every other partial stack.

use framehop::AllocationPolicy;
use gimli::{
    EvaluationStorage, Piece, Reader, ReaderOffset, Register, RegisterRule, UnwindTableRow, Value,
};

/// Storage of fixed size, smaller than the unwinder's own.
pub(crate) struct SmallRoom;

/// Registers a table row can have a rule for: all that a call preserves, with
/// some to spare (x86-64 has 7, aarch64 20).
const RULES: usize = 24;

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
