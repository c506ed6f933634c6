//! Copies of memory that another thread may be freeing, or another process.

use std::io;

/// Fills `out` with the bytes at `address` in process `pid`.
///
/// An address that is not mapped is an error, never a crash: the kernel checks
/// every page before it copies. This holds for our own pid too, which is how
/// our own threads read what a sampled thread may be freeing.
pub(crate) fn read_process(pid: libc::pid_t, address: u64, out: &mut [u8]) -> io::Result<()> {
    let local = libc::iovec { iov_base: out.as_mut_ptr().cast(), iov_len: out.len() };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: out.len() };
    // SAFETY: `local` covers exactly the bytes of `out`, which we borrow
    // mutably until the call returns. `remote` is only ever dereferenced by
    // the kernel, which answers EFAULT for an address that is not readable.
    let copied =
        unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
    match usize::try_from(copied) {
        Ok(n) if n == out.len() => Ok(()),
        Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// More pieces than this the kernel does not take in one call.
const MOST_PIECES: usize = 1024;

/// Copies the pieces of memory at `from`, each an address and a length, one
/// behind the other into `out`; gives the number of bytes that came.
///
/// The kernel stops at the first piece it cannot read whole pages of. At most
/// 1024 pieces are read.
pub(crate) fn read_pieces(pid: libc::pid_t, from: &[(u64, usize)], out: &mut [u8]) -> usize {
    let piece = |&(address, length): &(u64, usize)| libc::iovec {
        iov_base: address as *mut libc::c_void,
        iov_len: length,
    };
    let remote: Vec<libc::iovec> = from.iter().take(MOST_PIECES).map(piece).collect();
    let local = libc::iovec { iov_base: out.as_mut_ptr().cast(), iov_len: out.len() };
    let (count, remote) = (remote.len() as libc::c_ulong, remote.as_ptr());
    // SAFETY: `local` covers exactly the bytes of `out`, which we borrow
    // mutably until the call returns; the kernel copies no more than it holds.
    // `remote` has `count` entries, and what they point to is only ever
    // dereferenced by the kernel.
    let copied = unsafe { libc::process_vm_readv(pid, &raw const local, 1, remote, count, 0) };
    usize::try_from(copied).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own_pid() -> libc::pid_t {
        libc::pid_t::try_from(std::process::id()).unwrap()
    }

    #[test]
    fn what_is_there_is_copied() {
        let text = *b"tachograph";
        let mut copy = [0; 10];

        read_process(own_pid(), text.as_ptr() as u64, &mut copy).unwrap();

        assert_eq!(copy, text);
    }

    #[test]
    fn pieces_come_one_behind_the_other_up_to_the_first_that_is_not_there() {
        let text = *b"tachograph";
        let at = text.as_ptr() as u64;
        let mut copy = [0; 8];

        let came = read_pieces(own_pid(), &[(at + 5, 5), (8, 1), (at, 2)], &mut copy);

        assert_eq!((came, &copy[..5]), (5, &b"graph"[..]));
    }

    #[test]
    fn an_unmapped_address_is_an_error_not_a_crash() {
        let error = read_process(own_pid(), 8, &mut [0; 8]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EFAULT));
    }
}
