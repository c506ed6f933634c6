//! Text from Python, whatever is in it.

use pyo3::prelude::*;
use pyo3::types::PyString;

/// A Python string as Rust text.
///
/// Python strings may hold halves of surrogate pairs, such as a file name that
/// is not UTF-8. They become replacement characters: a strange name must not
/// keep a program from being recorded.
pub(crate) struct Text(pub(crate) String);

impl FromPyObject<'_, '_> for Text {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        Ok(Self(object.cast::<PyString>()?.to_string_lossy().into_owned()))
    }
}

/// The Rust text of each of `texts`.
pub(crate) fn texts(texts: Vec<Text>) -> Vec<String> {
    texts.into_iter().map(|text| text.0).collect()
}
