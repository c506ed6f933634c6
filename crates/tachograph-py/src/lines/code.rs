//! A code object with its lines.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};

use tachograph_capture::lines::{Watch, watch};

/// Bytes of one instruction with its argument.
const INSTRUCTION: usize = 2;

/// A code object: it is kept alive, so that its address stays its own.
pub(super) struct Code {
    pub(super) object: Py<PyAny>,
    pub(super) name: String,
    pub(super) file: String,
    pub(super) first_line: u32,
    pub(super) last_line: u32,
    line_of: Vec<u32>,
}

impl Code {
    /// Reads what `object` says about its lines.
    pub(super) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let text = |name: &str| -> PyResult<String> {
            Ok(object.getattr(name)?.str()?.to_string_lossy().into_owned())
        };
        // What a module does before its first line has line 0.
        let first: u32 = object.getattr("co_firstlineno")?.extract::<u32>()?.max(1);
        let (mut first_line, mut last_line) = (first, first);
        let mut line_of = Vec::new();
        for range in object.call_method0("co_lines")?.try_iter()? {
            let (begin, end, line): (usize, usize, Option<u32>) = range?.extract()?;
            if let Some(line) = line.filter(|line| *line > 0) {
                first_line = first_line.min(line);
                last_line = last_line.max(line);
            }
            line_of.resize(begin / INSTRUCTION, 0);
            line_of.resize(end / INSTRUCTION, line.unwrap_or(0));
        }
        Ok(Self {
            object: object.clone().unbind(),
            name: text("co_qualname")?,
            file: text("co_filename")?,
            first_line,
            last_line,
            line_of,
        })
    }

    /// Counts its lines from now on.
    pub(super) fn watch(&self) -> Watch {
        let key = self.object.as_ptr() as usize;
        watch(key, self.first_line, self.last_line, self.line_of.clone())
    }
}

/// Adds `object` and the code objects inside it to `codes`: its inner functions
/// and comprehensions.
pub(super) fn collect(object: &Bound<'_, PyAny>, codes: &mut Vec<Code>) -> PyResult<()> {
    let mut objects = Vec::new();
    with_inner(object, &mut objects)?;
    for object in objects {
        if !codes.iter().any(|code| code.object.is(&object)) {
            codes.push(Code::of(&object)?);
        }
    }
    Ok(())
}

fn with_inner<'py>(object: &Bound<'py, PyAny>, found: &mut Vec<Bound<'py, PyAny>>) -> PyResult<()> {
    found.push(object.clone());
    for constant in object.getattr("co_consts")?.cast::<PyTuple>()?.iter() {
        if is_code(&constant)? {
            with_inner(&constant, found)?;
        }
    }
    Ok(())
}

/// Whether an object is a code object.
pub(super) fn is_code(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    static CODE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    object.is_instance(CODE.import(object.py(), "types", "CodeType")?)
}
