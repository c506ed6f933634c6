//! The real function behind a name: the first definition in load order.
//!
//! `dlsym` is not asked: it may answer with a stub of the program itself, and
//! in a library that exports the same names it would find that library.

#[cfg(test)]
use std::ffi::CStr;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use super::Hook;
use super::object::Object;

/// Fills in the real function of every hook that has none yet.
pub(crate) fn resolve(hooks: &'static [Hook]) {
    let mut open = Search { hooks };
    // SAFETY: the callback gets the search it expects and does not outlive it.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut open).cast()) };
}

/// The first object's function called `name`, ours left out.
#[cfg(test)]
fn first_defined(name: &CStr) -> Option<usize> {
    struct One<'a> {
        name: &'a CStr,
        found: Option<usize>,
    }
    unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, one: *mut c_void) -> c_int {
        // SAFETY: `one` is the question that the outer function lent to this call.
        let one = unsafe { &mut *one.cast::<One<'_>>() };
        // SAFETY: the loader passes a valid description for the time of the call.
        let object = Object::of(unsafe { &*info });
        one.found = object.filter(|object| !is_ours(object)).and_then(|o| o.defined(one.name));
        c_int::from(one.found.is_some())
    }
    let mut one = One { name, found: None };
    // SAFETY: the callback gets the question it expects and does not outlive it.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut one).cast()) };
    one.found
}

/// Whether this code lies in `object`.
pub(super) fn is_ours(object: &Object) -> bool {
    let ours = object.range.contains(&(is_ours as fn(&Object) -> bool as usize as u64));
    if ours {
        OURS.0.store(object.range.start, Ordering::Relaxed);
        OURS.1.store(object.range.end, Ordering::Relaxed);
    }
    ours
}

/// Where the object with this code lies, once it was met.
static OURS: (AtomicU64, AtomicU64) = (AtomicU64::new(0), AtomicU64::new(0));

/// Whether `address` is a function of ours, as where we export the allocator.
pub(super) fn is_in_ours(address: u64) -> bool {
    (OURS.0.load(Ordering::Relaxed)..OURS.1.load(Ordering::Relaxed)).contains(&address)
}

/// Where the object that holds `function` begins; 0 when no object does.
pub(crate) fn object_of(function: usize) -> usize {
    // SAFETY: all-zero is a valid answer: null pointers.
    let mut found = unsafe { std::mem::zeroed::<libc::Dl_info>() };
    // SAFETY: the address is looked up and never dereferenced; the answer is ours.
    let is_found = unsafe { libc::dladdr(function as *const c_void, &raw mut found) } != 0;
    if is_found { found.dli_fbase as usize } else { 0 }
}

struct Search {
    hooks: &'static [Hook],
}

unsafe extern "C" fn look(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    search: *mut c_void,
) -> c_int {
    // SAFETY: the loader passes a valid description for the time of the call.
    let info = unsafe { &*info };
    // SAFETY: `search` is what the outer function lent to this call.
    let search = unsafe { &*search.cast::<Search>() };
    let Some(object) = Object::of(info).filter(|object| !is_ours(object)) else { return 0 };
    let open = |hook: &&Hook| hook.real.load(Ordering::Acquire) == 0;
    for hook in search.hooks.iter().filter(open) {
        if let Some(real) = object.defined(hook.name) {
            hook.real.store(real, Ordering::Release);
        }
    }
    c_int::from(!search.hooks.iter().any(|hook| open(&hook)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_library_defines_malloc_and_nobody_a_made_up_name() {
        let malloc = first_defined(c"malloc").unwrap();

        assert_eq!(Some(malloc), super::super::super::dynamic::symbol(c"malloc"));
        assert_eq!(first_defined(c"tachograph_has_no_such_symbol"), None);
    }
}
