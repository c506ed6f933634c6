//! The parts of the interpreter that PyO3 leaves out of its stable interface.
//!
//! Every CPython from 3.11 on exports these functions with these signatures;
//! 3.11 only does not promise so in its stable interface.

use std::ffi::{CStr, c_int, c_ulong};
use std::ptr::{NonNull, null_mut};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyType};
use pyo3::{Borrowed, ffi};

unsafe extern "C-unwind" {
    fn PyObject_Vectorcall(
        callable: *mut ffi::PyObject,
        args: *const *mut ffi::PyObject,
        nargsf: usize,
        kwnames: *mut ffi::PyObject,
    ) -> *mut ffi::PyObject;
}

unsafe extern "C" {
    fn PyVectorcall_Function(callable: *mut ffi::PyObject) -> Option<Vectorcall>;
    pub(super) fn PyVectorcall_Call(
        callable: *mut ffi::PyObject,
        args: *mut ffi::PyObject,
        kwargs: *mut ffi::PyObject,
    ) -> *mut ffi::PyObject;
    fn PyMethod_New(
        function: *mut ffi::PyObject,
        instance: *mut ffi::PyObject,
    ) -> *mut ffi::PyObject;
    fn PyContextVar_Get(
        variable: *mut ffi::PyObject,
        default: *mut ffi::PyObject,
        value: *mut *mut ffi::PyObject,
    ) -> c_int;
    fn PyContextVar_Set(
        variable: *mut ffi::PyObject,
        value: *mut ffi::PyObject,
    ) -> *mut ffi::PyObject;
}

/// What the interpreter calls for an object that says so itself.
///
/// Interpreters before 3.14 end a daemon thread at exit where it stands, by
/// unwinding its stack. Our frames on it have to let that pass: functions of
/// the ABI `"C"` would abort the whole program.
pub(super) type Vectorcall = unsafe extern "C-unwind" fn(
    *mut ffi::PyObject,
    *const *mut ffi::PyObject,
    usize,
    *mut ffi::PyObject,
) -> *mut ffi::PyObject;

/// Set in a number of arguments when the place before them may be used.
pub(super) const ARGUMENTS_OFFSET: usize = 1 << (usize::BITS - 1);

/// Flag of a class whose objects say themselves what to call.
pub(super) const HAVE_VECTORCALL: c_ulong = 1 << 11;

/// The arguments of a call as the interpreter hands them over.
#[derive(Clone, Copy)]
pub(super) struct Arguments {
    pub(super) args: *const *mut ffi::PyObject,
    pub(super) nargsf: usize,
    pub(super) kwnames: *mut ffi::PyObject,
}

/// How `function` is called.
#[derive(Clone, Copy)]
pub(super) struct Entry(Vectorcall);

impl Entry {
    /// The shortest way into `function`.
    ///
    /// That of a function written in Python never changes; any other object is
    /// asked at each call.
    pub(super) fn of(function: &Bound<'_, PyAny>) -> Self {
        static FUNCTION: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let kind = FUNCTION.import(function.py(), "types", "FunctionType");
        if kind.is_ok_and(|kind| function.get_type().is(kind)) {
            // SAFETY: the function is alive.
            let direct = unsafe { PyVectorcall_Function(function.as_ptr()) };
            return Self(direct.unwrap_or(PyObject_Vectorcall));
        }
        Self(PyObject_Vectorcall)
    }

    /// Calls `function`; null means that an exception is set.
    ///
    /// # Safety
    ///
    /// The thread is attached, `function` is the one this is the way into, and
    /// `arguments` came from the interpreter and are those of the running call.
    #[inline]
    pub(super) unsafe fn call(
        self,
        function: &Py<PyAny>,
        arguments: Arguments,
    ) -> *mut ffi::PyObject {
        let Arguments { args, nargsf, kwnames } = arguments;
        // SAFETY: promised by the caller.
        unsafe { (self.0)(function.as_ptr(), args, nargsf, kwnames) }
    }
}

