//! What the walker reads of a code object: who it is and where a frame stands.

use crate::layout::Layout;
use crate::memory::ReadMemory;

/// More bytecode than any function has.
const LONGEST_BYTECODE: u64 = 1 << 28;

/// More copies of one bytecode than there are threads.
const MOST_COPIES: u64 = 1 << 16;

/// Spreads what is mixed over all bits.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// A number that tells this code object from a later one at the same address.
///
/// Made of the addresses of its qualified name, file name and line table, its
/// first line and its version, which the interpreter counts up for every code
/// object. Addresses alone are not enough: code that is made and dropped in a
/// loop gets the very same ones again.
///
/// Context: signal handler.
#[inline]
pub fn fingerprint<M: ReadMemory>(memory: &M, layout: &Layout, code: u64) -> Option<u32> {
    let at = |offset: u32| code.wrapping_add(u64::from(offset));
    let (file, table) =
        (memory.word(at(layout.code_filename))?, memory.word(at(layout.code_linetable))?);
    let mut print = Print(memory.word(at(layout.code_qualname))?);
    print.mix(file);
    print.mix(table);
    print.mix(u64::from(memory.half(at(layout.code_first_line))?));
    if layout.code_version == 0 {
        print.mix(memory.word(at(layout.code_units))?);
        print.mix_object(memory, file, layout.text_length, layout.text_ascii_data);
        print.mix_object(memory, table, layout.bytes_length, layout.bytes_data);
    } else {
        print.mix(u64::from(memory.half(at(layout.code_version))?));
    }
    Some(print.finish())
}

/// A fingerprint in the making.
struct Print(u64);

impl Print {
    #[inline]
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.wrapping_mul(MULTIPLIER).rotate_left(21)) ^ word;
    }

    /// 3.11 counts no versions. There the length and the last two words of what
    /// an object holds stand in; what cannot be read counts as nothing.
    fn mix_object<M: ReadMemory>(&mut self, memory: &M, object: u64, length: u32, data: u32) {
        let length = memory.word(object.wrapping_add(u64::from(length))).unwrap_or(0);
        let last = object.wrapping_add(u64::from(data)).wrapping_add(length.saturating_sub(1));
        self.mix(length);
        for word in [last & !7, (last & !7).wrapping_sub(8)] {
            self.mix(memory.word(word).unwrap_or(0));
        }
    }

    #[inline]
    fn finish(&self) -> u32 {
        // The upper half is the well-mixed one.
        (self.0.wrapping_mul(MULTIPLIER) >> 32) as u32
    }
}

/// How many bytes into the bytecode of `code` the address `instruction` lies.
///
/// One unit before the start is a frame that has not begun. `None` if the
/// address belongs to no bytecode of this code object.
///
/// Context: signal handler.
#[inline]
pub fn position<M: ReadMemory>(
    memory: &M,
    layout: &Layout,
    frame: u64,
    code: u64,
    instruction: u64,
) -> Option<i32> {
    if layout.has_bytecode_copies() {
        return position_in_copy(memory, layout, frame, code, instruction);
    }
    offset_from(code.wrapping_add(u64::from(layout.code_bytecode)), instruction, LONGEST_BYTECODE)
}

/// The same where every thread runs its own copy of the bytecode.
///
/// The frame says which copy; the address must lie in it.
fn position_in_copy<M: ReadMemory>(
    memory: &M,
    layout: &Layout,
    frame: u64,
    code: u64,
    instruction: u64,
) -> Option<i32> {
    let units = memory.word(code.wrapping_add(u64::from(layout.code_units)))?;
    let length = units.checked_mul(2).filter(|&length| length <= LONGEST_BYTECODE)?;
    let copies = memory.word(code.wrapping_add(u64::from(layout.code_copies)))?;
    let count = memory.word(copies)?.min(MOST_COPIES);
    let copy = |index: u64| memory.word(copies.wrapping_add(8).wrapping_add(index.wrapping_mul(8)));

    let named = memory.half(frame.wrapping_add(u64::from(layout.frame_copy_index)))?;
    if u64::from(named) < count
        && let Some(offset) = offset_from(copy(u64::from(named))?, instruction, length)
    {
        return Some(offset);
    }
    // A generator that moves to another thread is for a moment between copies.
    (0..count.min(64)).find_map(|index| offset_from(copy(index)?, instruction, length))
}

/// `instruction - start` if it is in `[-2, length]` and a whole unit.
#[inline]
fn offset_from(start: u64, instruction: u64, length: u64) -> Option<i32> {
    let past_begin = instruction.wrapping_sub(start).wrapping_add(2);
    if past_begin > length + 2 || past_begin & 1 != 0 {
        return None;
    }
    Some(i32::try_from(past_begin).ok()? - 2)
}

/// Whether a frame at `offset` has not yet reached its first real instruction.
///
/// CPython does not count such a frame as being on the stack: it still makes
/// its cells or its generator. Cleanup frames that no one wrote look the same.
///
/// Context: signal handler.
#[inline]
pub(crate) fn is_incomplete<M: ReadMemory>(
    memory: &M,
    layout: &Layout,
    code: u64,
    offset: i32,
) -> Option<bool> {
    let first = memory.signed_half(code.wrapping_add(u64::from(layout.code_first_traceable)))?;
    Some(offset < first.saturating_mul(2))
}

/// Whether `code` is that of a coroutine or an asynchronous generator.
///
/// Context: signal handler.
#[inline]
pub(crate) fn is_coroutine<M: ReadMemory>(memory: &M, layout: &Layout, code: u64) -> Option<bool> {
    const COROUTINE: u32 = 0x80;
    const ITERABLE_COROUTINE: u32 = 0x100;
    const ASYNC_GENERATOR: u32 = 0x200;
    let flags = memory.half(code.wrapping_add(u64::from(layout.code_flags)))?;
    Some(flags & (COROUTINE | ITERABLE_COROUTINE | ASYNC_GENERATOR) != 0)
}
