//! The function `span`: what a user calls most often.

use std::ffi::CStr;
use std::ptr::null_mut;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::{Borrowed, ffi};

use tachograph_capture::spans::Attributes;

use super::interpreter::{Method, add_functions};
use super::{pool, texts};
use crate::spans::{is_wanted, packed};

/// What `help(tachograph.span)` shows.
const DOC: &CStr = c"span($module, name, /, **attributes)
--

Time a block of code under a name: with span(\"load\", source=\"disk\"): ...

While profiling is on (configure(profiling=True)) the block is in report(): its
count and percentiles under \"timings\", each one under \"timeline\". While a
recording is open it is there too: recording.spans(), and
recording.within(\"load\") for the functions it spent its time in. Otherwise it
costs next to nothing.

Args:
    name: What the block is called.
    **attributes: Kept with it. Numbers, texts and truth values stay as they
        are, anything else becomes its repr, cut at 200 characters.

Returns:
    A block for `with`. After it, `elapsed_ns` says how long it took; 0 when
    nobody measured. A function takes @signal or @time_it instead.";

static FUNCTIONS: [Method; 2] = [Method::fast_with_keywords(c"span", span, DOC), Method::END];

/// Adds `span` to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    add_functions(module, &FUNCTIONS)?;
    module.index()?.append("span")
}

unsafe extern "C" fn span(
    _module: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    nargs: ffi::Py_ssize_t,
    kwnames: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls us, so this thread is attached.
    let py = unsafe { Python::assume_attached() };
    if nargs != 1 {
        return wrong_count(py, nargs);
    }
    // SAFETY: there is one argument.
    let name = unsafe { args.read() };
    // SAFETY: the caller holds its arguments while we run.
    let name = unsafe { Borrowed::from_ptr(py, name) };
    let taken = texts::key_of(name).and_then(|key| {
        let attributes = if kwnames.is_null() || !is_wanted() {
            Attributes::default()
        } else {
            // SAFETY: the values of keyword arguments follow the only other one.
            let values = unsafe { args.add(1) };
            // SAFETY: the names are a tuple, and each has its value.
            unsafe { attributes(py, values, kwnames) }?
        };
        pool::take(py, key, attributes)
    });
    match taken {
        Ok(block) => block.as_ptr(),
        Err(error) => {
            error.restore(py);
            null_mut()
        }
    }
}

#[cold]
fn wrong_count(py: Python<'_>, nargs: ffi::Py_ssize_t) -> *mut ffi::PyObject {
    let text = format!("span() takes one positional argument, its name, but {nargs} were given");
    PyTypeError::new_err(text).restore(py);
    null_mut()
}

/// What the keyword arguments attach.
///
/// # Safety
///
/// `names` is a tuple, and as many live objects as it has entries are at `values`.
unsafe fn attributes(
    py: Python<'_>,
    values: *const *mut ffi::PyObject,
    names: *mut ffi::PyObject,
) -> PyResult<Attributes> {
    // SAFETY: promised by the caller.
    let names = unsafe { Borrowed::from_ptr(py, names) };
    let names = names.cast::<PyTuple>()?;
    // SAFETY: promised by the caller; a reference is one pointer, and not null.
    let values: &[Bound<'_, PyAny>] =
        unsafe { std::slice::from_raw_parts(values.cast(), names.len()) };
    let mut keys = Vec::with_capacity(names.len());
    for name in names.iter_borrowed() {
        keys.push(texts::key_of(name)?.name());
    }
    packed(keys.into_iter().zip(values))
}
