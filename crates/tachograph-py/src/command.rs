//! The command line, for the console script and `python -m tachograph`.

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;

use tachograph_cli::{Installation, main};

/// Does what the words say and ends the process.
///
/// It does not return to Python: nothing of the interpreter is needed any
/// more, and taking it down would only take time.
#[pyfunction]
pub(crate) fn run_command(py: Python<'_>, words: Vec<OsString>, python: PathBuf, package: PathBuf) {
    py.detach(|| main(words, Some(Installation { python, package })).leave())
}

/// From now on a program that is told to end finishes its recordings first.
#[pyfunction]
pub(crate) fn finish_when_told_to_end() {
    tachograph_capture::finish_when_told_to_end();
}
