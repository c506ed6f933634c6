//! The C stack of a thread: where its frames are, by which rules, and in which objects.
//!
//! `unwind` walks, a `step` at a time, by the `rules` of the loaded `objects`;
//! `memo` spares it what an earlier walk already found.

pub(crate) mod fork;
pub(crate) mod memo;
pub(crate) mod memory;
pub(crate) mod objects;
pub(crate) mod room;
pub(crate) mod rules;
pub(crate) mod step;
pub(crate) mod unwind;
