//! This process's memory, copied by the kernel a page at a time.
//!
//! The frames of one stack lie close together, so a walk needs a handful of
//! pages where word by word it would need hundreds of system calls. A copy is
//! made for one walk and thrown away.

use std::cell::RefCell;

use tachograph_probe::memory::ReadMemory;

use crate::python::ProcessMemory;

const PAGE: u64 = 4096;
type Page = Box<[u8; PAGE as usize]>;

/// Pages read so far, each once.
#[derive(Debug)]
pub(crate) struct Pages {
    memory: ProcessMemory,
    pages: RefCell<Vec<(u64, Option<Page>)>>,
}

impl Pages {
    /// Nothing read yet.
    pub(crate) fn new() -> Self {
        Self { memory: ProcessMemory::own(), pages: RefCell::default() }
    }

    /// Copies bytes of one page to `out`.
    fn copy(&self, address: u64, out: &mut [u8]) -> bool {
        let start = address & !(PAGE - 1);
        let mut pages = self.pages.borrow_mut();
        let at = pages.iter().position(|(page, _)| *page == start).unwrap_or_else(|| {
            let mut bytes = Box::new([0; PAGE as usize]);
            let read = self.memory.bytes(start, bytes.as_mut_slice());
            pages.push((start, read.then_some(bytes)));
            pages.len() - 1
        });
        let Some((_, Some(bytes))) = pages.get(at) else {
            return false;
        };
        let from = (address - start) as usize;
        let Some(bytes) = bytes.get(from..from + out.len()) else {
            return false;
        };
        out.copy_from_slice(bytes);
        true
    }
}

impl ReadMemory for Pages {
    fn word(&self, address: u64) -> Option<u64> {
        let mut word = [0; 8];
        self.bytes(address, &mut word).then(|| u64::from_le_bytes(word))
    }

    fn bytes(&self, mut address: u64, mut out: &mut [u8]) -> bool {
        while !out.is_empty() {
            let left = (PAGE - address % PAGE) as usize;
            let (now, later) = out.split_at_mut(left.min(out.len()));
            if !self.copy(address, now) {
                return false;
            }
            address = address.wrapping_add(now.len() as u64);
            out = later;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_across_pages_are_read_and_unmapped_ones_are_not() {
        let bytes: Vec<u8> = (0..10_000_u32).map(|n| n as u8).collect();
        let pages = Pages::new();
        let mut out = vec![0; bytes.len()];

        assert!(pages.bytes(bytes.as_ptr() as u64, &mut out));
        assert_eq!(out, bytes);
        assert_eq!(pages.word(8 << 40), None);
    }
}
