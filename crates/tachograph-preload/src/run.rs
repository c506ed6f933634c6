//! What `tachograph run` asks of a program without Python.
//!
//! The command puts this library into `LD_PRELOAD` and its wishes into
//! `TACHOGRAPH_RUN`. A program with an interpreter inside is left to the
//! recorder in there, which knows its frames.
#![allow(unsafe_code)]

use std::ffi::{CStr, OsStr, OsString};
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use tachograph_capture::{CpuOptions, HeapOptions, MachineOptions, Options, TriggerChoice};
use tachograph_profile::Mode;

/// The variable that says how to record.
const VARIABLE: &str = "TACHOGRAPH_RUN";
const PRELOAD: &str = "LD_PRELOAD";

/// Readings of the machine a second, as in Python: ten.
const MACHINE_NS: u64 = 100_000_000;

/// A function of every CPython, whether it is a library or not.
const INTERPRETER: &CStr = c"Py_InitializeFromConfig";

/// What the command wants, if this process was started by it and has no Python.
///
/// Called before the program begins. The program and those it starts see an
/// `LD_PRELOAD` as if we were not there, unless a family is recorded.
pub(crate) fn wishes() -> Option<Options> {
    let text = std::env::var_os(VARIABLE)?;
    let wishes = Wishes(text.as_bytes());
    let is_family = wishes.is_on("family");
    if !is_family {
        restore_preload(wishes.get("ld_preload"));
    }
    if has_interpreter() {
        return None;
    }
    let output = PathBuf::from(wishes.get("output")?);
    let path = claim(&output, is_family)?;
    if !is_family {
        say_who_records(text.clone());
    }
    Some(wishes.options(path))
}

/// One `name=value` a line; `\n` and `\\` are escaped.
struct Wishes<'a>(&'a [u8]);

impl Wishes<'_> {
    fn get(&self, name: &str) -> Option<OsString> {
        let mut lines = self.0.split(|byte| *byte == b'\n');
        let value =
            lines.find_map(|line| line.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        let mut text = Vec::with_capacity(value.len());
        let mut bytes = value.iter();
        while let Some(byte) = bytes.next() {
            match (byte, byte == &b'\\') {
                (_, true) => text.push(match bytes.next() {
                    Some(b'n') => b'\n',
                    Some(other) => *other,
                    None => b'\\',
                }),
                (other, false) => text.push(*other),
            }
        }
        Some(OsString::from_vec(text))
    }

    fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value == "1")
    }

    fn number(&self, name: &str) -> u64 {
        let value = self.get(name).and_then(|value| value.to_str()?.parse().ok());
        value.unwrap_or(0)
    }

    fn options(&self, path: PathBuf) -> Options {
        let word = |name| self.get(name).and_then(|value| value.into_string().ok());
        let max_depth = u32::try_from(self.number("max_depth")).unwrap_or(0);
        let mode = match word("mode").as_deref() {
            Some("wall") => Mode::Wall,
            _ => Mode::Cpu,
        };
        // Without native frames nothing is left to see.
        let cpu = CpuOptions {
            interval_ns: self.number("interval_ns").max(1_000_000),
            mode,
            trigger: word("trigger")
                .as_deref()
                .and_then(TriggerChoice::from_name)
                .unwrap_or_default(),
            native: true,
            max_depth,
        };
        let heap = HeapOptions {
            rate_bytes: self.number("heap_rate_kb") << 10,
            python_objects: false,
            ..HeapOptions::default()
        };
        Options {
            cpu: Some(cpu),
            heap: self.is_on("heap").then_some(heap),
            machine: self.is_on("machine").then_some(MachineOptions { interval_ns: MACHINE_NS }),
            path: Some(path),
            memory_limit_bytes: self.number("memory_limit_mb") << 20,
            source: self.is_on("source"),
            without_spans: false,
        }
    }
}

/// Creates the file for this process's recording. A family has one for each
/// process and one more for each program that a process becomes; otherwise the
/// first program is recorded, beside the file that is Python's.
fn claim(output: &std::path::Path, is_family: bool) -> Option<PathBuf> {
    let pid = std::process::id();
    let mut number = 1;
    loop {
        let path = match (is_family, number) {
            (false, _) => output.with_extension("native.tacho"),
            (true, 1) => output.with_extension(format!("{pid}.tacho")),
            (true, _) => output.with_extension(format!("{pid}-{number}.tacho")),
        };
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(_) => return Some(path),
            Err(error) if is_family && error.kind() == ErrorKind::AlreadyExists => number += 1,
            Err(_) => return None,
        }
    }
}

fn has_interpreter() -> bool {
    // SAFETY: the name is a C string, and the address is only compared with nothing.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, INTERPRETER.as_ptr()) };
    !found.is_null()
}

fn restore_preload(before: Option<OsString>) {
    match before {
        Some(before) => set(PRELOAD, &before),
        // SAFETY: the program has not begun, so there is one thread and nobody reads it.
        None => unsafe { std::env::remove_var(PRELOAD) },
    }
}

/// A Python that this process loads later must not start a second recorder.
fn say_who_records(text: OsString) {
    let mut text = text;
    text.push(format!("native_pid={}\n", std::process::id()));
    set(VARIABLE, &text);
}

fn set(name: &str, value: &OsStr) {
    // SAFETY: the program has not begun, so there is one thread and nobody reads it.
    unsafe { std::env::set_var(name, value) };
}
