//! Functions of CPython 3.11 whose code has calls inserted while they are
//! watched. Afterwards they have the code they had.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use tachograph_capture::lines::inserted::{Original, Position, insert_calls};

use super::code;
use crate::errors;
use crate::raw::line_hook;

/// A function with inserted calls.
pub(super) struct Changed {
    function: Py<PyAny>,
    original: Py<PyAny>,
    changed: Py<PyAny>,
    users: usize,
}

/// All functions with inserted calls.
#[derive(Default)]
pub(super) struct Rewrites(Vec<Changed>);

impl Rewrites {
    /// None yet.
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// The code that `function` has without us.
    pub(super) fn original<'py>(
        &self,
        function: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = function.py();
        let code = function.getattr("__code__")?;
        let known = self.0.iter().find(|one| one.changed.is(&code));
        Ok(known.map_or(code, |one| one.original.bind(py).clone()))
    }

    /// Inserts calls into `function`, for one more watch.
    pub(super) fn insert(&mut self, function: &Bound<'_, PyAny>) -> PyResult<()> {
        let code = function.getattr("__code__")?;
        let known =
            self.0.iter_mut().find(|one| one.function.is(function) && one.changed.is(&code));
        if let Some(one) = known {
            one.users += 1;
            return Ok(());
        }
        let original = self.original(function)?;
        let changed = rewritten(&original)?;
        function.setattr("__code__", &changed)?;
        self.0.push(Changed {
            function: function.clone().unbind(),
            original: original.unbind(),
            changed: changed.unbind(),
            users: 1,
        });
        Ok(())
    }

    /// One watch fewer; the last one gives the function its code back, unless
    /// someone else has given it another meanwhile.
    pub(super) fn take_out(&mut self, function: &Bound<'_, PyAny>) -> PyResult<()> {
        let Some(at) = self.0.iter().position(|one| one.function.is(function)) else {
            return Ok(());
        };
        let one = &mut self.0[at];
        one.users -= 1;
        if one.users > 0 {
            return Ok(());
        }
        let one = self.0.swap_remove(at);
        if one.changed.is(&function.getattr("__code__")?) {
            function.setattr("__code__", one.original)?;
        }
        Ok(())
    }
}

/// `code` with calls in it and in the functions inside it.
fn rewritten<'py>(code: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = code.py();
    let bytes = |name: &str| -> PyResult<Vec<u8>> { code.getattr(name)?.extract() };
    let constants = code.getattr("co_consts")?;
    let constants = constants.cast::<PyTuple>()?;
    let original = Original {
        code: bytes("co_code")?,
        positions: positions(code)?,
        exceptions: bytes("co_exceptiontable")?,
        first_line: code.getattr("co_firstlineno")?.extract()?,
        constants: constants.len(),
    };
    let new = insert_calls(&original).map_err(|why| {
        let name = code.getattr("co_qualname").map(|name| name.to_string()).unwrap_or_default();
        errors::failed(format!("cannot count the lines of {name}: {why}"))
    })?;
    let mut values = Vec::new();
    for constant in constants.iter() {
        let is_code = code::is_code(&constant)?;
        values.push(if is_code { rewritten(&constant)? } else { constant });
    }
    for call in new.calls {
        values.push(line_hook(code, call)?);
    }
    let stack: u32 = code.getattr("co_stacksize")?.extract()?;
    let parts = PyDict::new(py);
    parts.set_item("co_code", PyBytes::new(py, &new.code))?;
    parts.set_item("co_consts", PyTuple::new(py, values)?)?;
    parts.set_item("co_linetable", PyBytes::new(py, &new.lines))?;
    parts.set_item("co_exceptiontable", PyBytes::new(py, &new.exceptions))?;
    parts.set_item("co_stacksize", stack.saturating_add(new.more_stack))?;
    code.call_method("replace", (), Some(&parts))
}

fn positions(code: &Bound<'_, PyAny>) -> PyResult<Vec<Position>> {
    type Row = (Option<u32>, Option<u32>, Option<u32>, Option<u32>);
    let mut positions = Vec::new();
    for row in code.call_method0("co_positions")?.try_iter()? {
        let (line, end_line, begin, end): Row = row?.extract()?;
        let line = line.unwrap_or(0);
        positions.push(Position {
            line,
            end_line: end_line.unwrap_or(line),
            columns: begin.zip(end).filter(|_| end_line.is_some()),
        });
    }
    Ok(positions)
}
