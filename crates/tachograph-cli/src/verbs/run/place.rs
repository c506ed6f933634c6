//! Where a recording goes, while the program runs and when it has ended.
//!
//! A program may use any name itself, also the one that was meant for us. So
//! while it runs, the recording has a name that nobody chooses, with our
//! process id in it, and gets its own at the end. What the program wrote
//! meanwhile is never replaced: the recording then takes the next free name.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf, absolute};
use std::process;

use crate::failure::Failure;
use crate::words::refuse_to_replace;

/// A name that is taken again and again is given up at this number.
const MOST_NAMES: u32 = 10_000;

/// Where a recording goes.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The file that is written while the program runs.
    pub(super) working: PathBuf,
    /// The name it gets at the end, if that is free then.
    wanted: PathBuf,
    /// What stood there before and is to be replaced.
    replaced: Option<Identity>,
}

/// Tells a file from one that was written later under the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    number: u64,
    length: u64,
    modified: (i64, i64),
}

impl Place {
    /// Where the user said, or the program's name with the first number that
    /// is free. Nothing is replaced without `force`.
    pub(super) fn choose(output: Option<&Path>, stem: &str, force: bool) -> Result<Self, Failure> {
        let named = PathBuf::from(format!("{stem}.tacho"));
        let path = match output {
            Some(path) => {
                refuse_to_replace(path, force)?;
                path.to_owned()
            }
            None if force => named,
            None => first_free(&named, Path::exists),
        };
        let path = absolute(&path).unwrap_or(path);
        let folder = path.parent().unwrap_or(Path::new("/"));
        if !folder.is_dir() {
            return Err(Failure::failed(
                format!("cannot write {}: there is no folder {}", path.display(), folder.display()),
                "choose a folder that exists with -o",
            ));
        }
        if path.exists() && !path.is_file() {
            return Err(Failure::usage(
                format!("cannot write {}: it is there and no file", path.display()),
                "name a file with -o",
            ));
        }
        let working = path.with_extension(format!("{}.tacho", process::id()));
        let working = first_free(&working, Path::exists);
        Ok(Self { working, replaced: identity(&path), wanted: path })
    }

    /// Gives the finished recording its name, and returns that.
    pub(super) fn settle(&self) -> io::Result<PathBuf> {
        if self.replaced.is_some() && identity(&self.wanted) == self.replaced {
            fs::rename(&self.working, &self.wanted)?;
            return Ok(self.wanted.clone());
        }
        for number in 1..MOST_NAMES {
            let name = numbered(&self.wanted, number);
            // Made first, so that nobody else takes the name in between.
            match OpenOptions::new().write(true).create_new(true).open(&name) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
            fs::rename(&self.working, &name)?;
            return Ok(name);
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// The name that was meant for the recording, when `found` is another.
    pub(super) fn missed(&self, found: &Path) -> Option<&Path> {
        Some(self.wanted.as_path()).filter(|wanted| *wanted != found)
    }
}

fn identity(path: &Path) -> Option<Identity> {
    let found = fs::metadata(path).ok()?;
    Some(Identity {
        device: found.dev(),
        number: found.ino(),
        length: found.len(),
        modified: (found.mtime(), found.mtime_nsec()),
    })
}

/// `train.tacho`, or `train-2.tacho`, … while the name `is_taken`.
fn first_free(path: &Path, is_taken: impl Fn(&Path) -> bool) -> PathBuf {
    let mut names = (1..MOST_NAMES).map(|number| numbered(path, number));
    names.find(|name| !is_taken(name)).unwrap_or_else(|| path.to_owned())
}

/// `train.tacho` with a number: `train-2.tacho`.
fn numbered(path: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty folder for one test.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("tacho-place-{name}-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_recording_takes_the_first_name_that_is_free() {
        let taken = ["train.tacho", "train-2.tacho"].map(PathBuf::from);
        let is_taken = |path: &Path| taken.iter().any(|one| one == path);

        assert_eq!(first_free(Path::new("train.tacho"), is_taken), Path::new("train-3.tacho"));
        assert_eq!(first_free(Path::new("other.tacho"), is_taken), Path::new("other.tacho"));
        assert_eq!(numbered(Path::new("a/run"), 2), Path::new("a/run-2"));
    }

    #[test]
    fn what_the_program_wrote_meanwhile_is_not_replaced() {
        let folder = folder("wrote");
        let wanted = folder.join("a.tacho");
        let place = Place::choose(Some(&wanted), "x", false).unwrap();
        fs::write(&place.working, "ours").unwrap();
        fs::write(&wanted, "the program's").unwrap();

        let settled = place.settle().unwrap();

        assert_eq!(settled, folder.join("a-2.tacho"));
        assert_eq!(place.missed(&settled), Some(wanted.as_path()));
        assert_eq!(fs::read(&wanted).unwrap(), b"the program's");
        assert_eq!(fs::read(settled).unwrap(), b"ours");
        assert!(!place.working.exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn force_replaces_what_was_there_before_and_nothing_else() {
        let folder = folder("force");
        let wanted = folder.join("a.tacho");
        fs::write(&wanted, "old").unwrap();
        assert!(Place::choose(Some(&wanted), "x", false).is_err());

        let place = Place::choose(Some(&wanted), "x", true).unwrap();
        fs::write(&place.working, "ours").unwrap();
        assert_eq!(fs::read(&wanted).unwrap(), b"old", "the program may read it");
        assert_eq!(place.settle().unwrap(), wanted);
        assert_eq!(fs::read(&wanted).unwrap(), b"ours");

        let place = Place::choose(Some(&wanted), "x", true).unwrap();
        fs::write(&place.working, "ours again").unwrap();
        fs::write(&wanted, "the program's").unwrap();
        assert_eq!(place.settle().unwrap(), folder.join("a-2.tacho"));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_folder_or_a_device_is_no_place() {
        for path in ["/dev/null", "/tmp"] {
            let failure = Place::choose(Some(Path::new(path)), "x", true).unwrap_err();
            assert!(failure.what.contains(path), "{failure:?}");
        }
    }
}