/// `function` bound to `instance`: what a class gives out for its methods.
///
/// # Safety
///
/// The thread is attached and both objects are alive.
pub(super) unsafe fn bound_method(
    function: *mut ffi::PyObject,
    instance: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: promised by the caller.
    unsafe { PyMethod_New(function, instance) }
}

/// What came of a step of a coroutine or generator.
pub(crate) enum Sent<'py> {
    /// It has a value for its caller and can go on.
    Yielded(Bound<'py, PyAny>),
    /// It is over, with this result.
    Returned(Bound<'py, PyAny>),
}

/// Lets `inner`, a coroutine or an iterator, go on with `value`.
///
/// PyO3 offers this for iterators only, which coroutines are not.
pub(crate) fn send<'py>(
    inner: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<Sent<'py>> {
    let py = inner.py();
    let mut result = null_mut();
    // SAFETY: both objects are alive, and `result` outlives the call.
    let status = unsafe { ffi::PyIter_Send(inner.as_ptr(), value.as_ptr(), &raw mut result) };
    // SAFETY: null with an exception set, or a reference of our own.
    let result = unsafe { Bound::from_owned_ptr_or_opt(py, result) };
    match (status, result) {
        (ffi::PySendResult::PYGEN_NEXT, Some(value)) => Ok(Sent::Yielded(value)),
        (ffi::PySendResult::PYGEN_RETURN, Some(value)) => Ok(Sent::Returned(value)),
        _ => Err(PyErr::fetch(py)),
    }
}

/// Whether `name` is among what the interpreter keeps for this thread.
pub(crate) fn thread_knows(name: &Bound<'_, PyString>) -> bool {
    // SAFETY: this thread is attached.
    let dict = unsafe { ffi::PyThreadState_GetDict() };
    if dict.is_null() {
        return false;
    }
    // SAFETY: the dictionary and the name are alive.
    let found = unsafe { ffi::PyDict_Contains(dict, name.as_ptr()) };
    if found < 0 {
        drop(PyErr::take(name.py()));
    }
    found > 0
}

/// What the context variable holds in the current context.
pub(crate) fn context_value<'py>(
    py: Python<'py>,
    variable: &Py<PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let mut value = null_mut();
    // SAFETY: `variable` is a context variable that we made, `value` outlives
    // the call, and null is the documented way to give no default.
    let status = unsafe { PyContextVar_Get(variable.as_ptr(), null_mut(), &raw mut value) };
    if status < 0 {
        return Err(PyErr::fetch(py));
    }
    // SAFETY: on success the value is null or a reference of our own.
    Ok(unsafe { Bound::from_owned_ptr_or_opt(py, value) })
}

/// Sets the context variable in the current context.
pub(crate) fn set_context_value(
    py: Python<'_>,
    variable: &Py<PyAny>,
    value: Borrowed<'_, '_, PyAny>,
) -> PyResult<()> {
    // SAFETY: both objects are alive, and `variable` is one we made.
    let token = unsafe { PyContextVar_Set(variable.as_ptr(), value.as_ptr()) };
    // SAFETY: null with an exception set, or a token of our own to let go.
    unsafe { Bound::from_owned_ptr_or_err(py, token) }.map(drop)
}

/// A function of the interpreter's own kind, bound to `of` if that is given.
///
/// # Safety
///
/// `method` describes the function truly, and `of` is null or alive.
pub(super) unsafe fn builtin<'py>(
    py: Python<'py>,
    method: &'static Method,
    of: *mut ffi::PyObject,
) -> PyResult<Bound<'py, PyAny>> {
    let method = (&raw const method.0).cast_mut();
    // SAFETY: the description is never written to and lives for ever; the
    // caller answers for the rest.
    let function = unsafe { ffi::PyCFunction_NewEx(method, of, null_mut()) };
    // SAFETY: a reference of our own, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, function) }
}

