//! One session per process, many doors: each door is a [`Client`] with its own
//! window of time and its own settings.
//!
//! The session lives as long as a door is open. A forked child has none of our
//! threads, so it forgets the parent's session and begins afresh.

use std::path::PathBuf;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::collect::{self, Command, Live};
use crate::error::Error;
use crate::heap::{HeapPicture, PythonObjects};
use crate::options::{Host, Options};
use crate::own;
use crate::python::Interpreter;
use crate::sys::{fork, handler};
use crate::waker::Waker;

/// One door's window on the session. Dropping it without `finish` discards the window.
#[derive(Debug)]
pub struct Client {
    id: u64,
    /// The collector that serves it; one that failed is followed by another.
    collector: u64,
    generation: u32,
    live: Arc<Live>,
    objects: Mutex<Option<PythonObjects>>,
    finished: bool,
}

/// What a finished client leaves behind.
#[derive(Debug)]
pub struct Finished {
    /// The encoded recording, for `tachograph_profile::file::read`. It may lack
    /// late samples when `file` is set and memory was short.
    pub bytes: Vec<u8>,
    /// The complete recording on disk, when a path was asked for and every
    /// write succeeded.
    pub file: Option<PathBuf>,
    /// Why the recording or its file is not complete, as a sentence.
    pub file_error: Option<String>,
}

/// Live figures of one client.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    /// Samples kept so far.
    pub collected_samples: u64,
    /// Samples lost so far: no room, or unreadable.
    pub dropped_samples: u64,
    /// How long the window is.
    pub duration_ns: u64,
    /// Sampling cost as a share of the CPU time watched, or of the time that
    /// passed if that is more; 0 to 1.
    pub cost: f64,
    /// Bytes of encoded recording held in memory.
    pub memory_bytes: u64,
}

/// The session of one process.
struct Registry {
    generation: u32,
    /// Collectors started so far.
    started: AtomicU64,
    running: Mutex<Option<Running>>,
}

/// The collector and how to talk to it.
struct Running {
    number: u64,
    commands: Sender<Command>,
    waker: Waker,
    thread: JoinHandle<()>,
}

static REGISTRY: AtomicPtr<Registry> = AtomicPtr::new(std::ptr::null_mut());

impl Client {
    /// Opens a window: starts the sources it needs, joins them if they run.
    ///
    /// # Errors
    ///
    /// The output cannot be written, the trigger is not to be had, or the
    /// interpreter is one we cannot read.
    pub fn open(options: Options, host: Host) -> Result<Self, Error> {
        Self::open_with(options, host, None)
    }

