//! From a Python string to the key it stands for, by its address.
//!
//! The name of a span is nearly always a constant of the program: one object
//! that lives on. Its address finds the key in two nanoseconds, where hashing
//! the text would cost more than all the rest of the recording.

use std::cell::RefCell;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use pyo3::{Borrowed, ffi};

use super::guarded::{FREE_THREADED, Guarded};
use crate::spans::Key;

/// Strings that are known by address at once.
const SLOTS: usize = 512;

/// A string and its key. The string is kept alive, so that no other one can
/// get its address.
#[derive(Clone, Copy)]
struct Known {
    text: usize,
    key: Option<&'static Key>,
}

const UNKNOWN: [Known; SLOTS] = [Known { text: 0, key: None }; SLOTS];

/// With a global lock: one table, each entry holds a reference.
static TABLE: Guarded<[Known; SLOTS]> = Guarded::new(UNKNOWN);

thread_local! {
    /// Without a global lock: a table per thread, for immortal strings only,
    /// which need no reference. Constants of a program are immortal there. Boxed:
    /// what every thread has room for from its beginning is scarce.
    static OWN_TABLE: RefCell<Box<[Known; SLOTS]>> = RefCell::new(Box::new(UNKNOWN));
}

/// The key that the Python string `text` stands for.
#[inline]
pub(super) fn key_of(text: Borrowed<'_, '_, PyAny>) -> PyResult<&'static Key> {
    let address = text.as_ptr() as usize;
    let found = look(text.py(), address);
    match found {
        Some(key) => Ok(key),
        None => learn(text, address),
    }
}

#[inline]
fn slot(address: usize) -> usize {
    ((address >> 4) ^ (address >> 13)) % SLOTS
}

#[inline]
fn look(py: Python<'_>, address: usize) -> Option<&'static Key> {
    let take = |table: &mut [Known; SLOTS]| {
        let known = table[slot(address)];
        if known.text == address { known.key } else { None }
    };
    if FREE_THREADED {
        OWN_TABLE.try_with(|table| take(&mut table.borrow_mut())).ok().flatten()
    } else {
        TABLE.with(py, take).flatten()
    }
}

#[cold]
fn learn(text: Borrowed<'_, '_, PyAny>, address: usize) -> PyResult<&'static Key> {
    let Ok(string) = text.cast::<PyString>() else {
        let kind = text.get_type().name()?;
        return Err(PyTypeError::new_err(format!("a span's name must be a str, not {kind}")));
    };
    let key = Key::of(&string.to_string_lossy());
    // A subclass could run code when it dies; only plain strings are kept.
    if !string.is_exact_instance_of::<PyString>() {
        return Ok(key);
    }
    let known = Known { text: address, key: Some(key) };
    if !FREE_THREADED {
        let kept = text.to_owned().into_ptr();
        let old = TABLE.with(text.py(), |table| {
            std::mem::replace(&mut table[slot(address)], known).text as *mut ffi::PyObject
        });
        let surplus = old.unwrap_or(kept);
        // SAFETY: the entry that was replaced held this reference, or the one
        // just made found no place; null stands for an empty entry.
        unsafe { ffi::Py_XDECREF(surplus) };
    } else if is_immortal(text) {
        let _ = OWN_TABLE.try_with(|table| table.borrow_mut()[slot(address)] = known);
    }
    Ok(key)
}

/// Whether a free-threaded interpreter never frees `text`.
fn is_immortal(text: Borrowed<'_, '_, PyAny>) -> bool {
    // SAFETY: the caller holds the string.
    let references = unsafe { ffi::Py_REFCNT(text.as_ptr()) };
    references >= u32::MAX as isize
}
