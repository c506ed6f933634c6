//! Which threads there are.
//!
//! The kernel's directory of threads says how many there are for the price of
//! one `fstat`, and a thread that ended no longer has a CPU clock; so every
//! change shows on the next tick, threads that Python never saw included.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::look::{Looker, Outcome, Sight};
use super::watched::Watched;
use crate::own;
use crate::sys::threads::{TaskDirectory, ThreadFiles};
use crate::sys::{clock, slots};

/// The threads of the program, as the sampler knows them.
#[derive(Debug)]
pub(crate) struct Roster {
    tasks: TaskDirectory,
    known: Vec<Sight>,
    expected: u64,
    someone_ended: bool,
    scanned: bool,
    unwatched: u64,
}

impl Roster {
    /// Begins with threads that were watched before; `tasks` lists all there are.
    pub(crate) fn new(tasks: TaskDirectory, known: Vec<Arc<Watched>>, looker: &mut Looker) -> Self {
        let scanned = !known.is_empty();
        let alive = known.into_iter().filter(|thread| !thread.has_ended());
        let mut known: Vec<Sight> = alive.map(Sight::new).collect();
        known.iter_mut().for_each(|sight| looker.greet(sight));
        Self { tasks, known, expected: 0, someone_ended: false, scanned, unwatched: 0 }
    }

    /// Whether a thread ended since the last `discover`.
    pub(crate) fn lost_someone(&self) -> bool {
        self.someone_ended
    }

    /// Whether threads may have come or gone since the last `discover`.
    pub(crate) fn changed(&self) -> bool {
        self.someone_ended || self.tasks.count() != self.expected
    }

    /// Threads that could not be watched for want of a slot.
    pub(crate) fn unwatched(&self) -> u64 {
        self.unwatched
    }

    /// Finds new threads and starts to watch them.
    pub(crate) fn discover(
        &mut self,
        looker: &mut Looker,
        mut announce: impl FnMut(Arc<Watched>),
        now: u64,
    ) {
        let count = self.tasks.count();
        // Out of file descriptors, or a thread of ours is being made: the next tick tries again.
        let Some(ids) = self.tasks.ids().ok().and_then(own::without_own) else {
            return;
        };
        self.expected = count;
        self.someone_ended = false;
        self.unwatched = 0;
        for tid in ids {
            if self.known.iter().any(|sight| sight.thread.tid == tid) {
                continue;
            }
            let Some(cpu) = clock::thread_cpu(tid) else {
                continue;
            };
            let Some(slot) = slots::acquire(tid) else {
                self.unwatched += 1;
                continue;
            };
            // CPU time from before the session is not ours to share out.
            let before = if self.scanned { 0 } else { cpu };
            let name = ThreadFiles::new(tid).name();
            let thread = Arc::new(Watched::new(tid, slot, now, before, name));
            announce(Arc::clone(&thread));
            let mut sight = Sight::new(thread);
            looker.greet(&mut sight);
            self.known.push(sight);
        }
        self.scanned = true;
    }

    /// Looks at every thread; says how full the fullest ring is.
    pub(crate) fn look_at_all(&mut self, looker: &mut Looker, now: u64) -> usize {
        let mut fullest = 0;
        let mut ended = false;
        looker.begin(now);
        self.known.retain_mut(|sight| {
            fullest = fullest.max(sight.thread.slot.ring.len());
            if looker.look(sight, now) == Outcome::Ended {
                sight.thread.ended.store(true, Ordering::Release);
                ended = true;
                return false;
            }
            true
        });
        self.someone_ended |= ended;
        fullest
    }
}
