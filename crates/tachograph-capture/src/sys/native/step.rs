//! The parts of a step up the stack that differ from machine to machine.

use framehop::UnwindRegsNative;

use crate::sys::registers::Interrupted;

/// Where a step led.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// To the caller of the frame.
    Caller,
    /// To the code that a signal interrupted, perhaps on another stack.
    Interrupted,
    /// Nowhere: the frame is the thread's first.
    Root,
    /// Nowhere: the stack cannot be followed further.
    Lost,
}

/// A frame larger than this is not believed when only a frame pointer says so.
const LARGEST_GUESS: u64 = 1 << 20;

/// Reads a word of memory, or refuses.
pub(crate) trait Read: FnMut(u64) -> Option<u64> {}
impl<F: FnMut(u64) -> Option<u64>> Read for F {}

/// The caller's registers and the return address, if the frame pointer is one.
///
/// Context: signal handler.
pub(crate) fn by_frame_pointer(
    registers: &UnwindRegsNative,
    read: &mut impl Read,
) -> Option<(UnwindRegsNative, u64)> {
    let (sp, fp) = (registers.sp(), frame_pointer(registers));
    if fp % 8 != 0 || fp < sp || fp - sp > LARGEST_GUESS {
        return None;
    }
    let callers_fp = read(fp)?;
    let caller = read(fp.checked_add(8)?)?;
    let sp = fp.checked_add(16)?;
    let interrupted = Interrupted { ip: caller, sp, fp: callers_fp, lr: caller };
    Some((unwind_registers(interrupted), caller))
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::*;

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use super::{Interrupted, Read, UnwindRegsNative};

    /// Registers as the unwinder takes them.
    pub(crate) fn unwind_registers(registers: Interrupted) -> UnwindRegsNative {
        UnwindRegsNative::new(registers.ip, registers.sp, registers.fp)
    }

    pub(super) fn frame_pointer(registers: &UnwindRegsNative) -> u64 {
        registers.bp()
    }

    /// Registers besides the stack pointer.
    pub(crate) type Others = [u64; 1];
    /// None of them known.
    pub(crate) const NO_OTHERS: Others = [0];

    /// The registers besides the stack pointer that rules use.
    ///
    /// Context: signal handler.
    pub(crate) fn other_registers(registers: &UnwindRegsNative) -> Others {
        [registers.bp()]
    }

    /// The registers of the function this is inlined into.
    #[inline(always)]
    pub(crate) fn registers_here() -> Interrupted {
        let (ip, sp, fp): (u64, u64, u64);
        // SAFETY: reads three registers and changes nothing.
        unsafe {
            std::arch::asm!(
                "lea {ip}, [rip]",
                "mov {sp}, rsp",
                "mov {fp}, rbp",
                ip = out(reg) ip,
                sp = out(reg) sp,
                fp = out(reg) fp,
                options(nomem, nostack, preserves_flags),
            );
        }
        Interrupted { ip, sp, fp, lr: 0 }
    }

    /// Whether `pc` is where a signal handler returns to: `mov $15, %rax; syscall`.
    ///
    /// Context: signal handler.
    pub(crate) fn is_signal_return(pc: u64, read: &mut impl Read) -> bool {
        const MOV_RT_SIGRETURN: u64 = 0x0f00_0000_0fc0_c748;
        // The C library aligns it; an address that is not a multiple of 8 is no candidate.
        pc.is_multiple_of(8) && read(pc) == Some(MOV_RT_SIGRETURN)
    }

    /// The registers of the interrupted code, from the signal frame at `sp`.
    ///
    /// Context: signal handler.
    pub(crate) fn interrupted_registers(sp: u64, read: &mut impl Read) -> Option<Interrupted> {
        // `ucontext_t` lies at `sp`; its general registers begin at byte 40.
        let mut register = |index: u64| read(sp.checked_add(40 + 8 * index)?);
        Some(Interrupted { ip: register(16)?, sp: register(15)?, fp: register(10)?, lr: 0 })
    }
}

#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::*;

#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use framehop::aarch64::PtrAuthMask;

    use super::{Interrupted, Read, UnwindRegsNative};

    /// Registers as the unwinder takes them. Return addresses may be signed in
    /// the bits above the address.
    pub(crate) fn unwind_registers(registers: Interrupted) -> UnwindRegsNative {
        UnwindRegsNative::new_with_ptr_auth_mask(
            PtrAuthMask(super::super::unwind::PC_MASK),
            registers.lr,
            registers.sp,
            registers.fp,
        )
    }

    pub(super) fn frame_pointer(registers: &UnwindRegsNative) -> u64 {
        registers.fp()
    }

    /// Registers besides the stack pointer.
    pub(crate) type Others = [u64; 2];
    /// None of them known.
    pub(crate) const NO_OTHERS: Others = [0; 2];

    /// The registers besides the stack pointer that rules use.
    ///
    /// Context: signal handler.
    pub(crate) fn other_registers(registers: &UnwindRegsNative) -> Others {
        [registers.fp(), registers.lr()]
    }

    /// The registers of the function this is inlined into.
    #[inline(always)]
    pub(crate) fn registers_here() -> Interrupted {
        let (ip, sp, fp, lr): (u64, u64, u64, u64);
        // SAFETY: reads four registers and changes nothing.
        unsafe {
            std::arch::asm!(
                "adr {ip}, .",
                "mov {sp}, sp",
                "mov {fp}, x29",
                "mov {lr}, x30",
                ip = out(reg) ip,
                sp = out(reg) sp,
                fp = out(reg) fp,
                lr = out(reg) lr,
                options(nomem, nostack, preserves_flags),
            );
        }
        Interrupted { ip, sp, fp, lr }
    }

    /// Whether `pc` is where a signal handler returns to: `mov x8, #139; svc #0`.
    ///
    /// Context: signal handler.
    pub(crate) fn is_signal_return(pc: u64, read: &mut impl Read) -> bool {
        const MOV_RT_SIGRETURN_SVC: u64 = 0xd400_0001_d280_1168;
        if pc % 8 == 0 {
            return read(pc) == Some(MOV_RT_SIGRETURN_SVC);
        }
        let low = read(pc & !7).map(|word| word >> 32);
        let high = read((pc & !7) + 8).map(|word| word << 32);
        low.zip(high).is_some_and(|(low, high)| low | high == MOV_RT_SIGRETURN_SVC)
    }

    /// The registers of the interrupted code, from the signal frame at `sp`.
    ///
    /// Context: signal handler.
    pub(crate) fn interrupted_registers(sp: u64, read: &mut impl Read) -> Option<Interrupted> {
        // 128 bytes of `siginfo_t`, then `ucontext_t`, whose registers begin at byte 184.
        let mut register = |index: u64| read(sp.checked_add(312 + 8 * index)?);
        Some(Interrupted {
            ip: register(32)?,
            sp: register(31)?,
            fp: register(29)?,
            lr: register(30)?,
        })
    }
}
