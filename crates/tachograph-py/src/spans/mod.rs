//! Spans, meters and the timeline as Python sees them; safe code over the
//! engine in `tachograph_capture::spans`.
//!
//! [`crate::raw`] holds the objects that must be fast; what they measure is
//! decided here.

mod begun;
mod clock;
mod code_block;
mod decorator;
mod ended;
mod entry;
mod key;
mod live;
mod meter;
mod owners;
mod plan;
mod run;
mod signal_calls;
mod span_state;
mod steps;
mod tasks;
mod timeline_file;
mod turns;
mod values;

pub(crate) use begun::Begun;
pub(crate) use code_block::{Block, block};
pub(crate) use decorator::timed;
pub(crate) use ended::Ended;
pub(crate) use key::Key;
pub(crate) use live::{
    export_timeline, meters, meters_clear, point, profiling, timeline, timeline_capacity,
    timeline_clear,
};
pub(crate) use meter::{Meter, Summary};
pub(crate) use plan::{Call, Plan};
pub(crate) use signal_calls::{calls_clear, calls_total, signal, signals};
pub(crate) use span_state::{SpanState, is_wanted, place_here};
pub(crate) use tasks::set_current;
pub(crate) use values::packed;
