//! Every thread of a running program at one moment.

use tachograph_probe::walk::EntryKind;
use tachograph_profile::{FrameKind, Interner, StackId, ThreadState};

use crate::Error;
use crate::attach::find::process;
use crate::attach::find::target::Target;
use crate::attach::inspect::tasks::{Task, tasks};
use crate::attach::inspect::values::locals;
use crate::attach::inspect::waits;
use crate::attach::read::reader::{Blind, Reader, Wish};
use crate::attach::read::roster::Roster;
use crate::attach::read::thread::{Doing, Thread};
use crate::collect::task_name;
use crate::sys::ptrace::{NoPause, Stopped};

/// How often a thread that moves while it is read is tried again.
const TRIES: usize = 5;

/// Frames kept of each stack.
const MAX_DEPTH: usize = 4096;

/// What a dump holds besides Python stacks.
#[derive(Clone, Copy, Debug)]
pub struct DumpOptions {
    /// Native frames too.
    pub native: bool,
    /// Local variables of Python frames.
    pub locals: bool,
}

/// A running program at one moment.
#[derive(Clone, Debug)]
pub struct Dump {
    /// The process.
    pub pid: i32,
    /// What people call the program.
    pub title: String,
    /// Such as `3.12.1`.
    pub version: String,
    /// Whether it is a build without the interpreter lock.
    pub free_threaded: bool,
    /// Its threads, the main thread first.
    pub threads: Vec<ThreadDump>,
    /// Tasks of asyncio that have not ended.
    pub tasks: Vec<Task>,
}

/// One thread.
#[derive(Clone, Debug)]
pub struct ThreadDump {
    /// The kernel's id.
    pub tid: i32,
    /// What `threading` or the kernel calls it.
    pub name: String,
    /// What it is up to.
    pub state: ThreadState,
    /// The system call it waits in; empty while it runs.
    pub waits_in: String,
    /// It holds the interpreter lock.
    pub holds_gil: bool,
    /// The task it runs.
    pub task: Option<String>,
    /// Its frames, innermost first.
    pub frames: Vec<FrameDump>,
    /// Why there are no frames; empty when there are.
    pub problem: &'static str,
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameDump {
    /// The function.
    pub function: String,
    /// Its file, or the object of a native function.
    pub file: String,
    /// The line; 0 for a native frame.
    pub line: u32,
    /// Whether it is a native frame.
    pub is_native: bool,
    /// Names and values, if they were asked for.
    pub locals: Vec<(String, String)>,
}

/// Reads every thread of `target`.
///
/// A thread that runs is stopped while it is read. One that waits is not.
///
/// # Errors
///
/// The program has ended or was replaced meanwhile, or may not be read.
pub fn dump(target: &Target, options: DumpOptions) -> Result<Dump, Error> {
    let _no_pause = NoPause::begin();
    let pid = target.pid;
    let (mut roster, mut tables) = (Roster::default(), Interner::default());
    let mut reader = Reader::new(target, options.native, MAX_DEPTH);
    roster.refresh(pid);
    reader.memory.begin(None);
    roster.find_states(&reader.memory, target);
    let mut threads = Vec::new();
    for thread in &mut roster.threads {
        let wish = Looking { target, options, reader: &mut reader, tables: &mut tables };
        match wish.thread(thread) {
            Ok(seen) => threads.extend(seen),
            Err(error) => return Err(target.absence().unwrap_or(error)),
        }
    }
    if let Some(absence) = target.absence() {
        return Err(absence);
    }
    threads.sort_by_key(|thread| (thread.tid != pid, thread.tid));
    let tasks = {
        // A loop that runs must not change its tasks meanwhile.
        let running = roster.threads.iter().filter(|thread| thread.doing() == Doing::Running);
        let mut running: Vec<i32> = running.map(|thread| thread.tid).collect();
        running.sort_unstable_by_key(|tid| *tid == pid);
        let _stopped: Vec<Stopped> =
            running.into_iter().filter_map(|tid| Stopped::stop(pid, tid).ok()).collect();
        reader.memory.begin(None);
        tasks(&reader.memory, target)
    };
    Ok(Dump {
        pid,
        title: process::title(pid),
        version: target.interpreter.version.to_string(),
        free_threaded: target.interpreter.free_threaded,
        threads,
        tasks,
    })
}

struct Looking<'a> {
    target: &'a Target,
    options: DumpOptions,
    reader: &'a mut Reader,
    tables: &'a mut Interner,
}

impl Looking<'_> {
    fn thread(self, thread: &mut Thread) -> Result<Option<ThreadDump>, Error> {
        let pid = self.target.pid;
        let layout = self.target.interpreter.layout;
        let mut found = ThreadDump {
            tid: thread.tid,
            name: if thread.tid == pid { "MainThread".into() } else { thread.name(pid) },
            state: ThreadState::Unknown,
            waits_in: String::new(),
            holds_gil: false,
            task: None,
            frames: Vec::new(),
            problem: "",
        };
        for _ in 0..TRIES {
            let doing = thread.doing();
            found.waits_in = match doing {
                Doing::Waiting(wait) => waits::name(wait.call).to_owned(),
                _ => String::new(),
            };
            let wish = Wish { name: thread.tid != pid, doing };
            let mut variables = Vec::new();
            let wants_locals = self.options.locals;
            let seen = self.reader.look(self.target, self.tables, thread, wish, |reader, _| {
                if wants_locals {
                    let python = reader.entries().iter().zip(reader.addresses());
                    let python = python.filter(|(entry, _)| entry.kind() == EntryKind::Python);
                    variables = python
                        .map(|(entry, frame)| {
                            locals(&reader.memory, &layout, *frame, entry.code_address())
                        })
                        .collect();
                }
            });
            match seen {
                Ok(seen) => {
                    found.holds_gil = seen.holds_gil;
                    found.state = seen.state;
                    found.task = seen.task.map(|task| task_name(&task.name).into());
                    if let Some(name) = seen.name {
                        found.name = name;
                    }
                    found.frames = frames(self.tables, seen.stack, variables);
                    found.problem = "";
                    return Ok(Some(found));
                }
                Err(Blind::Ended) => return Ok(None),
                Err(Blind::Denied) => {
                    let reason = process::why_denied(pid);
                    return Err(Error::AttachDenied { pid, reason });
                }
                Err(Blind::Unreadable | Blind::Moved) => {
                    found.problem = "its frames could not be read"
                }
            }
        }
        Ok(Some(found))
    }
}

/// The frames of a stack, innermost first.
fn frames(
    tables: &Interner,
    stack: StackId,
    variables: Vec<Vec<(String, String)>>,
) -> Vec<FrameDump> {
    let tables = tables.tables();
    let text = |id: tachograph_profile::StringId| {
        tables.strings.get(id.index()).map(ToString::to_string).unwrap_or_default()
    };
    let mut variables = variables.into_iter();
    let mut found = Vec::new();
    let mut next = Some(stack);
    while let Some(node) = next.and_then(|stack| tables.stacks.get(stack.index())) {
        if let Some(frame) = tables.frames.get(node.frame.index()) {
            let is_python = frame.kind == FrameKind::Python;
            found.push(FrameDump {
                function: text(frame.function),
                file: text(frame.file),
                line: frame.line,
                is_native: frame.kind == FrameKind::Native,
                locals: if is_python { variables.next().unwrap_or_default() } else { Vec::new() },
            });
        }
        next = node.caller;
    }
    found
}
