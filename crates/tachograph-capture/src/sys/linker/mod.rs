//! The one place that changes where a call from one loaded object to another
//! goes.
//!
//! A [`Hook`] names a function, what is to be called in its place, and where
//! the function that was there is kept. [`register`] adds hooks for good;
//! [`scan`] writes them into the slots of every loaded object, and
//! [`rescan_if_changed`] does so again when a library was loaded since. Nothing
//! is ever taken out: a hook that has nothing to do calls the real function.
//!
//! To hook more functions, write a `static` table and register it once:
//!
//! ```ignore
//! static REAL: AtomicUsize = AtomicUsize::new(0);
//! static HOOKS: [Hook; 1] = [Hook::new(c"cblas_dgemm", on_dgemm as *const (), &REAL).adopt()];
//! linker::register(&HOOKS);
//! linker::scan();
//! ```
//!
//! The rule that keeps this from crashing: an object that another thread is
//! still relocating is left alone (see `scan.rs`).

mod done;
mod object;
mod protection;
mod scan;
mod symbols;

use std::ffi::CStr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

pub(crate) use scan::{leave_alone, report, rescan_if_changed, scan, try_rescan_if_changed};
pub(crate) use symbols::{object_of, resolve};

/// Tables that can be registered: the allocator's, BLAS, and some to spare.
const MOST_TABLES: usize = 16;

/// One function whose calls go elsewhere.
pub(crate) struct Hook {
    /// What the function is called.
    pub(crate) name: &'static CStr,
    /// What is called in its place.
    hook: *const (),
    /// The function that was there; 0 until it is known.
    pub(crate) real: &'static AtomicUsize,
    adopt: bool,
}

// SAFETY: the pointer is the address of a function and is never dereferenced.
unsafe impl Sync for Hook {}

impl Hook {
    /// Calls to `name` go to `hook`; `real` gets the function that was there,
    /// which is the first definition in load order.
    pub(crate) const fn new(
        name: &'static CStr,
        hook: *const (),
        real: &'static AtomicUsize,
    ) -> Self {
        Self { name, hook, real, adopt: false }
    }

    /// Where no definition is in sight of the whole program, the first slot says
    /// which function is the real one. For libraries that bring their own copy.
    #[allow(dead_code, reason = "for tables of functions such as those of BLAS")]
    pub(crate) const fn adopt(mut self) -> Self {
        self.adopt = true;
        self
    }

    fn address(&self) -> usize {
        self.hook as usize
    }
}

static TABLES: [AtomicPtr<Registered>; MOST_TABLES] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; MOST_TABLES];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// One registered table; leaked, because hooks stay.
struct Registered(&'static [Hook]);

/// Adds `hooks`, once, and finds the real function of each. False when there
/// is no more room.
pub(crate) fn register(hooks: &'static [Hook]) -> bool {
    if tables().any(|known| std::ptr::eq(known, hooks)) {
        return true;
    }
    symbols::resolve(hooks);
    let at = COUNT.fetch_add(1, Ordering::AcqRel);
    let Some(place) = TABLES.get(at) else { return false };
    place.store(Box::into_raw(Box::new(Registered(hooks))), Ordering::Release);
    scan::forget();
    true
}

/// Every registered table.
fn tables() -> impl Iterator<Item = &'static [Hook]> {
    TABLES.iter().filter_map(super::leaked::get).map(|table| table.0)
}

/// The hook for the function called `name`, if there is one.
fn hook_for(name: &CStr) -> Option<&'static Hook> {
    tables().flatten().find(|hook| hook.name == name)
}
