//! Events: things that happened at a time, each pointing into the tables.

use super::ids::{SeriesId, SpanId, StackId, StringId, TrackId};
use super::loss::Loss;

/// Nanoseconds since the recording started, on the monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The time as seconds.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// One look at one thread.
///
/// The two weights say how much time this look stands for, so that sums over
/// samples are times and not counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When the thread was looked at.
    pub time: Time,
    /// The thread.
    pub track: TrackId,
    /// The asyncio task that was running, if any.
    pub task: Option<TrackId>,
    /// What it was doing.
    pub stack: StackId,
    /// Elapsed time this sample stands for; 0 when only CPU time was sampled.
    pub wall_ns: u64,
    /// CPU time this sample stands for; 0 for a thread that was waiting.
    pub cpu_ns: u64,
    /// What the thread was up to.
    pub state: ThreadState,
}

/// What a thread was up to when it was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ThreadState {
    /// On a processor, without the interpreter lock.
    Running,
    /// On a processor, holding the interpreter lock.
    RunningWithGil,
    /// Waiting for the interpreter lock.
    WaitingForGil,
    /// Waiting for something else.
    Idle,
    /// Not known.
    #[default]
    Unknown,
}

/// One sampled block of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// When it was allocated.
    pub time: Time,
    /// When it was freed; `None` while it is live.
    pub freed: Option<Time>,
    /// The thread that allocated it.
    pub track: TrackId,
    /// The stack that allocated it.
    pub stack: StackId,
    /// Where it is.
    pub address: u64,
    /// Its real size.
    pub size_bytes: u64,
    /// How many bytes this sample stands for.
    pub weight_bytes: u64,
    /// Which allocator it came from.
    pub allocator: Allocator,
}

/// Which allocator a block came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Allocator {
    /// `malloc` and its family.
    #[default]
    Malloc,
    /// Anonymous mappings.
    Mmap,
    /// Python's `PyMem` domain.
    PyMem,
    /// Python's object domain.
    PyObject,
    /// An arena of Python's small-object allocator.
    Arena,
    /// Memory of an accelerator.
    Device,
}

/// A named stretch of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The span it happened inside of.
    pub parent: Option<SpanId>,
    /// The thread or task it ran on.
    pub track: TrackId,
    /// Its name.
    pub name: StringId,
    /// When it began.
    pub start: Time,
    /// When it ended; `None` when the recording ended first.
    pub end: Option<Time>,
    /// How much of it a coroutine or generator was suspended; at most its
    /// length, and 0 while it is open.
    pub suspended_ns: u64,
    /// It ended with an exception.
    pub failed: bool,
    /// What the caller wanted to remember.
    pub attributes: Vec<(StringId, Value)>,
}

/// A value a caller attached to a span.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing.
    None,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A real number.
    Float(f64),
    /// A text.
    Text(StringId),
}

/// One value of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// When it was read.
    pub time: Time,
    /// Which series.
    pub series: SeriesId,
    /// The value, in the unit of the series.
    pub value: f64,
}

/// Something a reader of the recording should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// When it was noticed.
    pub time: Time,
    /// What it concerns.
    pub track: TrackId,
    /// It puts a number in doubt.
    pub warning: bool,
    /// A sentence.
    pub text: StringId,
}

/// The end of a block that an earlier batch brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Free {
    /// The block, by its position among all allocations of all batches.
    pub allocation: u32,
    /// When it was freed.
    pub time: Time,
}

/// The end of a span that an earlier batch brought.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanEnd {
    /// The span, by its position among all spans of all batches.
    pub span: SpanId,
    /// When it ended.
    pub end: Time,
    /// How much of it a coroutine or generator was suspended.
    pub suspended_ns: u64,
    /// It ended with an exception.
    pub failed: bool,
    /// What the caller added since the span began.
    pub attributes: Vec<(StringId, Value)>,
}

/// Events on their way into a recording, since the last batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Looks at threads.
    pub samples: Vec<Sample>,
    /// Sampled blocks.
    pub allocations: Vec<Allocation>,
    /// Blocks of earlier batches that were freed since.
    pub frees: Vec<Free>,
    /// Spans that began, each after its parent. A [`SpanId`] in a batch is
    /// the position of a span among all spans of all batches so far.
    pub spans: Vec<Span>,
    /// Spans of earlier batches that ended since.
    pub span_ends: Vec<SpanEnd>,
    /// Values of series.
    pub points: Vec<Point>,
    /// Notes.
    pub notes: Vec<Note>,
    /// What was lost, counted from the start of the recording.
    pub loss: Loss,
    /// How long the recording is by now, in nanoseconds.
    pub until: Time,
}
