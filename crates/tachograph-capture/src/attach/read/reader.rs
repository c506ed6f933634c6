//! Reads one thread of another process, stopped for as long as that takes.

use tachograph_probe::memory::ReadMemory;
use tachograph_probe::names::{TaskRef, task_of_handle, thread_name};
use tachograph_probe::walk::{RawFrame, WalkState, walk_with_addresses};
use tachograph_profile::{Interner, StackId, ThreadState};

use crate::attach::find::target::Target;
use crate::attach::read::gil;
use crate::attach::read::naming::Naming;
use crate::attach::read::snapshot::Snapshot;
use crate::attach::read::thread::{Doing, Thread, Wait};
use crate::attach::read::unwind::Unwinder;
use crate::collect::name_text;
use crate::sys::native::unwind::NativeRaw;
use crate::sys::ptrace::{Refusal, Stopped};
use crate::sys::registers::Interrupted;

/// What one look at a thread found.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Native and Python frames, as one stack.
    pub(crate) stack: StackId,
    /// What the thread is up to.
    pub(crate) state: ThreadState,
    /// It holds the interpreter lock, running or not.
    pub(crate) holds_gil: bool,
    /// What `threading` calls it, when that was asked for and found.
    pub(crate) name: Option<String>,
    /// The task it runs.
    pub(crate) task: Option<TaskRef>,
    /// Outer frames are missing.
    pub(crate) truncated: bool,
    /// Its native stack ended early.
    pub(crate) partial: bool,
    /// It stood in a wait that is over, and has hardly run since.
    pub(crate) in_system_call: bool,
}

/// Why a look found nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blind {
    /// The thread has ended.
    Ended,
    /// It could not be stopped.
    Denied,
    /// Its frames could not be read as one piece.
    Unreadable,
    /// It waited, and went on while it was read.
    Moved,
}

/// Which thread is looked at, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    /// Ask for the thread's name too.
    pub(crate) name: bool,
    /// What the thread was doing.
    pub(crate) doing: Doing,
}

/// Reads threads of one process.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) memory: Snapshot,
    pub(crate) naming: Naming,
    pub(crate) unwinder: Option<Unwinder>,
    room: Vec<RawFrame>,
    addresses: Vec<u64>,
    natives: Vec<NativeRaw>,
    depth: usize,
}

impl Reader {
    /// Keeps at most `max_depth` frames per stack.
    pub(crate) fn new(target: &Target, native: bool, max_depth: usize) -> Self {
        Self {
            memory: Snapshot::of(target.pid),
            naming: Naming::of(target),
            unwinder: native.then(|| Unwinder::of(target.pid)),
            room: vec![RawFrame::default(); max_depth * 2],
            addresses: vec![0; max_depth * 2],
            natives: Vec::new(),
            depth: 0,
        }
    }

    /// The entries the last look found, innermost first.
    pub(crate) fn entries(&self) -> &[RawFrame] {
        self.room.get(..self.depth).unwrap_or_default()
    }

    /// Where the frames of those entries lie; 0 for an eval loop's boundary.
    pub(crate) fn addresses(&self) -> &[u64] {
        self.addresses.get(..self.depth).unwrap_or_default()
    }

