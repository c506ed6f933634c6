//! What kind of object an address holds.

use crate::layout::Layout;
use crate::memory::ReadMemory;

/// No class we look for is further up than this.
const MOST_ANCESTORS: usize = 12;

/// The longest type name we look for.
const LONGEST_NAME: usize = 32;

/// `tp_flags` of every integer type.
const IS_NUMBER: u64 = 1 << 24;

/// `tp_flags` of every string type.
const IS_TEXT: u64 = 1 << 28;

/// The address of the type of `object`; `None` if `object` cannot be one.
pub fn type_of<M: ReadMemory>(memory: &M, layout: &Layout, object: u64) -> Option<u64> {
    if object == 0 || object & 7 != 0 {
        return None;
    }
    memory.word(object.wrapping_add(u64::from(layout.object_type)))
}

/// Whether the type at `kind` is called `name`.
///
/// A type made in Python is called by its bare name, one made in C by its full one.
pub fn is_called<M: ReadMemory>(
    memory: &M,
    layout: &Layout,
    kind: u64,
    name: &[u8],
) -> Option<bool> {
    let address = memory.word(kind.wrapping_add(u64::from(layout.type_name)))?;
    let mut buffer = [0; LONGEST_NAME];
    let found = buffer.get_mut(..=name.len())?;
    if !memory.bytes(address, found) {
        // A shorter name may end where the readable memory does.
        return Some(false);
    }
    let (end, text) = found.split_last()?;
    Some(*end == 0 && text == name)
}

/// Whether the type of `object`, or one it derives from, is called `name`.
pub fn is_kind_of<M: ReadMemory>(
    memory: &M,
    layout: &Layout,
    object: u64,
    name: &[u8],
) -> Option<bool> {
    let mut kind = type_of(memory, layout, object)?;
    for _ in 0..MOST_ANCESTORS {
        if kind == 0 {
            return Some(false);
        }
        if is_called(memory, layout, kind, name)? {
            return Some(true);
        }
        kind = memory.word(kind.wrapping_add(u64::from(layout.type_parent)))?;
    }
    Some(false)
}

/// Whether `object` is a string.
pub(super) fn is_text<M: ReadMemory>(memory: &M, layout: &Layout, object: u64) -> Option<bool> {
    Some(type_flags(memory, layout, object)? & IS_TEXT != 0)
}

/// Whether `object` is an integer.
pub(super) fn is_number<M: ReadMemory>(memory: &M, layout: &Layout, object: u64) -> Option<bool> {
    Some(type_flags(memory, layout, object)? & IS_NUMBER != 0)
}

/// `tp_flags` of the type of `object`.
pub fn type_flags<M: ReadMemory>(memory: &M, layout: &Layout, object: u64) -> Option<u64> {
    let kind = type_of(memory, layout, object)?;
    memory.word(kind.wrapping_add(u64::from(layout.type_flags)))
}
