//! What is called in place of the allocator's functions.
//!
//! Each one counts, and on the way out jumps to the real function; what happens
//! when a count runs out is in functions of its own, so that the fast path stays
//! a few instructions. All of them lie in one section, by which our own frames
//! are told from the caller's.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use tachograph_profile::Allocator;

use super::carried::Carried;
use super::local::{Local, Verdict, local};
use super::sample::{self, errno, set_errno};
use super::{block, control, mappings, real, store};
use crate::sys::linker::{self, Hook};

/// Functions that hooks need and that are never hooked themselves, so nothing may be
/// hooked without them.
static NEEDED: [Hook; 1] =
    [Hook::new(c"malloc_usable_size", usable_size as *const (), &real::PLACES.0.usable_size)];

static HOOKS: &[Hook] = &[
    Hook::new(c"malloc", malloc as *const (), &real::PLACES.0.malloc),
    Hook::new(c"calloc", calloc as *const (), &real::PLACES.0.calloc),
    Hook::new(c"realloc", realloc as *const (), &real::PLACES.0.realloc),
    Hook::new(c"reallocarray", reallocarray as *const (), &real::REALLOCARRAY),
    Hook::new(c"free", free as *const (), &real::PLACES.0.free),
    Hook::new(c"cfree", free as *const (), &real::PLACES.0.free),
    Hook::new(c"free_sized", free_sized as *const (), &real::FREE_SIZED),
    Hook::new(c"free_aligned_sized", free_aligned_sized as *const (), &real::FREE_ALIGNED_SIZED),
    Hook::new(c"memalign", memalign as *const (), &real::PLACES.0.memalign),
    Hook::new(c"posix_memalign", posix_memalign as *const (), &real::PLACES.0.posix_memalign),
    Hook::new(c"aligned_alloc", aligned_alloc as *const (), &real::PLACES.0.aligned_alloc),
    Hook::new(c"valloc", valloc as *const (), &real::PLACES.0.valloc),
    Hook::new(c"pvalloc", pvalloc as *const (), &real::PLACES.0.pvalloc),
    Hook::new(c"mmap", mappings::mmap as *const (), &real::PLACES.0.mmap),
    Hook::new(c"mmap64", mappings::mmap as *const (), &real::PLACES.0.mmap),
    Hook::new(c"munmap", mappings::munmap as *const (), &real::PLACES.0.munmap),
    Hook::new(c"mremap", mappings::mremap as *const (), &real::PLACES.0.mremap),
    #[cfg(target_arch = "x86_64")]
    Hook::new(
        c"pthread_create",
        super::threads::pthread_create as *const (),
        &real::PLACES.0.pthread_create,
    ),
    #[cfg(target_arch = "x86_64")]
    Hook::new(c"dlsym", on_dlsym as *const (), &real::DLSYM),
];

/// Makes the hooks known to the scanner. Where one of the functions that every sample
/// needs is missing, or is of another allocator, nothing is hooked: a block must go back
/// to the allocator that made it.
///
/// An allocator that was put in the place of the C library's is not hooked itself: it
/// serves a caller by calling its own functions, and the kernel, and that caller counts.
pub(super) fn register() -> bool {
    resolve();
    let places = &real::PLACES.0;
    let object = |place: &AtomicUsize| linker::object_of(place.load(Ordering::Acquire));
    let allocator = object(&places.malloc);
    let needed =
        [&places.free, &places.calloc, &places.realloc, &places.memalign, &places.usable_size];
    if allocator == 0 || needed.into_iter().any(|place| object(place) != allocator) {
        return false;
    }
    if allocator != object(&places.mmap) {
        linker::leave_alone(places.malloc.load(Ordering::Acquire));
    }
    let is_registered = linker::register(HOOKS);
    for place in [&real::FREE_SIZED, &real::FREE_ALIGNED_SIZED] {
        if object(place) != allocator {
            // Some library's own, whose blocks are not the allocator's: left alone.
            place.store(0, Ordering::Release);
        }
    }
    is_registered
}

/// Finds the real functions that are not known yet. Allocates nothing.
pub(super) fn resolve() {
    linker::resolve(&NEEDED);
    linker::resolve(HOOKS);
}

/// Never put in a slot.
extern "C" fn usable_size(block: *mut c_void) -> usize {
    real::usable_size(block)
}

/// What is to be kept of a block of `size` bytes for which the count ran out.
fn due(local: &Local, size: usize) -> Option<Carried> {
    if local.want.get() != 0 {
        if !Carried::is_for(local.want.get(), size) {
            // A probe that waits further up is left there.
            local.ask_again();
            return None;
        }
        return Carried::unpack(local.take_carried());
    }
    match local.decide(size) {
        Verdict::Pass => None,
        Verdict::Take(weight) => Some(Carried { size, allocator: Allocator::Malloc, weight }),
    }
}

