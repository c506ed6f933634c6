//! The CPU source on the collector's side: keeps the sampler running while a
//! door wants it, and turns what it sees into weighed samples.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tachograph_probe::names::NameBuf;
use tachograph_probe::record::{self, Message};
use tachograph_profile::{CpuSettings, Interner, Mode, Sample, Trigger};

use super::collector::session_time;
use super::door::Totals;
use super::frames::Frames;
use super::thread_log::{Terms, ThreadLog};
use super::tracks::{self, Tracks};
use super::wishes::{finest, plan_for, settings};
use crate::cpu::{self, Chosen, Plan, Sampler};
use crate::error::Error;
use crate::options::CpuOptions;
use crate::sys::{clock, handler, slots, threads};
use crate::waker::Waker;

/// Rings are emptied at least this often, and at most this often.
const DRAIN_NS: std::ops::RangeInclusive<u64> = 10_000_000..=100_000_000;

/// A sampler that fails is started again this often.
const REVIVALS: u32 = 10;

/// The sampler and the threads it watches.
pub(crate) struct CpuSource {
    start: u64,
    wishes: BTreeMap<u64, CpuOptions>,
    plan: Option<(Plan, Chosen)>,
    sampler: Option<Sampler>,
    logs: HashMap<usize, ThreadLog>,
    words: Vec<u64>,
    notes: Vec<String>,
    /// Context switches of the process, and when they were counted.
    switches: (u64, u64),
    /// Context switches per second that made performance events too dear.
    too_many_switches: Option<f64>,
    /// The sampler has just been started and nothing was drained since.
    is_fresh: bool,
    /// A note says that some threads are not watched.
    unwatched_noted: bool,
    /// The sampler could not be started again.
    is_starved: bool,
    /// How often it was started again after it failed.
    revivals: u32,
    /// Totals of samplers and threads that are gone, and counts of our own.
    past: Totals,
}

impl CpuSource {
    /// Nothing watched yet.
    pub(crate) fn new(start: u64) -> Self {
        Self {
            start,
            wishes: BTreeMap::new(),
            plan: None,
            sampler: None,
            logs: HashMap::new(),
            words: Vec::new(),
            notes: Vec::new(),
            switches: (0, start),
            too_many_switches: None,
            is_fresh: false,
            unwatched_noted: false,
            is_starved: false,
            revivals: 0,
            past: Totals::default(),
        }
    }

    /// How long rings can wait: forty intervals, within limits. The first
    /// drain lists the libraries that native frames need, so it comes at once.
    pub(crate) fn drain_every_ns(&self) -> u64 {
        if self.is_fresh {
            return *DRAIN_NS.start() / 10;
        }
        let interval = self.plan.as_ref().map_or(u64::MAX, |(plan, _)| plan.interval_ns);
        interval.saturating_mul(40).clamp(*DRAIN_NS.start(), *DRAIN_NS.end())
    }

    /// Whether what a door wants can be had.
    fn can_serve(&self, wish: &CpuOptions) -> Result<Chosen, Error> {
        cpu::choose(wish.trigger, wish.mode, wish.interval_ns)
    }

    /// Adds a door's wish; says how it will be served.
    pub(crate) fn join(
        &mut self,
        id: u64,
        wish: CpuOptions,
        waker: &Waker,
    ) -> Result<CpuSettings, Error> {
        self.wishes.insert(id, wish);
        if let Err(error) = self.follow_wishes(waker) {
            // The other doors go on as before.
            self.leave(id, waker);
            return Err(error);
        }
        let (plan, chosen) =
            self.plan.clone().unwrap_or_else(|| (plan_for(&wish), Chosen::default()));
        Ok(settings(&wish, &plan, chosen))
    }

    /// The trigger in use and why.
    pub(crate) fn chosen(&self) -> Option<&Chosen> {
        self.plan.as_ref().map(|(_, chosen)| chosen)
    }

    /// Takes a door's wish back.
    pub(crate) fn leave(&mut self, id: u64, waker: &Waker) {
        if self.wishes.remove(&id).is_some() {
            let _ = self.follow_wishes(waker);
        }
    }

    /// Stops the sampler; what it saw can still be drained.
    pub(crate) fn stop(&mut self) {
        if let Some(sampler) = &mut self.sampler {
            sampler.stop();
        }
    }

