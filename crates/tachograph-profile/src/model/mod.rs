//! The data model: tables of distinct things, and events that point into them.
//!
//! Times are nanoseconds since the recording started, sizes are bytes, ratios
//! are 0 to 1. What can be derived is not stored.

mod check;
mod events;
mod heap;
mod ids;
mod interner;
mod loss;
mod merge;
mod meta;
mod order;
mod peak;
mod profile;
mod stretches;
mod tables;
mod totals;
mod weights;
mod window;
mod within;

pub use events::{
    Allocation, Allocator, Batch, Free, Note, Point, Sample, Span, SpanEnd, ThreadState, Time,
    Value,
};
pub use heap::{HeapReport, HeapSettings};
pub use ids::{FrameId, MappingId, SeriesId, SpanId, StackId, StringId, TrackId};
pub use interner::Interner;
pub use loss::Loss;
pub use meta::{
    CpuReport, CpuSettings, Machine, MachineSettings, Meta, Mode, PythonInfo, Roots, Settings,
    Trigger,
};
pub use peak::Peak;
pub use profile::Profile;
pub use tables::{
    Frame, FrameKind, Mapping, Series, SeriesKind, Source, StackNode, Tables, Track, TrackKind,
    Unit,
};
pub use weights::{Measure, Weight};
