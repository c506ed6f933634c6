//! Python's small objects, sampled one by one.
//!
//! The interpreter serves objects of up to 512 bytes from arenas of its own and
//! passes larger requests on to `malloc`. So an object that is due asks the
//! original allocator for 513 bytes: the request arrives at our `malloc`, which
//! knows what is wanted and hands out a marked block. For the interpreter that
//! is an ordinary large block; its counts, its `free` and its debug headers stay
//! right, and `free` needs no hook.
//!
//! That holds for interpreters whose small requests stay away from `malloc` and
//! whose large ones go there, and a probe makes sure of both. Where even large ones
//! stay away, objects are sampled in place (`in_place.rs`).

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use tachograph_profile::Allocator;

use super::apart::Apart;
use super::carried::Carried;
use super::domain::{
    Access, AccessArenas, Arenas, Domain, Free, FreeArena, Functions, Malloc, Wrap,
};
use super::local::{Local, Verdict, local};
use super::{control, in_place};
use crate::sys::dynamic::symbol;

/// The largest object that the interpreter serves itself.
pub(super) const SMALL: usize = 512;
/// The smallest request that it passes on.
const CARRIER: usize = SMALL + 1;
/// How often a probe is repeated: a request may make the interpreter enlarge a
/// table of its own.
const PROBES: usize = 4;

const RAW: c_int = 0;
const MEM: c_int = 1;
const OBJECT: c_int = 2;

pub(super) static OBJECTS: Apart<Domain> = Apart(Domain::new(Allocator::PyObject));
pub(super) static MEMORY: Apart<Domain> = Apart(Domain::new(Allocator::PyMem));
/// Hooked only where it is served in place, as on the free-threaded 3.15.
pub(super) static RAW_MEMORY: Apart<Domain> = Apart(Domain::new(Allocator::PyMem));
static ARENA_ALLOC: AtomicUsize = AtomicUsize::new(0);
static ARENA_FREE: AtomicUsize = AtomicUsize::new(0);
static ARENA_BYTES: AtomicU64 = AtomicU64::new(0);

/// Some door wants objects one by one.
static WANTED: AtomicBool = AtomicBool::new(false);
/// Objects that did not arrive at `malloc`.
static ASTRAY: AtomicU64 = AtomicU64::new(0);

/// Whether objects are to be sampled one by one from now on.
pub(crate) fn want(wanted: bool) {
    WANTED.store(wanted, Ordering::Release);
}

/// Whether they are.
///
/// Context: allocator hook.
#[inline(always)]
pub(super) fn is_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}

/// Bytes of arenas that were mapped since the hooks are in place and are still there.
pub(crate) fn arena_bytes() -> u64 {
    ARENA_BYTES.load(Ordering::Relaxed)
}

/// Objects that were due and did not arrive at `malloc`, so they are not sampled.
pub(crate) fn astray() -> u64 {
    ASTRAY.load(Ordering::Relaxed)
}

/// Our hooks were put in the interpreter's tables.
static INSTALLED: AtomicBool = AtomicBool::new(false);
/// They were found gone.
static LOST: AtomicBool = AtomicBool::new(false);

/// Looks whether the hooks are still in the interpreter's tables. `tracemalloc` that
/// was started before us puts back what it found when it stops.
///
/// The caller holds the interpreter lock.
pub(crate) fn check() {
    let Some(get) = symbol(c"PyMem_GetAllocator").filter(|_| INSTALLED.load(Ordering::Acquire))
    else {
        return;
    };
    // SAFETY: every CPython exports it with this signature.
    let get = unsafe { std::mem::transmute::<usize, Access>(get) };
    if !reaches(&table(get, OBJECT), 64, Target::Objects) {
        LOST.store(true, Ordering::Release);
    }
}

/// What the interpreter's table for `domain` holds.
fn table(get: Access, domain: c_int) -> Functions {
    let mut functions =
        Functions { context: std::ptr::null_mut(), malloc: 0, calloc: 0, realloc: 0, free: 0 };
    get(domain, &raw mut functions);
    functions
}

