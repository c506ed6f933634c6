//! The object around a timed function: one call in, one call out.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use tachograph_capture::spans::Attributes;

use super::interpreter::{ARGUMENTS_OFFSET, Arguments, Entry, Vectorcall, new_object};
use super::signal_call::{first_argument, handed_on, signal_vectorcall};
use super::timed_type;
use crate::spans::{Call, Plan};

/// A timed function, laid out as the interpreter wants its objects.
#[repr(C)]
pub(super) struct TimedCall {
    head: ffi::PyObject,
    /// Where the interpreter looks for what to call.
    pub(super) vectorcall: Option<Vectorcall>,
    pub(super) dict: *mut ffi::PyObject,
    pub(super) weak_references: *mut ffi::PyObject,
    pub(super) inside: Option<Inside>,
}

/// What a timed function holds; gone when a cycle it was in is broken up.
pub(super) struct Inside {
    pub(super) function: Py<PyAny>,
    pub(super) entry: Entry,
    pub(super) plan: Py<Plan>,
}

/// `function`, each call of it measured as `plan` says.
pub(crate) fn wrap(function: Bound<'_, PyAny>, plan: Bound<'_, Plan>) -> PyResult<Py<PyAny>> {
    let py = function.py();
    let kind = timed_type::class(py)?;
    // SAFETY: it is the class of timed functions, and what follows fills the object in.
    let object = unsafe { new_object(py, kind.as_ptr().cast()) }?;
    let entry = if plan.get().is_signal() { signal_vectorcall } else { timed_vectorcall };
    let way_in = Entry::of(&function);
    let inside = Some(Inside { function: function.unbind(), entry: way_in, plan: plan.unbind() });
    let timed = object.cast::<TimedCall>().as_ptr();
    // SAFETY: the object was allocated with room for this field.
    let place = unsafe { &raw mut (*timed).inside };
    // SAFETY: inside the object; what was there is zeroes and has no owner.
    unsafe { place.write(inside) };
    // SAFETY: the object was allocated with room for this field.
    let place = unsafe { &raw mut (*timed).vectorcall };
    // SAFETY: inside the object.
    unsafe { place.write(Some(entry)) };
    // SAFETY: a new object comes with one reference, which is ours to give.
    Ok(unsafe { Bound::from_owned_ptr(py, object.as_ptr()) }.unbind())
}

/// The timed function behind an object.
///
/// # Safety
///
/// `object` is a timed function and stays alive for `'a`.
#[inline]
pub(super) unsafe fn timed_of<'a>(object: *mut ffi::PyObject) -> &'a TimedCall {
    // SAFETY: promised by the caller.
    unsafe { &*object.cast::<TimedCall>() }
}

unsafe extern "C-unwind" fn timed_vectorcall(
    object: *mut ffi::PyObject,
    args: *const *mut ffi::PyObject,
    nargsf: usize,
    kwnames: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls us, so this thread is attached.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: the interpreter finds this function in timed functions only, and
    // holds the one it calls.
    let timed = unsafe { timed_of(object) };
    let Some(inside) = &timed.inside else { return null_mut() };
    let Inside { function, entry, plan } = inside;
    let plan = plan.get();
    let arguments = Arguments { args, nargsf, kwnames };
    match plan.call() {
        Call::Unseen => {
            // SAFETY: the arguments are those of this call.
            unsafe { entry.call(function, arguments) }
        }
        wanted if plan.is_simple() => {
            // SAFETY: the arguments are those of this call.
            let work = || unsafe { entry.call(function, arguments) };
            plan.measure(py, wanted, work, |result| result.is_null())
        }
        // SAFETY: the arguments are those of this call.
        wanted => handed_on(py, unsafe { told(py, wanted, inside, arguments) }),
    }
}

/// A call with callbacks, or another clock.
///
/// # Safety
///
/// `arguments` came from the interpreter and are those of the running call.
pub(super) unsafe fn told<'py>(
    py: Python<'py>,
    wanted: Call,
    inside: &Inside,
    arguments: Arguments,
) -> PyResult<Bound<'py, PyAny>> {
    let Inside { function, entry, plan } = inside;
    let plan = plan.get();
    let attributes = if plan.has_before() {
        // SAFETY: promised by the caller.
        let (args, kwargs) = unsafe { as_python(py, arguments) }?;
        plan.attributes(py, &args, &kwargs)?
    } else {
        Attributes::default()
    };
    // SAFETY: promised by the caller.
    let key = plan.key_of_call(|| unsafe { first_argument(py, arguments) });
    let started = plan.begin(py, wanted, key, attributes);
    // SAFETY: promised by the caller.
    let result = unsafe { entry.call(function, arguments) };
    // SAFETY: a reference of our own, or null with an exception set.
    let result = unsafe { Bound::from_owned_ptr_or_err(py, result) };
    plan.finish_with(py, started, &result)?;
    result
}

