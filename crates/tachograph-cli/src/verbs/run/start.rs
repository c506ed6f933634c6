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

use super::program::Program;
use super::{Mode, Run, Trigger};
use crate::end::Installation;
use crate::failure::{Failure, without_number};
use crate::words;

/// The variable that says "record yourself", and how.
const VARIABLE: &str = "TACHOGRAPH_RUN";

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Output {
    /// The recording that the user gets.
    pub(super) path: PathBuf,
    /// The file that grows while the program runs.
    pub(super) watched: PathBuf,
    /// Every process writes `<path without ending>.<pid>.tacho`; they are
    /// joined at the end.
    pub(super) family: bool,
}

/// Starts `program` as `options` say.
pub(super) fn start(
    options: &Run,
    program: &Program,
    installation: Option<&Installation>,
) -> Result<Started, Failure> {
    let path = output_path(options, program)?;
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
    let settings = settings(options, program, &path, inherited.as_deref());
    command.env("PYTHONPATH", search).env(VARIABLE, settings);
    if options.force && path.is_file() {
        let _ = std::fs::remove_file(&path);
    }
    let child = command.spawn().map_err(|error| cannot_start(&command, &error))?;
    let family = options.subprocesses;
    let watched = if family { part(&path, child.id()) } else { path.clone() };
    Ok(Started { child, output: Output { path, watched, family } })
}

/// `train.tacho` as the part of process 4242: `train.4242.tacho`.
fn part(path: &Path, pid: u32) -> PathBuf {
    path.with_extension(format!("{pid}.tacho"))
}

/// Where the recording goes: where the user said, or the program's name with
/// the first number that is free. Nothing is replaced without `--force`.
fn output_path(options: &Run, program: &Program) -> Result<PathBuf, Failure> {
    let path = match &options.output {
        Some(path) => {
            words::refuse_to_replace(path, options.force)?;
            path.clone()
        }
        None => free_name(&program.stem, options.force, Path::exists),
    };
    let path = absolute(&path).unwrap_or(path);
    let folder = path.parent().unwrap_or(Path::new("/"));
    if !folder.is_dir() {
        return Err(Failure::failed(
            format!("cannot write {}: there is no folder {}", path.display(), folder.display()),
            "choose a folder that exists with -o",
        ));
    }
    Ok(path)
}

/// `train.tacho`, or `train-2.tacho`, … while the name `is_taken`.
fn free_name(stem: &str, force: bool, is_taken: impl Fn(&Path) -> bool) -> PathBuf {
    let numbered = |number: u32| match number {
        1 => PathBuf::from(format!("{stem}.tacho")),
        number => PathBuf::from(format!("{stem}-{number}.tacho")),
    };
    (1..10_000).map(numbered).find(|path| force || !is_taken(path)).unwrap_or_else(|| numbered(1))
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

/// What the recorder in the program has to know, one `name=value` per line.
fn settings(options: &Run, program: &Program, path: &Path, inherited: Option<&OsStr>) -> OsString {
    let script = program.script.as_ref().and_then(|script| absolute(script).ok());
    let flag = |is_on: bool| OsString::from(if is_on { "1" } else { "0" });
    let mut lines = vec![
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
    ];
    lines.extend(inherited.map(|path| ("pythonpath", path.to_owned())));
    let mut text = Vec::new();
    for (name, value) in lines {
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
    fn a_recording_takes_the_first_name_that_is_free() {
        let taken = ["train.tacho", "train-2.tacho"].map(PathBuf::from);
        let is_taken = |path: &Path| taken.iter().any(|one| one == path);

        assert_eq!(free_name("train", false, is_taken), Path::new("train-3.tacho"));
        assert_eq!(free_name("train", true, is_taken), Path::new("train.tacho"));
        assert_eq!(free_name("other", false, is_taken), Path::new("other.tacho"));
    }

    #[test]
    fn a_process_of_a_family_has_its_own_part() {
        assert_eq!(part(Path::new("/a/train.tacho"), 42), Path::new("/a/train.42.tacho"));
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