/// Makes a block with `make` and keeps it.
fn sampled(
    local: &Local,
    due: &Carried,
    make: impl FnOnce() -> (*mut c_void, bool),
) -> *mut c_void {
    let before = errno();
    local.parked(|| {
        let (block, is_pooled) = make();
        if !block.is_null() {
            sample::keep(block, due.size, due.weight, due.allocator, is_pooled);
            set_errno(before);
        }
        block
    })
}

/// What [`Local::count_down`] and a jump are, without a frame: this is most of what a
/// program pays that allocates all the time.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(link_section = "tacho_heap")]
pub(super) extern "C" fn malloc(size: usize) -> *mut c_void {
    std::arch::naked_asm!(
        ".cfi_startproc",
        "mov rax, qword ptr [rip + tachograph_heap_local@GOTTPOFF]",
        "sub qword ptr fs:[rax + {count}], rdi",
        "jb {counted_out}",
        "jmp qword ptr [rip + {places} + {malloc}]",
        ".cfi_endproc",
        count = const std::mem::offset_of!(Local, count),
        counted_out = sym malloc_counted_out,
        places = sym real::PLACES,
        malloc = const std::mem::offset_of!(real::Places, malloc),
    );
}

#[cfg(not(target_arch = "x86_64"))]
#[unsafe(link_section = "tacho_heap")]
pub(super) extern "C" fn malloc(size: usize) -> *mut c_void {
    if local().count_down(size) {
        return malloc_counted_out(size);
    }
    real::malloc(size)
}

#[cold]
#[inline(never)]
#[unsafe(link_section = "tacho_heap")]
extern "C" fn malloc_counted_out(size: usize) -> *mut c_void {
    let local = local();
    match due(local, size) {
        None => real::malloc(size),
        Some(due) => {
            let block = sampled(local, &due, || block::marked(size, 16));
            if block.is_null() { real::malloc(size) } else { block }
        }
    }
}

#[unsafe(link_section = "tacho_heap")]
pub(super) extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    let Some(whole) = count.checked_mul(size) else { return real::calloc(count, size) };
    if local().count_down(whole) {
        return calloc_counted_out(count, size, whole);
    }
    real::calloc(count, size)
}

#[cold]
#[inline(never)]
#[unsafe(link_section = "tacho_heap")]
extern "C" fn calloc_counted_out(count: usize, size: usize, whole: usize) -> *mut c_void {
    let local = local();
    match due(local, whole) {
        None => real::calloc(count, size),
        Some(due) => {
            let block = sampled(local, &due, || block::marked_zeros(whole));
            if block.is_null() { real::calloc(count, size) } else { block }
        }
    }
}

#[unsafe(link_section = "tacho_heap")]
pub(super) extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    let is_due = local().count_down(size);
    if is_due || block::is_marked(block) {
        return realloc_marked(block, size, is_due);
    }
    real::realloc(block, size)
}

/// A block that may be sampled gets another size, or one for which the count ran
/// out: the old block ends, and the new one is drawn afresh.
#[cold]
#[inline(never)]
#[unsafe(link_section = "tacho_heap")]
extern "C" fn realloc_marked(old: *mut c_void, size: usize, is_due: bool) -> *mut c_void {
    let local = local();
    if old.is_null() {
        return if is_due { malloc_counted_out(size) } else { real::malloc(size) };
    }
    let before = errno();
    let due = if is_due { due(local, size) } else { None };
    let is_sampled = control::is_tracking() && !local.is_busy() && store::may_hold(old as u64);
    let removed = is_sampled.then(|| local.parked(|| store::remove(old as u64))).flatten();
    set_errno(before);
    let block = real::realloc(old, size);
    if block.is_null() {
        if let Some(removed) = removed.filter(|_| size != 0) {
            let failed = errno();
            local.parked(|| store::put_back(old as u64, removed));
            set_errno(failed);
        }
        return block;
    }
    let Some(due) = due.filter(|_| size != 0) else { return block };
    let kept = sampled(local, &due, || {
        if block::is_marked(block) { (block, false) } else { block::moved(block, size) }
    });
    if kept.is_null() { block } else { kept }
}

#[unsafe(link_section = "tacho_heap")]
extern "C" fn reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void {
    match count.checked_mul(size) {
        Some(whole) => realloc(block, whole),
        None => {
            set_errno(libc::ENOMEM);
            std::ptr::null_mut()
        }
    }
}

