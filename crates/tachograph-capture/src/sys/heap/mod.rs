//! Hooks around every allocator of the process.
//!
//! One thread-local count decides at each allocation, in about a nanosecond,
//! whether the block is sampled (`local.rs`, `crate::heap::gaps`). A sampled block
//! carries a mark in its address (`block.rs`), so that `free` need not look
//! anything up for all others. What was sampled is in the store (`store.rs`), from
//! which the collector takes news.
//!
//! Everything that runs in a hook allocates nothing, holds one short lock at
//! most, never waits for the interpreter, and leaves `errno` as the real function
//! set it.

mod apart;
mod block;
mod carried;
mod control;
mod desk;
mod domain;
pub mod exported;
mod hooks;
mod in_place;
mod index;
mod local;
mod lock;
mod mappings;
pub(crate) mod objects;
mod real;
mod room;
mod rust;
mod sample;
mod store;
mod table;
#[cfg(target_arch = "x86_64")]
mod threads;

pub(crate) use control::{Counts, counts, is_hooked, pause, prepare, recover, resume, stop};
pub(crate) use local::exempt_this_thread;
pub(crate) use lock::{after_fork_in_child, after_fork_in_parent, before_fork};
pub use rust::Allocator;
pub(crate) use store::{Event, drain_stacks, take_events};
