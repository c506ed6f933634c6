//! The object that `with span("x"):` enters and leaves.

use std::ffi::{c_int, c_void};
use std::ptr::{NonNull, null_mut};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::{IntoPyObjectExt, ffi};

use super::guarded::Guarded;
use super::interpreter::{Method, heap_type, new_object};
use super::pool;
use crate::spans::{SpanState, place_here, set_current};

/// A span block, laid out as the interpreter wants its objects.
#[repr(C)]
pub(super) struct SpanBlock {
    head: ffi::PyObject,
    /// It belongs to the pool, and goes back there when it is left.
    pub(super) is_pooled: bool,
    pub(super) state: Guarded<SpanState>,
}

/// `__enter__` and `__exit__`. In a pooled block's class they stand bound to
/// the block; in the ordinary class they are methods. Both get the block as
/// their first argument, and both may get it once more: `contextlib.ExitStack`
/// looks a method up on the class and passes the block itself.
pub(super) static ENTER: Method = Method::fast(c"__enter__", enter, c"Begin the span.");
pub(super) static EXIT: Method = Method::fast(c"__exit__", exit, c"End the span.");

static METHODS: [Method; 3] = [
    Method::fast(c"__enter__", enter, c"Begin the span."),
    Method::fast(c"__exit__", exit, c"End the span."),
    Method::END,
];

/// A new class of span blocks. Each pooled block has one of its own.
pub(super) fn new_class(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let mut attributes = [
        getter(c"name", name, c"What the span is called."),
        getter(c"elapsed_ns", elapsed_ns, c"Nanoseconds it took; 0 when nobody measured."),
        ffi::PyGetSetDef::default(),
    ];
    // The interpreter keeps a pointer to these.
    let attributes = Box::leak(Box::new(std::mem::take(&mut attributes)));
    let mut slots = [
        slot(ffi::Py_tp_dealloc, dealloc as *mut c_void),
        slot(ffi::Py_tp_repr, repr as *mut c_void),
        slot(ffi::Py_tp_methods, (&raw const METHODS).cast_mut().cast()),
        slot(ffi::Py_tp_getset, attributes.as_mut_ptr().cast()),
        slot(ffi::Py_tp_doc, c"A named stretch of time.".as_ptr().cast_mut().cast()),
        slot(0, null_mut()),
    ];
    let flags = ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_DISALLOW_INSTANTIATION;
    heap_type(py, c"tachograph._native._SpanBlock", size_of::<SpanBlock>(), flags, &mut slots)
}

/// A slot of a class.
pub(super) fn slot(number: c_int, pointer: *mut c_void) -> ffi::PyType_Slot {
    ffi::PyType_Slot { slot: number, pfunc: pointer }
}

fn getter(
    name: &'static std::ffi::CStr,
    get: ffi::getter,
    doc: &'static std::ffi::CStr,
) -> ffi::PyGetSetDef {
    ffi::PyGetSetDef {
        name: name.as_ptr(),
        get: Some(get),
        set: None,
        doc: doc.as_ptr(),
        closure: null_mut(),
    }
}

/// A new block of class `kind`, which [`new_class`] made.
pub(super) fn new_block(
    py: Python<'_>,
    kind: &Bound<'_, PyAny>,
    state: SpanState,
    is_pooled: bool,
) -> PyResult<NonNull<SpanBlock>> {
    // SAFETY: `kind` is a class of span blocks, and the lines below fill the
    // block in before anyone sees it.
    let block = unsafe { new_object(py, kind.as_ptr().cast()) }?.cast::<SpanBlock>();
    // SAFETY: the object was allocated with room for this field.
    let place = unsafe { &raw mut (*block.as_ptr()).is_pooled };
    // SAFETY: inside the block, which is ours alone.
    unsafe { place.write(is_pooled) };
    // SAFETY: the object was allocated with room for this field.
    let place = unsafe { &raw mut (*block.as_ptr()).state };
    // SAFETY: as above; what was there is zeroes and has no owner.
    unsafe { place.write(Guarded::new(state)) };
    Ok(block)
}

/// The block behind an object that the interpreter hands to one of our functions.
///
/// # Safety
///
/// `object` is a span block and stays alive for `'a`.
#[inline]
unsafe fn block_of<'a>(object: *mut ffi::PyObject) -> &'a SpanBlock {
    // SAFETY: promised by the caller.
    unsafe { &*object.cast::<SpanBlock>() }
}

