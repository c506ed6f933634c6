//! Sections: rows of one kind inside a data chunk.
//!
//! A section is its kind, its length and its rows. Sections of an unknown
//! kind are skipped, so a later release may add tables and events.

use std::io;

use super::bytes::put;
use super::chunk::{DATA, Packer};

pub(super) const STRINGS: u8 = 1;
pub(super) const MAPPINGS: u8 = 2;
pub(super) const FRAMES: u8 = 3;
pub(super) const FRAME_CHANGES: u8 = 4;
pub(super) const STACKS: u8 = 5;
pub(super) const TRACKS: u8 = 6;
pub(super) const TRACK_CHANGES: u8 = 7;
pub(super) const SERIES: u8 = 8;
pub(super) const SOURCES: u8 = 9;
pub(super) const SAMPLES: u8 = 10;
pub(super) const ALLOCATIONS: u8 = 11;
pub(super) const FREES: u8 = 12;
pub(super) const SPANS: u8 = 13;
pub(super) const SPAN_ENDS: u8 = 14;
pub(super) const POINTS: u8 = 15;
pub(super) const NOTES: u8 = 16;
pub(super) const LOSS: u8 = 17;
pub(super) const UNTIL: u8 = 18;

/// A section is closed when it is this long.
const SECTION_BYTES: usize = 256 << 10;

/// A chunk is closed when it is this long: enough to compress well, little
/// enough that a torn one costs a moment of a long recording.
const CHUNK_BYTES: usize = 1 << 20;

/// Gathers sections into chunks, and chunks into bytes for the file.
pub(super) struct Sections {
    packer: Packer,
    plain: Vec<u8>,
    body: Vec<u8>,
    /// Whole chunks that are not in the file yet.
    pub(super) packed: Vec<u8>,
}

impl Sections {
    pub(super) fn new(packed: Vec<u8>) -> io::Result<Self> {
        let packer = Packer::new()?;
        Ok(Self { packer, plain: Vec::new(), body: Vec::new(), packed })
    }

    /// Adds `rows`, in as many sections as they need. `put` also gets the row
    /// before in the same section.
    pub(super) fn rows<T>(
        &mut self,
        kind: u8,
        rows: &[T],
        mut put: impl FnMut(&mut Vec<u8>, Option<&T>, &T),
    ) -> io::Result<()> {
        let mut last = None;
        for row in rows {
            put(&mut self.body, last, row);
            last = Some(row);
            if self.body.len() >= SECTION_BYTES {
                self.close_section(kind)?;
                last = None;
            }
        }
        if last.is_some() {
            self.close_section(kind)?;
        }
        Ok(())
    }

    /// Adds one section that `fill` writes.
    pub(super) fn section(&mut self, kind: u8, fill: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        fill(&mut self.body);
        self.close_section(kind)
    }

    fn close_section(&mut self, kind: u8) -> io::Result<()> {
        self.plain.push(kind);
        put(&mut self.plain, self.body.len() as u64);
        self.plain.append(&mut self.body);
        if self.plain.len() >= CHUNK_BYTES {
            self.close_chunk()?;
        }
        Ok(())
    }

    /// Packs what was added since the last chunk, if anything was.
    pub(super) fn close_chunk(&mut self) -> io::Result<()> {
        if !self.plain.is_empty() {
            self.packer.pack(DATA, &self.plain, &mut self.packed)?;
            self.plain.clear();
        }
        Ok(())
    }

    /// Packs a chunk of its own.
    pub(super) fn chunk(&mut self, kind: u8, plain: &[u8]) -> io::Result<()> {
        self.close_chunk()?;
        self.packer.pack(kind, plain, &mut self.packed)
    }
}
