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
mod heap_log;
mod heap_notes;
mod heap_source;
mod machine_source;
mod memory_points;
mod second_opinion;
mod sink;
mod sources;
mod span_log;
mod span_source;
mod stream_source;
mod thread_log;
mod tracks;
mod wishes;

pub(crate) use collector::{Command, run};
pub(crate) use door::Live;
pub(crate) use facts::machine;
pub(crate) use frames::{native_frame, segments};
pub(crate) use sources::own_sources_below;
pub(crate) use thread_log::ENDED;
pub(crate) use tracks::{Tracks, task_name, text as name_text};
