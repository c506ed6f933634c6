//! Which pages are writable, as the kernel says, without allocating.
//!
//! Read while the loader's list lock is held, so no listed object is unmapped
//! meanwhile; and an object's RELRO pages only ever go from writable to
//! read-only. So an answer that is out of date errs on the safe side.

use std::ops::Range;

/// Stretches of writable memory that are kept; with more, nothing is believed.
const ROOM: usize = 8192;

/// The writable stretches of this process's memory.
pub(super) struct Protection {
    writable: [(u64, u64); ROOM],
    count: usize,
    is_known: bool,
}

impl Protection {
    /// Nothing known.
    pub(super) const fn new() -> Self {
        Self { writable: [(0, 0); ROOM], count: 0, is_known: false }
    }

    /// Forgets what was read.
    pub(super) fn forget(&mut self) {
        self.is_known = false;
    }

    /// Whether no page of `range` is writable. An empty range is fine; where the
    /// kernel cannot be asked, none is.
    pub(super) fn is_read_only(&mut self, range: &Range<u64>) -> bool {
        if range.is_empty() {
            return true;
        }
        if !self.is_known {
            self.is_known = self.read().is_some();
        }
        let known = self.writable.get(..self.count).unwrap_or_default();
        self.is_known && !known.iter().any(|(start, end)| *start < range.end && range.start < *end)
    }

    fn read(&mut self) -> Option<()> {
        self.count = 0;
        // SAFETY: a terminated path.
        let file =
            unsafe { libc::open(c"/proc/self/maps".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        if file < 0 {
            return None;
        }
        let outcome = self.read_from(file);
        // SAFETY: the file was opened above and is used by nobody else.
        unsafe { libc::close(file) };
        outcome
    }

    fn read_from(&mut self, file: libc::c_int) -> Option<()> {
        let mut buffer = [0_u8; 4096];
        let mut line = Line::default();
        loop {
            // SAFETY: `buffer` is valid for its whole length until the call returns.
            let read = unsafe { libc::read(file, buffer.as_mut_ptr().cast(), buffer.len()) };
            let read = usize::try_from(read).ok()?;
            if read == 0 {
                return Some(());
            }
            for byte in buffer.get(..read)? {
                if let Some((start, end)) = line.take(*byte) {
                    self.add(start, end)?;
                }
            }
        }
    }

    /// Adds a stretch, to the last one if they touch.
    fn add(&mut self, start: u64, end: u64) -> Option<()> {
        let last = self.count.checked_sub(1).and_then(|last| self.writable.get_mut(last));
        if let Some(last) = last
            && last.1 == start
        {
            last.1 = end;
            return Some(());
        }
        *self.writable.get_mut(self.count)? = (start, end);
        self.count += 1;
        Some(())
    }
}

/// One line of the kernel's list, `start-end perms …`, byte by byte.
#[derive(Default)]
struct Line {
    start: u64,
    end: u64,
    field: u8,
    at: u8,
    writable: bool,
}

impl Line {
    /// Takes a byte; at the end of a line of writable memory, tells it.
    fn take(&mut self, byte: u8) -> Option<(u64, u64)> {
        match (self.field, byte) {
            (_, b'\n') => {
                let line = std::mem::take(self);
                return line.writable.then_some((line.start, line.end));
            }
            (0, b'-') => self.field = 1,
            (1, b' ') => self.field = 2,
            (2, b' ') => self.field = 3,
            (0, digit) => self.start = self.start << 4 | hex(digit),
            (1, digit) => self.end = self.end << 4 | hex(digit),
            (2, letter) => {
                self.at += 1;
                self.writable |= self.at == 2 && letter == b'w';
            }
            _ => {}
        }
        None
    }
}

fn hex(digit: u8) -> u64 {
    u64::from(char::from(digit).to_digit(16).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(address: u64) -> Range<u64> {
        address & !4095..(address & !4095) + 4096
    }

    #[test]
    fn code_is_read_only_and_the_heap_is_not() {
        let mut protection = Box::new(Protection::new());
        let heap = Box::new(1_u64);

        assert!(protection.is_read_only(&page(hex as fn(u8) -> u64 as usize as u64)));
        assert!(!protection.is_read_only(&page(&raw const *heap as u64)));
        assert!(protection.is_read_only(&(0..0)));
    }
}
