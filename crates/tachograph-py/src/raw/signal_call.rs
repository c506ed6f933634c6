//! The call of a signal: counted, timed while someone wants it, and told of
//! when it fails or takes long.

use std::ptr::null_mut;

use pyo3::prelude::*;
use pyo3::{Borrowed, ffi};

use super::interpreter::{ARGUMENTS_OFFSET, Arguments};
use super::timed_call::{Inside, timed_of, told};
use crate::spans::{Call, Key, Plan};

/// What the interpreter calls for a signal.
pub(super) unsafe extern "C-unwind" fn signal_vectorcall(
    object: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    nargsf: usize,
    kwnames: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls us, so this thread is attached.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: the interpreter finds this function in timed functions only, and
    // holds the one it calls.
    let timed = unsafe { timed_of(object) };
    let Some(inside) = &timed.inside else { return null_mut() };
    let Inside { function, entry, plan } = inside;
    let plan = plan.get();
    let arguments = Arguments { args, nargsf, kwnames };
    // SAFETY: the arguments are those of this call.
    let work = || unsafe { entry.call(function, arguments) };
    // SAFETY: the arguments are those of this call.
    let key = || plan.key_of_call(|| unsafe { first_argument(py, arguments) });
    let (key, result, wall_ns) = match plan.call() {
        Call::Unseen => return work(),
        Call::Watched => {
            let result = work();
            if !result.is_null() {
                return result;
            }
            // Taken before Python is asked for the key: it must not run with
            // an exception set.
            // SAFETY: what the call returned, which nobody else has seen.
            let result = unsafe { Bound::from_owned_ptr_or_err(py, result) };
            return tell(py, plan, key(), 0, result);
        }
        wanted if plan.is_simple() => {
            let key = key();
            let (result, wall_ns) = plan.measure_as(py, wanted, key, work, |at| at.is_null());
            if !plan.must_tell(result.is_null(), wall_ns) {
                return result;
            }
            (key, result, wall_ns)
        }
        // SAFETY: the arguments are those of this call.
        wanted => return handed_on(py, unsafe { told(py, wanted, inside, arguments) }),
    };
    // SAFETY: what the call returned, which nobody else has seen.
    let result = unsafe { Bound::from_owned_ptr_or_err(py, result) };
    tell(py, plan, key, wall_ns, result)
}

/// The first positional argument of a call.
///
/// # Safety
///
/// `arguments` came from the interpreter and are those of the running call,
/// which lasts longer than `'a`.
#[inline]
pub(super) unsafe fn first_argument<'a, 'py: 'a>(
    py: Python<'py>,
    arguments: Arguments,
) -> Option<Borrowed<'a, 'py, PyAny>> {
    if arguments.nargsf & !ARGUMENTS_OFFSET == 0 {
        return None;
    }
    // SAFETY: there is at least one argument.
    let first = unsafe { *arguments.args };
    // SAFETY: the arguments of a running call are alive.
    Some(unsafe { Borrowed::from_ptr(py, first) })
}

/// Tells of a call that failed or took long, and hands on its result.
#[cold]
fn tell(
    py: Python<'_>,
    plan: &Plan,
    key: &'static Key,
    wall_ns: u64,
    result: PyResult<Bound<'_, PyAny>>,
) -> *mut ffi::PyObject {
    handed_on(py, plan.tell_of(py, key, wall_ns, &result).and(result))
}

/// A result as the interpreter wants it.
pub(super) fn handed_on(py: Python<'_>, result: PyResult<Bound<'_, PyAny>>) -> *mut ffi::PyObject {
    match result {
        Ok(result) => result.into_ptr(),
        Err(error) => {
            error.restore(py);
            null_mut()
        }
    }
}