    /// Looks at `thread`. One that runs is stopped meanwhile; one that waits is
    /// not, and what was read counts only if its CPU clock stood still.
    pub(crate) fn look(
        &mut self,
        target: &Target,
        tables: &mut Interner,
        thread: &mut Thread,
        wish: Wish,
        still: impl FnOnce(&mut Self, &Seen),
    ) -> Result<Seen, Blind> {
        match wish.doing {
            Doing::Ended => Err(Blind::Ended),
            Doing::Running => {
                let stopped =
                    Stopped::stop(target.pid, thread.tid).map_err(|refusal| match refusal {
                        Refusal::Ended => Blind::Ended,
                        Refusal::Denied => Blind::Denied,
                    })?;
                let registers = stopped.registers();
                let in_system_call = registers.is_some_and(|found| found.in_system_call);
                let start = registers.map(|found| found.start);
                let mut seen = self.read(target, tables, thread, wish, start)?;
                seen.in_system_call = in_system_call;
                still(self, &seen);
                drop(stopped);
                self.memory.end(&mut thread.habit);
                self.finish(tables, &mut seen);
                Ok(seen)
            }
            Doing::Waiting(wait) => {
                let before = thread.cpu_ns();
                let start = Interrupted { ip: wait.ip, sp: wait.sp, fp: 0, lr: 0 };
                let start = (wait.sp != 0).then_some(start);
                let mut seen = self.read(target, tables, thread, wish, start)?;
                seen.state = waits_for(target, wait);
                still(self, &seen);
                if thread.cpu_ns() != before {
                    return Err(Blind::Moved);
                }
                self.memory.end(&mut thread.habit);
                self.finish(tables, &mut seen);
                Ok(seen)
            }
        }
    }

    /// Everything that must be read while the thread stands still.
    fn read(
        &mut self,
        target: &Target,
        tables: &mut Interner,
        thread: &Thread,
        wish: Wish,
        start: Option<Interrupted>,
    ) -> Result<Seen, Blind> {
        let layout = &target.interpreter.layout;
        let memory = &self.memory;
        memory.begin(Some(&thread.habit));
        let mut seen = Seen {
            stack: StackId(0),
            state: ThreadState::Running,
            holds_gil: false,
            name: None,
            task: None,
            truncated: false,
            partial: false,
            in_system_call: false,
        };
        self.depth = 0;
        let wants_boundaries = self.unwinder.is_some();
        for &state in &thread.states {
            let at = state.wrapping_add(u64::from(layout.thread_native_id));
            let is_his =
                layout.thread_native_id == 0 || memory.word(at) == u64::try_from(thread.inner).ok();
            if !is_his {
                return Err(Blind::Unreadable);
            }
            self.addresses.fill(0);
            let (room, addresses) = (&mut self.room, &mut self.addresses);
            let walk =
                walk_with_addresses(memory, layout, state, wants_boundaries, room, addresses);
            if walk.state == WalkState::Unreadable {
                return Err(Blind::Unreadable);
            }
            let runtime = target.interpreter.runtime;
            if gil::holder(memory, layout, runtime, state) == Some(state) {
                seen.state = ThreadState::RunningWithGil;
                seen.holds_gil = true;
            }
            if wish.name && walk.thread_object != 0 {
                let name = thread_name(memory, layout, walk.thread_object);
                seen.name = name.map(|name| name_text(&name));
            }
            if walk.coroutine_handle != 0 {
                seen.task = task_of_handle(memory, layout, walk.coroutine_handle);
            }
            seen.truncated = walk.truncated;
            self.depth = walk.depth;
            if walk.state == WalkState::Complete {
                break;
            }
        }
        let entries = self.room.get(..self.depth).unwrap_or_default();
        self.naming.meet(memory, tables, entries);
        self.natives.clear();
        if let (Some(unwinder), Some(start)) = (&mut self.unwinder, start) {
            let (frames, complete) = unwinder.unwind(&self.memory, start);
            self.natives.extend_from_slice(frames);
            seen.partial = !complete;
        }
        Ok(seen)
    }

    /// What can wait until the thread runs again.
    fn finish(&mut self, tables: &mut Interner, seen: &mut Seen) {
        let entries = self.room.get(..self.depth).unwrap_or_default();
        let unwinder = self.unwinder.as_ref();
        seen.stack = self.naming.stack(tables, entries, &self.natives, unwinder);
    }
}

/// A thread that waits for the interpreter lock sleeps on a futex inside the
/// runtime's own variables.
fn waits_for(target: &Target, wait: Wait) -> ThreadState {
    if wait.call == libc::SYS_futex && target.runtime.contains(&wait.argument) {
        ThreadState::WaitingForGil
    } else {
        ThreadState::Idle
    }
}
