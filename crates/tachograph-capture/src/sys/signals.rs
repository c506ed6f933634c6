//! Signal dispositions that can be put in place and taken back.
//!
//! A handler that was there before ours is always called for what is not ours,
//! and comes back when we leave. One that someone else installs over ours is
//! noticed: `install` puts ours on top again and chains to theirs.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// The shape of a handler installed with `SA_SIGINFO`.
pub(crate) type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// What the handler before ours would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disposition {
    /// There was a handler; it has been called.
    Called,
    /// The default action.
    Default,
    /// The signal is ignored.
    Ignored,
}

/// One signal's disposition while ours is in place.
///
/// Only one thread at a time installs and removes: the collector's. There is no
/// lock that a fork could leave locked in the child.
pub(crate) struct Installed {
    signal: libc::c_int,
    ours: AtomicPtr<()>,
    /// The disposition to chain to; leaked boxes, so a handler may always read it.
    before: AtomicPtr<libc::sigaction>,
    /// The disposition before the first install since the last remove.
    original: AtomicPtr<libc::sigaction>,
    /// A chained handler is running, so a second arrival goes to the original.
    chaining: AtomicBool,
}

impl Installed {
    /// Nothing installed yet for `signal`.
    pub(crate) const fn new(signal: libc::c_int) -> Self {
        Self {
            signal,
            ours: AtomicPtr::new(std::ptr::null_mut()),
            before: AtomicPtr::new(std::ptr::null_mut()),
            original: AtomicPtr::new(std::ptr::null_mut()),
            chaining: AtomicBool::new(false),
        }
    }

    /// Makes `handler` the signal's handler. True when someone else's handler
    /// had to be covered although ours was in place before.
    pub(crate) fn install(&self, handler: Handler, flags: libc::c_int) -> bool {
        let address = handler as *const () as usize;
        let current = query(self.signal);
        if current.sa_sigaction == address {
            return false;
        }
        let was_ours = !self.ours.load(Ordering::Relaxed).is_null();
        // Known before ours can be called, so that it always has one to chain to.
        self.chain_to(current, was_ours);
        self.ours.store(handler as *mut (), Ordering::Relaxed);
        let mut action = zeroed();
        action.sa_sigaction = address;
        action.sa_flags = flags;
        let replaced = swap(self.signal, &action);
        let is_other = replaced.sa_sigaction != current.sa_sigaction;
        if is_other && replaced.sa_sigaction != address {
            // The program installed one between the question and the answer.
            self.chain_to(replaced, was_ours);
        }
        was_ours
    }

    /// Makes `action` the disposition to chain to, and unless ours was in place
    /// already, the one that comes back.
    fn chain_to(&self, action: libc::sigaction, was_ours: bool) {
        let before = self.keep(action);
        self.before.store(before, Ordering::Release);
        if !was_ours {
            self.original.store(before, Ordering::Release);
        }
    }

    /// A pointer to `action` that stays valid; the same one for the same action,
    /// so that a thousand sessions leak no more than one.
    fn keep(&self, action: libc::sigaction) -> *mut libc::sigaction {
        for known in [&self.before, &self.original] {
            let same = load(known).is_some_and(|known| {
                known.sa_sigaction == action.sa_sigaction && known.sa_flags == action.sa_flags
            });
            if same {
                return known.load(Ordering::Relaxed);
            }
        }
        Box::into_raw(Box::new(action))
    }

    /// Puts the earlier disposition back, unless someone covered ours.
    pub(crate) fn remove(&self) {
        let ours = self.ours.load(Ordering::Relaxed) as usize;
        if ours == 0 || query(self.signal).sa_sigaction != ours {
            return;
        }
        if let Some(before) = load(&self.before) {
            let replaced = swap(self.signal, &before);
            if replaced.sa_sigaction != ours {
                // The program installed one just now: it stays.
                swap(self.signal, &replaced);
            }
        }
        self.ours.store(std::ptr::null_mut(), Ordering::Relaxed);
    }

    /// Whether ours is the handler right now.
    pub(crate) fn is_current(&self) -> bool {
        let ours = self.ours.load(Ordering::Relaxed) as usize;
        ours != 0 && query(self.signal).sa_sigaction == ours
    }

    /// Gives a signal that is not ours to whoever had it before.
    ///
    /// Context: signal handler.
    pub(crate) fn chain(
        &self,
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) -> Disposition {
        let again = self.chaining.swap(true, Ordering::AcqRel);
        let before = load(if again { &self.original } else { &self.before });
        let outcome =
            before.map_or(Disposition::Default, |before| call(&before, signal, info, context));
        if !again {
            self.chaining.store(false, Ordering::Release);
        }
        outcome
    }

    /// Lets the default action happen from now on.
    ///
    /// Context: signal handler.
    pub(crate) fn restore_default(&self) {
        let mut action = zeroed();
        action.sa_sigaction = libc::SIG_DFL;
        swap(self.signal, &action);
    }
}

/// Calls what `action` holds.
fn call(
    action: &libc::sigaction,
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) -> Disposition {
    match action.sa_sigaction {
        libc::SIG_DFL => Disposition::Default,
        libc::SIG_IGN => Disposition::Ignored,
        address if action.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: the program registered this address as a SA_SIGINFO handler.
            let handler = unsafe { std::mem::transmute::<usize, Handler>(address) };
            handler(signal, info, context);
            Disposition::Called
        }
        address => {
            // SAFETY: the program registered this address as a plain handler.
            let handler =
                unsafe { std::mem::transmute::<usize, extern "C" fn(libc::c_int)>(address) };
            handler(signal);
            Disposition::Called
        }
    }
}

