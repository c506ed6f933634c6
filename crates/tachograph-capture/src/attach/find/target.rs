//! A running Python program and where its interpreter is.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tachograph_probe::memory::ReadMemory;

use crate::Error;
use crate::attach::find::image::Image;
use crate::attach::find::maps::{Mapped, mapped};
use crate::attach::find::sections;
use crate::attach::find::version::version_hex;
use crate::python::{Interpreter, ProcessMemory};

/// How long a program that is just starting may take until its interpreter is there.
const START_UP: Duration = Duration::from_secs(2);

/// The first eight bytes of `_PyRuntime` from 3.13 on.
const COOKIE: &[u8; 8] = b"xdebugpy";

/// What has become of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It runs the program that we found.
    Here,
    /// It runs another program now.
    Replaced,
    /// It has ended.
    Ended,
}

/// A running Python program.
#[derive(Debug)]
pub struct Target {
    /// The process.
    pub pid: i32,
    /// Its interpreter.
    pub interpreter: Interpreter,
    /// The interpreter's own variables; its lock is among them.
    pub(crate) runtime: Range<u64>,
    /// First address of the object that holds the interpreter.
    pub(crate) object: u64,
    /// The program's memory as it is now; empty once the program is another one.
    memory: File,
}

impl Target {
    /// Finds the interpreter of process `pid`.
    ///
    /// The process runs no code of ours and is not stopped. A process that is
    /// just starting gets a moment to bring its interpreter up.
    ///
    /// # Errors
    ///
    /// There is no such process, it may not be read, it runs no CPython, or one
    /// whose structures are not known.
    pub fn find(pid: i32) -> Result<Self, Error> {
        let memory = open_memory(pid)?;
        let begin = Instant::now();
        loop {
            match Self::look(pid, &memory) {
                Ok(Some(target)) => return Ok(target),
                Ok(None) => {}
                Err(error) => return Err(error),
            }
            // A file with that name will be Python in a moment.
            let may_come = looks_like_python(pid) && begin.elapsed() < START_UP;
            if !may_come {
                return Err(match presence(pid, &memory) {
                    Presence::Here => Error::NotPython {
                        pid,
                        program: crate::attach::find::process::program(pid),
                    },
                    Presence::Replaced => Error::ProgramReplaced { pid },
                    Presence::Ended => Error::NoProcess { pid },
                });
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// What has become of the process.
    #[must_use]
    pub fn presence(&self) -> Presence {
        presence(self.pid, &self.memory)
    }

    /// The error that says what has become of the process, if it is not here.
    #[must_use]
    pub fn absence(&self) -> Option<Error> {
        let pid = self.pid;
        match self.presence() {
            Presence::Here => None,
            Presence::Replaced => Some(Error::ProgramReplaced { pid }),
            Presence::Ended => Some(Error::ProgramEnded { pid }),
        }
    }

    fn look(pid: i32, memory_file: &File) -> Result<Option<Self>, Error> {
        let maps = mapped(pid).map_err(|error| refused(pid, &error))?;
        let memory = ProcessMemory::of(pid);
        let Some((object, runtime)) = find_runtime(pid, &memory, &maps) else {
            return Ok(None);
        };
        let Some(version) = version_hex(&memory, object, &runtime) else {
            return Ok(None);
        };
        let interpreter = Interpreter::at(&memory, runtime.start, version)?;
        let first = runtime.start.wrapping_add(interpreter.layout.runtime_interpreters.into());
        if memory.word(first).unwrap_or(0) == 0 {
            // Not initialised yet.
            return Ok(None);
        }
        let memory = memory_file.try_clone().map_err(|error| refused(pid, &error))?;
        let object = object.start;
        Ok(Some(Self { pid, interpreter, runtime, object, memory }))
    }
}

/// The object that holds the interpreter, and where `_PyRuntime` is in it.
fn find_runtime<'a>(
    pid: i32,
    memory: &ProcessMemory,
    maps: &'a [Mapped],
) -> Option<(&'a Mapped, Range<u64>)> {
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let program = program.to_string_lossy();
    let is_library = |object: &&Mapped| object.file_name().starts_with("libpython3");
    let likely = || {
        let libraries = maps.iter().filter(is_library);
        libraries.chain(maps.iter().filter(|object| object.path == program))
    };
    let exported = |object: &'a Mapped| {
        let image = Image::at(memory, object.start)?;
        Some((object, image.symbol(memory, "_PyRuntime")?))
    };
    let hidden = |object: &'a Mapped| {
        let image = Image::at(memory, object.start)?;
        let file = File::open(file_of(pid, object)).ok()?;
        Some((object, sections::runtime(&file, image.bias)?))
    };
    let described = |object: &'a Mapped| {
        let at = object.writable.iter().find_map(|part| find_bytes(memory, part, COOKIE))?;
        Some((object, at..at.wrapping_add(1 << 20)))
    };
    likely()
        .find_map(exported)
        .or_else(|| likely().find_map(hidden))
        .or_else(|| likely().find_map(described))
        .or_else(|| maps.iter().find_map(exported))
}

/// Where `wanted`, which is eight bytes and aligned, stands in a part of memory.
fn find_bytes(memory: &ProcessMemory, part: &(u64, u64), wanted: &[u8; 8]) -> Option<u64> {
    const LARGEST: u64 = 64 << 20;
    let length = usize::try_from((part.1 - part.0).min(LARGEST)).ok()?;
    let mut bytes = vec![0; length];
    if !memory.bytes(part.0, &mut bytes) {
        return None;
    }
    let index = bytes.chunks_exact(8).position(|word| word == wanted)?;
    Some(part.0 + 8 * index as u64)
}

/// The file of `object` as we can open it, whatever root the process has.
pub(crate) fn file_of(pid: i32, object: &Mapped) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/root{}", object.path))
}

fn open_memory(pid: i32) -> Result<File, Error> {
    File::open(format!("/proc/{pid}/mem")).map_err(|error| refused(pid, &error))
}

fn presence(pid: i32, memory: &File) -> Presence {
    // The file belongs to the program it was opened for: once that is no more,
    // it is empty.
    let mut byte = [0];
    let is_gone = matches!(memory.read_at(&mut byte, 0x1000), Ok(0));
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let letter = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    match (is_gone, letter) {
        (_, None | Some('Z' | 'X')) => Presence::Ended,
        (true, _) => Presence::Replaced,
        (false, _) => Presence::Here,
    }
}

fn looks_like_python(pid: i32) -> bool {
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    program.file_name().is_some_and(|name| name.to_string_lossy().contains("python"))
}

/// Why the kernel did not let us look at process `pid`.
pub(crate) fn refused(pid: i32, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound => Error::NoProcess { pid },
        _ if error.raw_os_error() == Some(libc::ESRCH) => Error::NoProcess { pid },
        _ => Error::AttachDenied { pid, reason: crate::attach::find::process::why_denied(pid) },
    }
}
