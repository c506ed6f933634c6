//! A span where it runs, together with what its task must be told at its end.

use pyo3::prelude::*;

use tachograph_capture::spans::{Attributes, Ended, Name, Open, Parent, SpanRef};

use super::tasks::{self, Place};

/// A place for a span, to be begun and ended there.
pub(crate) struct Begun {
    open: Open,
    /// In a task: the span that the context knew before.
    before: Option<SpanRef>,
}

/// Whom a task must be told it left: the span, and the one around it.
#[derive(Clone, Copy)]
pub(crate) struct Left(SpanRef, SpanRef);

impl Begun {
    /// A place for the span `name`.
    pub(crate) const fn not_yet(name: Name) -> Self {
        Self { open: Open::closed(name), before: None }
    }

    /// Gives it another name and attributes, before it begins.
    #[inline]
    pub(crate) fn set(&mut self, name: Name, attributes: Attributes) {
        self.open.set(name, attributes);
    }

    /// Begins it at `place`: inside that task's innermost span, or this thread's.
    #[inline]
    pub(crate) fn begin(&mut self, place: Option<&Place>) {
        match place {
            None => {
                self.before = None;
                self.open.begin(Parent::OfThread, None);
            }
            Some(place) => {
                self.before = Some(place.before);
                self.open.begin(Parent::Is(place.parent()), place.task.as_ref());
            }
        }
    }

    /// Begins it here.
    #[inline]
    pub(crate) fn begin_here(&mut self, py: Python<'_>) {
        if tasks::may_run(py)
            && let Some(place) = tasks::place(py)
        {
            self.begin(Some(&place));
            tasks::set_current(py, self.span());
        } else {
            self.begin(None);
        }
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

    /// Begins a span here: inside this task's innermost one, or this thread's.
    pub(crate) fn now(py: Python<'_>, name: Name, attributes: Attributes) -> Self {
        let mut begun = Self::not_yet(name);
        begun.set(name, attributes);
        begun.begin_here(py);
        begun
    }

    /// Ends a span that began [`now`](Self::now); returns how long it took.
    pub(crate) fn end(mut self, py: Python<'_>, ended: &Ended<'_>) -> u64 {
        self.end_here(py, ended)
    }

    /// Ends it; returns how long it took. In a task, [`Left::tell`] must follow.
    #[inline]
    pub(crate) fn close(&mut self, ended: &Ended<'_>) -> u64 {
        self.open.end(ended)
    }

    /// What its task must be told.
    #[inline]
    pub(crate) fn left(&self) -> Option<Left> {
        self.before.map(|before| Left(self.span(), before))
    }

    /// Ends it here; returns how long it took.
    #[inline]
    pub(crate) fn end_here(&mut self, py: Python<'_>, ended: &Ended<'_>) -> u64 {
        if let Some(left) = self.left() {
            left.tell(py);
        }
        self.close(ended)
    }
}

impl Left {
    /// Tells the current context. A call that failed has its exception set,
    /// with which nothing else may be asked of the interpreter.
    #[cold]
    pub(crate) fn tell(self, py: Python<'_>) {
        let error = PyErr::take(py);
        tasks::leave(py, self.0, self.1);
        if let Some(error) = error {
            error.restore(py);
        }
    }
}
