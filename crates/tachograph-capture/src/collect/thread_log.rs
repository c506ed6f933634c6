//! What has been seen of one thread since its time was last shared out.

use std::sync::Arc;

use tachograph_probe::record::{Kind, Received};
use tachograph_probe::walk::RawFrame;
use tachograph_profile::{Interner, Sample, StackId, ThreadState, Time, TrackId};

use super::frames::Frames;
use crate::cpu::{IdleLook, Watched, Window};

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
    /// Its name has been found out.
    pub(crate) named: bool,
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

/// What one thread's time came to when it was shared out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shared {
    /// CPU time that performance events did not see and the slow tick repaired.
    pub(crate) repaired_ns: u64,
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
            named: false,
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

    /// Shares the thread's clocks out over its looks since the last call.
    ///
    /// `perf_period_ns` is set for performance events: they see user code only,
    /// so each stands for a period, and what the clock shows beyond that goes to
    /// the looks of the slow tick.
    pub(crate) fn share_out(
        &mut self,
        now: u64,
        is_wall: bool,
        perf_period_ns: Option<u64>,
        start: u64,
        out: &mut Vec<Sample>,
    ) -> Shared {
        let mut shared = Shared::default();
        self.looks.sort_by_key(|look| look.time);
        let cpu_clock = self.thread.cpu_now();
        let runs = |look: &Look| {
            look.state != ThreadState::Idle && look.state != ThreadState::WaitingForGil
        };
        let first = out.len();
        for look in &self.looks {
            out.push(Sample {
                time: Time(look.time.saturating_sub(start)),
                track: self.track,
                task: look.task,
                stack: look.stack,
                wall_ns: 0,
                cpu_ns: 0,
                state: look.state,
            });
        }
        let samples = out.get_mut(first..).unwrap_or_default();
        let by_kind = |kind: Kind| self.looks.iter().filter(|look| look.kind == kind).count();
        let (traps, ticks) = (by_kind(Kind::Perf), by_kind(Kind::Tick));
        match perf_period_ns.filter(|_| ticks > 0 && traps > 0) {
            Some(period) => {
                let whole = self.cpu.open_ns(cpu_clock);
                let seen = (traps as u64).saturating_mul(period).min(whole);
                shared.repaired_ns = whole - seen;
                let _ = self.cpu.close(cpu_clock, traps + ticks);
                let mut trapped = crate::cpu::spread(seen, traps);
                let mut ticked = crate::cpu::spread(whole - seen, ticks);
                for (sample, look) in samples.iter_mut().zip(&self.looks) {
                    let next = if look.kind == Kind::Perf { &mut trapped } else { &mut ticked };
                    sample.cpu_ns = next.next().unwrap_or(0);
                }
            }
            None => {
                let running = self.looks.iter().filter(|look| runs(look)).count();
                let mut shares = self.cpu.close(cpu_clock, running);
                for (sample, look) in samples.iter_mut().zip(&self.looks) {
                    if runs(look) {
                        sample.cpu_ns = shares.next().unwrap_or(0);
                    }
                }
            }
        }
        if is_wall {
            let until = if self.thread.has_ended() {
                self.thread.last_seen.load(std::sync::atomic::Ordering::Acquire)
            } else {
                now
            };
            for (sample, share) in samples.iter_mut().zip(self.wall.close(until, self.looks.len()))
            {
                sample.wall_ns = share;
            }
        }
        self.looks.clear();
        shared
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
