//! Watches a running program and writes a recording.
//!
//! All `unsafe` of this crate lives under `sys/`; everything else is plain
//! Rust over its safe functions.
#![deny(unsafe_code)]

mod error;
pub mod native;
mod options;
mod session;

pub use error::Error;
pub use options::{CpuOptions, Host, Options, TriggerChoice};
pub use session::{Client, Finished, Stats};
