//! From raw looks to a recording, on a thread of our own.
//!
//! The collector empties the rings, gives frames their names, shares out each
//! thread's clock over its looks, and hands the result to every open door. It
//! also takes the spans and values that threads told their lanes.

mod collector;
mod cpu_source;
mod door;
mod facts;
mod frames;
mod sink;
mod sources;
mod span_log;
mod span_source;
mod thread_log;
mod tracks;
mod wishes;

pub(crate) use collector::{Command, run};
pub(crate) use door::Live;
