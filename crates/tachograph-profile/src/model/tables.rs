//! Tables: each distinct thing once. Events point into them by id.

use super::events::Time;
use super::ids::{FrameId, MappingId, StackId, StringId, TrackId};

/// All tables of a recording. Append-only while it is written, except that a
/// frame may get its name and a track its name and end later.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    /// Every distinct text. Index 0 is always the empty string.
    pub strings: Vec<Box<str>>,
    /// Every distinct place in code.
    pub frames: Vec<Frame>,
    /// Every distinct stack, as a tree that points to the caller.
    pub stacks: Vec<StackNode>,
    /// Object files that native frames lie in.
    pub mappings: Vec<Mapping>,
    /// Whose timeline: machine, processes, threads, tasks, devices.
    pub tracks: Vec<Track>,
    /// Named numbers over time.
    pub series: Vec<Series>,
    /// Text of own source files that are on a stack.
    pub sources: Vec<Source>,
}

/// A place in code: one function at one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Qualified name of the function; empty until a native frame is named.
    pub function: StringId,
    /// Source file, or the object file of a native frame; may be empty.
    pub file: StringId,
    /// The line that was running; 0 when unknown.
    pub line: u32,
    /// The line the function starts on; 0 when unknown.
    pub first_line: u32,
    /// Which world the frame belongs to.
    pub kind: FrameKind,
    /// The object file a native frame lies in.
    pub mapping: Option<MappingId>,
    /// Address inside that object file (native frames only).
    pub address: u64,
}

/// Which world a frame belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FrameKind {
    /// Python code.
    #[default]
    Python,
    /// Machine code of an extension, a library or the interpreter.
    Native,
    /// The operating system's kernel.
    Kernel,
    /// Not code: a word that says why there is no code to show.
    Label,
}

/// A stack is its leaf frame plus the stack of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StackNode {
    /// The stack of the caller; its id is smaller than this one's.
    pub caller: Option<StackId>,
    /// The innermost frame.
    pub frame: FrameId,
}

/// An object file mapped into the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mapping {
    /// Where the file lies on disk.
    pub path: StringId,
    /// The build id as hex digits; empty when there is none.
    pub build_id: StringId,
    /// First mapped address.
    pub start: u64,
    /// First address past the mapping.
    pub end: u64,
}

/// Whose timeline an event belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track {
    /// What kind of thing it is.
    pub kind: TrackKind,
    /// The track it belongs to: a thread's process, a task's thread.
    pub parent: Option<TrackId>,
    /// Process id, thread id, or another number the system knows it by.
    pub os_id: u64,
    /// Its name as people know it; empty when it has none.
    pub name: StringId,
    /// When it was first seen.
    pub start: Time,
    /// When it ended, if that was seen.
    pub end: Option<Time>,
}

/// What kind of thing a track is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TrackKind {
    /// The whole machine.
    Machine,
    /// One process.
    #[default]
    Process,
    /// One thread of a process.
    Thread,
    /// One asyncio task.
    Task,
    /// One accelerator.
    Device,
    /// One stream of an accelerator.
    Stream,
}

/// A named number that changes over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Series {
    /// What is counted or measured.
    pub name: StringId,
    /// What it is measured of.
    pub track: TrackId,
    /// What the number means.
    pub unit: Unit,
    /// Gauge or ever-growing total.
    pub kind: SeriesKind,
}

/// What a number means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Unit {
    /// A plain number.
    #[default]
    Count,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
    /// A share between 0 and 1.
    Ratio,
    /// Joules.
    Joules,
    /// Watts.
    Watts,
    /// Degrees Celsius.
    Celsius,
    /// Events per second.
    Hertz,
}

/// How the points of a series are to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SeriesKind {
    /// A value that goes up and down.
    #[default]
    Gauge,
    /// An ever-growing total; only differences mean something.
    Total,
}

/// The text of one own source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file's name as frames spell it.
    pub file: StringId,
    /// Its text when it was recorded.
    pub text: Box<str>,
}
