//! What the C allocator says about itself, and which pages are resident.

use std::mem::size_of;

use super::dynamic;

/// What the C allocator says about itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MallocFacts {
    /// Bytes of its own heaps, resident or not.
    pub(crate) heap_bytes: u64,
    /// Bytes in use inside of its own heaps, headers included.
    pub(crate) used_bytes: u64,
    /// Bytes it has mapped for large blocks.
    pub(crate) mapped_bytes: u64,
}

/// The layout of the C library's `struct mallinfo2`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct MallInfo {
    arena: usize,
    ordblks: usize,
    smblks: usize,
    hblks: usize,
    hblkhd: usize,
    usmblks: usize,
    fsmblks: usize,
    uordblks: usize,
    fordblks: usize,
    keepcost: usize,
}

/// The allocator's own figures; `None` where it keeps none (glibc has them
/// since 2.33). It takes the allocator's locks, so no hook may call it.
pub(crate) fn malloc_facts() -> Option<MallocFacts> {
    let address = dynamic::symbol(c"mallinfo2")?;
    // SAFETY: the C library's function of that name takes nothing and returns
    // this struct; a function pointer has the size of an address.
    let ask = unsafe { std::mem::transmute::<usize, extern "C" fn() -> MallInfo>(address) };
    let found = ask();
    Some(MallocFacts {
        heap_bytes: found.arena as u64,
        used_bytes: found.uordblks as u64,
        mapped_bytes: found.hblkhd as u64,
    })
}

/// How many bytes of `size` at `address` are resident, by whole pages; `None`
/// when some of them are not mapped.
pub(crate) fn resident_bytes(address: u64, size: u64) -> Option<u64> {
    const PAGE: u64 = 4096;
    /// Pages looked at in one call.
    const BATCH: u64 = 4096;
    let mut page = address - address % PAGE;
    let end = address.checked_add(size)?;
    let mut found = [0_u8; BATCH as usize];
    let mut resident = 0;
    while page < end {
        let pages = (end - page).div_ceil(PAGE).min(BATCH);
        // SAFETY: the kernel writes one byte a page, at most as many as
        // `found` holds; an address that is not mapped is an error.
        let failed = unsafe {
            libc::mincore(page as *mut libc::c_void, (pages * PAGE) as usize, found.as_mut_ptr())
        };
        if failed != 0 {
            return None;
        }
        let here = found.iter().take(pages as usize).filter(|page| **page & 1 == 1).count();
        resident += here as u64 * PAGE;
        page += pages * PAGE;
    }
    Some(resident.min(size))
}

const _: () = assert!(size_of::<usize>() == size_of::<extern "C" fn() -> MallInfo>());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_block_shows_in_the_allocators_figures() {
        let Some(before) = malloc_facts() else { return };
        let block = vec![1_u8; 64 << 20];
        let after = malloc_facts().unwrap_or_default();

        let sum = |facts: MallocFacts| facts.used_bytes + facts.mapped_bytes;
        assert!(sum(after) >= sum(before) + block.len() as u64 / 2, "{before:?} {after:?}");
    }

    #[test]
    fn only_touched_pages_are_resident() {
        let size = 32_usize << 20;
        let mut block = vec![0_u8; size];
        let address = block.as_ptr() as u64;
        let untouched = resident_bytes(address, size as u64).unwrap();
        block[..size / 2].fill(1);
        let half = resident_bytes(address, size as u64).unwrap();

        // Huge pages may bring more than was touched.
        assert!(untouched <= 4 << 20, "{untouched}");
        assert!(half >= size as u64 / 2 && half <= size as u64 / 2 + (4 << 20), "{half}");
        assert_eq!(resident_bytes(8, 1 << 20), None);
    }
}
