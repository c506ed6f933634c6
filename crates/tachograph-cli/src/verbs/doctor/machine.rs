//! Files of the machine, below a root that a test may replace.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A machine as its files show it.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    root: PathBuf,
}

impl Machine {
    /// The machine we run on.
    pub(super) fn this() -> Self {
        Self { root: PathBuf::from("/") }
    }

    /// The text of the file at `path`, without blanks at its ends.
    pub(super) fn read(&self, path: &str) -> io::Result<String> {
        fs::read_to_string(self.at(path)).map(|text| text.trim().to_owned())
    }

    /// The number in the file at `path`.
    pub(super) fn number<T: std::str::FromStr>(&self, path: &str) -> Option<T> {
        self.read(path).ok()?.parse().ok()
    }

    /// Whether something is at `path`.
    pub(super) fn has(&self, path: &str) -> bool {
        self.at(path).exists()
    }

    /// Whether the file at `path` lets us read.
    pub(super) fn can_read(&self, path: &str) -> bool {
        File::open(self.at(path)).and_then(|mut file| io::copy(&mut file, &mut io::sink())).is_ok()
    }

    /// The value of `name` in a file of `name: value` lines.
    pub(super) fn field(&self, path: &str, name: &str) -> Option<String> {
        let text = self.read(path).ok()?;
        let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        found.map(|value| value.trim().to_owned())
    }

    /// The names in the folder at `path`, in order.
    pub(super) fn list(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.at(path)).into_iter().flatten().flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// Whether this process has the kernel's capability with this number.
    pub(super) fn has_capability(&self, number: u32) -> bool {
        let held = self.field("proc/self/status", "CapEff");
        let held = held.and_then(|mask| u64::from_str_radix(&mask, 16).ok()).unwrap_or(0);
        held >> number & 1 == 1
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(Path::new(path))
    }
}

/// A tree of files for tests, gone when dropped.
#[cfg(test)]
pub(super) struct Tree {
    pub(super) machine: Machine,
}

#[cfg(test)]
impl Tree {
    pub(super) fn with(name: &str, files: &[(&str, &str)]) -> Self {
        let root = std::env::temp_dir().join(format!("tacho-doctor-{}-{name}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self { machine: Machine { root } }
    }
}

#[cfg(test)]
impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.machine.root);
    }
}
