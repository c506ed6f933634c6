//! The operating system, one facility per file, each behind safe functions.
//!
//! This is the only module of the crate that may hold `unsafe`.
#![allow(unsafe_code)]

pub(crate) mod allocator;
pub(crate) mod blas;
pub(crate) mod clock;
pub(crate) mod cpu_timer;
pub(crate) mod dynamic;
pub(crate) mod farewell;
pub(crate) mod fork;
pub(crate) mod gpu;
pub(crate) mod guard;
pub(crate) mod handler;
pub(crate) mod heap;
pub(crate) mod leaked;
pub(crate) mod linker;
pub(crate) mod native;
pub(crate) mod own_memory;
pub(crate) mod perf;
pub(crate) mod ptrace;
pub(crate) mod registers;
pub(crate) mod remote_read;
pub(crate) mod remote_write;
pub(crate) mod resident;
pub(crate) mod signals;
pub(crate) mod slots;
pub(crate) mod threads;
pub(crate) mod ticks;
pub(crate) mod usage;
