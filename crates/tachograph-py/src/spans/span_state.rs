//! What a span block knows: its name, what is attached, and whether it runs.

use pyo3::prelude::*;

use tachograph_capture::spans::{self, Attributes, Ended, Timing};

use super::begun::Begun;
use super::key::Key;

/// The state of one span block.
pub(crate) struct SpanState {
    key: &'static Key,
    attributes: Attributes,
    /// The times it was entered and not yet left, the last one apart.
    outer: Vec<Entered>,
    last: Option<Entered>,
    elapsed_ns: u64,
}

/// One time that a block was entered.
pub(crate) enum Entered {
    /// Nobody wanted to know.
    Unseen,
    /// For an open recording only.
    Recorded(Begun),
    /// For the live report, and a recording if one is open.
    Reported(Begun),
}

/// How a block enters the timeline.
static AS_BLOCK: Timing = Timing { is_block: true, tags: None };

impl SpanState {
    /// A block called `key` that was not entered.
    pub(crate) fn new(key: &'static Key, attributes: Attributes) -> Self {
        Self { key, attributes, outer: Vec::new(), last: None, elapsed_ns: 0 }
    }

    /// Makes it a new block, with the memory of an old one.
    #[inline]
    pub(crate) fn renew(&mut self, key: &'static Key, attributes: Attributes) {
        self.key = key;
        self.attributes = attributes;
        self.elapsed_ns = 0;
        self.last = None;
    }

    /// Whether it was entered and not left.
    pub(crate) fn is_entered(&self) -> bool {
        self.last.is_some()
    }

    /// What it is called.
    #[inline]
    pub(crate) fn key(&self) -> &'static Key {
        self.key
    }

    /// What was attached to it.
    #[inline]
    pub(crate) fn attributes(&self) -> Attributes {
        self.attributes.clone()
    }

    /// How long it took when it was left last; 0 when nobody measured.
    pub(crate) fn elapsed_ns(&self) -> u64 {
        self.elapsed_ns
    }

    /// It was entered.
    #[inline]
    pub(crate) fn push(&mut self, entered: Entered) {
        if let Some(outer) = self.last.replace(entered) {
            self.outer.push(outer);
        }
    }

    /// It is left; `None` if it was never entered.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Entered> {
        let last = self.last.take();
        if !self.outer.is_empty() {
            self.last = self.outer.pop();
        }
        last
    }

    /// It took so long.
    #[inline]
    pub(crate) fn took(&mut self, elapsed_ns: u64) {
        self.elapsed_ns = elapsed_ns;
    }
}

/// Whether anybody wants to know of spans now.
#[inline]
pub(crate) fn is_wanted() -> bool {
    spans::is_profiling() || spans::is_recording()
}

impl Entered {
    /// Enters a block here and now.
    #[inline]
    pub(crate) fn now(py: Python<'_>, key: &'static Key, attributes: Attributes) -> Self {
        if spans::is_profiling() && spans::is_sampled() {
            Self::Reported(Begun::now(py, key.name(), attributes))
        } else if spans::is_recording() {
            Self::Recorded(Begun::now(py, key.name(), attributes))
        } else {
            Self::Unseen
        }
    }

    /// Leaves it; returns how long it took.
    #[inline]
    pub(crate) fn left(self, py: Python<'_>, key: &'static Key, failed: bool) -> u64 {
        match self {
            Self::Unseen => 0,
            Self::Recorded(begun) => begun.end(py, &Ended { failed, ..Ended::default() }),
            Self::Reported(begun) => {
                let (meter, timing) = (Some(key.meter()), Some(&AS_BLOCK));
                begun.end(py, &Ended { failed, meter, timing, ..Ended::default() })
            }
        }
    }
}