unsafe extern "C" fn enter(
    object: *mut ffi::PyObject,
    _args: *mut *mut ffi::PyObject,
    _nargs: ffi::Py_ssize_t,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls us, so this thread is attached.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: our method is only ever bound to span blocks; the caller holds it.
    let block = unsafe { block_of(object) };
    // The caller's reference comes first: while Python is asked for the place,
    // the pool must not take the block for one that nobody uses.
    // SAFETY: the block is alive.
    unsafe { ffi::Py_INCREF(object) };
    let place = place_here(py);
    let entered = block.state.with(py, |state| state.enter(place.as_ref()));
    if let Some(span) = entered.flatten() {
        set_current(py, span);
    }
    object
}

unsafe extern "C" fn exit(
    object: *mut ffi::PyObject,
    args: *mut *mut ffi::PyObject,
    nargs: ffi::Py_ssize_t,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls us, so this thread is attached.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: our method is only ever bound to span blocks; the caller holds it.
    let block = unsafe { block_of(object) };
    let failed = match usize::try_from(nargs) {
        Ok(nargs) if nargs >= 3 => {
            // SAFETY: there are `nargs` arguments, the exception's type third from the end.
            let place = unsafe { args.add(nargs - 3) };
            // SAFETY: one of the arguments.
            let kind = unsafe { place.read() };
            // SAFETY: it has no precondition.
            kind != unsafe { ffi::Py_None() }
        }
        _ => false,
    };
    let Some(Ok(left)) = block.state.with(py, |state| state.leave(failed)) else {
        return not_entered(py, block);
    };
    // Before Python hears of anything: the pool could find the block itself
    // meanwhile, and have it twice.
    if block.is_pooled {
        pool::give_back(py, NonNull::from(block));
    }
    if let Some(left) = left {
        left.tell(py);
    }
    // SAFETY: it has no precondition.
    let none = unsafe { ffi::Py_None() };
    // SAFETY: None is alive.
    unsafe { ffi::Py_INCREF(none) };
    none
}

#[cold]
fn not_entered(py: Python<'_>, block: &SpanBlock) -> *mut ffi::PyObject {
    let name = block.state.with(py, |state| state.key().name().text()).unwrap_or_default();
    PyRuntimeError::new_err(format!("the span {name:?} is left but was not entered")).restore(py);
    null_mut()
}

unsafe extern "C" fn dealloc(object: *mut ffi::PyObject) {
    // SAFETY: every object has a class.
    let kind = unsafe { ffi::Py_TYPE(object) };
    let block = object.cast::<SpanBlock>();
    // SAFETY: a span block has this field.
    let state = unsafe { &raw mut (*block).state };
    // SAFETY: nobody holds the block any more, so nobody looks at its state.
    unsafe { state.drop_in_place() };
    // SAFETY: the memory came from the allocator of objects without cycles.
    unsafe { ffi::PyObject_Free(object.cast()) };
    // SAFETY: every object holds a reference to a class made at run time.
    unsafe { ffi::Py_DECREF(kind.cast()) };
}

unsafe extern "C" fn repr(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls us, so this thread is attached.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: a slot of our class gets span blocks only.
    let block = unsafe { block_of(object) };
    let name = block.state.with(py, |state| state.key().name().text()).unwrap_or_default();
    given(py, format!("<span {name:?}>"))
}

unsafe extern "C" fn name(object: *mut ffi::PyObject, _: *mut c_void) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls us, so this thread is attached.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: an attribute of our class belongs to span blocks only.
    let block = unsafe { block_of(object) };
    given(py, block.state.with(py, |state| state.key().name().text()).unwrap_or_default())
}

unsafe extern "C" fn elapsed_ns(object: *mut ffi::PyObject, _: *mut c_void) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls us, so this thread is attached.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: an attribute of our class belongs to span blocks only.
    let block = unsafe { block_of(object) };
    given(py, block.state.with(py, |state| state.elapsed_ns()).unwrap_or_default())
}

/// `value` as the interpreter wants results; null with an exception set.
pub(super) fn given<'py>(py: Python<'py>, value: impl IntoPyObject<'py>) -> *mut ffi::PyObject {
    match value.into_bound_py_any(py) {
        Ok(value) => value.into_ptr(),
        Err(error) => {
            error.restore(py);
            null_mut()
        }
    }
}
