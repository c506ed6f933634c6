//! Counted lines as text.

use pyo3::prelude::*;

use tachograph_profile::export::{self, ListedFunction, ListedLine, Style};

use super::monitoring;
use super::window::FunctionLines;
use crate::errors::guarded;
use crate::text::{Text, texts};

/// The listing of functions, each with its source line by line.
#[pyfunction]
#[pyo3(signature = (functions, how, *, color, width, unicode))]
pub(crate) fn line_listing(
    functions: Vec<(FunctionLines, Vec<Text>)>,
    how: &str,
    color: bool,
    width: usize,
    unicode: bool,
) -> PyResult<String> {
    guarded(|| {
        let listed: Vec<_> = functions.into_iter().map(listed).collect();
        Ok(export::line_listing(&listed, how, &Style { color, width, unicode }))
    })
}

fn listed((lines, source): (FunctionLines, Vec<Text>)) -> ListedFunction {
    let (name, file, first_line, _, rows) = lines;
    let lines =
        rows.into_iter().map(|(number, hits, time_ns)| ListedLine { number, hits, time_ns });
    ListedFunction { name, file, first_line, source: texts(source), lines: lines.collect() }
}

/// By which means lines are counted on this interpreter.
#[pyfunction]
pub(crate) fn line_means(py: Python<'_>) -> PyResult<&'static str> {
    guarded(|| Ok(if monitoring::exists(py)? { "sys.monitoring" } else { "inserted calls" }))
}
