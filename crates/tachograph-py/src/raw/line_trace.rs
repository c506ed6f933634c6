//! What the interpreter calls for everything that a traced thread does.

use std::ffi::{CStr, c_int};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use pyo3::{Borrowed, ffi};

use tachograph_capture::lines;

use super::interpreter::{Method, builtin};
use crate::lines::met_in_trace;

type Trace = unsafe extern "C" fn(
    *mut ffi::PyObject,
    *mut ffi::PyObject,
    c_int,
    *mut ffi::PyObject,
) -> c_int;

unsafe extern "C" {
    fn PyEval_SetTrace(trace: Option<Trace>, object: *mut ffi::PyObject);
    fn PyFrame_GetCode(frame: *mut ffi::PyObject) -> *mut ffi::PyObject;
    fn PyFrame_GetLineNumber(frame: *mut ffi::PyObject) -> c_int;
}

/// Kinds of events.
const CALL: c_int = 0;
const LINE: c_int = 2;
const RETURN: c_int = 3;

const DOC: &CStr = c"Traces the thread that calls it.";
static THREAD: Method = Method::fast(c"trace_thread", trace_thread, DOC);
static WANTED: AtomicBool = AtomicBool::new(false);

/// Begins or ends tracing the calling thread.
pub(crate) fn set_line_trace(_py: Python<'_>, on: bool) {
    WANTED.store(on, Ordering::Relaxed);
    let trace: Option<Trace> = if on { Some(on_event) } else { None };
    // SAFETY: this thread is attached; the function stays loaded.
    unsafe { PyEval_SetTrace(trace, null_mut()) };
}

/// What a new thread is to be traced with: it puts ours in its own place.
pub(crate) fn thread_trace(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: the description says how the function takes its arguments.
    unsafe { builtin(py, &THREAD, null_mut()) }
}

unsafe extern "C" fn trace_thread(
    _: *mut ffi::PyObject,
    _: *mut *mut ffi::PyObject,
    _: ffi::Py_ssize_t,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls us, so this thread is attached.
    let py = unsafe { Python::assume_attached() };
    if WANTED.load(Ordering::Relaxed) {
        set_line_trace(py, true);
    }
    // SAFETY: it has no precondition.
    let none = unsafe { ffi::Py_None() };
    // SAFETY: it lives for ever.
    unsafe { ffi::Py_INCREF(none) };
    none
}

unsafe extern "C" fn on_event(
    _: *mut ffi::PyObject,
    frame: *mut ffi::PyObject,
    what: c_int,
    _: *mut ffi::PyObject,
) -> c_int {
    // SAFETY: the interpreter calls us, so this thread is attached.
    let py = unsafe { Python::assume_attached() };
    if !WANTED.load(Ordering::Relaxed) {
        // SAFETY: this thread is attached.
        unsafe { PyEval_SetTrace(None, null_mut()) };
        return 0;
    }
    // SAFETY: the interpreter passes a frame that runs.
    let code = unsafe { PyFrame_GetCode(frame) };
    // SAFETY: a reference of our own; every frame has a code object.
    let code = unsafe { Bound::from_owned_ptr(py, code) };
    let key = code.as_ptr() as usize;
    match what {
        // SAFETY: the interpreter holds the frame while it calls us.
        CALL => begun(&code, unsafe { Borrowed::from_ptr(py, frame) }),
        LINE => lines::line(key, line_of(frame)),
        RETURN => lines::stop(key),
        _ => {}
    }
    0
}

/// A function is called, or goes on after it was suspended.
fn begun(code: &Bound<'_, PyAny>, frame: Borrowed<'_, '_, PyAny>) {
    let key = code.as_ptr() as usize;
    if !lines::is_watched(key) && !met_in_trace(code) {
        // Its lines need not be told of; if that fails, they are told in vain.
        drop(frame.setattr("f_trace_lines", false));
        return;
    }
    let line = line_of(frame.as_ptr());
    let first = code.getattr("co_firstlineno").and_then(|line| line.extract::<u32>());
    if first.is_ok_and(|first| first != line) {
        lines::resume(key, line);
    } else {
        lines::start(key);
    }
}

fn line_of(frame: *mut ffi::PyObject) -> u32 {
    // SAFETY: the interpreter passed a frame that runs.
    let line = unsafe { PyFrame_GetLineNumber(frame) };
    u32::try_from(line).unwrap_or(0)
}