    /// Makes the sampler do what all doors together want: the finest interval,
    /// wall time if anyone wants it, native frames if anyone wants them.
    fn follow_wishes(&mut self, waker: &Waker) -> Result<(), Error> {
        let Some(wish) = self.wishes.values().copied().reduce(finest) else {
            self.end();
            return Ok(());
        };
        let mut chosen = self.can_serve(&wish)?;
        if let Some(rate) = self.too_many_switches.filter(|_| !chosen.is_asked_for()) {
            let reason =
                format!("{rate:.0} context switches a second are too many for perf events");
            chosen = Chosen { trigger: Trigger::Tick, reason };
        }
        let plan = Plan { trigger: chosen.trigger, ..plan_for(&wish) };
        let is_running = self.sampler.as_ref().is_some_and(Sampler::is_running);
        if self.plan.as_ref().is_some_and(|(old, _)| *old == plan) && is_running {
            return Ok(());
        }
        let known = self.sampler.as_mut().map_or_else(Vec::new, |sampler| {
            sampler.stop();
            sampler.watched()
        });
        let started = Sampler::start(plan.clone(), known, waker.clone());
        self.is_starved = started.is_err();
        let sampler = started.map_err(Error::NoThread)?;
        self.remember_sampler();
        self.sampler = Some(sampler);
        self.plan = Some((plan, chosen));
        self.is_fresh = true;
        Ok(())
    }

    /// Starts the sampler again when it failed, or could not be started.
    pub(crate) fn revive(&mut self, waker: &Waker) {
        let has_failed = self.sampler.as_ref().is_some_and(Sampler::has_failed);
        if self.revivals == REVIVALS || !(has_failed || self.is_starved) {
            return;
        }
        self.revivals += 1;
        let outcome = match self.follow_wishes(waker) {
            Ok(()) => "it was started again".to_owned(),
            Err(error) => format!("{error}"),
        };
        self.notes.push(format!("the sampler stopped, so samples are missing: {outcome}"));
    }

    /// Ends watching: no handler, no thread, no owned slot is left.
    fn end(&mut self) {
        self.stop();
        self.remember_sampler();
        handler::disarm(self.sampler.as_ref().is_none_or(Sampler::is_quiet));
        for log in self.logs.values() {
            log.thread.slot.release();
        }
        if let Some(sampler) = self.sampler.take() {
            sampler.watched().iter().for_each(|thread| thread.slot.release());
        }
        self.logs.clear();
        slots::trim();
        self.plan = None;
        self.is_starved = false;
    }

    fn remember_sampler(&mut self) {
        let Some(sampler) = &self.sampler else { return };
        let report = sampler.report();
        self.past.ticks += report.ticks;
        self.past.loss.late_ticks += report.missed;
        self.past.own_cpu_ns += report.own_cpu_ns;
    }

    /// Empties every ring.
    pub(crate) fn drain(
        &mut self,
        frames: &mut Frames,
        tables: &mut Interner,
        tracks: &mut Tracks,
    ) {
        self.is_fresh = false;
        let Some(sampler) = &self.sampler else { return };
        if self.plan.as_ref().is_some_and(|(plan, _)| plan.native) {
            // Costs next to nothing unless a library was loaded or unloaded.
            crate::native::refresh();
        }
        let is_perf = self.plan.as_ref().is_some_and(|(plan, _)| plan.trigger == Trigger::Perf);
        if sampler.is_running() && !handler::is_armed(is_perf) && handler::arm(is_perf) {
            self.notes.push(
                "the program installed its own SIGURG handler while recording; tachograph went on \
                 top of it and passes on every signal that is not its own"
                    .to_owned(),
            );
        }
        let unwatched = sampler.report().unwatched;
        if unwatched > 0 && !self.unwatched_noted {
            self.unwatched_noted = true;
            self.notes.push(format!(
                "{unwatched} threads were not watched: tachograph watches at most {} at once, or \
                 as many as it gets memory for",
                slots::MAX_SLOTS
            ));
        }
        for thread in sampler.watched() {
            let key = Arc::as_ptr(&thread) as usize;
            let log = self.logs.entry(key).or_insert_with(|| {
                let since = session_time(self.start, thread.first_seen);
                let (track, named) = tracks.thread(tables, &thread, since);
                thread.named.store(named, Ordering::Release);
                ThreadLog::new(Arc::clone(&thread), track, self.start)
            });
            self.words.clear();
            let words = &mut self.words;
            thread.slot.ring.drain(|word| words.push(word));
            let mut rest = self.words.as_slice();
            while let Some(message) = record::next(&mut rest) {
                let received = match message {
                    Message::Sample(received) => received,
                    Message::Code(told) => {
                        frames.introduce(tables, &told);
                        continue;
                    }
                };
                let sample = &received.sample;
                if sample.task_changed {
                    let now = session_time(self.start, sample.time);
                    let task = sample.task.as_ref();
                    log.task = task.map(|task| tracks.task(tables, log.track, task, now));
                }
                let repairs = !is_perf
                    || sample.kind != record::Kind::Tick
                    || sample.at_system_call
                    || thread.by_tick.load(Ordering::Acquire);
                if repairs {
                    self.past.loss.truncated_stacks += u64::from(sample.truncated);
                    self.past.loss.partial_native_stacks += u64::from(sample.partial_native);
                }
                log.take(&received, repairs, frames, tables);
                name_thread(log, sample.thread_name.as_ref(), tables);
            }
            for look in thread.take_idle() {
                log.take_idle(&look, frames, tables);
                self.past.loss.truncated_stacks += u64::from(look.truncated);
                name_thread(log, look.thread_name.as_ref(), tables);
            }
            count(log, &mut self.past);
            if thread.deaf.load(Ordering::Acquire) && !log.deaf_noted {
                log.deaf_noted = true;
                self.past.loss.blocked_threads += 1;
                self.notes.push(format!(
                    "thread {} ({}) blocks SIGURG, so it is not sampled while it does",
                    thread.tid, thread.kernel_name
                ));
            }
        }
    }

