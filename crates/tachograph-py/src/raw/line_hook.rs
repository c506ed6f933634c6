//! The builtin functions that are called from inserted calls, on 3.11.
//!
//! Each is bound to an object that knows its code object and its line, so a
//! call needs no argument and finds what it writes to without looking it up.

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use tachograph_capture::lines;
use tachograph_capture::lines::inserted::Call;

use super::interpreter::{Method, builtin, heap_type, new_object};
use super::span_block::slot;

const DOC: &CStr = c"Counts lines; called by functions whose lines are counted.";

static LINE: Method = Method::fast(c"line", on_line, DOC);
static START: Method = Method::fast(c"start", on_start, DOC);
static RESUME: Method = Method::fast(c"resume", on_resume, DOC);
static STOP: Method = Method::fast(c"stop", on_stop, DOC);

/// What a function is bound to.
#[repr(C)]
struct Hook {
    head: ffi::PyObject,
    /// The code object as it was, kept alive: its address is the key.
    code: *mut ffi::PyObject,
    line: u32,
}

/// The function for `call` in `code`.
pub(crate) fn line_hook<'py>(code: &Bound<'py, PyAny>, call: Call) -> PyResult<Bound<'py, PyAny>> {
    let py = code.py();
    let kind = class(py)?;
    // SAFETY: it is the class of hooks, and what follows fills the object in.
    let object = unsafe { new_object(py, kind.as_ptr().cast()) }?;
    // SAFETY: a new object comes with one reference, which is ours.
    let held = unsafe { Bound::from_owned_ptr(py, object.as_ptr()) };
    let hook = object.cast::<Hook>().as_ptr();
    // SAFETY: the object was allocated with room for this field.
    let place = unsafe { &raw mut (*hook).code };
    // SAFETY: inside the object.
    unsafe { place.write(code.clone().into_ptr()) };
    let (method, line) = match call {
        Call::Line(line) => (&LINE, line),
        Call::Start => (&START, 0),
        Call::Resume(line) => (&RESUME, line),
        Call::Stop => (&STOP, 0),
    };
    // SAFETY: the object was allocated with room for this field.
    let place = unsafe { &raw mut (*hook).line };
    // SAFETY: inside the object.
    unsafe { place.write(line) };
    // SAFETY: the description is that of a function bound to a hook.
    unsafe { builtin(py, method, held.as_ptr()) }
}

fn class(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let make = || {
        let mut slots = [slot(ffi::Py_tp_dealloc, dealloc as *mut c_void), slot(0, null_mut())];
        let flags = ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_DISALLOW_INSTANTIATION;
        let name = c"tachograph._native._LineHook";
        heap_type(py, name, size_of::<Hook>(), flags, &mut slots).map(Bound::unbind)
    };
    CLASS.get_or_try_init(py, make).map(|class| class.bind(py))
}

/// Key and line of a hook.
///
/// # Safety
///
/// `object` is a hook.
#[inline]
unsafe fn hook_of(object: *mut ffi::PyObject) -> (usize, u32) {
    // SAFETY: promised by the caller.
    let hook = unsafe { &*object.cast::<Hook>() };
    (hook.code as usize, hook.line)
}

#[inline]
fn none() -> *mut ffi::PyObject {
    // SAFETY: it has no precondition.
    let none = unsafe { ffi::Py_None() };
    // SAFETY: it lives for ever.
    unsafe { ffi::Py_INCREF(none) };
    none
}

unsafe extern "C" fn on_line(
    hook: *mut ffi::PyObject,
    _: *mut *mut ffi::PyObject,
    _: ffi::Py_ssize_t,
) -> *mut ffi::PyObject {
    // SAFETY: these functions are made bound to hooks only.
    let (key, line) = unsafe { hook_of(hook) };
    lines::line(key, line);
    none()
}

unsafe extern "C" fn on_start(
    hook: *mut ffi::PyObject,
    _: *mut *mut ffi::PyObject,
    _: ffi::Py_ssize_t,
) -> *mut ffi::PyObject {
    // SAFETY: these functions are made bound to hooks only.
    let (key, _) = unsafe { hook_of(hook) };
    lines::start(key);
    none()
}

unsafe extern "C" fn on_resume(
    hook: *mut ffi::PyObject,
    _: *mut *mut ffi::PyObject,
    _: ffi::Py_ssize_t,
) -> *mut ffi::PyObject {
    // SAFETY: these functions are made bound to hooks only.
    let (key, line) = unsafe { hook_of(hook) };
    lines::resume(key, line);
    none()
}

unsafe extern "C" fn on_stop(
    hook: *mut ffi::PyObject,
    _: *mut *mut ffi::PyObject,
    _: ffi::Py_ssize_t,
) -> *mut ffi::PyObject {
    // SAFETY: these functions are made bound to hooks only.
    let (key, _) = unsafe { hook_of(hook) };
    lines::stop(key);
    none()
}

unsafe extern "C" fn dealloc(object: *mut ffi::PyObject) {
    // SAFETY: every object has a class.
    let kind = unsafe { ffi::Py_TYPE(object) };
    // SAFETY: a slot of our class gets hooks only.
    let code = unsafe { (*object.cast::<Hook>()).code };
    // SAFETY: null, or a reference that was given to the hook.
    unsafe { ffi::Py_XDECREF(code) };
    // SAFETY: nobody holds the object any more; its class has no cycles, so it
    // came from the allocator of plain objects.
    unsafe { ffi::PyObject_Free(object.cast()) };
    // SAFETY: every object holds a reference to a class made at run time.
    unsafe { ffi::Py_DECREF(kind.cast()) };
}
