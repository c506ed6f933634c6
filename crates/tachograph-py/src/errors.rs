//! Rust errors as Python exceptions: the built-in ones where a user expects
//! them, `TachographError` and `RecordingError` for the rest.

use std::any::Any;
use std::error::Error;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use tachograph_capture as capture;
use tachograph_profile as profile;

/// The two exceptions that are ours. They live in Python, where users look.
mod ours {
    #![allow(missing_docs)]
    pyo3::import_exception!(tachograph.exceptions, RecordingError);
    pyo3::import_exception!(tachograph.exceptions, TachographError);
}

/// Runs `work`; a panic in it becomes a `TachographError` that says so.
///
/// PyO3 would raise a `PanicException`, which no `except Exception` catches.
pub(crate) fn guarded<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let what = panic_text(panic.as_ref());
        Err(ours::TachographError::new_err(format!(
            "tachograph failed on its own side: {what}; the program is not affected, please report it"
        )))
    })
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    if let Some(text) = panic.downcast_ref::<&str>() {
        text
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text
    } else {
        "a panic without a message"
    }
}

/// What `error` and its causes say, in one line.
fn told(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text} ({next})");
        cause = next.source();
    }
    text
}

/// An `OSError`, or its subclass for `cause`, such as `PermissionError`.
fn os_error(error: &dyn Error, cause: &io::Error) -> PyErr {
    match cause.raw_os_error() {
        Some(number) => PyOSError::new_err((number, told(error))),
        None => PyOSError::new_err(told(error)),
    }
}

/// "Device or resource busy", which is what the kernel says of a file in use.
const EBUSY: i32 = 16;

/// The Python exception for a capture that failed.
pub(crate) fn from_capture(error: capture::Error) -> PyErr {
    match &error {
        capture::Error::OutputDenied { source, .. } => os_error(&error, source),
        capture::Error::OutputTaken { .. } => PyOSError::new_err((EBUSY, told(&error))),
        capture::Error::TriggerForCpuOnly { .. } => PyValueError::new_err(told(&error)),
        _ => ours::TachographError::new_err(told(&error)),
    }
}

/// The Python exception for a recording that could not be read, written or exported.
pub(crate) fn from_profile(error: profile::Error) -> PyErr {
    match &error {
        profile::Error::Write { source, .. } => os_error(&error, source),
        profile::Error::UnknownFormat { .. } | profile::Error::NoSuchSpan { .. } => {
            PyValueError::new_err(told(&error))
        }
        _ => ours::RecordingError::new_err(told(&error)),
    }
}

/// A `TachographError` that says `what` could not be done.
pub(crate) fn failed(what: String) -> PyErr {
    ours::TachographError::new_err(what)
}

/// A `ValueError` for an argument that is none of the `known` words.
pub(crate) fn unknown_word(argument: &str, found: &str, known: &str) -> PyErr {
    PyValueError::new_err(format!("{argument} must be {known}, not {found:?}"))
}
