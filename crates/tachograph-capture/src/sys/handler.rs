//! The handler that makes a sampled thread write down its own stack.
//!
//! Only a thread itself can read its running stack truthfully, so the sampler
//! asks by signal. SIGURG, because its default is to be ignored: one that is
//! still pending when the program execs does nothing. Ours carry a ticket; any
//! other SIGURG goes on to the handler that was there.
//!
//! Everything here runs in signal context: no allocation, lock, formatting or
//! panic, and every loop is bounded.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tachograph_probe::introduce::introduce;
use tachograph_probe::known::Known;
use tachograph_probe::layout::Layout;
use tachograph_probe::memory::ReadMemory;
use tachograph_probe::names::{TaskRef, task_of_handle, thread_name};
use tachograph_probe::record::{self, Kind};
use tachograph_probe::walk::{EntryKind, RawFrame, WalkState, walk};

use super::registers::{self, Interrupted};
use super::signals::{Installed, payload};
use super::slots::{self, Inside, MAX_ENTRIES, Slot};
use super::{clock, guard, native, threads};

/// Set on the word of a native frame that is an eval loop.
pub(crate) const EVAL_LOOP: u64 = 1 << 63;

/// A signal counts as pending from the moment it is sent, and is noticed when its
/// interrupt arrives, or sooner, when the thread comes back from a system call. One
/// that stands there within this time may have been elsewhere when it was asked.
/// Measured on a virtual machine: the interrupt takes 10 to 12 µs, 99 % below 21 µs.
const DOUBT_NS: u64 = 40_000;

/// Asks a thread to write down its stack.
pub(crate) const SAMPLE_SIGNAL: libc::c_int = libc::SIGURG;

static URG: Installed = Installed::new(SAMPLE_SIGNAL);
static TRAP: Installed = Installed::new(libc::SIGTRAP);
static PYTHON: OnceLock<PythonEntry> = OnceLock::new();
static WANT_NATIVE: AtomicBool = AtomicBool::new(false);
static MAX_DEPTH: AtomicUsize = AtomicUsize::new(512);

/// How a handler finds the interpreter's state of its own thread.
#[derive(Clone, Copy)]
pub(crate) struct PythonEntry {
    /// Where things lie in this interpreter's memory.
    pub(crate) layout: Layout,
    /// `PyGILState_GetThisThreadState`.
    pub(crate) this_thread_state: usize,
    /// `_PyThreadState_UncheckedGet`.
    pub(crate) current_thread_state: usize,
    /// Before 3.12 the first function answers for the main interpreter only.
    pub(crate) prefers_current: bool,
}

impl PythonEntry {
    /// The calling thread's state and whether it holds the interpreter lock.
    ///
    /// Context: signal handler, or allocator hook.
    pub(crate) fn own_state(&self) -> (u64, bool) {
        let (own, current) = (call(self.this_thread_state), call(self.current_thread_state));
        if self.prefers_current && current != 0 && current != own {
            let ident = Guarded.word(current.wrapping_add(u64::from(self.layout.thread_id)));
            if ident == Some(threads::own_pthread()) {
                return (current, true);
            }
        }
        (own, own != 0 && own == current)
    }
}

/// Calls an argument-less function of the interpreter.
fn call(address: usize) -> u64 {
    if address == 0 {
        return 0;
    }
    // SAFETY: the address is that of an exported interpreter function which
    // takes nothing, returns a pointer, and only reads thread-local or global
    // variables.
    let function = unsafe { std::mem::transmute::<usize, extern "C" fn() -> u64>(address) };
    function()
}

/// The sampled thread's own memory, read with faults caught.
#[derive(Clone, Copy)]
pub(crate) struct Guarded;

impl ReadMemory for Guarded {
    #[inline]
    fn word(&self, address: u64) -> Option<u64> {
        guard::read_u64(address)
    }

    fn bytes(&self, address: u64, out: &mut [u8]) -> bool {
        let (mut at, mut word) = (address, 0);
        for byte in out {
            if at == address || at.is_multiple_of(8) {
                let Some(read) = guard::read_u64(at & !7) else {
                    return false;
                };
                word = read;
            }
            *byte = (word >> ((at & 7) * 8)) as u8;
            at = at.wrapping_add(1);
        }
        true
    }
}

