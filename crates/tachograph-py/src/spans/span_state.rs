//! What a span block knows: its name, what is attached, and whether it runs.

use pyo3::prelude::*;

use tachograph_capture::spans::{self, Attributes, Ended, Timing};

use super::begun::{Begun, Left};
use super::key::Key;
use super::tasks::{self, Place};

/// The state of one span block.
pub(crate) struct SpanState {
    key: &'static Key,
    attributes: Attributes,
    /// The innermost time it was entered.
    last: Begun,
    heard_by: HeardBy,
    /// The times around that, when it was entered more than once.
    outer: Vec<(Begun, HeardBy)>,
    elapsed_ns: u64,
}

/// Who hears of a block that was entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeardBy {
    /// It was not entered.
    NotEntered,
    /// Nobody.
    Nobody,
    /// An open recording.
    Recording,
    /// The live report, and a recording if one is open.
    Report,
}

/// How a block enters the timeline.
static AS_BLOCK: Timing = Timing { is_block: true, tags: None };

/// Whether anybody wants to know of spans now.
#[inline]
pub(crate) fn is_wanted() -> bool {
    spans::is_profiling() || spans::is_recording()
}

/// The place where a block is entered, if contexts matter there.
#[inline]
pub(crate) fn place_here(py: Python<'_>) -> Option<Place> {
    if is_wanted() && tasks::may_run(py) { tasks::place(py) } else { None }
}

impl SpanState {
    /// A block called `key` that was not entered.
    pub(crate) fn new(key: &'static Key, attributes: Attributes) -> Self {
        let (last, heard_by) = (Begun::not_yet(key.name()), HeardBy::NotEntered);
        Self { key, attributes, last, heard_by, outer: Vec::new(), elapsed_ns: 0 }
    }

    /// Makes it a new block, with the memory of an old one.
    #[inline]
    pub(crate) fn renew(&mut self, key: &'static Key, attributes: Attributes) {
        self.key = key;
        self.attributes = attributes;
        self.elapsed_ns = 0;
    }

    /// Whether it was entered and not left.
    #[inline]
    pub(crate) fn is_entered(&self) -> bool {
        self.heard_by != HeardBy::NotEntered
    }

    /// What it is called.
    #[inline]
    pub(crate) fn key(&self) -> &'static Key {
        self.key
    }

    /// How long it took when it was left last; 0 when nobody measured.
    pub(crate) fn elapsed_ns(&self) -> u64 {
        self.elapsed_ns
    }

    /// It is entered. Gives the span that its task, if there is one, is in now.
    #[inline]
    pub(crate) fn enter(&mut self, place: Option<&Place>) -> Option<spans::SpanRef> {
        if self.is_entered() {
            let outer = std::mem::replace(&mut self.last, Begun::not_yet(self.key.name()));
            self.outer.push((outer, self.heard_by));
        }
        self.heard_by = if spans::is_profiling() && spans::is_sampled() {
            HeardBy::Report
        } else if spans::is_recording() {
            HeardBy::Recording
        } else {
            HeardBy::Nobody
        };
        if self.heard_by == HeardBy::Nobody {
            return None;
        }
        self.last.set(self.key.name(), self.attributes.clone());
        self.last.begin(place);
        place.map(|_| self.last.span())
    }

    /// It is left. Gives what its task must be told; an error if it was never entered.
    #[inline]
    pub(crate) fn leave(&mut self, failed: bool) -> Result<Option<Left>, NotEntered> {
        let (meter, timing) = match self.heard_by {
            HeardBy::NotEntered => return Err(NotEntered),
            HeardBy::Nobody => {
                self.uncover();
                return Ok(None);
            }
            HeardBy::Recording => (None, None),
            HeardBy::Report => (Some(self.key.meter()), Some(&AS_BLOCK)),
        };
        self.elapsed_ns = self.last.close(&Ended { failed, meter, timing, ..Ended::default() });
        let left = self.last.left();
        self.uncover();
        Ok(left)
    }

    /// The time around the innermost one is the innermost again.
    #[inline]
    fn uncover(&mut self) {
        self.heard_by = HeardBy::NotEntered;
        if !self.outer.is_empty()
            && let Some((last, heard_by)) = self.outer.pop()
        {
            (self.last, self.heard_by) = (last, heard_by);
        }
    }
}

/// A block is left that was never entered.
pub(crate) struct NotEntered;