    /// As [`Client::open`]; `objects` exists until the door samples no more.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn open_with(
        options: Options,
        host: Host,
        objects: Option<PythonObjects>,
    ) -> Result<Self, Error> {
        fork::watch();
        let wants_native = options.cpu.is_some_and(|cpu| cpu.native)
            || options.heap.is_some_and(|heap| heap.native);
        if host.python.is_none() && wants_native {
            // Its stacks are native only: the first sample needs the list of
            // libraries, which a Python program gets while it runs.
            crate::native::refresh();
        }
        let registry = registry();
        let mut running = lock(&registry.running);
        let is_first = running.as_ref().is_none_or(|running| running.thread.is_finished());
        if is_first {
            let number = registry.started.fetch_add(1, Ordering::Relaxed);
            *running = Some(start_collector(number, host.python.is_some())?);
        }
        let collector = running.as_ref().map_or(0, |running| running.number);
        let live = Arc::new(Live::default());
        let opened = running
            .as_ref()
            .ok_or_else(no_collector)
            .and_then(|collector| collector.open(options, host, Arc::clone(&live)));
        // A collector without a door ends by itself.
        if is_first
            && opened.is_err()
            && let Some(collector) = running.take()
        {
            let _ = collector.thread.join();
        }
        let generation = registry.generation;
        let objects = Mutex::new(objects);
        Ok(Self { id: opened?, collector, generation, live, objects, finished: false })
    }

    /// How it goes so far; at most a tenth of a second old.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.live.stats()
    }

    /// Samples no more blocks for this door; the end of those it has is still
    /// seen. Blocks that were sampled before this returns are in the door.
    ///
    /// Takes a moment; call it without the interpreter lock.
    pub fn pause_heap(&self) {
        let _ = self.ask(|reply| Command::PauseHeap { id: self.id, reply });
        drop(lock(&self.objects).take());
    }

    /// The heap as this door sees it now. `None` for a door that asked for no
    /// heap, in a forked child, or when the recorder stopped itself.
    ///
    /// Takes some milliseconds; call it without the interpreter lock.
    #[must_use]
    pub fn heap_picture(&self) -> Option<HeapPicture> {
        self.ask(|reply| Command::Picture { id: self.id, reply }).flatten().map(|picture| *picture)
    }

    /// Asks the collector something about this door.
    fn ask<T>(&self, question: impl FnOnce(Sender<T>) -> Command) -> Option<T> {
        if !self.is_alive() {
            return None;
        }
        let answer = {
            let running = lock(&registry().running);
            let collector = running.as_ref().filter(|running| running.number == self.collector)?;
            let (reply, answer) = channel();
            collector.commands.send(question(reply)).ok()?;
            collector.waker.wake();
            answer
        };
        answer.recv().ok()
    }

    /// Closes the window. `thread_names` are names by OS thread id known now.
    ///
    /// Takes a few milliseconds; call it without the interpreter lock. In a
    /// forked child there is nothing to close and the recording is empty.
    #[must_use]
    pub fn finish(mut self, thread_names: &[(u64, String)]) -> Finished {
        self.finished = true;
        let finished = self.close(Some(thread_names));
        finished.unwrap_or_else(|| Finished {
            bytes: Vec::new(),
            file: None,
            file_error: Some(
                "the recorder stopped itself; the program was not affected".to_owned(),
            ),
        })
    }

    /// False after a `fork` in the child: the window belongs to the parent.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.generation == fork::generation()
    }

    /// Tells the collector that this door closes; waits for the end of the
    /// session when it was the last.
    fn close(&self, thread_names: Option<&[(u64, String)]>) -> Option<Finished> {
        if !self.is_alive() {
            return None;
        }
        let mut running = lock(&registry().running);
        let collector = running.as_ref().filter(|running| running.number == self.collector)?;
        let (reply, answer) = channel();
        let names = thread_names.unwrap_or_default().to_vec();
        let command = Command::Finish { id: self.id, names, reply };
        let sent = collector.commands.send(command);
        collector.waker.wake();
        let finished = sent.ok().and_then(|()| answer.recv().ok());
        if finished.as_ref().is_none_or(|(_, is_last)| *is_last)
            && let Some(collector) = running.take()
        {
            let _ = collector.thread.join();
        }
        finished.map(|(finished, _)| finished)
    }
}

impl Running {
    /// Asks for a window; its number is the answer.
    fn open(&self, options: Options, host: Host, live: Arc<Live>) -> Result<u64, Error> {
        let (reply, answer) = channel();
        let (options, host) = (Box::new(options), Box::new(host));
        let command = Command::Open { options, host, live, reply };
        self.commands.send(command).map_err(|_| no_collector())?;
        self.waker.wake();
        answer.recv().map_err(|_| no_collector())?
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if !self.finished {
            self.close(None);
        }
    }
}

/// From now on SIGTERM and SIGHUP, where the program leaves them to the
/// kernel, finish every recording of this process before they end it.
///
/// Ends with the session; a forked child asks for it anew.
pub fn finish_when_told_to_end() {
    crate::sys::farewell::listen();
}

/// Starts the collector thread.
fn start_collector(number: u64, has_python: bool) -> Result<Running, Error> {
    let interpreter = has_python.then(Interpreter::find).transpose()?;
    if let Some(interpreter) = &interpreter {
        handler::set_python(interpreter.entry());
    }
    let (commands, inbox) = channel();
    let waker = Waker::default();
    let bell = waker.clone();
    let work = move || collect::run(&inbox, bell, interpreter);
    let thread = own::spawn("tacho-collect", work).map_err(Error::NoThread)?;
    Ok(Running { number, commands, waker, thread })
}

/// This process's session; another one in a forked child.
fn registry() -> &'static Registry {
    let generation = fork::generation();
    let known = crate::sys::leaked::get(&REGISTRY);
    if let Some(known) = known.filter(|known| known.generation == generation) {
        return known;
    }
    crate::sys::leaked::replace(
        &REGISTRY,
        known,
        Registry { generation, started: AtomicU64::new(0), running: Mutex::default() },
    )
}

fn no_collector() -> Error {
    Error::Internal { reason: "its collector thread ended".to_owned() }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
