//! What was recorded: one file, or the files of a family of processes joined.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use tachograph_profile::{Profile, file};

use super::start::Output;
use crate::console::Console;
use crate::failure::{Failure, without_number};
use crate::words;

/// How long to wait for processes that outlive the program.
const PATIENCE: Duration = Duration::from_secs(2);

/// A finished recording.
pub(super) struct Recorded {
    /// Its file.
    pub(super) path: PathBuf,
    /// What it holds.
    pub(super) profile: Profile,
    /// How many processes it holds.
    pub(super) processes: usize,
}

/// Opens what the program left, joined if it is a family; `None` when there
/// is nothing.
pub(super) fn collect(output: &Output, console: &Console) -> Result<Option<Recorded>, Failure> {
    let working = &output.place.working;
    let native = working.with_extension("native.tacho");
    if is_empty(working) {
        // Only a program without Python was there to be recorded.
        let _ = fs::rename(&native, working);
    } else {
        let _ = fs::remove_file(&native);
    }
    if !output.family {
        return match file::open(working) {
            Ok(profile) => {
                Ok(Some(Recorded { path: named(output, console), profile, processes: 1 }))
            }
            Err(_) if is_empty(working) => {
                // The program ended before the recorder had written anything.
                let _ = fs::remove_file(working);
                Ok(None)
            }
            Err(error) => Err(error.into()),
        };
    }
    let parts = wait_for_all(working)?;
    let mut members = Vec::new();
    for (path, pid) in parts {
        if is_running(pid, Path::new("/proc")) {
            let name = path.display();
            console.note(&format!("process {pid} still runs; its recording is {name}"));
            continue;
        }
        match file::open(&path) {
            Ok(profile) => members.push((path, profile)),
            Err(_) if is_empty(&path) => drop(fs::remove_file(&path)),
            Err(error) => console.failure(&error.into()),
        }
    }
    if members.is_empty() {
        return Ok(None);
    }
    let (paths, profiles): (Vec<_>, Vec<_>) = members.into_iter().unzip();
    let profile = Profile::merge(&profiles);
    file::write(working, &profile)?;
    for path in &paths {
        let _ = fs::remove_file(path);
    }
    Ok(Some(Recorded { path: named(output, console), profile, processes: paths.len() }))
}

/// Gives the recording its name; one that cannot be had is told.
fn named(output: &Output, console: &Console) -> PathBuf {
    let place = &output.place;
    match place.settle() {
        Ok(path) => {
            if let Some(wanted) = place.missed(&path) {
                console.note(&format!(
                    "{} was written while the program ran and is kept; this recording is {}",
                    words::shown_path(wanted),
                    words::shown_path(&path)
                ));
            }
            path
        }
        Err(error) => {
            console.failure(&Failure::failed(
                format!("cannot rename the recording: {}", without_number(&error.to_string())),
                format!("it is complete, as {}", place.working.display()),
            ));
            place.working.clone()
        }
    }
}

/// The parts of all processes. Helpers of `multiprocessing` end a moment after
/// the program; a process that goes on for longer is not waited for.
fn wait_for_all(path: &Path) -> Result<Vec<(PathBuf, u32)>, Failure> {
    let begun = Instant::now();
    loop {
        let parts = parts(path)?;
        let all_ended = parts.iter().all(|(_, pid)| !is_running(*pid, Path::new("/proc")));
        if all_ended || begun.elapsed() > PATIENCE {
            return Ok(parts);
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn is_empty(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.len() == 0) || !path.exists()
}

/// The recordings of single processes beside `path`, with their process ids:
/// `train.99.4242.tacho`, and `train.99.4242-2.tacho` of the program it became,
/// with our own process id before theirs.
fn parts(path: &Path) -> Result<Vec<(PathBuf, u32)>, Failure> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let mut found = Vec::new();
    let listed =
        fs::read_dir(folder).and_then(|entries| entries.collect::<io::Result<Vec<_>>>())?;
    for entry in listed {
        if let Some(pid) = part_pid(&stem, &entry.file_name().to_string_lossy()) {
            found.push((entry.path(), pid));
        }
    }
    found.sort();
    Ok(found)
}

/// The process whose part of `stem` is called `name`.
fn part_pid(stem: &str, name: &str) -> Option<u32> {
    let middle = name.strip_prefix(stem)?.strip_prefix('.')?.strip_suffix(".tacho")?;
    middle.split_once('-').map_or(middle, |(pid, _)| pid).parse().ok()
}

/// Whether process `pid` runs; one that ended and was not waited for does not.
fn is_running(pid: u32, processes: &Path) -> bool {
    let stat = fs::read_to_string(processes.join(pid.to_string()).join("stat"));
    let state = stat.ok().and_then(|stat| {
        let (_, rest) = stat.rsplit_once(')')?;
        rest.split_whitespace().next().map(str::to_owned)
    });
    state.is_some_and(|state| state != "Z" && state != "X")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_from_other_recordings() {
        assert_eq!(part_pid("train", "train.42.tacho"), Some(42));
        assert_eq!(part_pid("train", "train.42-2.tacho"), Some(42));
        assert_eq!(part_pid("train", "train.tacho"), None);
        assert_eq!(part_pid("train", "train-2.tacho"), None);
        assert_eq!(part_pid("train", "trainer.42.tacho"), None);
        assert_eq!(part_pid("train", "train.best.tacho"), None);
    }

    #[test]
    fn a_process_that_nobody_waited_for_does_not_run() {
        let processes = std::env::temp_dir().join(format!("tacho-family-{}", std::process::id()));
        for (pid, state) in [(1, "S"), (2, "Z")] {
            fs::create_dir_all(processes.join(pid.to_string())).unwrap();
            fs::write(processes.join(format!("{pid}/stat")), format!("{pid} (a) {state} 0"))
                .unwrap();
        }

        assert!(is_running(1, &processes));
        assert!(!is_running(2, &processes));
        assert!(!is_running(3, &processes));
        fs::remove_dir_all(processes).unwrap();
    }
}
