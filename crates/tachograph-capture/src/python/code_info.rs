//! What a code object is called and where it was written.

use tachograph_probe::code::fingerprint;
use tachograph_probe::layout::Layout;
use tachograph_probe::location::line_of;
use tachograph_probe::memory::ReadMemory;

use super::copy::Copy;
use super::text::{read_bytes, read_text};

/// A location table longer than this is not read; the first line stands in.
///
/// The longest function of the standard library has a table of 30 KB.
const LONGEST_TABLE: u64 = 4 << 20;

/// Bytes that every code object has, and that hold all fields we read.
const CODE: usize = 176;

/// A code object, checked to be the one that was sampled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeInfo {
    /// The qualified name, such as `Model.fit`.
    pub qualname: String,
    /// The file as the code object names it.
    pub filename: String,
    /// The line of the `def`.
    pub first_line: u32,
    /// The location table, if it was read.
    linetable: Option<Vec<u8>>,
    /// The interpreter's minor version, which decides how the table is written.
    minor: u8,
}

impl CodeInfo {
    /// What a handler told of a code object: all but where its lines are.
    #[must_use]
    pub fn told(qualname: String, filename: String, first_line: u32) -> Self {
        Self { qualname, filename, first_line, linetable: None, minor: 0 }
    }

    /// Whether it knows on which line an instruction is.
    #[must_use]
    pub fn has_lines(&self) -> bool {
        self.linetable.is_some()
    }

    /// Reads the code object at `code`, if it still is the one with `print`.
    ///
    /// The fingerprint is taken again after the names were read, so names of
    /// another code object that moved in meanwhile are never returned.
    pub fn read<M: ReadMemory>(memory: &M, layout: &Layout, code: u64, print: u32) -> Option<Self> {
        let object = Copy::<M, CODE>::of(memory, code)?;
        if fingerprint(&object, layout, code)? != print {
            return None;
        }
        let field = |offset: u32| object.word(code.wrapping_add(u64::from(offset)));
        let first_line = object.half(code.wrapping_add(u64::from(layout.code_first_line)))?;
        let linetable = field(layout.code_linetable)?;
        let info = Self {
            qualname: read_text(memory, layout, field(layout.code_qualname)?)?,
            filename: read_text(memory, layout, field(layout.code_filename)?)?,
            first_line,
            linetable: read_bytes(memory, layout, linetable, LONGEST_TABLE),
            minor: layout.minor,
        };
        let after = Copy::<M, CODE>::of(memory, code)?;
        (fingerprint(&after, layout, code)? == print).then_some(info)
    }

    /// The line a frame stands on, `offset` bytes into the bytecode; the first
    /// line where the table is missing.
    #[must_use]
    pub fn line(&self, offset: i32) -> u32 {
        let Some(table) = &self.linetable else { return self.first_line };
        line_of(self.minor, table.iter().copied(), self.first_line, offset)
    }
}