/// Whether the hooks were found gone since the last call.
pub(crate) fn take_lost() -> bool {
    LOST.swap(false, Ordering::AcqRel)
}

/// Hooks the interpreter's allocators; half a sentence why objects are not seen
/// one by one where that cannot be. Again after something took the hooks out.
///
/// The caller holds the interpreter lock.
pub(crate) fn install() -> Result<(), &'static str> {
    let (get, set) = access().ok_or("no Python interpreter is loaded")?;
    let (objects, memory) = (table(get, OBJECT), table(get, MEM));
    if reaches(&objects, 64, Target::Objects) {
        return Ok(());
    }
    if reaches(&objects, 64, Target::Malloc) {
        // Every object is a block of `malloc`, where it is seen anyway.
        return Ok(());
    }
    if !reaches(&objects, SMALL + 88, Target::Malloc) {
        let domains: [(c_int, &Domain, Wrap); 3] = [
            (OBJECT, &OBJECTS, in_place::object_functions),
            (MEM, &MEMORY, in_place::memory_functions),
            (RAW, &RAW_MEMORY, in_place::raw_functions),
        ];
        for (domain, kept, ours) in domains {
            let before = table(get, domain);
            // Around ourselves we would call ourselves for ever.
            let is_seen = reaches(&before, 64, Target::Objects);
            if !is_seen && !reaches(&before, SMALL + 88, Target::Malloc) {
                kept.remember(&before, usize::MAX);
                let mut ours = ours(&before);
                set(domain, &raw mut ours);
            }
        }
        INSTALLED.store(true, Ordering::Release);
        return Ok(());
    }
    // Debugging adds to each object, so the largest of the small ones go to `malloc`.
    let sizes = [SMALL, SMALL - 24, SMALL - 32, SMALL - 40];
    let most = sizes.into_iter().find(|size| !reaches(&objects, *size, Target::Malloc));
    let most = most.unwrap_or(SMALL - 48);
    OBJECTS.remember(&objects, most);
    let mut ours = Functions {
        malloc: object_malloc as *const () as usize,
        calloc: object_calloc as *const () as usize,
        realloc: object_realloc as *const () as usize,
        ..objects
    };
    set(OBJECT, &raw mut ours);
    if !reaches(&memory, 64, Target::Objects) && !reaches(&memory, 64, Target::Malloc) {
        MEMORY.remember(&memory, most);
        let mut ours = Functions {
            malloc: memory_malloc as *const () as usize,
            calloc: memory_calloc as *const () as usize,
            realloc: memory_realloc as *const () as usize,
            ..memory
        };
        set(MEM, &raw mut ours);
    }
    hook_arenas();
    INSTALLED.store(true, Ordering::Release);
    Ok(())
}

/// How the interpreter's tables are read and written; `None` without an interpreter.
fn access() -> Option<(Access, Access)> {
    let (get, set) = (symbol(c"PyMem_GetAllocator")?, symbol(c"PyMem_SetAllocator")?);
    // SAFETY: both are exported by every CPython with this signature.
    let get = unsafe { std::mem::transmute::<usize, Access>(get) };
    // SAFETY: as above.
    let set = unsafe { std::mem::transmute::<usize, Access>(set) };
    Some((get, set))
}

/// Puts the interpreter's own functions back where ours are the outermost. Objects
/// that were sampled are large blocks to the interpreter, and end as such.
///
/// Those that are sampled in place stay hooked: their end is only seen there.
///
/// The caller holds the interpreter lock.
pub(crate) fn uninstall() {
    let Some((get, set)) = access().filter(|_| INSTALLED.load(Ordering::Acquire)) else { return };
    let domains = [
        (OBJECT, &OBJECTS, object_malloc as *const () as usize),
        (MEM, &MEMORY, memory_malloc as *const () as usize),
    ];
    let is_ours = |(domain, _, ours): &(c_int, _, usize)| table(get, *domain).malloc == *ours;
    // All or nothing: the next `install` takes what it finds in one for both.
    if !domains.iter().all(is_ours) {
        return;
    }
    for (domain, kept, _) in domains {
        let mut before = kept.recall(&table(get, domain));
        set(domain, &raw mut before);
    }
    INSTALLED.store(false, Ordering::Release);
}