/// Puts the handlers in place; again, if someone replaced them. True when
/// someone else's SIGURG handler had to be covered.
pub(crate) fn arm(with_trap: bool) -> bool {
    guard::arm_for(guard::CPU);
    let flags = libc::SA_SIGINFO | signal_stack() | libc::SA_RESTART;
    if with_trap {
        TRAP.install(on_trap, flags);
    }
    URG.install(on_sample, flags)
}

/// Python programs may run code on stacks too small for a handler, as goroutines
/// do, so the signal stack is used. Rust gives its threads a signal stack that is too
/// small to unwind on, and stacks of its own that are not.
fn signal_stack() -> libc::c_int {
    if PYTHON.get().is_some() { libc::SA_ONSTACK } else { 0 }
}

/// Whether all handlers are still in place. `faulthandler.enable()` takes those
/// for faults away, and without them a read that faults would end the program.
pub(crate) fn is_armed(with_trap: bool) -> bool {
    URG.is_current() && guard::is_armed() && (!with_trap || TRAP.is_current())
}

/// Takes the handlers out again, but for SIGTRAP's.
///
/// A trap that fired just before its event was closed may still be on its way
/// to a thread that waits for a processor. SIGTRAP's default would kill the
/// program, so our handler stays; it passes on every trap that is not ours. Unless all
/// `is_quiet`, a sample is still being taken, and the faults of its reads must be caught.
pub(crate) fn disarm(is_quiet: bool) {
    URG.remove();
    if is_quiet {
        guard::disarm_for(guard::CPU);
    }
}

/// Tells the handler where the interpreter is; the first call wins.
pub(crate) fn set_python(python: PythonEntry) {
    let _ = PYTHON.set(python);
}

/// Where the interpreter is, if there is one.
///
/// Context: signal handler, or allocator hook.
pub(crate) fn python() -> Option<&'static PythonEntry> {
    PYTHON.get()
}

/// What to capture from the next sample on.
pub(crate) fn configure(native: bool, max_depth: usize) {
    WANT_NATIVE.store(native, Ordering::Release);
    MAX_DEPTH.store(max_depth.clamp(1, MAX_ENTRIES), Ordering::Release);
}

/// Whether nobody but us handles SIGTRAP.
pub(crate) fn trap_is_free() -> bool {
    TRAP.is_current() || super::signals::query(libc::SIGTRAP).sa_sigaction == libc::SIG_DFL
}

/// Forgets all slots. Context: the child of a fork, on its only thread.
pub(crate) fn forget() {
    slots::forget_owners();
}

extern "C" fn on_sample(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    let errno = errno();
    let (code, ticket) = payload(info);
    if (code == libc::SI_QUEUE || code == libc::SI_TIMER) && slots::is_ticket(ticket) {
        if let Some(slot) = slots::find(ticket) {
            let kind = if code == libc::SI_TIMER { Kind::Timer } else { Kind::Tick };
            answer(slot, ticket, kind, &registers::interrupted(context));
        }
    } else {
        URG.chain(signal, info, context);
    }
    set_errno(errno);
}

/// SIGTRAP of a performance event. Anything else is a debugger's business.
extern "C" fn on_trap(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let errno = errno();
    let ticket = super::perf::trap_data(info);
    match ticket.filter(|ticket| slots::is_ticket(*ticket)) {
        Some(ticket) => {
            if let Some(slot) = slots::find(ticket) {
                answer(slot, ticket, Kind::Perf, &registers::interrupted(context));
            }
        }
        None => {
            if TRAP.chain(signal, info, context) == super::signals::Disposition::Default {
                TRAP.restore_default();
                super::signals::raise(signal);
            }
        }
    }
    set_errno(errno);
}

fn answer(slot: &Slot, ticket: u64, kind: Kind, registers: &Interrupted) {
    let at_system_call = registers::is_after_system_call(registers.ip);
    if at_system_call && kind == Kind::Tick && slot.unless_waiting.load(Ordering::Relaxed) {
        slot.waiting.fetch_add(1, Ordering::Relaxed);
    } else {
        let sample = record::Sample { kind, at_system_call, ..record::Sample::default() };
        slot.enter(ticket, |inside, native| capture(slot, inside, native, sample, registers));
    }
    slot.pending.store(false, Ordering::Release);
}

