//! Reading memory that may not be there.
//!
//! The interpreter changes its structures while we look at them, so every
//! pointer we follow may be stale. Each read therefore can fail, and a failure
//! is an ordinary answer. The sampled thread reads itself with guarded loads,
//! the sampler thread and attach ask the kernel, tests read an array.

/// Memory of a process, ours or another one's.
pub trait ReadMemory {
    /// The eight bytes at `address`, or `None` if they cannot be read.
    fn word(&self, address: u64) -> Option<u64>;

    /// Fills `out` from `address` on; `false` if any of it cannot be read,
    /// and then what `out` holds means nothing.
    fn bytes(&self, address: u64, out: &mut [u8]) -> bool;

    /// The four bytes at `address`.
    ///
    /// Reads the aligned word around them, so an aligned address never touches
    /// a page it need not.
    #[inline]
    fn half(&self, address: u64) -> Option<u32> {
        let word = self.word(address & !7)?;
        let bits = word.checked_shr(byte_shift(address & 4))?;
        u32::try_from(bits & 0xffff_ffff).ok()
    }

    /// The four bytes at `address` as a signed number.
    #[inline]
    fn signed_half(&self, address: u64) -> Option<i32> {
        self.half(address).map(u32::cast_signed)
    }

    /// The byte at `address`.
    #[inline]
    fn byte(&self, address: u64) -> Option<u8> {
        let word = self.word(address & !7)?;
        let bits = word.checked_shr(byte_shift(address & 7))?;
        u8::try_from(bits & 0xff).ok()
    }
}

/// How far a little-endian word must be shifted to bring `byte` to the bottom.
#[inline]
fn byte_shift(byte: u64) -> u32 {
    // At most 7, so the product is at most 56 and the cast keeps it whole.
    (byte * 8) as u32
}

/// Memory behind a reference reads like the memory itself.
impl<M: ReadMemory + ?Sized> ReadMemory for &M {
    #[inline]
    fn word(&self, address: u64) -> Option<u64> {
        (**self).word(address)
    }

    fn bytes(&self, address: u64, out: &mut [u8]) -> bool {
        (**self).bytes(address, out)
    }
}

#[cfg(test)]
mod tests {
    use super::ReadMemory;

    struct OneWord;

    impl ReadMemory for OneWord {
        fn word(&self, address: u64) -> Option<u64> {
            (address == 8).then_some(0x8877_6655_4433_2211)
        }

        fn bytes(&self, _address: u64, _out: &mut [u8]) -> bool {
            false
        }
    }

    #[test]
    fn small_reads_take_their_part_of_the_word_around_them() {
        assert_eq!(OneWord.half(8), Some(0x4433_2211));
        assert_eq!(OneWord.half(12), Some(0x8877_6655));
        assert_eq!(OneWord.signed_half(12), Some(0x8877_6655_u32.cast_signed()));
        assert_eq!(OneWord.byte(8), Some(0x11));
        assert_eq!(OneWord.byte(15), Some(0x88));
    }

    #[test]
    fn a_read_of_what_is_not_there_is_none() {
        assert_eq!(OneWord.half(16), None);
        assert_eq!(OneWord.byte(7), None);
    }
}