    /// Shares every thread's clock out over its looks, and lets ended threads go.
    pub(crate) fn share_out(&mut self, now: u64, out: &mut Vec<Sample>, tables: &mut Interner) {
        let Some((plan, _)) = &self.plan else { return };
        let terms = Terms {
            now,
            session_start: self.start,
            interval_ns: plan.interval_ns,
            is_wall: plan.mode == Mode::Wall,
            is_perf: plan.trigger == Trigger::Perf,
            is_tick: plan.trigger == Trigger::Tick,
        };
        let mut gone = Vec::new();
        for (key, log) in &mut self.logs {
            let ended = log.thread.has_ended();
            if let Some(cpu) = clock::thread_cpu(log.thread.tid).filter(|_| !ended) {
                log.thread.cpu.fetch_max(cpu, Ordering::AcqRel);
            }
            self.past.repaired_ns += log.share_out(&terms, out);
            if ended && log.thread.slot.ring.is_empty() {
                gone.push(*key);
            }
        }
        for key in gone {
            let Some(log) = self.logs.remove(&key) else {
                continue;
            };
            self.past.watched_cpu_ns += log.watched_cpu_ns();
            let end = session_time(self.start, log.thread.last_seen.load(Ordering::Acquire));
            out.extend(log.never_looked_at(end, tables));
            if let Some(track) = tables.tables_mut().tracks.get_mut(log.track.index()) {
                track.end = Some(end.max(track.start));
            }
            if let Some(sampler) = &self.sampler {
                sampler.release(&log.thread);
            }
        }
    }

    /// Goes back to the tick when performance events that nobody asked for
    /// by name have become too dear: they cost on every context switch.
    pub(crate) fn mind_the_budget(&mut self, now: u64, waker: &Waker) {
        let switches = threads::context_switches();
        let (before, since) = std::mem::replace(&mut self.switches, (switches, now));
        let seconds = now.saturating_sub(since) as f64 / 1e9;
        let rate = switches.saturating_sub(before) as f64 / seconds.max(0.1);
        let Some((plan, chosen)) = &self.plan else { return };
        if chosen.trigger != Trigger::Perf || chosen.is_asked_for() || before == 0 {
            return;
        }
        if cpu::perf_cost(plan.interval_ns, rate) > cpu::PERF_BUDGET {
            self.too_many_switches = Some(rate);
            let _ = self.follow_wishes(waker);
        }
    }

    /// Sentences for the recording since the last call.
    pub(crate) fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Half of the sampler's last wake-ups came later than this.
    pub(crate) fn median_lateness_ns(&self) -> u64 {
        self.sampler.as_ref().map_or(0, Sampler::median_lateness_ns)
    }

    /// Looks that have not been shared out yet.
    pub(crate) fn waiting_looks(&self) -> usize {
        self.logs.values().map(ThreadLog::waiting_looks).sum()
    }

    /// Totals of everything so far.
    pub(crate) fn totals(&self) -> Totals {
        let mut totals = self.past;
        totals.watched_cpu_ns += self.logs.values().map(ThreadLog::watched_cpu_ns).sum::<u64>();
        if let Some(sampler) = &self.sampler {
            let report = sampler.report();
            totals.ticks += report.ticks;
            totals.loss.late_ticks += report.missed;
            totals.own_cpu_ns += report.own_cpu_ns;
        }
        totals
    }
}

impl Drop for CpuSource {
    fn drop(&mut self) {
        self.end();
    }
}

/// Adds what the thread's slot counted since the last time.
fn count(log: &mut ThreadLog, past: &mut Totals) {
    let slot = log.thread.slot;
    let now = [
        slot.ring.dropped(),
        slot.unreadable.load(Ordering::Relaxed),
        slot.waiting.load(Ordering::Relaxed),
        slot.taken.load(Ordering::Relaxed),
    ];
    let mut new = now;
    new.iter_mut().zip(log.counted).for_each(|(now, then)| *now = now.saturating_sub(then));
    log.counted = now;
    let [dropped, unreadable, waiting, taken] = new;
    past.loss.dropped_samples += dropped;
    past.loss.unreadable_stacks += unreadable;
    past.waiting += waiting;
    past.answered += dropped + unreadable + waiting + taken;
}

/// Gives the thread the name that Python has for it, once.
fn name_thread(log: &ThreadLog, name: Option<&NameBuf>, tables: &mut Interner) {
    let Some(name) = name.map(NameBuf::as_str).filter(|name| !name.is_empty()) else { return };
    if !log.thread.named.swap(true, Ordering::AcqRel) {
        tracks::rename(tables, log.track, name);
    }
}
