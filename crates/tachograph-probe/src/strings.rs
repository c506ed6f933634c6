//! Python strings, read from outside.
//!
//! A `str` keeps its characters in one, two or four bytes each, right behind its
//! header, with a shorter header when all are ASCII. A subclass of `str` keeps
//! them elsewhere; such strings are not read.

use crate::layout::Layout;
use crate::memory::ReadMemory;

/// How many bytes of characters are read at a time.
const CHUNK: usize = 64;

/// Where the characters of a string are, and how wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    /// The first character's address.
    pub data: u64,
    /// How many characters.
    pub length: u64,
    /// Bytes per character: 1, 2 or 4.
    pub width: u8,
    /// Whether every character is ASCII.
    pub ascii: bool,
}

impl Text {
    /// Reads the header of the string at `object`.
    ///
    /// `None` if it cannot be read or is not the header of a compact string.
    ///
    /// Context: signal handler.
    pub fn at<M: ReadMemory>(memory: &M, layout: &Layout, object: u64) -> Option<Self> {
        let at = |offset: u32| object.wrapping_add(u64::from(offset));
        let length = memory.word(at(layout.text_length))?;
        let state = memory.half(at(layout.text_state))?.checked_shr(layout.text_kind_shift)?;
        let width = (state & 7) as u8;
        let compact = state & 8 != 0;
        let ascii = state & 16 != 0;
        if !compact || !matches!(width, 1 | 2 | 4) || (ascii && width != 1) {
            return None;
        }
        let data = at(if ascii { layout.text_ascii_data } else { layout.text_compact_data });
        Some(Self { data, length, width, ascii })
    }

    /// How many bytes the characters take.
    #[must_use]
    pub fn byte_length(&self) -> Option<u64> {
        self.length.checked_mul(u64::from(self.width))
    }

    /// Whether the string is exactly `text`, which is ASCII and short.
    ///
    /// Context: signal handler.
    pub fn is<M: ReadMemory>(&self, memory: &M, text: &[u8]) -> bool {
        let mut buffer = [0; CHUNK];
        let Some(found) = buffer.get_mut(..text.len()) else {
            return false;
        };
        self.ascii
            && self.length == text.len() as u64
            && memory.bytes(self.data, found)
            && found == text
    }

    /// Copies the string into `out` as UTF-8 and says how many bytes it took.
    ///
    /// A string that does not fit is cut between two characters.
    ///
    /// Context: signal handler.
    pub fn copy_utf8<M: ReadMemory>(&self, memory: &M, out: &mut [u8]) -> Option<usize> {
        let mut written = 0;
        let mut address = self.data;
        let mut left = self.byte_length()?;
        let mut buffer = [0; CHUNK];
        while left > 0 {
            let size = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
            let chunk = buffer.get_mut(..size)?;
            if !memory.bytes(address, chunk) {
                return None;
            }
            for character in characters(chunk, self.width) {
                let end = written + character.len_utf8();
                let Some(place) = out.get_mut(written..end) else {
                    return Some(written);
                };
                character.encode_utf8(place);
                written = end;
            }
            address = address.wrapping_add(size as u64);
            left -= size as u64;
        }
        Some(written)
    }
}

/// The characters in `bytes`, `width` bytes each.
///
/// What is no character, a lone surrogate above all, becomes U+FFFD.
pub fn characters(bytes: &[u8], width: u8) -> impl Iterator<Item = char> + '_ {
    bytes.chunks(usize::from(width.max(1))).map(|unit| {
        let code = unit.iter().rev().fold(0, |code, &byte| (code << 8) | u32::from(byte));
        char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
    })
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::string::String;

    use super::characters;

    #[test]
    fn every_width_gives_its_characters() {
        assert_eq!(characters(b"ab\xe9", 1).collect::<String>(), "abé");
        assert_eq!(characters(&[0x61, 0, 0xac, 0x20], 2).collect::<String>(), "a€");
        assert_eq!(characters(&[0x00, 0xf6, 0x01, 0], 4).collect::<String>(), "😀");
    }

    #[test]
    fn a_lone_surrogate_becomes_the_replacement_character() {
        assert_eq!(characters(&[0x00, 0xd8], 2).collect::<String>(), "\u{fffd}");
    }
}
