//! Code that runs inside a signal handler or an allocator hook.
//!
//! Nothing here allocates, locks, formats, panics or loops without a bound, and
//! nothing here reads memory itself: the caller brings a [`memory::ReadMemory`]
//! whose reads may fail. So the same walker serves the handler, the sampler
//! thread and another process.
#![no_std]
#![forbid(unsafe_code)]
// Tests say what they expect by panicking.
#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]

pub mod code;
pub mod introduce;
pub mod known;
pub mod layout;
pub mod location;
pub mod memory;
pub mod names;
pub mod record;
pub mod ring;
pub mod strings;
pub mod walk;
