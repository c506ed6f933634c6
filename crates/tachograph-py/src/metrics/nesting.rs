//! Which phase a new one is inside of.
//!
//! A thread knows its innermost phase. Tasks take turns on a thread, so while
//! an event loop runs a context variable knows it instead: every task has a
//! context, and its children begin with a copy.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use super::phase::{Phase, Timed};
use crate::raw;

/// A phase that runs, and those around it.
pub(super) struct Node {
    /// Which collector it belongs to.
    pub(super) of: u64,
    pub(super) timed: Arc<Timed>,
    /// Time of the phases inside of it so far.
    pub(super) within_ns: AtomicU64,
    has_ended: AtomicBool,
    /// The phase around it, of whichever collector.
    outer: Option<Arc<Node>>,
}

impl Node {
    /// A phase inside of `outer`.
    pub(super) fn new(of: u64, timed: Arc<Timed>, outer: Option<Arc<Self>>) -> Arc<Self> {
        let (within_ns, has_ended) = (AtomicU64::new(0), AtomicBool::new(false));
        Arc::new(Self { of, timed, within_ns, has_ended, outer })
    }

    /// The phases around it, the nearest first.
    pub(super) fn around(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(self.outer.as_deref(), |node| node.outer.as_deref())
    }

    /// Nothing is inside of it from now on.
    pub(super) fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }

    /// The nearest one that still runs, beginning with `node`.
    fn running(mut node: Option<Arc<Self>>) -> Option<Arc<Self>> {
        while let Some(ended) = node.as_ref().filter(|node| node.has_ended.load(Ordering::Relaxed))
        {
            node = ended.outer.clone();
        }
        node
    }
}

thread_local! {
    static INNERMOST: RefCell<Option<Arc<Node>>> = const { RefCell::new(None) };
}

/// The innermost phase that runs here; `in_task` looks into the context first.
pub(super) fn innermost(py: Python<'_>, in_task: bool) -> Option<Arc<Node>> {
    let known = if in_task { of_context(py).and_then(|phase| phase.get().node()) } else { None };
    let of_thread = || INNERMOST.try_with(|node| node.borrow().clone()).ok().flatten();
    Node::running(known.or_else(of_thread))
}

/// Makes `phase` the innermost one.
pub(super) fn enter(phase: &Bound<'_, Phase>, node: &Arc<Node>, in_task: bool) {
    if in_task {
        set_context(phase.py(), Some(phase));
    } else {
        let _ = INNERMOST.try_with(|innermost| innermost.replace(Some(Arc::clone(node))));
    }
}

/// Takes `phase` back, unless another one is the innermost by now; `outer` is
/// what the context knew before.
pub(super) fn leave(
    phase: &Bound<'_, Phase>,
    node: &Arc<Node>,
    in_task: bool,
    outer: Option<Py<Phase>>,
) {
    let py = phase.py();
    if in_task {
        let is_innermost = of_context(py).is_some_and(|innermost| innermost.is(phase));
        if is_innermost {
            set_context(py, outer.as_ref().map(|outer| outer.bind(py)));
        }
        return;
    }
    let _ = INNERMOST.try_with(|innermost| {
        let is_innermost = innermost.borrow().as_ref().is_some_and(|one| Arc::ptr_eq(one, node));
        if is_innermost {
            innermost.replace(Node::running(node.outer.clone()));
        }
    });
}

/// The innermost phase of the current context.
pub(super) fn of_context(py: Python<'_>) -> Option<Bound<'_, Phase>> {
    let value = raw::context_value(py, variable(py).ok()?).ok()??;
    value.cast_into::<Phase>().ok()
}

fn set_context(py: Python<'_>, phase: Option<&Bound<'_, Phase>>) {
    let Ok(variable) = variable(py) else { return };
    let none = py.None();
    let value = phase.map_or_else(|| none.bind(py), |phase| phase.as_any());
    // Out of memory: phases inside are told apart from it, no more.
    let _ = raw::set_context_value(py, variable, value.as_borrowed());
}

fn variable(py: Python<'_>) -> PyResult<&Py<PyAny>> {
    static VARIABLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    VARIABLE.get_or_try_init(py, || {
        let kind = py.import("contextvars")?.getattr("ContextVar")?;
        Ok(kind.call1(("tachograph_phase",))?.unbind())
    })
}
