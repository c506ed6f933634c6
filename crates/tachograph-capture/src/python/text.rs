//! Python strings and bytes as Rust values.

use tachograph_probe::layout::Layout;
use tachograph_probe::memory::ReadMemory;
use tachograph_probe::strings::{Text, characters};

use super::copy::Copy;

/// A name or path longer than this is not one.
const LONGEST_TEXT: u64 = 64 * 1024;

/// Bytes that every string has, and that hold all of its header that we read
/// where there is a GIL.
const HEADER: usize = 40;

/// The string at `object`.
pub(super) fn read_text<M: ReadMemory>(memory: &M, layout: &Layout, object: u64) -> Option<String> {
    let header = Copy::<M, HEADER>::of(memory, object)?;
    let text = Text::at(&header, layout, object)?;
    let size = text.byte_length().filter(|&size| size <= LONGEST_TEXT)?;
    let mut bytes = vec![0; usize::try_from(size).ok()?];
    memory.bytes(text.data, &mut bytes).then(|| characters(&bytes, text.width).collect())
}

/// The bytes object at `object`, if it is at most `longest` bytes long.
pub(super) fn read_bytes<M: ReadMemory>(
    memory: &M,
    layout: &Layout,
    object: u64,
    longest: u64,
) -> Option<Vec<u8>> {
    let length = memory.word(object.wrapping_add(u64::from(layout.bytes_length)))?;
    if length > longest {
        return None;
    }
    let mut bytes = vec![0; usize::try_from(length).ok()?];
    memory.bytes(object.wrapping_add(u64::from(layout.bytes_data)), &mut bytes).then_some(bytes)
}