/// Where a probe is waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    /// At our hook for objects.
    Objects,
    /// At our hook for `malloc`.
    Malloc,
}

/// Whether a request of `size` bytes arrives at `target` every time.
fn reaches(functions: &Functions, size: usize, target: Target) -> bool {
    let local = local();
    // SAFETY: the interpreter had these functions in its table, with these signatures.
    let malloc = unsafe { std::mem::transmute::<usize, Malloc>(functions.malloc) };
    // SAFETY: as above.
    let free = unsafe { std::mem::transmute::<usize, Free>(functions.free) };
    (0..PROBES).all(|_| {
        let word = match target {
            Target::Objects => Carried::PROBE_OBJECTS,
            Target::Malloc => Carried::probe_malloc(size),
        };
        local.carry(word);
        let block = malloc(functions.context, size);
        let is_there = local.take_carried() == 0;
        free(functions.context, block);
        is_there
    })
}

/// Counts arenas as a series of their own, or their objects would count twice.
fn hook_arenas() {
    let (Some(get), Some(set)) =
        (symbol(c"PyObject_GetArenaAllocator"), symbol(c"PyObject_SetArenaAllocator"))
    else {
        return;
    };
    // SAFETY: both are exported by every CPython with this signature.
    let get = unsafe { std::mem::transmute::<usize, AccessArenas>(get) };
    // SAFETY: as above.
    let set = unsafe { std::mem::transmute::<usize, AccessArenas>(set) };
    let mut arenas = Arenas { context: std::ptr::null_mut(), alloc: 0, free: 0 };
    get(&raw mut arenas);
    if arenas.alloc == 0 || arenas.alloc == arena_alloc as *const () as usize {
        return;
    }
    ARENA_ALLOC.store(arenas.alloc, Ordering::Release);
    ARENA_FREE.store(arenas.free, Ordering::Release);
    let alloc = arena_alloc as *const () as usize;
    let mut ours = Arenas { alloc, free: arena_free as *const () as usize, ..arenas };
    set(&raw mut ours);
}

#[unsafe(link_section = "tacho_heap")]
extern "C" fn arena_alloc(context: *mut c_void, size: usize) -> *mut c_void {
    let address = ARENA_ALLOC.load(Ordering::Acquire);
    // SAFETY: the interpreter had this function in its table, with this signature.
    let alloc = unsafe { std::mem::transmute::<usize, Malloc>(address) };
    let arena =
        if is_wanted() { local().quiet(|| alloc(context, size)) } else { alloc(context, size) };
    if !arena.is_null() {
        ARENA_BYTES.fetch_add(size as u64, Ordering::Relaxed);
    }
    arena
}

#[unsafe(link_section = "tacho_heap")]
extern "C" fn arena_free(context: *mut c_void, arena: *mut c_void, size: usize) {
    let address = ARENA_FREE.load(Ordering::Acquire);
    // SAFETY: the interpreter had this function in its table, with this signature.
    let free = unsafe { std::mem::transmute::<usize, FreeArena>(address) };
    // Arenas from before the hooks are not in the count.
    let _ = ARENA_BYTES.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |bytes| {
        Some(bytes.saturating_sub(size as u64))
    });
    free(context, arena, size);
}

/// The weight of an object for which the count ran out, if it is to be sampled.
///
/// Context: allocator hook.
pub(super) fn due(local: &Local, size: usize) -> Option<u64> {
    if local.want.get() != 0 {
        if local.want.get() == Carried::PROBE_OBJECTS {
            local.take_carried();
        } else {
            local.ask_again();
        }
        return None;
    }
    match local.decide(size) {
        Verdict::Take(weight) => Some(weight),
        Verdict::Pass => None,
    }
}

