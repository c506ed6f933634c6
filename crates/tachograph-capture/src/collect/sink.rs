//! Where the bytes of a recording go: memory, and a file if one was asked for.
//!
//! The file is a copy. When the disk is full or goes away, the recording goes
//! on in memory and says so at the end.

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Memory up to a limit, and a file.
#[derive(Debug)]
pub(crate) struct Sink {
    memory: Vec<u8>,
    limit: usize,
    /// Every byte so far is in memory.
    whole: bool,
    file: Option<File>,
    path: Option<PathBuf>,
    error: Option<String>,
}

impl Sink {
    /// Bytes go to memory up to `limit`, and to `path` without one.
    pub(crate) fn new(limit: usize, path: Option<&Path>) -> Result<Self, Error> {
        let create = |path: &Path| {
            let denied = |source| Error::OutputDenied { path: path.to_owned(), source };
            File::create(path).map_err(denied)
        };
        let file = path.map(create).transpose()?;
        Ok(Self {
            memory: Vec::new(),
            limit,
            whole: true,
            file,
            path: path.map(Path::to_owned),
            error: None,
        })
    }

    /// Whether the file at `path` is the one that is being written, by whatever
    /// name. A pipe or a device can be written to by several.
    pub(crate) fn writes_to(&self, path: &Path) -> bool {
        let Some(own) = self.file.as_ref().and_then(|file| file.metadata().ok()) else {
            return false;
        };
        let is_same = |other: Metadata| (own.dev(), own.ino()) == (other.dev(), other.ino());
        own.is_file() && fs::metadata(path).is_ok_and(is_same)
    }

    /// No more room, neither in a file nor in memory, where tables of
    /// `table_bytes` take their part.
    pub(crate) fn is_full(&self, table_bytes: usize) -> bool {
        self.memory.len() + table_bytes >= self.limit && self.file.is_none()
    }

    /// Half of the room is taken.
    pub(crate) fn is_half_full(&self, table_bytes: usize) -> bool {
        self.memory.len() + table_bytes >= self.limit / 2 && self.file.is_none()
    }

    /// Bytes held in memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory.len()
    }

    /// The bytes, the file if it holds all of them, and why it does not.
    pub(crate) fn into_parts(mut self) -> (Vec<u8>, Option<PathBuf>, Option<String>) {
        // A pipe or a device cannot be synced; that loses nothing.
        let synced = self.file.as_ref().map_or(Ok(()), File::sync_data);
        if let Err(error) = synced
            && error.kind() != io::ErrorKind::InvalidInput
        {
            self.fail(&error);
        }
        let complete = self.file.is_some();
        (self.memory, self.path.filter(|_| complete), self.error)
    }

    fn fail(&mut self, error: &io::Error) {
        let path = self.path.as_deref().unwrap_or(Path::new("")).display();
        let rest = if self.whole { "the whole recording is" } else { "its beginning is" };
        self.error = Some(format!("cannot write {path}: {error}; {rest} still in memory"));
        self.file = None;
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.memory.len() < self.limit || self.file.is_none() {
            if self.whole {
                self.memory.extend_from_slice(bytes);
            }
        } else {
            self.whole = false;
        }
        let written = self.file.as_mut().map_or(Ok(()), |file| file.write_all(bytes));
        if let Err(error) = written {
            self.fail(&error);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_leaves_everything_in_memory_and_says_so() {
        let mut sink = Sink::new(1 << 20, Some(Path::new("/dev/full"))).unwrap();
        sink.write_all(b"recording").unwrap();

        let (bytes, file, error) = sink.into_parts();

        assert_eq!((bytes.as_slice(), file), (&b"recording"[..], None));
        let error = error.unwrap();
        assert!(error.contains("/dev/full") && error.contains("in memory"), "{error}");
    }

    #[test]
    fn a_place_that_does_not_exist_is_refused_at_once() {
        let error = Sink::new(1, Some(Path::new("/nowhere/at/all.tacho"))).unwrap_err();
        assert!(error.to_string().contains("/nowhere/at/all.tacho"), "{error}");
    }

    #[test]
    fn a_file_is_known_by_every_name_and_a_device_is_never_taken() {
        let folder = std::env::temp_dir().join(format!("tacho-sink-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (name, link) = (folder.join("a.tacho"), folder.join("link.tacho"));
        let sink = Sink::new(1, Some(&name)).unwrap();
        std::os::unix::fs::symlink(&name, &link).unwrap();

        assert!(sink.writes_to(&name) && sink.writes_to(&link));
        assert!(!sink.writes_to(&folder.join("b.tacho")));
        fs::rename(&name, folder.join("b.tacho")).unwrap();
        assert!(!sink.writes_to(&name) && sink.writes_to(&folder.join("b.tacho")));
        let device = Sink::new(1, Some(Path::new("/dev/null"))).unwrap();
        assert!(!device.writes_to(Path::new("/dev/null")));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn memory_has_a_limit_and_a_file_has_none() {
        let mut memory = Sink::new(4, None).unwrap();
        memory.write_all(b"12345").unwrap();
        assert!(memory.is_full(0));

        let tables = Sink::new(4, None).unwrap();
        assert!(!tables.is_full(3) && tables.is_full(4));

        let mut file = Sink::new(4, Some(Path::new("/dev/null"))).unwrap();
        file.write_all(b"12345").unwrap();
        assert!(!file.is_full(1 << 30));
    }
}
