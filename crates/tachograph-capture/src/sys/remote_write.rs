//! Writes into another process, for the one purpose it asks for: the words of
//! its interpreter through which debuggers are let in.

use std::io;

/// Writes `bytes` to `address` in process `pid`.
///
/// An address that is not mapped or not writable is an error. The kernel asks
/// for the same rights as for tracing the process.
pub(crate) fn write_process(pid: libc::pid_t, address: u64, bytes: &[u8]) -> io::Result<()> {
    let local = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: bytes.len() };
    // SAFETY: `local` covers exactly `bytes`, which the kernel only reads from.
    // `remote` is only ever dereferenced by the kernel, in the other process.
    let copied =
        unsafe { libc::process_vm_writev(pid, &raw const local, 1, &raw const remote, 1, 0) };
    match usize::try_from(copied) {
        Ok(n) if n == bytes.len() => Ok(()),
        Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_is_an_error_not_a_crash() {
        let pid = libc::pid_t::try_from(std::process::id()).unwrap();

        let error = write_process(pid, 8, b"text").unwrap_err();

        assert_eq!(error.raw_os_error(), Some(libc::EFAULT));
    }
}