/// Writes the interrupted thread's stack into its ring.
fn capture(
    slot: &Slot,
    inside: &mut Inside,
    native: Option<&mut native::unwind::Scratch>,
    mut sample: record::Sample,
    registers: &Interrupted,
) {
    sample.time = clock::monotonic();
    sample.doubtful = sample.at_system_call
        && sample.kind == Kind::Tick
        && sample.time.saturating_sub(slot.asked.load(Ordering::Relaxed)) < DOUBT_NS;
    if sample.kind == Kind::Perf {
        slot.trap.vary(&mut inside.traps);
    }
    let native = native.filter(|_| WANT_NATIVE.load(Ordering::Relaxed));
    let python = PYTHON.get();
    let (state, has_gil) = python.map_or((0, false), PythonEntry::own_state);
    let fresh = 1 - inside.last.min(1);
    let Some((stack, before)) = two(&mut inside.stacks, fresh) else {
        return;
    };
    let limit = MAX_DEPTH.load(Ordering::Relaxed).min(MAX_ENTRIES);
    sample.has_gil = has_gil;

    let (mut depth, mut handle, mut thread_object) = (0, 0, 0);
    if let (Some(python), true) = (python, state != 0) {
        let Some(room) = stack.get_mut(..limit) else {
            return;
        };
        let seen = walk(&Guarded, &python.layout, state, native.is_some(), room);
        if seen.state == WalkState::Unreadable {
            slot.unreadable.fetch_add(1, Ordering::Relaxed);
            return;
        }
        depth = seen.depth;
        sample.truncated = seen.truncated;
        (handle, thread_object) = (seen.coroutine_handle, seen.thread_object);
    }

    let mut frames = 0;
    if let Some(scratch) = native {
        let unwound = native::unwind::unwind(*registers, scratch, &mut inside.frames);
        frames = unwound.depth;
        sample.partial_native = !unwound.complete;
    }

    let task = python
        .filter(|_| handle != 0)
        .and_then(|python| task_of_handle(&Guarded, &python.layout, handle));
    let new_task = task.as_ref().map_or(0, |task| task.task) != inside.task;
    sample.task = task.filter(|_| new_task);
    sample.task_changed = new_task;
    sample.thread_name = python
        .filter(|_| thread_object != 0 && !inside.introduced)
        .and_then(|python| thread_name(&Guarded, &python.layout, thread_object));

    let stack = stack.get(..depth).unwrap_or_default();
    let before = before.get(..inside.depth).unwrap_or_default();
    let kept = record::kept(before, stack);
    if let Some(python) = python {
        // What was left out last time is tried again, where it can all be known.
        let again = inside.owes_names && depth <= Known::ROOM / 2;
        let new = stack.get(..depth - if again { 0 } else { kept }).unwrap_or_default();
        let (known, text) = (&mut inside.known, &mut inside.text);
        inside.owes_names = !introduce(&Guarded, &python.layout, &slot.ring, known, text, new);
    }
    let native = inside.frames.get(..frames).unwrap_or_default();
    if record::push(&slot.ring, &sample, kept, stack, native_words(stack, native)) {
        slot.taken.fetch_add(1, Ordering::Relaxed);
        slot.doubtful.fetch_add(u64::from(sample.doubtful), Ordering::Relaxed);
        inside.last = fresh;
        inside.depth = depth;
        inside.introduced |= thread_object != 0;
        if new_task {
            inside.task = sample.task.as_ref().map_or(0, |task: &TaskRef| task.task);
        }
    }
}

/// The buffer at `fresh` to write to, and the other one to compare with.
fn two(
    stacks: &mut [[RawFrame; MAX_ENTRIES]; 2],
    fresh: usize,
) -> Option<(&mut [RawFrame; MAX_ENTRIES], &[RawFrame; MAX_ENTRIES])> {
    let [first, second] = stacks;
    if fresh == 0 { Some((first, second)) } else { Some((second, first)) }
}

/// Native frames as words, with eval loops marked: those whose C frame holds
/// the address the walker found. Both lists are innermost first, so one pass does.
///
/// Context: signal handler, or allocator hook.
pub(crate) fn native_words(
    stack: &[RawFrame],
    frames: &[native::unwind::NativeRaw],
) -> impl ExactSizeIterator<Item = u64> {
    let boundaries = stack.iter().filter(|entry| entry.kind() == EntryKind::Boundary);
    native::unwind::words_with_loops(frames, boundaries.map(RawFrame::marker), EVAL_LOOP)
}

fn errno() -> i32 {
    // SAFETY: the function only answers where this thread's errno is.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: that place is valid for as long as the thread lives.
    unsafe { *place }
}

fn set_errno(value: i32) {
    // SAFETY: the function only answers where this thread's errno is.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: that place is valid for as long as the thread lives.
    unsafe { *place = value };
}
