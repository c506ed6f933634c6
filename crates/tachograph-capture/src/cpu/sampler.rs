//! The sampler: a thread of ours that finds the program's threads, sees which
//! of them run, and makes those look at themselves.
//!
//! On every tick each thread's CPU clock is read. One that moved and still
//! moves is running and gets a signal; one that stands still is left alone, so
//! a wait is not interrupted; in between the kernel's state letter decides. A
//! thread that was woken but has not run yet stands just after its system call,
//! and such a sample is left out: it would give a wait CPU time.

use std::io;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tachograph_profile::{Mode, Trigger};

use super::jitter::Deadlines;
use super::look::Looker;
use super::roster::Roster;
use super::watched::Watched;
use crate::own;
use crate::sys::slots::RING_WORDS;
use crate::sys::threads::TaskDirectory;
use crate::sys::{clock, handler, threads};
use crate::waker::Waker;

/// What the sampler is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Time between two looks at a running thread.
    pub(crate) interval_ns: u64,
    /// Which time is sampled.
    pub(crate) mode: Mode,
    /// What makes a thread look.
    pub(crate) trigger: Trigger,
    /// Native frames too.
    pub(crate) native: bool,
    /// Frames kept per stack.
    pub(crate) max_depth: usize,
}

/// The slow tick that repairs what user-only performance events cannot see.
const REPAIR_TICK_NS: u64 = 10_000_000;
/// CPU timers fire on the kernel's tick, so looking for new threads more often buys nothing.
const TIMER_TICK_NS: u64 = 4_000_000;

/// How often the sampler sees whether the handlers are still in place. Until one
/// that was taken away is back, a read that faults would end the program.
const WATCH_HANDLERS_NS: u64 = 5_000_000;

/// How long the end of sampling waits for signals on their way. On a machine
/// with a processor to spare they arrive within microseconds.
const PATIENCE_NS: u64 = 100_000_000;

impl Plan {
    /// Time between two wake-ups of the sampler.
    fn tick_ns(&self) -> u64 {
        match self.trigger {
            Trigger::Tick => self.interval_ns,
            Trigger::Perf => REPAIR_TICK_NS,
            Trigger::CpuTimer => self.interval_ns.max(TIMER_TICK_NS),
        }
    }
}

/// What the sampler can say of itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SamplerReport {
    /// How often it woke up.
    pub(crate) ticks: u64,
    /// Deadlines it missed altogether.
    pub(crate) missed: u64,
    /// CPU time of its thread.
    pub(crate) own_cpu_ns: u64,
    /// Threads for which there was no slot.
    pub(crate) unwatched: u64,
}

/// The running sampler. Dropping it stops and joins its thread.
#[derive(Debug)]
pub(crate) struct Sampler {
    inner: Arc<Inner>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Inner {
    stop: Mutex<bool>,
    wake: Condvar,
    watched: Mutex<Vec<Arc<Watched>>>,
    ticks: AtomicU64,
    missed: AtomicU64,
    /// The sampler's thread while it is at work, else 0.
    tid: AtomicI32,
    /// CPU time of its thread when it had ended.
    own_cpu_ns: AtomicU64,
    unwatched: AtomicU64,
    lateness: Lateness,
}

/// How late the last ticks were, in nanoseconds; no lock that a tick would take.
#[derive(Debug)]
struct Lateness([AtomicU64; 1024]);

impl Default for Lateness {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; 1024])
    }
}

impl Lateness {
    fn note(&self, tick: u64, lateness: u64) {
        if let Some(place) = self.0.get(tick as usize % self.0.len()) {
            place.store(lateness, Ordering::Relaxed);
        }
    }

    /// Half of the last of `ticks` ticks were later than this.
    fn median(&self, ticks: u64) -> u64 {
        let kept = self.0.iter().take(usize::try_from(ticks).unwrap_or(usize::MAX));
        let mut kept: Vec<u64> = kept.map(|place| place.load(Ordering::Relaxed)).collect();
        kept.sort_unstable();
        kept.get(kept.len() / 2).copied().unwrap_or(0)
    }
}

impl Sampler {
    /// Starts sampling by `plan`; `known` are threads watched by a sampler before.
    pub(crate) fn start(
        plan: Plan,
        known: Vec<Arc<Watched>>,
        collector: Waker,
    ) -> io::Result<Self> {
        let tasks = TaskDirectory::open()?;
        let inner = Arc::new(Inner { watched: Mutex::new(known.clone()), ..Inner::default() });
        handler::configure(plan.native, plan.max_depth);
        handler::arm(plan.trigger == Trigger::Perf);
        let thread = {
            let inner = Arc::clone(&inner);
            let work = move || run(&inner, plan, tasks, known, &collector);
            own::spawn("tacho-sampler", work)?
        };
        Ok(Self { inner, thread: Some(thread) })
    }

    /// The threads that are watched, those that ended and were not released included.
    pub(crate) fn watched(&self) -> Vec<Arc<Watched>> {
        lock(&self.inner.watched).clone()
    }

