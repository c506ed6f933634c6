//! What has been seen of one thread since its time was last shared out.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tachograph_probe::record::{self, Kind, Received};
use tachograph_probe::walk::RawFrame;
use tachograph_profile::{Interner, Sample, StackId, ThreadState, Time, TrackId};

use super::frames::Frames;
use super::second_opinion::{Witnesses, believed};
use crate::cpu::{IdleLook, Watched, Window, spread, time_around};

/// A word in place of the stack of a thread that nobody looked at in time.
pub(crate) const ENDED: &str = "<ended before it was looked at>";

/// One look at the thread, not weighed yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    time: u64,
    stack: StackId,
    task: Option<TrackId>,
    state: ThreadState,
    kind: Kind,
    at_system_call: bool,
    doubtful: bool,
}

impl Look {
    /// The thread ran; its CPU time is shared out over such looks.
    fn runs(&self) -> bool {
        !matches!(self.state, ThreadState::Idle | ThreadState::WaitingForGil)
    }
}

/// One watched thread on the collector's side.
pub(crate) struct ThreadLog {
    /// The thread.
    pub(crate) thread: Arc<Watched>,
    /// Its track.
    pub(crate) track: TrackId,
    /// The task that runs, as of the last look.
    pub(crate) task: Option<TrackId>,
    /// A note says that it blocks the signal.
    pub(crate) deaf_noted: bool,
    /// Ring drops, unreadable stacks and finished waits and samples counted so far.
    pub(crate) counted: [u64; 4],
    entries: Vec<RawFrame>,
    stacks: Vec<Option<StackId>>,
    idle: Option<(Arc<[RawFrame]>, StackId)>,
    looks: Vec<Look>,
    cpu: Window,
    wall: Window,
    witnesses: Witnesses,
}

/// How clocks are to be shared out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// Now, on the monotonic clock.
    pub(crate) now: u64,
    /// When the session began, on the same clock.
    pub(crate) session_start: u64,
    /// Time between two looks at a running thread.
    pub(crate) interval_ns: u64,
    /// Elapsed time is shared out too.
    pub(crate) is_wall: bool,
    /// Looks come from performance events, and from a slow tick.
    pub(crate) is_perf: bool,
    /// Looks come from the tick; those of a timer are a second opinion.
    pub(crate) is_tick: bool,
}

impl ThreadLog {
    /// Nothing seen yet. `since` is when its wall time starts to count.
    pub(crate) fn new(thread: Arc<Watched>, track: TrackId, since: u64) -> Self {
        let cpu = Window::starting_at(thread.cpu_at_start);
        let wall = Window::starting_at(thread.first_seen.max(since));
        Self {
            thread,
            track,
            task: None,
            deaf_noted: false,
            counted: [0; 4],
            entries: Vec::new(),
            stacks: Vec::new(),
            idle: None,
            looks: Vec::new(),
            cpu,
            wall,
            witnesses: Witnesses::default(),
        }
    }

    /// Takes in one record of the thread's handler. Its stack is followed even
    /// when the look is not kept, because the next record builds on it.
    pub(crate) fn take(
        &mut self,
        received: &Received<'_>,
        keep: bool,
        frames: &mut Frames,
        tables: &mut Interner,
    ) {
        self.entries.truncate(received.kept);
        self.stacks.truncate(received.kept);
        for words in received.new.chunks_exact(2) {
            if let [code, place] = *words {
                self.entries.push(RawFrame { code, place });
            }
        }
        if !keep {
            return;
        }
        let stack = if received.native.is_empty() {
            self.python_stack(frames, tables)
        } else {
            frames.merged(tables, &self.entries, received.native)
        };
        let stack = stack.unwrap_or_else(|| frames.without_python(tables));
        let state = if received.sample.has_gil && frames.has_gil() {
            ThreadState::RunningWithGil
        } else {
            ThreadState::Running
        };
        let record::Sample { time, kind, at_system_call, doubtful, .. } = received.sample;
        let task = self.task;
        self.looks.push(Look { time, stack, task, state, kind, at_system_call, doubtful });
    }