/// The arguments as `*args` and `**kwargs`.
///
/// # Safety
///
/// `arguments` came from the interpreter and are those of the running call.
unsafe fn as_python(
    py: Python<'_>,
    arguments: Arguments,
) -> PyResult<(Bound<'_, PyTuple>, Bound<'_, PyDict>)> {
    let count = arguments.nargsf & !ARGUMENTS_OFFSET;
    // SAFETY: promised by the caller; null stands for no names.
    let names = unsafe { Bound::from_borrowed_ptr_or_opt(py, arguments.kwnames) };
    let names = names.map(|names| names.cast_into::<PyTuple>()).transpose()?;
    let named = names.as_ref().map_or(0, |names| names.len());
    let all: &[Bound<'_, PyAny>] = if count + named == 0 {
        &[]
    } else {
        // SAFETY: so many live objects are there; a reference is one pointer.
        unsafe { std::slice::from_raw_parts(arguments.args.cast(), count + named) }
    };
    let (positional, values) = all.split_at(count.min(all.len()));
    let kwargs = PyDict::new(py);
    for (name, value) in names.iter().flat_map(|names| names.iter()).zip(values) {
        kwargs.set_item(name, value)?;
    }
    Ok((PyTuple::new(py, positional)?, kwargs))
}

/// Shows the garbage collector what a timed function holds.
pub(super) unsafe extern "C" fn traverse(
    object: *mut ffi::PyObject,
    visit: ffi::visitproc,
    arg: *mut c_void,
) -> c_int {
    // SAFETY: a slot of our class gets timed functions only.
    let timed = unsafe { timed_of(object) };
    let inside = timed.inside.as_ref();
    let held = [
        // SAFETY: every object has a class.
        unsafe { ffi::Py_TYPE(object) }.cast(),
        timed.dict,
        inside.map_or(null_mut(), |inside| inside.function.as_ptr()),
        inside.map_or(null_mut(), |inside| inside.plan.as_ptr()),
    ];
    for held in held.into_iter().filter(|held| !held.is_null()) {
        // SAFETY: the collector's own function, on an object that we hold.
        let stop = unsafe { visit(held, arg) };
        if stop != 0 {
            return stop;
        }
    }
    0
}

/// Lets go of everything, to break up a cycle.
pub(super) unsafe extern "C" fn clear(object: *mut ffi::PyObject) -> c_int {
    // SAFETY: the interpreter calls us, so this thread is attached.
    let py = unsafe { Python::assume_attached() };
    let timed = object.cast::<TimedCall>();
    // SAFETY: a slot of our class gets timed functions only.
    let place = unsafe { &raw mut (*timed).inside };
    // SAFETY: the object is garbage: nobody else looks at it.
    let inside = unsafe { place.replace(None) };
    if let Some(Inside { function, plan, .. }) = inside {
        drop((function.into_bound(py), plan.into_bound(py)));
    }
    // SAFETY: a slot of our class gets timed functions only.
    let dict = unsafe { &raw mut (*timed).dict };
    // SAFETY: the field is null or holds a reference of ours.
    unsafe { ffi::Py_CLEAR(dict) };
    0
}

/// Frees a timed function.
pub(super) unsafe extern "C" fn dealloc(object: *mut ffi::PyObject) {
    // SAFETY: every object has a class.
    let kind = unsafe { ffi::Py_TYPE(object) };
    // SAFETY: the object was tracked since it was made.
    unsafe { ffi::PyObject_GC_UnTrack(object.cast()) };
    // SAFETY: its class has weak references.
    unsafe { ffi::PyObject_ClearWeakRefs(object) };
    // SAFETY: nobody holds the object any more.
    unsafe { clear(object) };
    // SAFETY: the memory came from the allocator of objects with cycles.
    unsafe { ffi::PyObject_GC_Del(object.cast()) };
    // SAFETY: every object holds a reference to a class made at run time.
    unsafe { ffi::Py_DECREF(kind.cast()) };
}
