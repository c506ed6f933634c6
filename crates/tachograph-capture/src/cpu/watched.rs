//! What is known of one watched thread, by the sampler and the collector alike.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tachograph_probe::names::NameBuf;
use tachograph_probe::walk::RawFrame;
use tachograph_profile::ThreadState;

use crate::python::CodeInfo;
use crate::sys::slots::Slot;

/// One thread of the program while it is watched.
pub(crate) struct Watched {
    /// OS thread id.
    pub(crate) tid: i32,
    /// Where its handler puts what it saw.
    pub(crate) slot: &'static Slot,
    /// When it was first seen, on the monotonic clock.
    pub(crate) first_seen: u64,
    /// Its CPU clock when watching began; 0 for a thread born since.
    pub(crate) cpu_at_start: u64,
    /// Its CPU clock as last read.
    pub(crate) cpu: AtomicU64,
    /// When it was last seen alive, on the monotonic clock.
    pub(crate) last_seen: AtomicU64,
    /// Its name has been found out.
    pub(crate) named: AtomicBool,
    /// It is no more.
    pub(crate) ended: AtomicBool,
    /// The tick alone makes it look: no event or timer could be had for it.
    pub(crate) by_tick: AtomicBool,
    /// It blocks our signal.
    pub(crate) deaf: AtomicBool,
    /// The name the kernel keeps, for threads Python knows nothing of.
    pub(crate) kernel_name: String,
    /// Looks at it while it waited (wall mode).
    idle: Mutex<Vec<IdleLook>>,
}

/// A look at a thread that waited.
#[derive(Clone, Debug)]
pub(crate) struct IdleLook {
    /// When, on the monotonic clock.
    pub(crate) time: u64,
    /// Where it waits, innermost first; the same allocation while it stays there.
    pub(crate) stack: Arc<[RawFrame]>,
    /// What Python calls the thread, until that is known.
    pub(crate) thread_name: Option<NameBuf>,
    /// What it waits for.
    pub(crate) state: ThreadState,
    /// The stack was deeper than the limit.
    pub(crate) truncated: bool,
    /// Code on the stack that was not met before, while it is certainly there.
    pub(crate) codes: Vec<(RawFrame, Arc<CodeInfo>)>,
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").field("tid", &self.tid).finish_non_exhaustive()
    }
}

impl Watched {
    /// Starts to watch thread `tid`.
    pub(crate) fn new(
        tid: i32,
        slot: &'static Slot,
        now: u64,
        cpu_at_start: u64,
        kernel_name: String,
    ) -> Self {
        Self {
            tid,
            slot,
            first_seen: now,
            cpu_at_start,
            cpu: AtomicU64::new(cpu_at_start),
            last_seen: AtomicU64::new(now),
            named: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            by_tick: AtomicBool::new(true),
            deaf: AtomicBool::new(false),
            kernel_name,
            idle: Mutex::default(),
        }
    }

    /// Adds a look at the waiting thread.
    pub(crate) fn push_idle(&self, look: IdleLook) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(look);
    }

    /// Takes all looks at the waiting thread since the last call.
    pub(crate) fn take_idle(&self) -> Vec<IdleLook> {
        std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Its CPU clock as last read.
    pub(crate) fn cpu_now(&self) -> u64 {
        self.cpu.load(Ordering::Acquire)
    }

    /// It is no more.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }
}
