//! What the interpreter calls when a watched line begins.
//!
//! A callback of `sys.monitoring` written in Python costs ten times as much as
//! the lines it counts; these take some twenty nanoseconds.

use std::ffi::CStr;

use pyo3::prelude::*;
use pyo3::{Borrowed, ffi};

use tachograph_capture::lines;

use super::interpreter::{Method, builtin};
use crate::lines::met;

const DOC: &CStr = c"Counts lines; called by the interpreter.";

static LINE: Method = Method::fast(c"on_line", on_line, DOC);
static START: Method = Method::fast(c"on_start", on_start, DOC);
static RESUME: Method = Method::fast(c"on_resume", on_resume, DOC);
static STOP: Method = Method::fast(c"on_stop", on_stop, DOC);

/// The callbacks for `sys.monitoring`.
pub(crate) struct LineCallbacks<'py> {
    /// A line begins.
    pub(crate) line: Bound<'py, PyAny>,
    /// A call begins.
    pub(crate) start: Bound<'py, PyAny>,
    /// A suspended call goes on.
    pub(crate) resume: Bound<'py, PyAny>,
    /// A call ends or is suspended.
    pub(crate) stop: Bound<'py, PyAny>,
}

/// Makes the callbacks.
pub(crate) fn line_callbacks(py: Python<'_>) -> PyResult<LineCallbacks<'_>> {
    let make = |method: &'static Method| {
        // SAFETY: each description says how its function takes arguments; the
        // functions are bound to nothing.
        unsafe { builtin(py, method, std::ptr::null_mut()) }
    };
    Ok(LineCallbacks {
        line: make(&LINE)?,
        start: make(&START)?,
        resume: make(&RESUME)?,
        stop: make(&STOP)?,
    })
}

/// Code object and number that every event carries; `None` if someone else
/// called us, with something else.
///
/// # Safety
///
/// `args` are the `nargs` live arguments of the running call.
#[inline]
unsafe fn event(
    args: *mut *mut ffi::PyObject,
    nargs: ffi::Py_ssize_t,
) -> Option<(*mut ffi::PyObject, usize)> {
    if nargs < 2 {
        return None;
    }
    // SAFETY: there are two arguments.
    let code = unsafe { args.read() };
    // SAFETY: there are two arguments.
    let second = unsafe { args.add(1) };
    // SAFETY: there are two arguments.
    let number = unsafe { second.read() };
    // SAFETY: the argument is alive.
    let number = unsafe { ffi::PyLong_AsLong(number) };
    if number < 0 {
        // SAFETY: this thread is attached.
        unsafe { ffi::PyErr_Clear() };
    }
    usize::try_from(number).ok().map(|number| (code, number))
}

#[inline]
fn none() -> *mut ffi::PyObject {
    // SAFETY: it has no precondition.
    let none = unsafe { ffi::Py_None() };
    // SAFETY: it lives for ever.
    unsafe { ffi::Py_NewRef(none) }
}

unsafe extern "C" fn on_line(
    _: *mut ffi::PyObject,
    args: *mut *mut ffi::PyObject,
    nargs: ffi::Py_ssize_t,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls us with these arguments.
    if let Some((code, line)) = unsafe { event(args, nargs) } {
        lines::line(code as usize, u32::try_from(line).unwrap_or(0));
    }
    none()
}

unsafe extern "C" fn on_start(
    _: *mut ffi::PyObject,
    args: *mut *mut ffi::PyObject,
    nargs: ffi::Py_ssize_t,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls us with these arguments.
    let Some((code, _)) = (unsafe { event(args, nargs) }) else { return none() };
    if lines::start(code as usize) {
        return none();
    }
    // SAFETY: the interpreter calls us, so this thread is attached.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: the caller holds its arguments while we run.
    let code = unsafe { Borrowed::from_ptr(py, code) };
    met(&code).map_or_else(none, Bound::into_ptr)
}

unsafe extern "C" fn on_resume(
    _: *mut ffi::PyObject,
    args: *mut *mut ffi::PyObject,
    nargs: ffi::Py_ssize_t,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls us with these arguments.
    if let Some((code, offset)) = unsafe { event(args, nargs) } {
        // An instruction and its argument are two bytes.
        lines::resume_at(code as usize, offset / 2);
    }
    none()
}

unsafe extern "C" fn on_stop(
    _: *mut ffi::PyObject,
    args: *mut *mut ffi::PyObject,
    nargs: ffi::Py_ssize_t,
) -> *mut ffi::PyObject {
    if nargs > 0 {
        // SAFETY: there is an argument.
        let code = unsafe { args.read() } as usize;
        // Exceptions leave functions that nobody watches, too.
        if lines::may_be_watched(code) {
            lines::stop(code);
        }
    }
    none()
}