    /// The stack of the current entries; frames that stayed are not looked up again.
    fn python_stack(&mut self, frames: &mut Frames, tables: &mut Interner) -> Option<StackId> {
        while let Some(entry) = self.entries.get(self.stacks.len()) {
            let caller = self.stacks.last().copied().flatten();
            let stack = match frames.python(tables, *entry) {
                Some(frame) => Some(tables.stack(caller, frame)),
                None => caller,
            };
            self.stacks.push(stack);
        }
        self.stacks.last().copied().flatten()
    }

    /// Takes in a look at the waiting thread.
    pub(crate) fn take_idle(
        &mut self,
        look: &IdleLook,
        frames: &mut Frames,
        tables: &mut Interner,
    ) {
        for (entry, code) in &look.codes {
            frames.know(entry, code);
        }
        let known = self.idle.as_ref().filter(|(stack, _)| Arc::ptr_eq(stack, &look.stack));
        let stack = match known {
            Some((_, stack)) => *stack,
            None => {
                let mut stack = None;
                for entry in look.stack.iter().rev() {
                    if let Some(frame) = frames.python(tables, *entry) {
                        stack = Some(tables.stack(stack, frame));
                    }
                }
                let stack = stack.unwrap_or_else(|| frames.without_python(tables));
                self.idle = Some((Arc::clone(&look.stack), stack));
                stack
            }
        };
        let (time, state) = (look.time, look.state);
        let (kind, task) = (Kind::Tick, None);
        let (at_system_call, doubtful) = (true, false);
        self.looks.push(Look { time, stack, task, state, kind, at_system_call, doubtful });
    }

    /// Shares the thread's clocks out over its looks since the last call, and
    /// appends them to `out`. Answers how much CPU time was repaired: what
    /// performance events, which see user code only, did not see, and what a
    /// second opinion tells instead of doubtful ticks.
    pub(crate) fn share_out(&mut self, terms: &Terms, out: &mut Vec<Sample>) -> u64 {
        self.looks.sort_by_key(|look| look.time);
        let seconds = self.second_opinion(terms);
        let first = out.len();
        out.extend(self.looks.iter().map(|look| Sample {
            time: Time(look.time.saturating_sub(terms.session_start)),
            track: self.track,
            task: look.task,
            stack: look.stack,
            wall_ns: 0,
            cpu_ns: 0,
            state: look.state,
        }));
        let samples = out.get_mut(first..).unwrap_or_default();
        let mut repaired = self.share_cpu(terms, samples);
        if terms.is_wall {
            self.share_wall(terms, samples);
        }
        if !seconds.is_empty() {
            repaired += self.overrule(samples, &seconds);
        }
        self.looks.clear();
        repaired
    }

    /// Takes the looks out that only matter where the tick's are doubtful.
    fn second_opinion(&mut self, terms: &Terms) -> Vec<Look> {
        let is_tick = |look: &Look| look.runs() && look.kind == Kind::Tick;
        if !terms.is_tick || !self.looks.iter().any(is_tick) {
            return Vec::new();
        }
        self.looks.extract_if(.., |look| look.kind == Kind::Timer).collect()
    }

    /// Where looks are doubtful and `seconds` contradict them, lets them show what
    /// those saw. Answers how much CPU time that was.
    fn overrule(&mut self, samples: &mut [Sample], seconds: &[Look]) -> u64 {
        let mut running: Vec<(&Look, &mut Sample)> =
            self.looks.iter().zip(samples).filter(|(look, _)| look.runs()).collect();
        let doubt =
            |(look, _): &(&Look, &mut Sample)| (look.time, look.doubtful.then_some(look.stack));
        let doubts: Vec<(u64, Option<StackId>)> = running.iter().map(doubt).collect();
        let times: Vec<u64> = seconds.iter().map(|look| look.time).collect();
        let pairs = believed(&doubts, &times);
        let ticks = pairs.iter().filter_map(|(tick, _)| Some(running.get(*tick)?.0));
        let mut heard: Vec<usize> = pairs.iter().map(|(_, second)| *second).collect();
        heard.dedup();
        let heard = heard.iter().filter_map(|second| seconds.get(*second));
        self.witnesses
            .hear(ticks.map(|look| look.at_system_call), heard.map(|look| look.at_system_call));
        if !self.witnesses.contradict() {
            return 0;
        }
        let mut overruled = 0;
        for (tick, second) in pairs {
            if let (Some((_, sample)), Some(look)) = (running.get_mut(tick), seconds.get(second)) {
                (sample.stack, sample.task, sample.state) = (look.stack, look.task, look.state);
                overruled += sample.cpu_ns;
            }
        }
        overruled
    }

