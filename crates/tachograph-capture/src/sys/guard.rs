//! Reads of memory that may not be there, from inside a signal handler.
//!
//! A read is one load at a known address in a function of our own. When it
//! faults, our SIGSEGV/SIGBUS handler recognises the address, makes the function
//! answer "no", and the program never notices. Every other fault goes to the
//! handler that was there before us, so crashes look as they always did.
//!
//! A guarded read takes about 2 ns; asking the kernel (`process_vm_readv`)
//! takes 1.4 µs. Only the sampled thread reads this way; our own threads ask
//! the kernel, which needs no handler.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use super::signals::{Disposition, Installed};

/// What the guarded load answers: `ok` is 1 when `value` was read.
#[repr(C)]
struct Answer {
    value: u64,
    ok: u64,
}

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    ".pushsection .text.tachograph_guard,\"ax\",@progbits",
    ".p2align 4",
    ".globl tachograph_guard_load",
    ".hidden tachograph_guard_load",
    ".type tachograph_guard_load,@function",
    "tachograph_guard_load:",
    ".cfi_startproc",
    "mov rax, qword ptr [rdi]",
    "mov edx, 1",
    "ret",
    ".size tachograph_guard_load, . - tachograph_guard_load",
    ".globl tachograph_guard_fault",
    ".hidden tachograph_guard_fault",
    "tachograph_guard_fault:",
    "xor eax, eax",
    "xor edx, edx",
    "ret",
    ".cfi_endproc",
    ".popsection",
);

#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(
    ".pushsection .text.tachograph_guard,\"ax\",@progbits",
    ".p2align 4",
    ".globl tachograph_guard_load",
    ".hidden tachograph_guard_load",
    ".type tachograph_guard_load,@function",
    "tachograph_guard_load:",
    ".cfi_startproc",
    "ldr x0, [x0]",
    "mov x1, #1",
    "ret",
    ".size tachograph_guard_load, . - tachograph_guard_load",
    ".globl tachograph_guard_fault",
    ".hidden tachograph_guard_fault",
    "tachograph_guard_fault:",
    "mov x0, #0",
    "mov x1, #0",
    "ret",
    ".cfi_endproc",
    ".popsection",
);

unsafe extern "C" {
    fn tachograph_guard_load(address: usize) -> Answer;
    fn tachograph_guard_fault();
}

/// Set while our fault handlers are in place; without them nothing is read.
static ARMED: AtomicBool = AtomicBool::new(false);

static SEGV: Installed = Installed::new(libc::SIGSEGV);
static BUS: Installed = Installed::new(libc::SIGBUS);

/// The CPU source needs guarded reads.
pub(crate) const CPU: u8 = 1;
/// The heap source needs guarded reads.
pub(crate) const HEAP: u8 = 2;

/// Who needs the handlers.
static USERS: AtomicU8 = AtomicU8::new(0);

/// The word at `address`, or `None` when it cannot be read.
///
/// Context: signal handler. The address must be a multiple of 8, so that the
/// load never crosses into another page.
#[inline]
pub(crate) fn read_u64(address: u64) -> Option<u64> {
    if !address.is_multiple_of(8) || address < 4096 || !ARMED.load(Ordering::Relaxed) {
        return None;
    }
    // SAFETY: the only memory access is the guarded load; if it faults, the
    // armed handler resumes at `tachograph_guard_fault`, which returns `ok: 0`
    // with the same calling convention and an untouched stack.
    let answer = unsafe { tachograph_guard_load(address as usize) };
    (answer.ok == 1).then_some(answer.value)
}

/// Puts the fault handlers in place for `user`; again, if someone replaced them since.
pub(crate) fn arm_for(user: u8) {
    USERS.fetch_or(user, Ordering::AcqRel);
    arm();
}

/// `user` needs no guarded reads any more.
pub(crate) fn disarm_for(user: u8) {
    if USERS.fetch_and(!user, Ordering::AcqRel) & !user == 0 {
        disarm();
    }
}

/// Nobody needs them. Context: the child of a fork.
pub(crate) fn forget_users() {
    USERS.store(0, Ordering::Release);
}

fn arm() {
    SEGV.install(on_fault, libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER);
    BUS.install(on_fault, libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER);
    ARMED.store(true, Ordering::Release);
}

/// Whether both fault handlers are still in place.
pub(crate) fn is_armed() -> bool {
    SEGV.is_current() && BUS.is_current()
}

/// Takes the fault handlers out again, unless someone put theirs on top.
fn disarm() {
    ARMED.store(false, Ordering::Release);
    SEGV.remove();
    BUS.remove();
}

/// Turns a fault of the guarded load into a "no"; passes on every other one.
///
/// Context: signal handler.
extern "C" fn on_fault(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    if super::registers::resume_at_if(
        context,
        tachograph_guard_load as *const () as usize,
        tachograph_guard_fault as *const () as usize,
    ) {
        return;
    }
    let before = if signal == libc::SIGBUS { &BUS } else { &SEGV };
    match before.chain(signal, info, context) {
        Disposition::Called => {}
        // The instruction faults again and now meets the default action.
        _ if !super::signals::was_sent(info) => before.restore_default(),
        Disposition::Ignored => {}
        Disposition::Default => {
            before.restore_default();
            super::signals::raise(signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::native::objects;
    use crate::sys::signals;

    #[test]
    fn a_stack_that_was_interrupted_at_a_guarded_read_can_be_walked() {
        let load = tachograph_guard_load as *const () as usize;
        let fault = tachograph_guard_fault as *const () as usize;

        assert!([load, load + 3, fault, fault + 2].into_iter().all(objects::has_rule));
    }

    #[test]
    fn a_readable_word_is_read_and_an_unmapped_one_is_not() {
        arm();
        let word = Box::new(0x1234_5678_9abc_def0_u64);

        assert_eq!(read_u64(std::ptr::from_ref(&*word) as u64), Some(0x1234_5678_9abc_def0));
        assert_eq!(read_u64(8 << 40), None);
        assert_eq!(read_u64(u64::MAX - 7), None);

        // A thread that blocks all signals reads as well, and blocks them again afterwards.
        std::thread::spawn(|| {
            let mut all = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
            // SAFETY: it is large enough for a set, and is filled.
            unsafe { libc::sigfillset(all.as_mut_ptr()) };
            // SAFETY: filled just now.
            signals::set_mask(unsafe { all.assume_init_ref() });
            let mask = signals::let_faults_through().expect("faults were blocked");
            assert_eq!(read_u64(8 << 40), None);
            signals::set_mask(&mask);
            assert!(signals::let_faults_through().is_some(), "they are blocked again");
            assert!(signals::let_faults_through().is_none(), "now they are not");
        })
        .join()
        .unwrap();

        // Someone takes our handler away; it is noticed and put back.
        // SAFETY: the default action needs no handler.
        unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
        assert!(!is_armed());
        arm();
        assert!(is_armed());
        assert_eq!(read_u64(8 << 40), None);

        disarm();
        assert_eq!(read_u64(std::ptr::from_ref(&*word) as u64), None);
    }
}
