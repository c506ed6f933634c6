//! What has been seen of one thread since its time was last shared out.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tachograph_probe::record::{Kind, Received};
use tachograph_probe::walk::RawFrame;
use tachograph_profile::{Interner, Sample, StackId, ThreadState, Time, TrackId};

use super::frames::Frames;
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
        let (time, kind) = (received.sample.time, received.sample.kind);
        self.looks.push(Look { time, stack, task: self.task, state, kind });
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
        self.looks.push(Look { time, stack, task: None, state, kind: Kind::Tick });
    }

    /// Shares the thread's clocks out over its looks since the last call, and
    /// appends them to `out`. Answers how much CPU time was repaired: what
    /// performance events, which see user code only, did not see.
    pub(crate) fn share_out(&mut self, terms: &Terms, out: &mut Vec<Sample>) -> u64 {
        self.looks.sort_by_key(|look| look.time);
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
        let repaired = self.share_cpu(terms, samples);
        if terms.is_wall {
            self.share_wall(terms, samples);
        }
        self.looks.clear();
        repaired
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
        let runs = |sample: &&mut Sample| {
            !matches!(sample.state, ThreadState::Idle | ThreadState::WaitingForGil)
        };
        let running = samples.iter_mut().filter(runs).count();
        let shares = self.cpu.close(clock, running);
        for (sample, share) in samples.iter_mut().filter(runs).zip(shares) {
            sample.cpu_ns = share;
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
