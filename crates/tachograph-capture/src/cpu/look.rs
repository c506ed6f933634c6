//! One look at one thread: does it run, and if so, make it write down its stack.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tachograph_profile::{Mode, Trigger};

use super::idle::{IdleReader, Place};
use super::jitter::jittered;
use super::sampler::Plan;
use super::second_looks::SecondLooks;
use super::watched::Watched;
use crate::sys::clock;
use crate::sys::cpu_timer::CpuTimer;
use crate::sys::handler::SAMPLE_SIGNAL;
use crate::sys::perf::TrapEvent;
use crate::sys::signals;
use crate::sys::threads::{self, ThreadFiles};

/// CPU time a thread may use, in intervals, before an unanswered signal makes
/// us ask whether it blocks the signal. A thread that waits for a processor
/// uses none.
const PATIENCE_INTERVALS: u64 = 20;

/// CPU time that waking up takes; a thread that used less since it was last
/// seen waiting has not come back to its program yet.
const WAKE_UP_NS: u64 = 50_000;

/// CPU time that a running thread takes to come back from a wait that is over. A
/// signal that meets it there turns a wait of full length into EINTR.
const COMING_BACK_NS: u64 = 10_000;

/// CPU time between two looks below which a thread that could run may have
/// been woken from a wait and not come back from it yet.
const BARELY_RAN_NS: u64 = 200_000;

/// When the sampler lost its processor between seeing a thread run and asking
/// it, the thread may have begun a wait since, which a signal would cut short.
const LONGEST_DOUBT_NS: u64 = 15_000;

/// What came of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The thread is there.
    Alive,
    /// The thread is no more.
    Ended,
}

/// A thread as the sampler sees it from tick to tick.
#[derive(Debug)]
pub(crate) struct Sight {
    /// What the collector knows of it too.
    pub(crate) thread: Arc<Watched>,
    files: ThreadFiles,
    cpu: u64,
    /// Its CPU clock when it was last asked.
    asked_at: u64,
    /// The last look found it waiting.
    waited: bool,
    /// CPU time that no look stands for yet; negative when looks are ahead.
    owed_ns: i64,
    place: Option<Place>,
    source: Option<Source>,
    second_looks: SecondLooks,
}

