//! Starts the program with the recorder inside.
//!
//! The interpreter imports a module of ours as it starts, because its folder
//! comes first in `PYTHONPATH`. That module reads `TACHOGRAPH_RUN`, opens the
//! recording, takes both variables back and steps aside, so the program is the
//! real `__main__` with nothing of ours on its stack.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf, absolute};
use std::process::{Child, Command, Stdio};

use super::place::Place;
use super::preload::{self, Preload};
use super::program::Program;
use super::{Mode, Run, Trigger};
use crate::end::Installation;
use crate::failure::{Failure, without_number};

/// The variable that says "record yourself", and how.
const VARIABLE: &str = "TACHOGRAPH_RUN";

/// What the loader puts before all other libraries.
const PRELOAD: &str = "LD_PRELOAD";

/// The folder in the package that holds the module that starts the recorder.
const STARTER: &str = "_run";

/// A program that runs, and where its recording goes.
pub(super) struct Started {
    /// The process.
    pub(super) child: Child,
    /// Where recordings appear.
    pub(super) output: Output,
}

/// Where recordings appear.
#[derive(Clone, Debug)]
pub(super) struct Output {
    /// The recording that the user gets.
    pub(super) place: Place,
    /// The file that grows while the program runs.
    pub(super) watched: PathBuf,
    /// Every process writes `<working name without ending>.<pid>.tacho`; they
    /// are joined at the end.
    pub(super) family: bool,
    /// Why a program without Python cannot be recorded.
    pub(super) obstacle: Option<String>,
}

/// Starts `program` as `options` say.
pub(super) fn start(
    options: &Run,
    program: &Program,
    installation: Option<&Installation>,
) -> Result<Started, Failure> {
    let place = Place::choose(options.output.as_deref(), &program.stem, options.force)?;
    let (python, package) = interpreter(options, installation)?;
    let mut command = if program.is_command {
        let mut command = Command::new(&program.words[0]);
        command.args(&program.words[1..]);
        command
    } else {
        let mut command = Command::new(&python);
        command.args(&program.words);
        command
    };
    let inherited = env::var_os("PYTHONPATH");
    let starter = package.join(STARTER);
    let search = match inherited.as_deref().filter(|path| !path.is_empty()) {
        Some(more) => [starter.as_os_str(), more].join(OsStr::new(":")),
        None => starter.clone().into_os_string(),
    };
    if starter.as_os_str().as_bytes().contains(&b':') {
        return Err(Failure::failed(
            format!("the package is in {}, whose name has a colon", package.display()),
            "install tachograph in a folder without one: Python's search path cannot hold it",
        ));
    }
    let mut settings = settings(options, program, &place.working);
    let preloaded = env::var_os(PRELOAD);
    settings.extend(inherited.map(|path| ("pythonpath", path)));
    settings.extend(preloaded.clone().map(|path| ("ld_preload", path)));
    command.env("PYTHONPATH", search).env(VARIABLE, as_text(settings));
    let preload = match program.words.first().filter(|_| program.is_command) {
        Some(word) => preload::decide(word, &package),
        None => Preload::Python,
    };
    if let Preload::Library(library) = &preload {
        command.env(PRELOAD, preload::preloading(library, preloaded.as_deref()));
    }
    let child = command.spawn().map_err(|error| cannot_start(&command, &error))?;
    let family = options.subprocesses;
    let working = &place.working;
    let watched = if family { part(working, child.id()) } else { working.clone() };
    let obstacle = match preload {
        Preload::Impossible(why) => Some(why),
        Preload::Python | Preload::Library(_) => None,
    };
    Ok(Started { child, output: Output { place, watched, family, obstacle } })
}

/// `train.99.tacho` as the part of process 4242: `train.99.4242.tacho`.
fn part(path: &Path, pid: u32) -> PathBuf {
    path.with_extension(format!("{pid}.tacho"))
}

/// The interpreter to start and the folder of the package in it.
fn interpreter(
    options: &Run,
    installation: Option<&Installation>,
) -> Result<(PathBuf, PathBuf), Failure> {
    if let Some(here) = installation {
        let python = options.python.clone().unwrap_or_else(|| here.python.clone());
        return Ok((python, here.package.clone()));
    }
    let python = options.python.clone().unwrap_or_else(|| PathBuf::from("python3"));
    let package = package_of(&python)?;
    Ok((python, package))
}

