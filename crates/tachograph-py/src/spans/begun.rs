//! A span that has begun, together with what its task must be told at its end.

use pyo3::prelude::*;

use tachograph_capture::spans::{self, Attributes, Ended, Name, Open, Parent, SpanRef};

use super::tasks;

/// A span that has begun.
pub(crate) struct Begun {
    open: Open,
    /// In a task: the span that the context knew before.
    before: Option<SpanRef>,
}

impl Begun {
    /// Begins a span here: inside this task's innermost one, or this thread's.
    #[inline]
    pub(crate) fn now(py: Python<'_>, name: Name, attributes: Attributes) -> Self {
        if tasks::may_run(py)
            && let Some(place) = tasks::place(py)
        {
            return Self::in_context(py, name, attributes, &place);
        }
        let open = spans::begin(name, attributes, Parent::OfThread, None);
        Self { open, before: None }
    }

    #[cold]
    fn in_context(
        py: Python<'_>,
        name: Name,
        attributes: Attributes,
        place: &tasks::Place,
    ) -> Self {
        let parent = Parent::Is(place.parent());
        let open = spans::begin(name, attributes, parent, place.task.as_ref());
        tasks::set_current(py, open.as_parent());
        Self { open, before: Some(place.before) }
    }

    /// The span, to be told to others.
    #[inline]
    pub(crate) fn span(&self) -> SpanRef {
        self.open.as_parent()
    }

    /// Whether its parent came from the context.
    #[inline]
    pub(crate) fn is_in_context(&self) -> bool {
        self.before.is_some()
    }

    /// When it began, on the monotonic clock.
    #[inline]
    pub(crate) fn start_ns(&self) -> u64 {
        self.open.start_ns()
    }

    /// Ends it; returns how long it took.
    #[inline]
    pub(crate) fn end(self, py: Python<'_>, ended: &Ended<'_>) -> u64 {
        if let Some(before) = self.before {
            tasks::leave(py, self.span(), before);
        }
        spans::end(self.open, ended)
    }
}