    /// Gives the looks at the running thread what its CPU clock shows. With
    /// performance events each of those stands for a period, and what the clock
    /// shows beyond that goes to the looks of the slow tick.
    fn share_cpu(&mut self, terms: &Terms, samples: &mut [Sample]) -> u64 {
        let clock = self.thread.cpu_now();
        let by_kind = |kind: Kind| self.looks.iter().filter(|look| look.kind == kind).count();
        let (traps, ticks) = (by_kind(Kind::Perf), by_kind(Kind::Tick));
        if terms.is_perf && traps > 0 && ticks > 0 {
            let whole = self.cpu.open_ns(clock);
            let seen = (traps as u64).saturating_mul(terms.interval_ns).min(whole);
            let _ = self.cpu.close(clock, traps + ticks);
            let mut trapped = spread(seen, traps);
            let mut ticked = spread(whole - seen, ticks);
            for (sample, look) in samples.iter_mut().zip(&self.looks) {
                let next = if look.kind == Kind::Perf { &mut trapped } else { &mut ticked };
                sample.cpu_ns = next.next().unwrap_or(0);
            }
            return whole - seen;
        }
        let running = self.looks.iter().filter(|look| look.runs()).count();
        let mut shares = self.cpu.close(clock, running);
        for (sample, _) in samples.iter_mut().zip(&self.looks).filter(|(_, look)| look.runs()) {
            sample.cpu_ns = shares.next().unwrap_or(0);
        }
        0
    }

    /// Gives all looks what the wall clock shows: equal shares, or, when the
    /// sampler was late, each look the time around it. A late sampler is late
    /// mostly while the program is busy too, so equal shares would favour waits.
    fn share_wall(&mut self, terms: &Terms, samples: &mut [Sample]) {
        let until = if self.thread.has_ended() {
            self.thread.last_seen.load(Ordering::Acquire)
        } else {
            terms.now
        };
        let since = until.saturating_sub(self.wall.open_ns(until));
        let times: Vec<u64> = self.looks.iter().map(|look| look.time).collect();
        let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
        let is_even = gaps.max().unwrap_or(0) <= 2 * terms.interval_ns;
        let equal: Vec<u64> = self.wall.close(until, times.len()).collect();
        let shares = if is_even { equal } else { time_around(&times, since, until) };
        for (sample, share) in samples.iter_mut().zip(shares) {
            sample.wall_ns = share;
        }
    }

    /// For a thread that has ended: the CPU time that no look stands for, as a
    /// sample whose stack says so. Its time is counted, its place is not known.
    pub(crate) fn never_looked_at(&self, end: Time, tables: &mut Interner) -> Option<Sample> {
        let cpu_ns = self.cpu.open_ns(self.thread.cpu_now());
        (cpu_ns > 0).then(|| {
            let label = tables.label(ENDED);
            Sample {
                time: end,
                track: self.track,
                task: None,
                stack: tables.stack(None, label),
                wall_ns: 0,
                cpu_ns,
                state: ThreadState::Unknown,
            }
        })
    }

    /// Looks that have not been shared out yet.
    pub(crate) fn waiting_looks(&self) -> usize {
        self.looks.len()
    }

    /// CPU time since it was first watched.
    pub(crate) fn watched_cpu_ns(&self) -> u64 {
        self.thread.cpu_now().saturating_sub(self.thread.cpu_at_start)
    }
}