/// What makes a thread look besides the tick.
#[derive(Debug)]
enum Source {
    Trap(#[expect(dead_code, reason = "kept for its drop, which ends the event")] TrapEvent),
    Timer(#[expect(dead_code, reason = "kept for its drop, which deletes the timer")] CpuTimer),
}

impl Sight {
    /// Not looked at yet.
    pub(crate) fn new(thread: Arc<Watched>) -> Self {
        let files = ThreadFiles::new(thread.tid);
        let cpu = thread.cpu_now();
        thread.slot.pending.store(false, Ordering::Release);
        Self {
            thread,
            files,
            cpu,
            asked_at: 0,
            waited: false,
            owed_ns: 0,
            place: None,
            source: None,
            second_looks: SecondLooks::default(),
        }
    }

    /// Adds CPU time that looks have to stand for, within two intervals.
    fn owe(&mut self, used: u64, interval_ns: u64) {
        let limit = interval_ns.saturating_mul(2).cast_signed();
        self.owed_ns = self.owed_ns.saturating_add_unsigned(used).clamp(-limit, limit);
    }
}

impl Drop for Sight {
    /// The handler forgets the event before it is closed.
    fn drop(&mut self) {
        self.thread.slot.trap.clear();
    }
}

/// Looks at threads the way the plan says.
#[derive(Debug)]
pub(crate) struct Looker {
    plan: Plan,
    random: fastrand::Rng,
    idle: Option<IdleReader>,
    /// This process; asked once, because a sampler does not outlive a fork.
    pid: i32,
    /// Signals come from another processor and take their time.
    needs_second_looks: bool,
}

impl Looker {
    /// Looks by `plan`.
    pub(crate) fn new(plan: &Plan) -> Self {
        let idle = (plan.mode == Mode::Wall).then(|| IdleReader::new(plan.max_depth));
        Self {
            plan: plan.clone(),
            random: fastrand::Rng::new(),
            idle,
            pid: threads::process_id(),
            needs_second_looks: plan.trigger == Trigger::Tick && threads::usable_cores() > 1,
        }
    }

    /// A new tick begins.
    pub(crate) fn begin(&mut self, now: u64) {
        if let Some(idle) = &mut self.idle {
            idle.begin(now);
        }
    }

    /// Prepares a thread that has just been found.
    pub(crate) fn greet(&mut self, sight: &mut Sight) {
        let (tid, ticket) = (sight.thread.tid, sight.thread.slot.ticket());
        if self.plan.native {
            sight.thread.slot.give_native();
        }
        let first = jittered(&mut self.random, self.plan.interval_ns);
        sight.source = match self.plan.trigger {
            Trigger::Tick => None,
            Trigger::Perf => {
                let event = TrapEvent::start(tid, ticket, first).ok();
                if let Some(event) = &event {
                    sight.thread.slot.trap.set(event, self.plan.interval_ns);
                }
                event.map(Source::Trap)
            }
            Trigger::CpuTimer => {
                CpuTimer::start(tid, SAMPLE_SIGNAL, ticket, first, self.plan.interval_ns)
                    .ok()
                    .map(Source::Timer)
            }
        };
        sight.thread.by_tick.store(sight.source.is_none(), Ordering::Release);
    }

    /// Looks at one thread.
    pub(crate) fn look(&mut self, sight: &mut Sight, now: u64) -> Outcome {
        let thread = &sight.thread;
        let tid = thread.tid;
        let Some(cpu) = clock::thread_cpu(tid) else {
            return Outcome::Ended;
        };
        thread.cpu.store(cpu, Ordering::Release);
        thread.last_seen.store(now, Ordering::Release);
        if let Some(Source::Timer(_)) = &sight.source {
            // The timer fires by itself; all it needs is the clock above.
            return Outcome::Alive;
        }
        let used = cpu.saturating_sub(sight.cpu);
        sight.owe(used, self.plan.interval_ns);
        let moved = cpu != sight.cpu;
        sight.cpu = cpu;
        if !moved {
            self.look_at_waiting(sight, now, cpu);
            return Outcome::Alive;
        }
        let moves = clock::thread_cpu(tid).is_some_and(|again| again != cpu);
        if moves && sight.waited && used < COMING_BACK_NS {
            return Outcome::Alive;
        }
        if moves {
            return self.ask(sight, false, clock::monotonic());
        }
        if self.has_its_share(sight) {
            // It ran and does not now: it waits, or was pushed off its processor, perhaps
            // by the sampler itself. Then it gets its share of looks and no more, or a busy
            // machine would multiply them. Which of the two it is costs 3 µs to ask, so it
            // is taken for a wait, the one that must not be disturbed.
            sight.waited = true;
            return Outcome::Alive;
        }
        match sight.files.state() {
            // Only just woken up: still inside its wait, which a signal would
            // turn into EINTR. It is looked at again on the next tick.
            Some(b'R') if sight.waited && used < WAKE_UP_NS => Outcome::Alive,
            // One that hardly ran since the last look may still stand in a wait that is
            // over; the handler leaves such a sample out.
            Some(b'R') => self.ask(sight, used < BARELY_RAN_NS, clock::monotonic()),
            Some(_) => {
                self.look_at_waiting(sight, now, cpu);
                Outcome::Alive
            }
            None => Outcome::Alive,
        }
    }

    /// Whether a thread that could run has had as many looks as its CPU time
    /// is worth. Wall time passes for it as for any other, so there it is
    /// looked at on every tick.
    fn has_its_share(&self, sight: &Sight) -> bool {
        self.idle.is_none() && sight.owed_ns < (self.plan.interval_ns / 2).cast_signed()
    }

    /// In wall mode a waiting thread is read from here, once for as long as it
    /// stays where it is.
    fn look_at_waiting(&mut self, sight: &mut Sight, now: u64, cpu: u64) {
        sight.waited = true;
        let Some(idle) = &mut self.idle else { return };
        let stays = sight.place.as_ref().is_some_and(|place| place.cpu == cpu);
        if !stays {
            sight.place = idle.read(&sight.thread, &sight.files, cpu);
        }
        if let Some(place) = &mut sight.place {
            sight.thread.push_idle(place.look(now));
        }
    }

    /// Asks a thread that was seen running at `seen` for its stack.
    fn ask(&self, sight: &mut Sight, unless_waiting: bool, seen: u64) -> Outcome {
        sight.waited = false;
        let (thread, slot) = (&sight.thread, sight.thread.slot);
        if slot.pending.load(Ordering::Acquire) {
            let used = sight.cpu.saturating_sub(sight.asked_at);
            if used < PATIENCE_INTERVALS * self.plan.interval_ns {
                return Outcome::Alive;
            }
            sight.asked_at = sight.cpu;
            if sight.files.blocks(SAMPLE_SIGNAL) {
                thread.deaf.store(true, Ordering::Release);
            } else {
                // It went to a handler that was in the place of ours and is lost. Finding out
                // took so long that the thread may wait by now: the next tick asks it anew.
                slot.pending.store(false, Ordering::Release);
            }
            return Outcome::Alive;
        }
        let now = clock::monotonic();
        if now.saturating_sub(seen) > LONGEST_DOUBT_NS {
            return Outcome::Alive;
        }
        if self.needs_second_looks {
            sight.second_looks.follow(thread, self.plan.interval_ns);
        }
        sight.owed_ns -= self.plan.interval_ns.cast_signed();
        slot.unless_waiting.store(unless_waiting, Ordering::Relaxed);
        slot.asked.store(now, Ordering::Relaxed);
        slot.pending.store(true, Ordering::Release);
        sight.asked_at = sight.cpu;
        if !signals::queue(self.pid, thread.tid, SAMPLE_SIGNAL, slot.ticket()) {
            slot.pending.store(false, Ordering::Release);
            if clock::thread_cpu(thread.tid).is_none() {
                return Outcome::Ended;
            }
        }
        Outcome::Alive
    }
}
