//! The registers of the code a signal interrupted.

/// Where the interrupted code was and where its stack ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Interrupted {
    /// Instruction pointer.
    pub(crate) ip: u64,
    /// Stack pointer.
    pub(crate) sp: u64,
    /// Frame pointer.
    pub(crate) fp: u64,
    /// Link register; 0 on machines without one.
    pub(crate) lr: u64,
}

/// Reads the registers out of a handler's third argument.
///
/// Context: signal handler.
#[cfg(target_arch = "x86_64")]
pub(crate) fn interrupted(context: *mut libc::c_void) -> Interrupted {
    if context.is_null() {
        return Interrupted::default();
    }
    // SAFETY: the kernel passes a valid ucontext to a handler installed with SA_SIGINFO.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    let registers = &context.uc_mcontext.gregs;
    Interrupted {
        ip: registers[libc::REG_RIP as usize] as u64,
        sp: registers[libc::REG_RSP as usize] as u64,
        fp: registers[libc::REG_RBP as usize] as u64,
        lr: 0,
    }
}

/// Reads the registers out of a handler's third argument.
///
/// Context: signal handler.
#[cfg(target_arch = "aarch64")]
pub(crate) fn interrupted(context: *mut libc::c_void) -> Interrupted {
    if context.is_null() {
        return Interrupted::default();
    }
    // SAFETY: the kernel passes a valid ucontext to a handler installed with SA_SIGINFO.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    let machine = &context.uc_mcontext;
    Interrupted { ip: machine.pc, sp: machine.sp, fp: machine.regs[29], lr: machine.regs[30] }
}

/// When the interrupted code stands at `at`, lets it go on at `then` instead.
///
/// Context: signal handler.
pub(crate) fn resume_at_if(context: *mut libc::c_void, at: usize, then: usize) -> bool {
    if context.is_null() || interrupted(context).ip != at as u64 {
        return false;
    }
    // SAFETY: the kernel passes a valid ucontext to a handler installed with
    // SA_SIGINFO and nobody else refers to it while the handler runs.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    #[cfg(target_arch = "x86_64")]
    {
        context.uc_mcontext.gregs[libc::REG_RIP as usize] = then as i64;
    }
    #[cfg(target_arch = "aarch64")]
    {
        context.uc_mcontext.pc = then as u64;
    }
    true
}

/// Whether the instruction just before `ip` enters the kernel: a thread that
/// stands there is in, or just back from, a system call.
///
/// Context: signal handler.
pub(crate) fn is_after_system_call(ip: u64) -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        // `syscall` is 0f 05.
        byte_at(ip.wrapping_sub(2)) == Some(0x0f) && byte_at(ip.wrapping_sub(1)) == Some(0x05)
    }
    #[cfg(target_arch = "aarch64")]
    {
        // `svc #0` is d4000001, little endian.
        let word = super::guard::read_u64(ip.wrapping_sub(4) & !7);
        word.is_some_and(|word| (word >> ((ip.wrapping_sub(4) & 4) * 8)) as u32 == 0xd400_0001)
    }
}

#[cfg(target_arch = "x86_64")]
fn byte_at(address: u64) -> Option<u8> {
    let word = super::guard::read_u64(address & !7)?;
    Some((word >> ((address & 7) * 8)) as u8)
}
