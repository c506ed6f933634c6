//! Watches a running program and writes a recording.
//!
//! All `unsafe` of this crate lives under `sys/`; everything else is plain
//! Rust over its safe functions.
#![deny(unsafe_code)]

mod collect;
mod cpu;
mod error;
pub mod native;
mod options;
mod own;
pub mod python;
mod session;
pub mod spans;
mod sys;
mod waker;

pub use error::Error;
pub use options::{CpuOptions, Host, Options, TriggerChoice};
pub use session::{Client, Finished, Stats};
pub use sys::resident::peak_memory;
