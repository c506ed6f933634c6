//! Reads of our own memory by way of the kernel, for threads that are not in a
//! handler.
//!
//! The kernel checks every page before it copies, so an address that is not
//! mapped is a "no" and never a fault. A read takes about a microsecond; inside
//! a handler `guard` is the cheaper way.

/// Fills `out` with the bytes at `address`; false when they cannot all be read.
pub(crate) fn read_bytes(address: u64, out: &mut [u8]) -> bool {
    let local = libc::iovec { iov_base: out.as_mut_ptr().cast(), iov_len: out.len() };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: out.len() };
    // SAFETY: takes no argument and cannot fail.
    let pid = unsafe { libc::getpid() };
    // SAFETY: `local` covers exactly the bytes of `out`, which we borrow
    // mutably until the call returns; `remote` is only dereferenced by the
    // kernel, which answers EFAULT for an address that is not readable.
    let copied =
        unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(copied) == Ok(out.len())
}

/// The word at `address`, or `None` when it cannot be read.
pub(crate) fn read_word(address: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    read_bytes(address, &mut bytes).then(|| u64::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_word_is_read_and_an_unmapped_one_is_refused() {
        let word = Box::new(0x0123_4567_89ab_cdef_u64);

        assert_eq!(read_word(std::ptr::from_ref(&*word) as u64), Some(0x0123_4567_89ab_cdef));
        assert_eq!(read_word(8), None);
        assert!(!read_bytes(u64::MAX - 3, &mut [0; 8]));
    }
}
