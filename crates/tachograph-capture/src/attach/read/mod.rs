//! Reads one thread of a process: its memory at one moment, its frames, their
//! names.

pub(crate) mod gil;
pub(crate) mod naming;
pub(crate) mod reader;
pub(crate) mod roster;
pub(crate) mod snapshot;
pub(crate) mod symbols;
pub(crate) mod thread;
pub(crate) mod unwind;
