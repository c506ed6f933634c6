//! What a recording is and what can be asked of it.
//!
//! A recording opens as one in-memory [`Profile`]; every report and every
//! export is a pure function of it. Nothing here calls the operating system
//! beyond reading and writing the file it is told to, and nothing knows about
//! Python, so tests and fuzzers need no interpreter.
#![forbid(unsafe_code)]

pub mod analyze;
mod error;
pub mod export;
pub mod file;
pub mod model;
pub mod stats;

pub use error::Error;
pub use model::*;
