//! Watches a running program and writes a recording.
//!
//! All `unsafe` of this crate lives under `sys/`; everything else is plain
//! Rust over its safe functions.
#![deny(unsafe_code)]

pub mod attach;
mod collect;
mod cpu;
mod error;
pub mod flops;
pub mod gpu;
mod heap;
mod line;
pub mod lines;
mod memory_facts;
pub mod monitor;
pub mod native;
mod options;
mod own;
pub mod python;
mod session;
pub mod spans;
mod sys;
mod waker;

pub use error::Error;
pub use heap::{HeapPicture, HeapStats, PeakRow};
pub use heap::{PythonObjects, check_python_objects, restore_python_allocators};
pub use line::{Shared, finish_with};
pub use memory_facts::{memory_facts, resident_share};
pub use options::{CpuOptions, HeapOptions, Host, MachineOptions, Options, TriggerChoice};
pub use session::{Client, Finished, Stats, finish_when_told_to_end};
pub use sys::heap::{Allocator, exported};
pub use sys::own_memory::OwnMemory;
pub use sys::resident::peak_memory;