/// Decides about an object for which the count ran out; true when it is to be carried.
///
/// Context: allocator hook.
#[cold]
#[inline(never)]
#[unsafe(link_section = "tacho_heap")]
fn is_carried(local: &Local, domain: &Domain, size: usize) -> bool {
    let Some(weight) = due(local, size).filter(|_| is_wanted()) else { return false };
    local.carry(Carried { size, allocator: domain.allocator, weight }.pack());
    true
}

/// An object was asked for as a carrier. If it went elsewhere, nothing is kept of it.
fn arrived(local: &Local, block: *mut c_void) -> *mut c_void {
    if local.take_carried() != 0 {
        ASTRAY.fetch_add(1, Ordering::Relaxed);
        control::drop_one();
    }
    block
}

#[inline(always)]
fn malloc_in(domain: &'static Domain, context: *mut c_void, size: usize) -> *mut c_void {
    if domain.serves(size) && local().count_down(size) {
        return malloc_counted_out(domain, context, size);
    }
    domain.malloc(context, size)
}

#[cold]
#[inline(never)]
#[unsafe(link_section = "tacho_heap")]
extern "C" fn malloc_counted_out(
    domain: &'static Domain,
    context: *mut c_void,
    size: usize,
) -> *mut c_void {
    let local = local();
    if is_carried(local, domain, size) {
        let block = arrived(local, domain.malloc(context, CARRIER));
        if !block.is_null() {
            return block;
        }
    }
    domain.malloc(context, size)
}

#[inline(always)]
fn calloc_in(domain: &Domain, context: *mut c_void, count: usize, size: usize) -> *mut c_void {
    let local = local();
    let whole = count.saturating_mul(size);
    if domain.serves(whole) && local.count_down(whole) && is_carried(local, domain, whole) {
        let block = arrived(local, domain.calloc(context, 1, CARRIER));
        if !block.is_null() {
            return block;
        }
    }
    domain.calloc(context, count, size)
}

#[inline(always)]
fn realloc_in(
    domain: &'static Domain,
    context: *mut c_void,
    block: *mut c_void,
    size: usize,
) -> *mut c_void {
    if block.is_null() {
        return malloc_in(domain, context, size);
    }
    if !domain.serves(size) {
        return domain.realloc(context, block, size);
    }
    let local = local();
    if local.count_down(size) && is_carried(local, domain, size) {
        let moved = arrived(local, domain.realloc(context, block, CARRIER));
        if !moved.is_null() {
            return moved;
        }
    }
    // Drawn here, so not again where a block of `malloc` shrinks below the limit.
    local.quiet(|| domain.realloc(context, block, size))
}

#[unsafe(link_section = "tacho_heap")]
extern "C" fn object_malloc(context: *mut c_void, size: usize) -> *mut c_void {
    malloc_in(&OBJECTS, context, size)
}

#[unsafe(link_section = "tacho_heap")]
extern "C" fn object_calloc(context: *mut c_void, count: usize, size: usize) -> *mut c_void {
    calloc_in(&OBJECTS, context, count, size)
}

#[unsafe(link_section = "tacho_heap")]
extern "C" fn object_realloc(context: *mut c_void, block: *mut c_void, size: usize) -> *mut c_void {
    realloc_in(&OBJECTS, context, block, size)
}

#[unsafe(link_section = "tacho_heap")]
extern "C" fn memory_malloc(context: *mut c_void, size: usize) -> *mut c_void {
    malloc_in(&MEMORY, context, size)
}

#[unsafe(link_section = "tacho_heap")]
extern "C" fn memory_calloc(context: *mut c_void, count: usize, size: usize) -> *mut c_void {
    calloc_in(&MEMORY, context, count, size)
}

#[unsafe(link_section = "tacho_heap")]
extern "C" fn memory_realloc(context: *mut c_void, block: *mut c_void, size: usize) -> *mut c_void {
    realloc_in(&MEMORY, context, block, size)
}
