//! The looks at one thread since they were last written.

use tachograph_profile::{Interner, Sample, StackId, ThreadState, Time, TrackId};

use crate::collect::ENDED;
use crate::cpu::Window;

/// Where a thread waits, for as long as its CPU clock stands still.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Its CPU clock while it waits.
    pub(crate) cpu_ns: u64,
    /// What it waits in.
    pub(crate) stack: StackId,
    /// What it waits for.
    pub(crate) state: ThreadState,
    /// The task it runs.
    pub(crate) task: Option<TrackId>,
}

/// The looks at one thread.
#[derive(Debug)]
pub(crate) struct Log {
    /// The thread's track.
    pub(crate) track: TrackId,
    /// Its name is known.
    pub(crate) is_named: bool,
    /// Its CPU clock at the last look that saw it run.
    pub(crate) cpu_ns: u64,
    /// Where it was last seen waiting.
    pub(crate) place: Option<Place>,
    cpu_at_start: u64,
    cpu: Window,
    wall: Window,
    looks: Vec<Sample>,
}

impl Log {
    /// Nothing seen yet; the clocks show `cpu_ns` and `now`.
    pub(crate) fn new(track: TrackId, cpu_ns: u64, now: u64) -> Self {
        Self {
            track,
            is_named: false,
            cpu_ns,
            place: None,
            cpu_at_start: cpu_ns,
            cpu: Window::starting_at(cpu_ns),
            wall: Window::starting_at(now),
            looks: Vec::new(),
        }
    }

    /// Adds a look at `time` since the recording began.
    pub(crate) fn add(
        &mut self,
        time: Time,
        stack: StackId,
        state: ThreadState,
        task: Option<TrackId>,
    ) {
        let track = self.track;
        self.looks.push(Sample { time, track, task, stack, wall_ns: 0, cpu_ns: 0, state });
    }

    /// CPU time since the thread was first seen.
    pub(crate) fn watched_cpu_ns(&self) -> u64 {
        self.cpu_ns.saturating_sub(self.cpu_at_start)
    }

    /// Shares the thread's clocks out over the looks and hands them over. Elapsed
    /// time is shared only with `with_wall`.
    pub(crate) fn close(&mut self, now: u64, with_wall: bool, out: &mut Vec<Sample>) {
        let ran = |sample: &&mut Sample| {
            !matches!(sample.state, ThreadState::Idle | ThreadState::WaitingForGil)
        };
        let running = self.looks.iter_mut().filter(ran).count();
        let shares = self.cpu.close(self.cpu_ns, running);
        for (sample, share) in self.looks.iter_mut().filter(ran).zip(shares) {
            sample.cpu_ns = share;
        }
        if with_wall {
            let shares = self.wall.close(now, self.looks.len());
            for (sample, share) in self.looks.iter_mut().zip(shares) {
                sample.wall_ns = share;
            }
        }
        out.append(&mut self.looks);
    }

    /// For a thread that has ended, or at the end: CPU time that no look stands
    /// for, as a sample whose stack says so.
    pub(crate) fn never_looked_at(&self, end: Time, tables: &mut Interner) -> Option<Sample> {
        let cpu_ns = self.cpu.open_ns(self.cpu_ns);
        (cpu_ns > 0).then(|| {
            let label = tables.label(ENDED);
            let (stack, state) = (tables.stack(None, label), ThreadState::Unknown);
            Sample { time: end, track: self.track, task: None, stack, wall_ns: 0, cpu_ns, state }
        })
    }
}
