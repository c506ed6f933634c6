//! A file of the kernel's that is read again and again.

use std::fs::File;
use std::os::fd::IntoRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The kernel hands long files out in pieces of whole lines that fill a page as far
/// as they can, and no line is half a page long: a shorter piece is the last. Asking
/// again to be told that would cost a tenth of a reading.
const SHORT_PIECE: usize = 2048;

/// A file that stays open; each read starts at its beginning.
///
/// A program may close descriptors it does not know, as a daemon does, and use
/// the number again. So a file that no longer reads as it should is opened
/// anew, and the old number is left alone: it may be someone else's by now.
#[derive(Debug)]
pub(super) struct Kept {
    path: PathBuf,
    file: Option<File>,
}

impl Kept {
    /// The file at `path`; opened when it is first read.
    pub(super) fn new(path: impl AsRef<Path>) -> Self {
        Self { path: path.as_ref().to_owned(), file: None }
    }

    /// What `parse` makes of the file's first `N` bytes; `None` when it cannot
    /// be read or makes no sense.
    pub(super) fn read<const N: usize, T>(
        &mut self,
        parse: impl Fn(&[u8]) -> Option<T>,
    ) -> Option<T> {
        let mut room = [0; N];
        if let Some(found) = self.attempt(&mut room, &parse) {
            return Some(found);
        }
        let was_open = self.file.take().map(IntoRawFd::into_raw_fd).is_some();
        if was_open { self.attempt(&mut room, &parse) } else { None }
    }

    /// The same for a file of any length, in `room` that grows with it.
    pub(super) fn read_whole<T>(
        &mut self,
        room: &mut Vec<u8>,
        parse: impl Fn(&[u8]) -> Option<T>,
    ) -> Option<T> {
        /// Longer than any of these files on the largest machines.
        const LONGEST: usize = 4 << 20;
        room.resize(room.capacity().max(4096), 0);
        loop {
            let length = self.fill(room);
            if length == Some(room.len()) && room.len() < LONGEST {
                room.resize(room.len() * 2, 0);
                continue;
            }
            let found = length.and_then(|length| parse(room.get(..length)?));
            if found.is_some() {
                return found;
            }
            let was_open = self.file.take().map(IntoRawFd::into_raw_fd).is_some();
            if !was_open || length.is_some() {
                return None;
            }
        }
    }

    /// Forgets the file without closing its number, which may be someone else's by now.
    pub(super) fn leave_open(self) {
        let _ = self.file.map(IntoRawFd::into_raw_fd);
    }

    fn attempt<T>(&mut self, room: &mut [u8], parse: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
        let length = self.fill(room)?;
        parse(room.get(..length)?)
    }

    /// Fills `room` as far as the file goes.
    fn fill(&mut self, room: &mut [u8]) -> Option<usize> {
        if self.file.is_none() {
            self.file = Some(File::open(&self.path).ok()?);
        }
        let file = self.file.as_ref()?;
        let mut length = 0;
        while let Some(rest) = room.get_mut(length..).filter(|rest| !rest.is_empty()) {
            let read = file.read_at(rest, length as u64).ok()?;
            length += read;
            if read < SHORT_PIECE {
                break;
            }
        }
        Some(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &[u8]) -> Option<u64> {
        std::str::from_utf8(text).ok()?.trim().parse().ok()
    }

    #[test]
    fn a_file_of_any_length_is_read_whole() {
        let path = std::env::temp_dir().join(format!("tachograph-kept-{}", std::process::id()));
        let text = "12345678 ".repeat(3_000);
        std::fs::write(&path, &text).unwrap();

        let length = Kept::new(&path).read_whole(&mut Vec::new(), |text| Some(text.len()));

        assert_eq!(length, Some(text.len()));
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_descriptor_that_became_another_file_is_not_believed() {
        let path = std::env::temp_dir().join(format!("tachograph-lost-{}", std::process::id()));
        std::fs::write(&path, "42").unwrap();
        let mut kept = Kept { path: path.clone(), file: File::open("/proc/self/comm").ok() };

        assert_eq!(kept.read::<64, _>(number), Some(42));
        assert_eq!(kept.read::<64, _>(number), Some(42));
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_missing_file_is_no_answer() {
        assert_eq!(Kept::new("/no/such/file").read::<64, _>(number), None);
    }
}
