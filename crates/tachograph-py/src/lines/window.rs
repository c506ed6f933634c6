//! One code object in one window: what was counted since it began.

use pyo3::prelude::*;

use tachograph_capture::lines::{Count, Watch};

use super::code::Code;

/// A function's lines, for Python: `(name, file, first_line, last_line, rows)`
/// with rows `(line, hits, time_ns)` of the lines that were hit.
pub(crate) type FunctionLines = (String, String, u32, u32, Vec<(u32, u64, u64)>);

/// A code object and the counts at the beginning of the window.
pub(super) struct Window {
    pub(super) code: Code,
    watch: Option<Watch>,
    begin: Vec<Count>,
    end: Vec<Count>,
}

impl Window {
    /// Opens it.
    pub(super) fn open(code: Code) -> Self {
        let watch = code.watch();
        let begin = watch.code().counts();
        Self { code, watch: Some(watch), begin, end: Vec::new() }
    }

    /// Opens it at a moment when nothing was counted yet.
    pub(super) fn open_empty(code: Code) -> Self {
        Self { begin: Vec::new(), ..Self::open(code) }
    }

    /// Whether no other window watches the code object.
    pub(super) fn is_alone(&self) -> bool {
        self.watch.as_ref().is_some_and(Watch::is_last)
    }

    /// What was counted up to now goes away: a later window begins here.
    pub(super) fn counts(&self) -> Vec<Count> {
        self.watch.as_ref().map_or_else(|| self.end.clone(), |watch| watch.code().counts())
    }

    /// Closes it; what was counted stays.
    pub(super) fn close(&mut self) {
        self.end = self.counts();
        self.watch = None;
    }

    /// What was counted in it so far.
    pub(super) fn lines(&self) -> FunctionLines {
        self.lines_since(&self.begin, &self.counts())
    }

    /// What was counted between two moments.
    pub(super) fn lines_since(&self, begin: &[Count], end: &[Count]) -> FunctionLines {
        let code = &self.code;
        let mut rows = Vec::new();
        for (place, now) in end.iter().enumerate() {
            let then = begin.get(place).copied().unwrap_or_default();
            let hits = now.hits.saturating_sub(then.hits);
            let time = u64::try_from(now.time_ns.saturating_sub(then.time_ns)).unwrap_or(0);
            // A line that ran already when the window began has time and no hit.
            if hits > 0 || time >= SHOWN_NS {
                let line = code.first_line.saturating_add(u32::try_from(place).unwrap_or(0));
                rows.push((line, hits, time));
            }
        }
        (code.name.clone(), code.file.clone(), code.first_line, code.last_line, rows)
    }

    /// The code object.
    pub(super) fn object<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.code.object.bind(py).clone()
    }
}

/// A line without a hit is told only if it ran this long, in nanoseconds.
const SHOWN_NS: u64 = 1_000;
