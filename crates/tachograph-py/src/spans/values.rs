//! What a caller attaches to a span: plain values as they are, anything else
//! as its `repr`.

use std::borrow::Cow;

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};

use tachograph_capture::spans::{AttributeValue, Attributes, Name};

use super::key::Key;

/// Characters of a `repr` that are kept.
const REPR_LIMIT: usize = 200;

/// A value in Rust, borrowed where Python lets us.
enum Held<'a> {
    Plain(AttributeValue<'static>),
    Text(Cow<'a, str>),
}

impl Held<'_> {
    fn value(&self) -> AttributeValue<'_> {
        match self {
            Self::Plain(value) => *value,
            Self::Text(text) => AttributeValue::Text(text),
        }
    }
}

/// Packs names and values. A value that cannot be shown says so; what is no
/// `Exception`, such as Ctrl-C while it is shown, passes.
pub(crate) fn packed<'a, 'py: 'a>(
    pairs: impl Iterator<Item = (Name, &'a Bound<'py, PyAny>)>,
) -> PyResult<Attributes> {
    let held = pairs.map(|(name, value)| Ok((name, hold(value)?)));
    let held: Vec<(Name, Held<'a>)> = held.collect::<PyResult<_>>()?;
    Ok(Attributes::of(held.iter().map(|(name, held)| (*name, held.value()))))
}

/// Packs a dictionary; keys that are no strings are shown as text.
pub(super) fn packed_dict(dict: &Bound<'_, PyDict>) -> PyResult<Attributes> {
    // All pairs first: showing a key may change the dictionary.
    let pairs: Vec<_> = dict.iter().collect();
    let names: Vec<Name> = pairs.iter().map(|(key, _)| name_of(key)).collect::<PyResult<_>>()?;
    packed(names.into_iter().zip(pairs.iter().map(|(_, value)| value)))
}

fn name_of(key: &Bound<'_, PyAny>) -> PyResult<Name> {
    Ok(match key.cast::<PyString>() {
        Ok(text) => Key::of(&text.to_string_lossy()).name(),
        Err(_) => Key::of(&shown(key)?).name(),
    })
}

fn hold<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<Held<'a>> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Held::Text(text.to_string_lossy()));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(Held::Plain(AttributeValue::Float(number.value())));
    }
    if value.is_none() {
        return Ok(Held::Plain(AttributeValue::None));
    }
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(Held::Plain(AttributeValue::Bool(truth.is_true())));
    }
    if let Ok(number) = value.cast::<PyInt>()
        && let Ok(number) = number.extract::<i64>()
    {
        return Ok(Held::Plain(AttributeValue::Int(number)));
    }
    Ok(Held::Text(Cow::Owned(shown(value)?)))
}

/// The `repr` of `value`, cut.
fn shown(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let text = match value.repr() {
        Ok(text) => text,
        Err(error) if !error.is_instance_of::<PyException>(value.py()) => return Err(error),
        Err(_) => {
            let kind = value.get_type().name();
            let kind = kind.map_or_else(|_| "object".into(), |kind| kind.to_string());
            return Ok(format!("<unprintable {kind}>"));
        }
    };
    let text = text.to_string_lossy();
    Ok(match text.char_indices().nth(REPR_LIMIT) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.into_owned(),
    })
}