#[unsafe(link_section = "tacho_heap")]
pub(super) extern "C" fn free(block: *mut c_void) {
    if block::is_marked(block) {
        return free_marked(block);
    }
    real::free(block);
}

#[cold]
#[inline(never)]
#[unsafe(link_section = "tacho_heap")]
extern "C" fn free_marked(block: *mut c_void) {
    if block.is_null() {
        return;
    }
    let local = local();
    if !control::is_tracking() || local.is_busy() || !store::may_hold(block as u64) {
        return real::free(block);
    }
    let before = errno();
    local.parked(|| match store::remove(block as u64) {
        Some(removed) => block::release(block, removed.is_pooled),
        None => real::free(block),
    });
    set_errno(before);
}

#[unsafe(link_section = "tacho_heap")]
extern "C" fn free_sized(block: *mut c_void, _size: usize) {
    free(block);
}

#[unsafe(link_section = "tacho_heap")]
extern "C" fn free_aligned_sized(block: *mut c_void, _align: usize, _size: usize) {
    free(block);
}

/// A block of `size` bytes at a multiple of `align` for which the count ran out;
/// null when it is not sampled, or there is none.
#[cold]
#[inline(never)]
#[unsafe(link_section = "tacho_heap")]
extern "C" fn aligned_counted_out(align: usize, size: usize) -> *mut c_void {
    let local = local();
    if !align.is_power_of_two() {
        local.ask_again();
        return std::ptr::null_mut();
    }
    due(local, size)
        .map_or(std::ptr::null_mut(), |due| sampled(local, &due, || block::marked(size, align)))
}

#[unsafe(link_section = "tacho_heap")]
pub(super) extern "C" fn memalign(align: usize, size: usize) -> *mut c_void {
    if local().count_down(size) {
        let block = aligned_counted_out(align, size);
        if !block.is_null() {
            return block;
        }
    }
    real::memalign(align, size)
}

#[unsafe(link_section = "tacho_heap")]
pub(super) extern "C" fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
    if local().count_down(size) {
        let block = aligned_counted_out(align, size);
        if !block.is_null() {
            return block;
        }
    }
    real::aligned_alloc(align, size)
}

#[unsafe(link_section = "tacho_heap")]
pub(super) extern "C" fn posix_memalign(out: *mut *mut c_void, align: usize, size: usize) -> c_int {
    // An alignment that it refuses is not counted.
    if align.is_multiple_of(size_of::<usize>()) && local().count_down(size) {
        let block = aligned_counted_out(align, size);
        if !block.is_null() {
            // SAFETY: the caller gives a place for the answer.
            unsafe { out.write(block) };
            return 0;
        }
    }
    real::posix_memalign(out, align, size)
}

#[unsafe(link_section = "tacho_heap")]
pub(super) extern "C" fn valloc(size: usize) -> *mut c_void {
    if local().count_down(size) {
        let block = aligned_counted_out(4096, size);
        if !block.is_null() {
            return block;
        }
    }
    real::valloc(size)
}

#[unsafe(link_section = "tacho_heap")]
pub(super) extern "C" fn pvalloc(size: usize) -> *mut c_void {
    if local().count_down(size) {
        let block = aligned_counted_out(4096, size.next_multiple_of(4096));
        if !block.is_null() {
            return block;
        }
    }
    real::pvalloc(size)
}

/// In place of `dlsym`: a library that is about to be used may be new. Goes on
/// by a jump, so the real function still sees who called.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn on_dlsym() {
    std::arch::naked_asm!(
        ".cfi_startproc",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "push rdx",
        ".cfi_adjust_cfa_offset 8",
        "call {look}",
        "pop rdx",
        ".cfi_adjust_cfa_offset -8",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        "jmp qword ptr [rip + {real}]",
        ".cfi_endproc",
        look = sym look_for_new_libraries,
        real = sym real::DLSYM,
    );
}

#[cfg(target_arch = "x86_64")]
extern "C" fn look_for_new_libraries() {
    let local = local();
    if !control::is_sampling() || local.is_busy() {
        return;
    }
    let before = errno();
    local.parked(linker::try_rescan_if_changed);
    set_errno(before);
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::sys::heap::threads;
    use crate::sys::native::objects::has_rule;

    #[test]
    fn a_stack_that_was_interrupted_in_a_hook_can_be_walked() {
        for hook in [malloc as *const (), on_dlsym as *const (), threads::begin as *const ()] {
            assert!(has_rule(hook as usize) && has_rule(hook as usize + 4));
        }
    }
}