    /// Forgets an ended thread whose ring has been emptied.
    pub(crate) fn release(&self, thread: &Arc<Watched>) {
        lock(&self.inner.watched).retain(|other| !Arc::ptr_eq(other, thread));
        thread.slot.release();
    }

    /// Half of the last wake-ups came later than this after their deadline.
    pub(crate) fn median_lateness_ns(&self) -> u64 {
        self.inner.lateness.median(self.inner.ticks.load(Ordering::Relaxed))
    }

    /// How it goes.
    pub(crate) fn report(&self) -> SamplerReport {
        let tid = self.inner.tid.load(Ordering::Acquire);
        let running = if tid == 0 { None } else { clock::thread_cpu(tid) };
        SamplerReport {
            ticks: self.inner.ticks.load(Ordering::Relaxed),
            missed: self.inner.missed.load(Ordering::Relaxed),
            own_cpu_ns: running.unwrap_or_else(|| self.inner.own_cpu_ns.load(Ordering::Relaxed)),
            unwatched: self.inner.unwatched.load(Ordering::Relaxed),
        }
    }

    /// Whether the thread is still at work.
    pub(crate) fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Whether the thread ended although nobody stopped it.
    pub(crate) fn has_failed(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Ends sampling and waits until no handler is at work any more, nor a
    /// signal on its way: once our handler is gone, it would go to the program's.
    pub(crate) fn stop(&mut self) {
        *lock(&self.inner.stop) = true;
        self.inner.wake.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let patience = clock::monotonic() + PATIENCE_NS;
        for thread in self.watched() {
            while is_awaited(&thread) && clock::monotonic() < patience {
                std::thread::sleep(Duration::from_micros(20));
            }
        }
    }

    /// Whether no handler is at work, once it was stopped.
    pub(crate) fn is_quiet(&self) -> bool {
        self.watched().iter().all(|thread| !thread.slot.is_busy())
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run(
    inner: &Inner,
    plan: Plan,
    tasks: TaskDirectory,
    known: Vec<Arc<Watched>>,
    collector: &Waker,
) {
    threads::wake_on_time();
    inner.tid.store(threads::own_id(), Ordering::Release);
    let begin = clock::monotonic();
    let mut deadlines = Deadlines::new(plan.tick_ns(), begin);
    let is_perf = plan.trigger == Trigger::Perf;
    let watch_every = (WATCH_HANDLERS_NS / plan.tick_ns().max(1)).max(1);
    let mut looker = Looker::new(&plan);
    let mut roster = Roster::new(tasks, known, &mut looker);
    roster.discover(&mut looker, inner_sink(inner), begin);
    loop {
        if !sleep_until(inner, deadlines.next()) {
            inner.missed.fetch_add(deadlines.missed_at(clock::monotonic()), Ordering::Relaxed);
            break;
        }
        let now = clock::monotonic();
        let tick = inner.ticks.fetch_add(1, Ordering::Relaxed);
        inner.lateness.note(tick, now.saturating_sub(deadlines.next()));
        let missed = deadlines.advance(now);
        inner.missed.fetch_add(missed, Ordering::Relaxed);
        if roster.changed() {
            roster.discover(&mut looker, inner_sink(inner), now);
        }
        let fullest = roster.look_at_all(&mut looker, now);
        if roster.lost_someone() {
            // Whoever took an ended thread's place need not wait for a tick.
            roster.discover(&mut looker, inner_sink(inner), now);
        }
        let is_full = fullest > RING_WORDS / 2;
        if is_full || (tick.is_multiple_of(watch_every) && !handler::is_armed(is_perf)) {
            // The collector empties rings, and puts handlers back that someone took away.
            collector.wake();
        }
        inner.unwatched.store(roster.unwatched(), Ordering::Relaxed);
    }
    inner.unwatched.store(roster.unwatched(), Ordering::Relaxed);
    inner.own_cpu_ns.store(clock::own_thread_cpu(), Ordering::Relaxed);
    inner.tid.store(0, Ordering::Release);
}

/// Where a newly found thread is made known.
fn inner_sink(inner: &Inner) -> impl FnMut(Arc<Watched>) + '_ {
    |thread| lock(&inner.watched).push(thread)
}

/// Sleeps until `deadline` on the monotonic clock; false when told to stop.
fn sleep_until(inner: &Inner, deadline: u64) -> bool {
    let mut stop = lock(&inner.stop);
    loop {
        if *stop {
            return false;
        }
        let now = clock::monotonic();
        if now >= deadline {
            return true;
        }
        let left = Duration::from_nanos(deadline - now);
        stop = inner.wake.wait_timeout(stop, left).unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// Whether a handler is at work for `thread`, or a signal of ours on its way to
/// it. One that blocks the signal or has ended is not waited for.
fn is_awaited(thread: &Watched) -> bool {
    let slot = thread.slot;
    let on_its_way = slot.pending.load(Ordering::Acquire) && !thread.deaf.load(Ordering::Acquire);
    slot.is_busy() || (on_its_way && clock::thread_cpu(thread.tid).is_some())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
