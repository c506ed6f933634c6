//! Span blocks that are used again and again.
//!
//! A `with` statement looks `__enter__` and `__exit__` up on the class of its
//! object and binds them, which costs two allocations. A pooled block has a
//! class of its own whose `__enter__` and `__exit__` are functions already bound
//! to it; the interpreter takes such a function as it is. Measured: 59 ns for a
//! span instead of 141.
//!
//! A block goes back to the pool when it is left and nobody else holds it. One
//! that is held longer, or was never entered, is found again when the pool runs
//! dry. Pooled blocks are never freed.

use std::ptr::NonNull;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use tachograph_capture::spans::Attributes;

use super::guarded::{FREE_THREADED, Guarded};
use super::interpreter::builtin;
use super::span_block::{ENTER, EXIT, SpanBlock, new_block, new_class};
use crate::spans::{Key, SpanState};

/// Blocks in the pool at most, 2 KB each with their classes. When more are open
/// at once, the others are ordinary objects.
const LIMIT: usize = 256;

/// References to a pooled block that nobody uses: the pool's own, and one of
/// each of its two functions.
const RESTING: u32 = 3;

/// A block of the pool. It is never freed.
#[derive(Clone, Copy)]
struct Pooled(NonNull<SpanBlock>);

// SAFETY: only looked at under the interpreter's lock.
unsafe impl Send for Pooled {}

struct Pool {
    all: Vec<Pooled>,
    free: Vec<Pooled>,
    /// Blocks to make outside of the pool before it is looked through again.
    wait: usize,
}

static POOL: Guarded<Pool> = Guarded::new(Pool { all: Vec::new(), free: Vec::new(), wait: 0 });

/// A block for one use; the caller gets a reference.
#[inline]
pub(super) fn take(
    py: Python<'_>,
    key: &'static Key,
    attributes: Attributes,
) -> PyResult<NonNull<ffi::PyObject>> {
    if !FREE_THREADED && let Some(Pooled(block)) = POOL.with(py, |pool| pool.free.pop()).flatten() {
        // SAFETY: pooled blocks are never freed.
        let state = unsafe { &block.as_ref().state };
        state.with(py, |state| state.renew(key, attributes));
        // SAFETY: the block is alive.
        unsafe { ffi::Py_INCREF(block.as_ptr().cast()) };
        return Ok(block.cast());
    }
    take_slowly(py, key, attributes)
}

#[cold]
fn take_slowly(
    py: Python<'_>,
    key: &'static Key,
    attributes: Attributes,
) -> PyResult<NonNull<ffi::PyObject>> {
    if !FREE_THREADED {
        let may_grow = POOL.with(py, |pool| pool.look_through()).unwrap_or(false);
        if may_grow {
            let block = new_pooled(py, key)?;
            POOL.with(py, |pool| pool.add(block));
        }
        if POOL.with(py, |pool| !pool.free.is_empty()).unwrap_or(false) {
            return take(py, key, attributes);
        }
    }
    static ORDINARY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let kind = ORDINARY.get_or_try_init(py, || new_class(py).map(Bound::unbind))?;
    let block = new_block(py, kind.bind(py), SpanState::new(key, attributes), false)?;
    Ok(block.cast())
}

impl Pool {
    /// Finds blocks that nobody uses any more; tells whether one more may be made.
    fn look_through(&mut self) -> bool {
        if self.wait > 0 {
            self.wait -= 1;
            return false;
        }
        let idle = self.all.iter().filter(|block| block.is_idle());
        self.free.extend(idle);
        if !self.free.is_empty() {
            return false;
        }
        let may_grow = self.all.len() < LIMIT;
        if !may_grow {
            self.wait = LIMIT;
        }
        may_grow
    }

    fn add(&mut self, block: Pooled) {
        self.all.push(block);
        self.free.push(block);
    }
}

impl Pooled {
    /// Whether nobody holds it and it runs no more.
    ///
    /// Only asked while the interpreter's lock is held and no block is free.
    fn is_idle(&self) -> bool {
        if references(self.0) != RESTING {
            return false;
        }
        // SAFETY: the caller holds the interpreter's lock.
        let py = unsafe { Python::assume_attached() };
        // SAFETY: pooled blocks are never freed.
        let state = unsafe { &self.0.as_ref().state };
        state.with(py, |state| !state.is_entered()).unwrap_or(false)
    }
}

/// References to `block`. Newer interpreters keep flags in the upper half.
#[inline]
fn references(block: NonNull<SpanBlock>) -> u32 {
    // SAFETY: pooled blocks are never freed.
    unsafe { ffi::Py_REFCNT(block.as_ptr().cast()) as u32 }
}

/// A block that was left goes back, unless someone still holds it.
#[inline]
pub(super) fn give_back(py: Python<'_>, block: NonNull<SpanBlock>) {
    if references(block) == RESTING {
        // SAFETY: pooled blocks are never freed.
        let state = unsafe { &block.as_ref().state };
        if state.with(py, |state| !state.is_entered()).unwrap_or(false) {
            POOL.with(py, |pool| pool.free.push(Pooled(block)));
        }
    }
}

/// One more block, with a class of its own.
fn new_pooled(py: Python<'_>, key: &'static Key) -> PyResult<Pooled> {
    let kind = new_class(py)?;
    let block = new_block(py, &kind, SpanState::new(key, Attributes::default()), true)?;
    for method in [&ENTER, &EXIT] {
        // SAFETY: both functions expect a span block as what they are bound to.
        let function = unsafe { builtin(py, method, block.as_ptr().cast()) }?;
        kind.setattr(
            function.getattr("__name__")?.cast_into::<pyo3::types::PyString>()?,
            function,
        )?;
    }
    Ok(Pooled(block))
}
