//! Spans, meters and the timeline: everything that measures a named stretch of
//! time or a named number.
//!
//! Every thread writes to a lane of its own, behind a lock that nobody else
//! takes unless someone asks for a report, so threads do not wait for each
//! other. A span is begun and ended; its end feeds a [`Meter`], the timeline
//! and, while a session is open, the recording.

mod attributes;
mod book;
mod clock;
mod events;
mod lane;
mod ledger;
mod meter;
mod names;
mod open;
mod state;
mod timeline;

pub use attributes::{AttributeValue, Attributes, decode};
pub(crate) use book::{hold, let_go};
pub(crate) use clock::Anchor;
pub use clock::{now_ns, process_cpu_ns, settle, thread_cpu_ns};
pub(crate) use events::{Event, Over, set_bell, take_events};
pub use lane::{calls, clear_calls, count_call};
pub use ledger::Ledger;
pub use meter::Meter;
pub use names::{MORE_NAMES, Name};
pub use open::{Ended, Open, Parent, SpanRef, Task, begin, current, end, enter, point};
pub(crate) use state::{forget_recording, start_recording, stop_recording};
pub use state::{is_profiling, is_recording, is_sampled, set_profiling, set_sample_rate};
pub use timeline::{Entry, Timing, clear_timeline, set_timeline_capacity, timeline};
