//! The class of timed functions: how they look and bind.

use std::ffi::{CStr, c_void};
use std::mem::offset_of;
use std::ptr::null_mut;

use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;
use pyo3::{Borrowed, ffi};

use super::interpreter::{HAVE_VECTORCALL, Method, PyVectorcall_Call, bound_method, heap_type};
use super::span_block::{given, slot};
use super::timed_call::{Inside, TimedCall, clear, dealloc, timed_of, traverse};

static METHODS: [Method; 2] =
    [Method::plain(c"__reduce__", reduce, c"A timed function is pickled by name."), Method::END];

/// The class of timed functions.
pub(super) fn class(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    CLASS.get_or_try_init(py, || make(py).map(Bound::unbind)).map(|class| class.bind(py))
}

fn make(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let members = [
        offset(c"__vectorcalloffset__", offset_of!(TimedCall, vectorcall)),
        offset(c"__dictoffset__", offset_of!(TimedCall, dict)),
        offset(c"__weaklistoffset__", offset_of!(TimedCall, weak_references)),
        ffi::PyMemberDef::default(),
    ];
    let attributes = [
        ffi::PyGetSetDef {
            name: c"__dict__".as_ptr(),
            get: Some(ffi::PyObject_GenericGetDict),
            set: Some(ffi::PyObject_GenericSetDict),
            doc: null_mut(),
            closure: null_mut(),
        },
        ffi::PyGetSetDef::default(),
    ];
    // The class keeps pointers to these; it is made once and never freed.
    let members = Box::leak(Box::new(members));
    let attributes = Box::leak(Box::new(attributes));
    let mut slots = [
        slot(ffi::Py_tp_dealloc, dealloc as *mut c_void),
        slot(ffi::Py_tp_traverse, traverse as *mut c_void),
        slot(ffi::Py_tp_clear, clear as *mut c_void),
        slot(ffi::Py_tp_call, PyVectorcall_Call as *mut c_void),
        slot(ffi::Py_tp_descr_get, bind as *mut c_void),
        slot(ffi::Py_tp_getattro, get_attribute as *mut c_void),
        slot(ffi::Py_tp_repr, repr as *mut c_void),
        slot(ffi::Py_tp_methods, (&raw const METHODS).cast_mut().cast()),
        slot(ffi::Py_tp_members, members.as_mut_ptr().cast()),
        slot(ffi::Py_tp_getset, attributes.as_mut_ptr().cast()),
        slot(0, null_mut()),
    ];
    // With the last flag a method is called without being bound first.
    let flags = ffi::Py_TPFLAGS_DEFAULT
        | ffi::Py_TPFLAGS_DISALLOW_INSTANTIATION
        | ffi::Py_TPFLAGS_HAVE_GC
        | HAVE_VECTORCALL
        | ffi::Py_TPFLAGS_METHOD_DESCRIPTOR;
    heap_type(py, c"tachograph._native._TimedFunction", size_of::<TimedCall>(), flags, &mut slots)
}

fn offset(name: &'static CStr, offset: usize) -> ffi::PyMemberDef {
    ffi::PyMemberDef {
        name: name.as_ptr(),
        type_code: ffi::Py_T_PYSSIZET,
        offset: offset as ffi::Py_ssize_t,
        flags: ffi::Py_READONLY,
        doc: null_mut(),
    }
}

/// A timed function in a class is a method.
unsafe extern "C" fn bind(
    object: *mut ffi::PyObject,
    instance: *mut ffi::PyObject,
    _class: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: it has no precondition.
    let none = unsafe { ffi::Py_None() };
    if instance.is_null() || instance == none {
        // SAFETY: the interpreter holds the object it asks us about.
        unsafe { ffi::Py_INCREF(object) };
        return object;
    }
    // SAFETY: the interpreter holds both while it asks.
    unsafe { bound_method(object, instance) }
}

/// What it does not have itself it has from its function, such as `__code__`.
unsafe extern "C" fn get_attribute(
    object: *mut ffi::PyObject,
    name: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter hands us an object and a name that it holds.
    let found = unsafe { ffi::PyObject_GenericGetAttr(object, name) };
    if !found.is_null() {
        return found;
    }
    // SAFETY: the interpreter calls us, so this thread is attached.
    let py = unsafe { Python::assume_attached() };
    let error = PyErr::fetch(py);
    // SAFETY: a slot of our class gets timed functions only.
    let timed = unsafe { timed_of(object) };
    // SAFETY: the interpreter holds the name.
    let name = unsafe { Borrowed::from_ptr(py, name) };
    let Some(Inside { function, .. }) =
        timed.inside.as_ref().filter(|_| error.is_instance_of::<PyAttributeError>(py))
    else {
        error.restore(py);
        return null_mut();
    };
    let name = name.cast::<PyString>().map(|name| name.to_owned());
    match name.map_err(PyErr::from).and_then(|name| function.bind(py).getattr(name)) {
        Ok(value) => value.into_ptr(),
        Err(_) => {
            error.restore(py);
            null_mut()
        }
    }
}

unsafe extern "C" fn repr(object: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls us, so this thread is attached.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: a slot of our class gets timed functions only.
    let timed = unsafe { timed_of(object) };
    let function = timed.inside.as_ref().map(|inside| inside.function.bind(py).repr());
    match function {
        Some(Ok(shown)) => given(py, format!("<timed {}>", shown.to_string_lossy())),
        _ => given(py, "<timed function>"),
    }
}

unsafe extern "C" fn reduce(
    object: *mut ffi::PyObject,
    _: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the object is held by the interpreter, the name is a C string.
    unsafe { ffi::PyObject_GetAttrString(object, c"__qualname__".as_ptr()) }
}
