//! A name of bounded length, for places that cannot allocate.

use crate::layout::Layout;
use crate::memory::ReadMemory;
use crate::strings::Text;

/// How many bytes of a name are kept.
pub const NAME_BYTES: usize = 64;

/// The beginning of a name, as UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameBuf {
    /// The name, and after it zeros.
    pub bytes: [u8; NAME_BYTES],
    /// How many of the bytes belong to the name.
    pub length: usize,
}

impl Default for NameBuf {
    fn default() -> Self {
        Self { bytes: [0; NAME_BYTES], length: 0 }
    }
}

impl NameBuf {
    /// Reads the string at `object`, up to [`NAME_BYTES`] bytes of it.
    ///
    /// Context: signal handler.
    pub fn of_text<M: ReadMemory>(memory: &M, layout: &Layout, object: u64) -> Option<Self> {
        let mut name = Self::default();
        name.length = Text::at(memory, layout, object)?.copy_utf8(memory, &mut name.bytes)?;
        Some(name)
    }

    /// The name as text; empty if the bytes are not UTF-8.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..self.length).unwrap_or_default();
        core::str::from_utf8(bytes).unwrap_or_default()
    }
}