/// Asks `python` where its package is. Only the standalone binary has to.
fn package_of(python: &Path) -> Result<PathBuf, Failure> {
    const QUESTION: &str = "import os, tachograph; print(os.path.dirname(tachograph.__file__))";
    let mut command = Command::new(python);
    command.args(["-c", QUESTION]).stdin(Stdio::null());
    let answer = command.output().map_err(|error| cannot_start(&command, &error))?;
    let name = python.display();
    if !answer.status.success() {
        let said = String::from_utf8_lossy(&answer.stderr);
        let why = said.lines().last().unwrap_or("it gave no reason").to_owned();
        return Err(Failure::failed(
            format!("{name} cannot import tachograph: {why}"),
            format!(
                "install it there: {name} -m pip install tachograph, or name another with --python"
            ),
        ));
    }
    let mut path = answer.stdout;
    path.truncate(path.trim_ascii_end().len());
    Ok(PathBuf::from(OsString::from_vec(path)))
}

fn cannot_start(command: &Command, error: &std::io::Error) -> Failure {
    let name = command.get_program().to_string_lossy();
    Failure::failed(
        format!("cannot start {name}: {}", without_number(&error.to_string())),
        "check its name and that it may be executed; --python names an interpreter",
    )
}

/// What the recorder in the program has to know.
fn settings(options: &Run, program: &Program, path: &Path) -> Vec<(&'static str, OsString)> {
    let script = program.script.as_ref().and_then(|script| absolute(script).ok());
    let flag = |is_on: bool| OsString::from(if is_on { "1" } else { "0" });
    vec![
        ("output", path.as_os_str().to_owned()),
        ("family", flag(options.subprocesses)),
        ("interval_ns", options.interval.unwrap_or(options.rate).interval_ns().to_string().into()),
        ("mode", mode_name(options.mode).into()),
        ("trigger", trigger_name(options.trigger).into()),
        ("native", flag(!options.no_native)),
        ("source", flag(!options.no_source)),
        ("heap", flag(!options.no_heap)),
        ("heap_rate_kb", options.heap_rate.to_string().into()),
        ("machine", flag(!options.no_machine)),
        ("max_depth", options.max_depth.to_string().into()),
        ("memory_limit_mb", options.memory_limit.to_string().into()),
        ("script", script.map(PathBuf::into_os_string).unwrap_or_default()),
    ]
}

/// One `name=value` per line; `\\` and ends of lines in a value are escaped.
fn as_text(settings: Vec<(&'static str, OsString)>) -> OsString {
    let mut text = Vec::new();
    for (name, value) in settings {
        text.extend_from_slice(name.as_bytes());
        text.push(b'=');
        for byte in value.as_bytes() {
            match byte {
                b'\\' => text.extend_from_slice(b"\\\\"),
                b'\n' => text.extend_from_slice(b"\\n"),
                other => text.push(*other),
            }
        }
        text.push(b'\n');
    }
    OsString::from_vec(text)
}

fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Cpu => "cpu",
        Mode::Wall => "wall",
    }
}

fn trigger_name(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Auto => "auto",
        Trigger::Tick => "tick",
        Trigger::Perf => "perf",
        Trigger::CpuTimer => "cpu-timer",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_of_a_family_has_its_own_part() {
        assert_eq!(part(Path::new("/a/train.9.tacho"), 42), Path::new("/a/train.9.42.tacho"));
    }

    #[test]
    fn an_interpreter_that_is_not_there_is_named_with_a_remedy() {
        let failure = package_of(Path::new("/no/such/python")).unwrap_err();

        assert_eq!(failure.what, "cannot start /no/such/python: No such file or directory");
        assert!(failure.remedy.is_some_and(|text| text.contains("--python")));
        assert_eq!(failure.end, crate::End::FAILED);
    }

    #[test]
    fn an_interpreter_without_the_package_is_told_how_to_get_it() {
        let failure = package_of(Path::new("/bin/false")).unwrap_err();

        assert_eq!(failure.what, "/bin/false cannot import tachograph: it gave no reason");
        assert!(failure.remedy.is_some_and(|text| text.contains("-m pip install tachograph")));
    }
}
