//! Python's objects where the interpreter serves all of them itself, as with
//! mimalloc and on free-threaded builds.
//!
//! Nothing comes to `malloc` there that could be given a mark, and a block of
//! another allocator would crash it. So an object that is due is kept where it
//! lies, and `free` looks every address up among those of the sampled ones,
//! without a lock.

use std::ffi::c_void;

use super::domain::{Domain, Functions};
use super::local::local;
use super::objects::{MEMORY, OBJECTS, RAW_MEMORY, SMALL, due, is_wanted};
use super::sample::{self, errno, set_errno};
use super::{control, store};

/// The index tells addresses apart by this many bytes, and smaller blocks may lie closer.
const LEAST: usize = 16;

/// Whether the count runs out with a block of `size` bytes. Without the wish for objects,
/// large ones are still seen, as they are where those come to `malloc`.
#[inline(always)]
fn counts_out(size: usize) -> bool {
    (size > SMALL || is_wanted()) && local().count_down(size)
}

/// Makes a block with `make`, which is given whether it must be one that the index can
/// tell from others, and keeps it if it is due.
#[cold]
#[inline(never)]
#[unsafe(link_section = "tacho_heap")]
fn counted_out(
    domain: &Domain,
    size: usize,
    make: &mut dyn FnMut(bool) -> *mut c_void,
) -> *mut c_void {
    let local = local();
    let due = due(local, size);
    // What the interpreter maps for it is not counted once more.
    let block = local.quiet(|| make(due.is_some()));
    if let Some(weight) = due.filter(|_| !block.is_null()) {
        let before = errno();
        local.parked(|| sample::keep(block, size, weight, domain.allocator, false));
        set_errno(before);
    }
    block
}

#[inline(always)]
fn malloc_in(domain: &'static Domain, context: *mut c_void, size: usize) -> *mut c_void {
    if counts_out(size) {
        return counted_out(domain, size, &mut |is_due| {
            domain.malloc(context, if is_due { size.max(LEAST) } else { size })
        });
    }
    local().quiet(|| domain.malloc(context, size))
}

#[inline(always)]
fn calloc_in(
    domain: &'static Domain,
    context: *mut c_void,
    count: usize,
    size: usize,
) -> *mut c_void {
    let whole = count.saturating_mul(size);
    if counts_out(whole) {
        return counted_out(domain, whole, &mut |is_due| {
            if is_due && whole < LEAST {
                domain.calloc(context, 1, LEAST)
            } else {
                domain.calloc(context, count, size)
            }
        });
    }
    local().quiet(|| domain.calloc(context, count, size))
}

/// The old block ends, and the new one is drawn afresh.
#[inline(always)]
fn realloc_in(
    domain: &'static Domain,
    context: *mut c_void,
    old: *mut c_void,
    size: usize,
) -> *mut c_void {
    if old.is_null() {
        return malloc_in(domain, context, size);
    }
    let removed = if may_be_sampled(old) { take_out(old) } else { None };
    let new = if counts_out(size) {
        counted_out(domain, size, &mut |is_due| {
            domain.realloc(context, old, if is_due { size.max(LEAST) } else { size })
        })
    } else {
        local().quiet(|| domain.realloc(context, old, size))
    };
    if let Some(removed) = removed.filter(|_| new.is_null()) {
        local().parked(|| store::put_back(old as u64, removed));
    }
    new
}

#[inline(always)]
fn free_in(domain: &'static Domain, context: *mut c_void, block: *mut c_void) {
    if may_be_sampled(block) {
        take_out(block);
    }
    domain.free(context, block);
}

#[inline(always)]
fn may_be_sampled(block: *mut c_void) -> bool {
    control::is_tracking()
        && (block as usize).is_multiple_of(LEAST)
        && store::may_hold(block as u64)
}

#[cold]
#[inline(never)]
#[unsafe(link_section = "tacho_heap")]
fn take_out(block: *mut c_void) -> Option<store::Removed> {
    let local = local();
    if local.is_busy() {
        return None;
    }
    let before = errno();
    let removed = local.parked(|| store::remove(block as u64));
    set_errno(before);
    removed
}

/// Our functions in place of the interpreter's for one of its domains.
macro_rules! functions_of {
    ($name:ident, $domain:path) => {
        pub(super) fn $name(before: &Functions) -> Functions {
            #[unsafe(link_section = "tacho_heap")]
            extern "C" fn malloc(context: *mut c_void, size: usize) -> *mut c_void {
                malloc_in(&$domain, context, size)
            }
            #[unsafe(link_section = "tacho_heap")]
            extern "C" fn calloc(context: *mut c_void, count: usize, size: usize) -> *mut c_void {
                calloc_in(&$domain, context, count, size)
            }
            #[unsafe(link_section = "tacho_heap")]
            extern "C" fn realloc(
                context: *mut c_void,
                block: *mut c_void,
                size: usize,
            ) -> *mut c_void {
                realloc_in(&$domain, context, block, size)
            }
            #[unsafe(link_section = "tacho_heap")]
            extern "C" fn free(context: *mut c_void, block: *mut c_void) {
                free_in(&$domain, context, block);
            }
            Functions {
                context: before.context,
                malloc: malloc as *const () as usize,
                calloc: calloc as *const () as usize,
                realloc: realloc as *const () as usize,
                free: free as *const () as usize,
            }
        }
    };
}

functions_of!(object_functions, OBJECTS);
functions_of!(memory_functions, MEMORY);
functions_of!(raw_functions, RAW_MEMORY);