/// The description of a function, which the interpreter only reads.
#[repr(transparent)]
pub(super) struct Method(ffi::PyMethodDef);

// SAFETY: nobody writes to it, and what it points to lives for ever.
unsafe impl Sync for Method {}

impl Method {
    /// A function that takes an array of arguments.
    pub(super) const fn fast(
        name: &'static CStr,
        call: ffi::PyCFunctionFast,
        doc: &'static CStr,
    ) -> Self {
        let ml_meth = ffi::PyMethodDefPointer { PyCFunctionFast: call };
        Self::new(name, ml_meth, ffi::METH_FASTCALL, doc)
    }

    /// The same, with keyword arguments.
    pub(super) const fn fast_with_keywords(
        name: &'static CStr,
        call: ffi::PyCFunctionFastWithKeywords,
        doc: &'static CStr,
    ) -> Self {
        let ml_meth = ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: call };
        Self::new(name, ml_meth, ffi::METH_FASTCALL | ffi::METH_KEYWORDS, doc)
    }

    /// A function without arguments.
    pub(super) const fn plain(
        name: &'static CStr,
        call: ffi::PyCFunction,
        doc: &'static CStr,
    ) -> Self {
        let ml_meth = ffi::PyMethodDefPointer { PyCFunction: call };
        Self::new(name, ml_meth, ffi::METH_NOARGS, doc)
    }

    const fn new(
        name: &'static CStr,
        ml_meth: ffi::PyMethodDefPointer,
        ml_flags: c_int,
        doc: &'static CStr,
    ) -> Self {
        Self(ffi::PyMethodDef { ml_name: name.as_ptr(), ml_meth, ml_flags, ml_doc: doc.as_ptr() })
    }

    /// The end of a list of descriptions.
    pub(super) const END: Self = Self(ffi::PyMethodDef::zeroed());
}

/// A class made of `slots`, which live for ever.
pub(super) fn heap_type<'py>(
    py: Python<'py>,
    name: &'static CStr,
    size: usize,
    flags: c_ulong,
    slots: &mut [ffi::PyType_Slot],
) -> PyResult<Bound<'py, PyAny>> {
    let mut spec = ffi::PyType_Spec {
        name: name.as_ptr(),
        basicsize: c_int::try_from(size).unwrap_or(0),
        itemsize: 0,
        flags: u32::try_from(flags).unwrap_or(0),
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the slots end with an empty one, their functions have the types
    // their numbers ask for, and the interpreter copies what it keeps.
    let made = unsafe { ffi::PyType_FromSpec(&raw mut spec) };
    // SAFETY: a reference of our own, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, made) }
}

/// A new object of class `kind`, its own part zeroed.
///
/// # Safety
///
/// `kind` is a class made by [`heap_type`] whose part of the object the caller
/// fills in before anyone else sees it.
pub(super) unsafe fn new_object(
    py: Python<'_>,
    kind: *mut ffi::PyTypeObject,
) -> PyResult<NonNull<ffi::PyObject>> {
    // SAFETY: promised by the caller.
    let object = unsafe { ffi::PyType_GenericAlloc(kind, 0) };
    NonNull::new(object).ok_or_else(|| PyErr::fetch(py))
}

/// Adds `functions`, a list with an end, to the module. The interpreter makes
/// them, so that on free-threaded builds threads do not fight over their counts.
pub(super) fn add_functions(
    module: &Bound<'_, PyModule>,
    functions: &'static [Method],
) -> PyResult<()> {
    let list = functions.as_ptr().cast_mut().cast::<ffi::PyMethodDef>();
    // SAFETY: the list ends with an empty entry, lives for ever, and is only read.
    let status = unsafe { ffi::PyModule_AddFunctions(module.as_ptr(), list) };
    if status == 0 { Ok(()) } else { Err(PyErr::fetch(module.py())) }
}
