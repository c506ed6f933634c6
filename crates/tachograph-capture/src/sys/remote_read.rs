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
    fn an_unmapped_address_is_an_error_not_a_crash() {
        let error = read_process(own_pid(), 8, &mut [0; 8]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EFAULT));
    }
}
