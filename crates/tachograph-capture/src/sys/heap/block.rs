//! Marked blocks: a sampled block lies at the start of a page, or 16 bytes into
//! one, where few others do.
//!
//! They are ordinary blocks of the real allocator, so a `free` that we do not
//! see is harmless. Small ones are kept when they are freed and used for the
//! next samples: the allocator would give the address of a freed block out
//! again at once, and then every `free` of that size would look like a
//! sampled one. Of middle-sized ones a few are kept, because an allocator takes
//! long to cut them to a page, and the pages are new to the program's caches.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::apart::Apart;
use super::real;

/// Sizes of the blocks that are kept, and how many of each: 568 KB at most.
const POOLED: [(usize, usize); 7] = [
    (1 << 10, 64),
    (2 << 10, 4),
    (4 << 10, 4),
    (8 << 10, 4),
    (16 << 10, 4),
    (32 << 10, 4),
    (64 << 10, 4),
];
const PLACES: usize = 64 + 6 * 4;
/// Where marked blocks are aligned to.
const PAGE: usize = 4096;
/// From here on the C library maps blocks, which marks them.
const LARGE: usize = 128 << 10;

static POOL: Apart<[AtomicUsize; PLACES]> = Apart([const { AtomicUsize::new(0) }; PLACES]);

/// The places of the pool for each size of blocks, smallest first.
fn pools() -> impl Iterator<Item = (usize, &'static [AtomicUsize])> {
    let mut rest: &'static [AtomicUsize] = POOL.as_slice();
    POOLED.into_iter().map(move |(size, count)| {
        let (places, after) = rest.split_at_checked(count).unwrap_or((rest, &[]));
        rest = after;
        (size, places)
    })
}

/// Bytes of blocks that nobody uses and that are kept for the next samples.
pub(super) fn kept_bytes() -> usize {
    let kept = |places: &[AtomicUsize]| {
        places.iter().filter(|place| place.load(Ordering::Relaxed) != 0).count()
    };
    pools().map(|(size, places)| size * kept(places)).sum()
}

/// Whether a block at `pointer` may be a sampled one. True for null.
///
/// Context: allocator hook.
#[inline(always)]
pub(super) fn is_marked(pointer: *mut c_void) -> bool {
    pointer as usize & (PAGE - 1) & !16 == 0
}

/// A marked block of at least `size` bytes, and whether it goes to the pool
/// later; null when there is none.
///
/// Context: allocator hook.
pub(super) fn marked(size: usize, align: usize) -> (*mut c_void, bool) {
    if align <= PAGE
        && let Some((room, places)) = pools().find(|(room, _)| size <= *room)
    {
        let kept = places.iter().find_map(|place| {
            let pointer = if place.load(Ordering::Relaxed) == 0 {
                0
            } else {
                place.swap(0, Ordering::AcqRel)
            };
            (pointer != 0).then_some(pointer as *mut c_void)
        });
        let block = kept.unwrap_or_else(|| real::memalign(PAGE, room));
        return (block, true);
    }
    if size >= LARGE && align <= 16 {
        let block = real::malloc(size);
        if block.is_null() || is_marked(block) {
            return (block, false);
        }
        real::free(block);
    }
    (real::memalign(align.max(PAGE), size), false)
}

/// The same, filled with zeros.
///
/// Context: allocator hook.
pub(super) fn marked_zeros(size: usize) -> (*mut c_void, bool) {
    if size >= LARGE {
        // Fresh pages are zeros already, and stay untouched.
        let block = real::calloc(1, size);
        if block.is_null() || is_marked(block) {
            return (block, false);
        }
        real::free(block);
    }
    let (block, is_pooled) = marked(size, 16);
    if !block.is_null() {
        // SAFETY: the block has at least `size` bytes and is nobody else's yet.
        unsafe { std::ptr::write_bytes(block.cast::<u8>(), 0, size) };
    }
    (block, is_pooled)
}

/// Moves the contents of `from`, at least `size` bytes, to a marked block and
/// frees it; null, and `from` stays, when there is no such block.
///
/// Context: allocator hook.
pub(super) fn moved(from: *mut c_void, size: usize) -> (*mut c_void, bool) {
    let (block, is_pooled) = marked(size, 16);
    if !block.is_null() {
        // SAFETY: both blocks have at least `size` bytes and are different ones.
        unsafe { std::ptr::copy_nonoverlapping(from.cast::<u8>(), block.cast::<u8>(), size) };
        real::free(from);
    }
    (block, is_pooled)
}

/// Frees a block that [`marked`] made: to the pool, if it came from there.
///
/// Context: allocator hook.
pub(super) fn release(block: *mut c_void, is_pooled: bool) {
    if is_pooled {
        // Through a `free` that we did not see, the address may have become a smaller block.
        let usable = real::usable_size(block);
        let places = pools().take_while(|(room, _)| *room <= usable).last();
        let kept = places.into_iter().flat_map(|(_, places)| places).any(|place| {
            let new = block as usize;
            place.load(Ordering::Relaxed) == 0
                && place.compare_exchange(0, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        });
        if kept {
            return;
        }
    }
    real::free(block);
}