fn zeroed() -> libc::sigaction {
    // SAFETY: `sigaction` is plain numbers and pointers; all-zero means no
    // handler, no flags and an empty mask.
    unsafe { MaybeUninit::<libc::sigaction>::zeroed().assume_init() }
}

/// The disposition of `signal` right now.
pub(crate) fn query(signal: libc::c_int) -> libc::sigaction {
    let mut action = zeroed();
    // SAFETY: a null new action only asks; `action` lives until the call returns.
    unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
    action
}

/// Makes `action` the disposition of `signal`; gives back the one it replaced.
fn swap(signal: libc::c_int, action: &libc::sigaction) -> libc::sigaction {
    let mut replaced = zeroed();
    // SAFETY: `action` is a complete disposition and `replaced` lives until the
    // call returns.
    unsafe { libc::sigaction(signal, action, &raw mut replaced) };
    replaced
}

fn load(from: &AtomicPtr<libc::sigaction>) -> Option<libc::sigaction> {
    let pointer = from.load(Ordering::Acquire);
    if pointer.is_null() {
        return None;
    }
    // SAFETY: only leaked boxes are stored, so the pointer stays valid.
    Some(unsafe { *pointer })
}

/// Whether a signal was sent by a program rather than caused by an instruction.
///
/// Context: signal handler.
pub(crate) fn was_sent(info: *mut libc::siginfo_t) -> bool {
    if info.is_null() {
        return false;
    }
    // SAFETY: the kernel passes a valid siginfo to a SA_SIGINFO handler.
    let info = unsafe { &*info };
    info.si_code <= 0
}

/// Sends `signal` to the calling thread.
///
/// Context: signal handler.
pub(crate) fn raise(signal: libc::c_int) {
    // SAFETY: raise has no memory arguments.
    unsafe { libc::raise(signal) };
}

/// The code and the value that came with a queued signal or a timer.
///
/// Context: signal handler.
pub(crate) fn payload(info: *mut libc::siginfo_t) -> (libc::c_int, u64) {
    if info.is_null() {
        return (0, 0);
    }
    // SAFETY: the kernel passes a valid siginfo to a SA_SIGINFO handler.
    let info = unsafe { &*info };
    // SAFETY: every siginfo is 128 bytes, so the value lies inside it; for
    // signals without one it is padding that nobody trusts.
    let value = unsafe { info.si_value() };
    (info.si_code, value.sival_ptr as u64)
}

/// Queues `signal` with `value` for thread `tid` of this process, which is `pid`.
pub(crate) fn queue(pid: i32, tid: i32, signal: libc::c_int, value: u64) -> bool {
    #[repr(C)]
    struct Queued {
        signal: libc::c_int,
        errno: libc::c_int,
        code: libc::c_int,
        pad: libc::c_int,
        pid: libc::pid_t,
        uid: libc::uid_t,
        value: u64,
        rest: [u64; 12],
    }
    let info = Queued {
        signal,
        errno: 0,
        code: libc::SI_QUEUE,
        pad: 0,
        pid,
        uid: 0,
        value,
        rest: [0; 12],
    };
    // SAFETY: `info` has the kernel's layout and size of a queued siginfo and
    // lives until the call returns; a wrong tid is an error, not a crash.
    let status =
        unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, pid, tid, signal, &raw const info) };
    status == 0
}

/// Unblocks the signals of bad memory accesses for the calling thread; the mask before,
/// if it blocked one of them.
///
/// Context: allocator hook.
pub(crate) fn let_faults_through() -> Option<libc::sigset_t> {
    let mut faults = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `faults` is large enough; sigemptyset initialises it.
    unsafe { libc::sigemptyset(faults.as_mut_ptr()) };
    for fault in [libc::SIGSEGV, libc::SIGBUS] {
        // SAFETY: `faults` was initialised by sigemptyset.
        unsafe { libc::sigaddset(faults.as_mut_ptr(), fault) };
    }
    let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: `faults` is initialised, and the mask before goes to a place of ours.
    unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, faults.as_ptr(), before.as_mut_ptr()) };
    // SAFETY: plain integers, zeroed and then filled.
    let before = unsafe { before.assume_init() };
    // SAFETY: `before` is a complete set.
    let is_blocked = |signal| unsafe { libc::sigismember(&raw const before, signal) } == 1;
    (is_blocked(libc::SIGSEGV) || is_blocked(libc::SIGBUS)).then_some(before)
}

/// Blocks exactly the signals of `mask` on the calling thread.
///
/// Context: allocator hook.
pub(crate) fn set_mask(mask: &libc::sigset_t) {
    // SAFETY: a complete set; the mask before is not asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, std::ptr::null_mut()) };
}

/// Keeps every signal away from the calling thread but those a fault causes.
pub(crate) fn block_all() {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `set` is large enough; sigfillset initialises it.
    unsafe { libc::sigfillset(set.as_mut_ptr()) };
    for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL] {
        // SAFETY: `set` was initialised by sigfillset.
        unsafe { libc::sigdelset(set.as_mut_ptr(), fault) };
    }
    // SAFETY: `set` is initialised; the old mask is not asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut()) };
}
