//! Walks the Python frames of one thread, innermost first.
//!
//! The sampled thread walks itself from a signal handler that may have stopped
//! the interpreter between any two instructions. So the walker believes nothing:
//! it checks what it reads, gives up instead of guessing, and takes a bounded
//! number of steps.

mod data_stack;
mod entry;
mod frame_objects;
mod frames;
mod outcome;

use entry::is_plausible;
pub use entry::{EntryKind, RawFrame};
pub use frames::{walk, walk_with_addresses};
pub use outcome::{Walk, WalkState};
