//! Names of the system calls that threads wait in.

/// What system call number `call` is called; empty for one that is not known.
pub(crate) fn name(call: i64) -> &'static str {
    let known = [
        (libc::SYS_futex, "futex"),
        (libc::SYS_clock_nanosleep, "clock_nanosleep"),
        (libc::SYS_nanosleep, "nanosleep"),
        (libc::SYS_epoll_pwait, "epoll_pwait"),
        (libc::SYS_pselect6, "pselect6"),
        (libc::SYS_ppoll, "ppoll"),
        (libc::SYS_read, "read"),
        (libc::SYS_readv, "readv"),
        (libc::SYS_write, "write"),
        (libc::SYS_recvfrom, "recvfrom"),
        (libc::SYS_recvmsg, "recvmsg"),
        (libc::SYS_sendto, "sendto"),
        (libc::SYS_accept, "accept"),
        (libc::SYS_accept4, "accept4"),
        (libc::SYS_connect, "connect"),
        (libc::SYS_wait4, "wait4"),
        (libc::SYS_waitid, "waitid"),
        (libc::SYS_flock, "flock"),
        (libc::SYS_fcntl, "fcntl"),
        (libc::SYS_fsync, "fsync"),
        (libc::SYS_rt_sigtimedwait, "rt_sigtimedwait"),
        (libc::SYS_io_uring_enter, "io_uring_enter"),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_epoll_wait, "epoll_wait"),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_poll, "poll"),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_select, "select"),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_pause, "pause"),
    ];
    known.iter().find(|(number, _)| *number == call).map_or("", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_their_names() {
        assert_eq!(name(libc::SYS_futex), "futex");
        assert_eq!(name(-1), "");
    }
}
