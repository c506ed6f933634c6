//! Anonymous mappings that were sampled: a part of one can be unmapped, so they
//! are found by any address in them.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tachograph_profile::Allocator;

use super::local::{Verdict, local};
use super::real;
use super::sample::{self, errno, set_errno};
use super::{control, store};

/// Sampled mappings that are known at once; more are not sampled, and counted.
const ROOM: usize = 8192;

/// First address and length of each; 0 where there is none.
static STARTS: [AtomicU64; ROOM] = [const { AtomicU64::new(0) }; ROOM];
static LENGTHS: [AtomicU64; ROOM] = [const { AtomicU64::new(0) }; ROOM];
/// No mapping is at or beyond this place.
static HIGH: AtomicUsize = AtomicUsize::new(0);

/// Remembers a mapping that `keep` then keeps; false when there is no room for either.
///
/// Context: allocator hook.
pub(super) fn add(start: u64, length: u64, keep: impl FnOnce() -> bool) -> bool {
    let free = STARTS.iter().zip(&LENGTHS).enumerate().find(|(_, (place, _))| {
        place.load(Ordering::Relaxed) == 0
            && place.compare_exchange(0, start, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    });
    let Some((at, (place, size))) = free else { return false };
    size.store(length, Ordering::Release);
    HIGH.fetch_max(at + 1, Ordering::AcqRel);
    let kept = keep();
    if !kept {
        place.store(0, Ordering::Release);
    }
    kept
}

/// Forgets every mapping, as the store does its blocks.
pub(super) fn clear() {
    for place in STARTS.iter().take(HIGH.swap(0, Ordering::AcqRel)) {
        place.store(0, Ordering::Release);
    }
}

/// Takes `from..from + length` out of every sampled mapping; whether there was one.
///
/// Context: allocator hook, parked.
fn cut(from: u64, length: u64) -> bool {
    let mut was_sampled = false;
    let to = from.saturating_add(length.next_multiple_of(4096));
    let places = STARTS.iter().zip(&LENGTHS).take(HIGH.load(Ordering::Acquire));
    for (place, size) in places {
        let start = place.load(Ordering::Acquire);
        let end = start.saturating_add(size.load(Ordering::Acquire));
        if start == 0 || start >= to || end <= from {
            continue;
        }
        if place.compare_exchange(start, 0, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            continue;
        }
        let Some(removed) = store::remove(start) else { continue };
        was_sampled = true;
        for (start, end) in [(start, from), (to, end)] {
            let size = end.saturating_sub(start);
            if size > 0 && !add(start, size, || store::again(removed, start, size)) {
                control::drop_one();
            }
        }
    }
    was_sampled
}

fn has_any() -> bool {
    HIGH.load(Ordering::Relaxed) != 0 && control::is_tracking()
}

/// Samples the mapping that was just made, if it is due.
///
/// Context: allocator hook.
#[inline(never)]
#[unsafe(link_section = "tacho_heap")]
fn made(block: *mut c_void, length: usize) {
    let local = local();
    if block == libc::MAP_FAILED || local.want.get() != 0 || !local.count_down(length) {
        return;
    }
    if let Verdict::Take(weight) = local.decide(length) {
        let errno = errno();
        local.parked(|| sample::keep(block, length, weight, Allocator::Mmap, false));
        set_errno(errno);
    }
}

/// In place of `mmap` and `mmap64`.
///
/// Context: allocator hook.
#[unsafe(link_section = "tacho_heap")]
pub(super) extern "C" fn mmap(
    hint: *mut c_void,
    length: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
) -> *mut c_void {
    let local = local();
    if flags & libc::MAP_FIXED != 0 && has_any() && !local.is_busy() {
        let errno = errno();
        local.parked(|| cut(hint as u64, length as u64));
        set_errno(errno);
    }
    let block = real::mmap(hint, length, protection, flags, file, offset);
    // Room that is only reserved holds nothing.
    if flags & libc::MAP_ANONYMOUS != 0 && protection & libc::PROT_WRITE != 0 {
        made(block, length);
    }
    block
}

/// In place of `munmap`.
///
/// Context: allocator hook.
#[unsafe(link_section = "tacho_heap")]
pub(super) extern "C" fn munmap(block: *mut c_void, length: usize) -> c_int {
    let local = local();
    if has_any() && !local.is_busy() {
        let errno = errno();
        local.parked(|| cut(block as u64, length as u64));
        set_errno(errno);
    }
    real::munmap(block, length)
}

/// In place of `mremap`. The last argument is there only with some flags; where
/// it is not, whatever the register held is passed on.
///
/// Context: allocator hook.
#[unsafe(link_section = "tacho_heap")]
pub(super) extern "C" fn mremap(
    block: *mut c_void,
    old: usize,
    new: usize,
    flags: c_int,
    place: *mut c_void,
) -> *mut c_void {
    let local = local();
    let mut was_sampled = false;
    if has_any() && !local.is_busy() {
        let errno = errno();
        was_sampled = local.parked(|| {
            if flags & libc::MREMAP_FIXED != 0 {
                // What was there is gone.
                cut(place as u64, new as u64);
            }
            cut(block as u64, old as u64)
        });
        set_errno(errno);
    }
    let moved = real::mremap(block, old, new, flags, place);
    if was_sampled {
        let failed = moved == libc::MAP_FAILED;
        made(if failed { block } else { moved }, if failed { old } else { new });
    }
    moved
}
