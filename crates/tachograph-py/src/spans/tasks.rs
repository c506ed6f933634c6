//! Which span a task is inside of.
//!
//! Tasks take turns on one thread, so what was begun last on the thread is no
//! answer there. While an event loop runs, the innermost span is kept in a
//! context variable: every task has a context, and its children begin with a
//! copy. A program without tasks pays two comparisons.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyInt, PyString};

use tachograph_capture::spans::{self, SpanRef, Task};

use crate::raw;

/// Modules whose users switch contexts without an asyncio loop.
const SWITCHERS: [&str; 3] = ["greenlet", "trio", "curio"];

/// Size of `sys.modules` when it was looked through last.
static MODULES: AtomicUsize = AtomicUsize::new(0);
/// asyncio is there.
static HAS_ASYNCIO: AtomicBool = AtomicBool::new(false);
/// One of the switchers is there.
static HAS_SWITCHER: AtomicBool = AtomicBool::new(false);
/// What the interpreter keeps for a thread tells whether a loop ever ran there.
static THREAD_TELLS: AtomicBool = AtomicBool::new(false);
/// Some context holds a span, or did.
static HAS_CONTEXTS: AtomicBool = AtomicBool::new(false);

/// A place in a task.
pub(crate) struct Place {
    /// What the context says; none for a task without spans around it.
    pub(super) before: SpanRef,
    /// The running task, for a recording.
    pub(super) task: Option<Task>,
}

impl Place {
    /// The span that a new one is inside of.
    pub(super) fn parent(&self) -> SpanRef {
        // A loop may run inside a span of its thread.
        if self.before.is_some() { self.before } else { spans::current() }
    }
}

/// Whether there can be tasks in this program.
#[inline]
pub(super) fn may_run(py: Python<'_>) -> bool {
    static LOADED: PyOnceLock<Option<Py<PyDict>>> = PyOnceLock::new();
    let Some(modules) = LOADED.get_or_init(py, || loaded_modules(py).ok()) else { return false };
    let modules = modules.bind(py);
    if modules.len() != MODULES.load(Ordering::Relaxed) {
        look_through(modules);
    }
    HAS_ASYNCIO.load(Ordering::Relaxed) | HAS_SWITCHER.load(Ordering::Relaxed)
}

fn loaded_modules(py: Python<'_>) -> PyResult<Py<PyDict>> {
    Ok(py.import("sys")?.getattr("modules")?.cast_into::<PyDict>()?.unbind())
}

#[cold]
fn look_through(modules: &Bound<'_, PyDict>) {
    let has = |name: &str| modules.contains(name).unwrap_or(false);
    HAS_SWITCHER.store(SWITCHERS.iter().any(|name| has(name)), Ordering::Relaxed);
    HAS_ASYNCIO.store(has("asyncio.events"), Ordering::Relaxed);
    let tells = has("_asyncio") && modules.py().version_info() < (3, 13);
    THREAD_TELLS.store(tells, Ordering::Relaxed);
    MODULES.store(modules.len(), Ordering::Relaxed);
}

/// Where the caller is, if contexts matter there.
pub(super) fn place(py: Python<'_>) -> Option<Place> {
    let has_contexts = HAS_CONTEXTS.load(Ordering::Relaxed);
    let before = if has_contexts { current(py) } else { SpanRef::default() };
    // A context with a span is that of a task, or was handed on by one.
    let matters = before.is_some() || HAS_SWITCHER.load(Ordering::Relaxed) || is_loop_running(py);
    if !matters {
        return None;
    }
    let task = if spans::is_recording() { running_task(py) } else { None };
    Some(Place { before, task })
}

/// Whether an event loop runs on this thread.
fn is_loop_running(py: Python<'_>) -> bool {
    static GET_LOOP: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    if !HAS_ASYNCIO.load(Ordering::Relaxed) {
        return false;
    }
    // A thread without this entry never ran a loop. Quicker to see than to
    // ask, for which 3.11 makes a system call.
    if THREAD_TELLS.load(Ordering::Relaxed)
        && !raw::thread_knows(intern!(py, "__asyncio_running_event_loop__"))
    {
        return false;
    }
    let get_loop = GET_LOOP.import(py, "asyncio.events", "_get_running_loop");
    get_loop.and_then(Bound::call0).is_ok_and(|running| !running.is_none())
}

/// The task that runs on this thread, by address and name.
fn running_task(py: Python<'_>) -> Option<Task> {
    if !is_loop_running(py) {
        return None;
    }
    static CURRENT_TASK: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let current_task = CURRENT_TASK.import(py, "asyncio.tasks", "current_task").ok()?;
    let task = current_task.call0().ok().filter(|task| !task.is_none())?;
    let name = task.call_method0("get_name").ok()?;
    let name = name.cast::<PyString>().ok()?.to_string_lossy().into_owned();
    Some(Task::new(task.as_ptr() as u64, &name))
}

/// The innermost span of the current context.
pub(super) fn current(py: Python<'_>) -> SpanRef {
    let value = variable(py).and_then(|variable| raw::context_value(py, variable));
    let number = value.ok().flatten().and_then(|value| value.extract::<u64>().ok());
    SpanRef::from_number(number.unwrap_or(0))
}

/// Makes `span` the innermost one of the current context.
pub(crate) fn set_current(py: Python<'_>, span: SpanRef) {
    if !HAS_CONTEXTS.load(Ordering::Relaxed) {
        HAS_CONTEXTS.store(true, Ordering::Relaxed);
    }
    let number = PyInt::new(py, span.to_number());
    // Out of memory: the spans inside get another parent, no more.
    let _ = variable(py)
        .and_then(|variable| raw::set_context_value(py, variable, number.as_any().as_borrowed()));
}

/// Ends `span` in the current context, unless that is another context than
/// the one it began in.
pub(super) fn leave(py: Python<'_>, span: SpanRef, before: SpanRef) {
    if current(py) == span {
        set_current(py, before);
    }
}

/// The context variable that holds the number of the innermost span.
fn variable(py: Python<'_>) -> PyResult<&Py<PyAny>> {
    static VARIABLE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    VARIABLE.get_or_try_init(py, || {
        let kind = py.import("contextvars")?.getattr("ContextVar")?;
        Ok(kind.call1(("tachograph_span",))?.unbind())
    })
}
