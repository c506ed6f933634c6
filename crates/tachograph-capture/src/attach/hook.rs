//! The way in that an interpreter offers to debuggers.
//!
//! CPython 3.14 and newer look, at the next chance in their eval loop, into a
//! place in the main thread's state: is a script to be run, and which? What
//! they promise about it is in "Remote debugging attachment protocol" of
//! CPython's documentation. Nothing else in the process is written to.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use tachograph_probe::memory::ReadMemory;

use super::Target;
use super::find::target::refused;
use crate::Error;
use crate::python::ProcessMemory;
use crate::sys::remote_write::write_process;

/// Where the description of an interpreter has its part on debuggers, in words
/// from the cookie: 3.14 and 3.15.
const PART_3_14: u64 = 89;
const PART_3_15: u64 = 105;

/// A list longer than this is a circle.
const MOST_INTERPRETERS: u32 = 10_000;

/// Where the description says where an interpreter keeps its main thread.
const THREADS_MAIN: u64 = 10;

/// The bit that makes a thread leave its loop and look.
const PLEASE_STOP: u64 = 1 << 5;

/// The main thread's place for a script.
#[derive(Clone, Copy, Debug)]
pub struct Hook {
    pid: i32,
    /// The word that makes the thread look.
    breaker: u64,
    /// 1 while a script waits.
    pending: u64,
    /// The path of the script, a C string.
    script: u64,
    /// Room for it.
    room: u64,
}

impl Target {
    /// The way in of this process.
    ///
    /// # Errors
    ///
    /// The interpreter is too old to have one, or was told to let nobody in.
    pub fn hook(&self) -> Result<Hook, Error> {
        let (pid, version) = (self.pid, self.interpreter.version);
        let part = match version.minor() {
            14 => PART_3_14,
            15 => PART_3_15,
            _ => return Err(Error::NoHook { pid, version: version.to_string() }),
        };
        let memory = ProcessMemory::of(pid);
        let layout = &self.interpreter.layout;
        let runtime = self.interpreter.runtime;
        let described = |index: u64| memory.word(runtime.wrapping_add((part + index) * 8));
        let look = || {
            let mut interpreter =
                memory.word(runtime.wrapping_add(layout.runtime_interpreters.into()))?;
            // New ones are put in front, so the first interpreter is the last.
            for _ in 0..MOST_INTERPRETERS {
                match memory.word(interpreter.wrapping_add(layout.interpreter_next.into()))? {
                    0 => break,
                    next => interpreter = next,
                }
            }
            let threads_main = memory.word(runtime.wrapping_add(THREADS_MAIN * 8))?;
            let main = memory.word(interpreter.wrapping_add(threads_main))?;
            let enabled = memory.half(interpreter.wrapping_add(described(2)?))?;
            let support = main.wrapping_add(described(1)?);
            let hook = Hook {
                pid,
                breaker: main.wrapping_add(described(0)?),
                pending: support.wrapping_add(described(3)?),
                script: support.wrapping_add(described(4)?),
                room: described(5)?,
            };
            Some((hook, main != 0 && enabled != 0))
        };
        match look() {
            Some((hook, true)) => Ok(hook),
            Some((_, false)) => Err(Error::HookClosed { pid }),
            None => Err(self.absence().unwrap_or(Error::ProgramEnded { pid })),
        }
    }
}

impl Hook {
    /// Asks the interpreter to run `script` on its main thread.
    ///
    /// # Errors
    ///
    /// The process may not be written to, or the path is too long.
    pub fn run(&self, script: &Path) -> Result<(), Error> {
        let mut path = script.as_os_str().as_bytes().to_vec();
        path.push(0);
        if path.len() as u64 > self.room {
            return Err(Error::Internal { reason: format!("the path {script:?} is too long") });
        }
        let write = |address, bytes: &[u8]| {
            write_process(self.pid, address, bytes).map_err(|error| refused(self.pid, &error))
        };
        write(self.script, &path)?;
        write(self.pending, &1_i32.to_ne_bytes())?;
        let memory = ProcessMemory::of(self.pid);
        let wanted = memory.word(self.breaker).unwrap_or(0) | PLEASE_STOP;
        write(self.breaker, &wanted.to_ne_bytes())
    }

    /// Whether the script has not been begun yet.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        ProcessMemory::of(self.pid).half(self.pending).is_some_and(|pending| pending != 0)
    }

    /// Takes the script back, if it has not been begun.
    pub fn take_back(&self) {
        // A process that ended meanwhile has nothing to take back.
        let _ = write_process(self.pid, self.pending, &0_i32.to_ne_bytes());
    }
}
