//! A recording in memory.

use super::Interner;
use super::events::{Allocation, Note, Point, Sample, Span, ThreadState, Time};
use super::ids::{StackId, StringId, TrackId};
use super::loss::Loss;
use super::meta::Meta;
use super::tables::{Frame, Tables, TrackKind};

/// A recording in memory: facts, loss, tables, and events sorted by time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// The facts around it.
    pub meta: Meta,
    /// What is missing.
    pub loss: Loss,
    /// Distinct things, by id.
    pub tables: Tables,
    /// Looks at threads.
    pub samples: Vec<Sample>,
    /// Sampled blocks of memory.
    pub allocations: Vec<Allocation>,
    /// Named stretches of time.
    pub spans: Vec<Span>,
    /// Values of series.
    pub points: Vec<Point>,
    /// What a reader should know.
    pub notes: Vec<Note>,
}

/// A time, a weight and root-first `(function, file, line)` rows.
type Example<'a> = (u64, u64, &'a [(&'a str, &'a str, u32)]);

impl Profile {
    /// The text behind `id`; empty for an id that is out of range.
    #[must_use]
    pub fn text(&self, id: StringId) -> &str {
        self.tables.strings.get(id.index()).map_or("", |text| text)
    }

    /// The frames of `stack`, innermost first.
    pub fn frames_of(&self, stack: StackId) -> impl Iterator<Item = &Frame> + '_ {
        let mut next = Some(stack);
        std::iter::from_fn(move || {
            let node = self.tables.stacks.get(next?.index())?;
            // A caller's id is smaller than its callee's (`check`), so this ends.
            next = node.caller.filter(|caller| next.is_some_and(|own| *caller < own));
            self.tables.frames.get(node.frame.index())
        })
    }

    /// The frames of `stack`, outermost first.
    #[must_use]
    pub fn frames_from_root(&self, stack: StackId) -> Vec<&Frame> {
        let mut frames: Vec<_> = self.frames_of(stack).collect();
        frames.reverse();
        frames
    }

    /// A profile for tests and examples: `stacks` are root-first `(function,
    /// file, line)` rows on one thread, each with a time and a weight that
    /// counts as wall and as CPU time.
    #[must_use]
    pub fn from_stacks(stacks: &[Example<'_>]) -> Self {
        let mut tables = Interner::default();
        let process = tables.track(TrackKind::Process, None, 1, "example", Time(0));
        let thread = tables.track(TrackKind::Thread, Some(process), 1, "MainThread", Time(0));
        let mut samples = Vec::new();
        for (time, weight, frames) in stacks {
            let mut stack = None;
            for (function, file, line) in *frames {
                let frame = tables.python_frame(function, file, *line, *line);
                stack = Some(tables.stack(stack, frame));
            }
            let Some(stack) = stack else { continue };
            samples.push(Self::plain_sample(Time(*time), thread, stack, *weight));
        }
        samples.sort_by_key(|sample| sample.time);
        let duration_ns = stacks.iter().map(|(time, weight, _)| time + weight).max().unwrap_or(0);
        let meta = Meta { duration_ns, ..Meta::default() };
        Self { meta, tables: tables.into_tables(), samples, ..Self::default() }
    }

    fn plain_sample(time: Time, track: TrackId, stack: StackId, weight: u64) -> Sample {
        let state = ThreadState::Running;
        Sample { time, track, task: None, stack, wall_ns: weight, cpu_ns: weight, state }
    }
}
