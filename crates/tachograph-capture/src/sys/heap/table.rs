//! One entry for each sampled block, in pieces that are mapped as they are needed.

use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::index::MOST_ENTRIES;

/// Entries of one piece: 256 KB.
const PIECE: usize = 4096;
const PIECES: usize = MOST_ENTRIES / PIECE;

/// One sampled block: 64 bytes. Changed only under the store's lock.
#[repr(C)]
#[derive(Default)]
pub(super) struct Entry {
    pub(super) address: AtomicU64,
    pub(super) size: AtomicU64,
    pub(super) weight: AtomicU64,
    pub(super) time: AtomicU64,
    /// 0 while the block is live.
    pub(super) freed: AtomicU64,
    /// Which stack allocated it.
    pub(super) stack: AtomicU64,
    pub(super) tid: AtomicU32,
    pub(super) flags: AtomicU32,
    /// The next entry in the list it is in; 0 at the end.
    pub(super) next: AtomicU32,
    pub(super) spare: AtomicU32,
}

static TABLE: [AtomicPtr<[Entry; PIECE]>; PIECES] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; PIECES];
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// The entry with number `number`; mapped if it is the first of its piece.
///
/// Context: allocator hook. `None` when there is no memory, or no such number.
pub(super) fn entry(number: u32) -> Option<&'static Entry> {
    let (piece, at) = (number as usize / PIECE, number as usize % PIECE);
    let place = TABLE.get(piece)?;
    if place.load(Ordering::Acquire).is_null() {
        let new = map_pages(size_of::<[Entry; PIECE]>()).cast::<[Entry; PIECE]>();
        if new.is_null() {
            return None;
        }
        BYTES.fetch_add(size_of::<[Entry; PIECE]>(), Ordering::Relaxed);
        place.store(new, Ordering::Release);
    }
    // SAFETY: only mapped, zeroed, never unmapped pieces are stored, by whoever has
    // the store's lock.
    let piece = unsafe { place.load(Ordering::Acquire).as_ref() }?;
    piece.get(at)
}

/// Bytes of all pieces.
pub(super) fn bytes() -> usize {
    BYTES.load(Ordering::Relaxed)
}

/// Fresh zeroed pages, never given back; null when there are none.
///
/// Context: allocator hook. Asks the kernel, not an allocator.
pub(super) fn map_pages(length: usize) -> *mut libc::c_void {
    // SAFETY: an anonymous private mapping touches no existing memory.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if memory == libc::MAP_FAILED { std::ptr::null_mut() } else { memory }
}
