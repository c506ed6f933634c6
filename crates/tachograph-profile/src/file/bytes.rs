//! Integers as bytes, and a cursor that never reads past the end.
//!
//! Whatever the bytes are, a read either gives a value or says what is wrong
//! with them. Counts are compared with the bytes that are left before
//! anything is allocated for them.

use crate::model::Time;

/// Why bytes make no sense, in a few words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Damage(pub &'static str);

pub(super) type Decoded<T> = Result<T, Damage>;

/// Times are kept in units of this many nanoseconds.
pub(super) const TIME_UNIT_NS: u64 = 1_000;

/// The latest time a profile may hold, in file units.
const LATEST: u64 = (1 << 62) / TIME_UNIT_NS;

/// A time in file units.
pub(super) fn units(time: Time) -> u64 {
    time.0 / TIME_UNIT_NS
}

/// The time of `units` file units.
pub(super) fn time(units: u64) -> Decoded<Time> {
    if units > LATEST {
        return Err(Damage("a time is out of range"));
    }
    Ok(Time(units * TIME_UNIT_NS))
}

/// A time that is kept in nanoseconds.
pub(super) fn exact_time(ns: u64) -> Decoded<Time> {
    time(ns.div_ceil(TIME_UNIT_NS)).map(|_| Time(ns))
}

/// Appends `value`, seven bits a byte, low bits first.
pub(super) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends `value` so that small numbers of either sign stay short.
pub(super) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, ((value << 1) ^ (value >> 63)) as u64);
}

/// Appends the difference from `last` to `value`, wrapping around.
pub(super) fn put_step(out: &mut Vec<u8>, last: u64, value: u64) {
    put_signed(out, value.wrapping_sub(last) as i64);
}

/// Appends an id that may be absent: 0, or the id plus one.
pub(super) fn put_option(out: &mut Vec<u8>, id: Option<u32>) {
    put(out, id.map_or(0, |id| u64::from(id) + 1));
}

/// Appends the length of `text` and its bytes.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// What is left of a section.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn byte(&mut self) -> Decoded<u8> {
        let (first, rest) = self.0.split_first().ok_or(Damage("a row is cut short"))?;
        self.0 = rest;
        Ok(*first)
    }

    pub(super) fn take(&mut self, len: u64) -> Decoded<&'a [u8]> {
        let taken = usize::try_from(len).ok().and_then(|len| self.0.split_at_checked(len));
        let (taken, rest) = taken.ok_or(Damage("a length reaches past the end"))?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn number(&mut self) -> Decoded<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Damage("a number is longer than 64 bits"))
    }

    pub(super) fn signed(&mut self) -> Decoded<i64> {
        let value = self.number()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// The value that lies a signed step after `last`.
    pub(super) fn step(&mut self, last: u64) -> Decoded<u64> {
        Ok(last.wrapping_add(self.signed()? as u64))
    }

    pub(super) fn small(&mut self) -> Decoded<u32> {
        u32::try_from(self.number()?).map_err(|_| Damage("a number is longer than 32 bits"))
    }

    pub(super) fn time(&mut self) -> Decoded<Time> {
        time(self.number()?)
    }

    /// An id of a table with `len` rows.
    pub(super) fn id(&mut self, len: usize) -> Decoded<u32> {
        in_table(self.number()?, len)
    }

    /// An id that may be absent.
    pub(super) fn option(&mut self, len: usize) -> Decoded<Option<u32>> {
        match self.number()? {
            0 => Ok(None),
            above => in_table(above - 1, len).map(Some),
        }
    }

    /// A number of rows that take at least `size` bytes each.
    pub(super) fn count(&mut self, size: usize) -> Decoded<usize> {
        let count = self.number()?;
        usize::try_from(count)
            .ok()
            .filter(|count| count.checked_mul(size).is_some_and(|all| all <= self.0.len()))
            .ok_or(Damage("a count is larger than what follows"))
    }

    pub(super) fn text(&mut self) -> Decoded<&'a str> {
        let len = self.number()?;
        std::str::from_utf8(self.take(len)?).map_err(|_| Damage("a text is not UTF-8"))
    }

    pub(super) fn float(&mut self) -> Decoded<f64> {
        let bytes = self.take(8)?;
        let bytes = bytes.try_into().map_err(|_| Damage("a row is cut short"))?;
        Ok(f64::from_le_bytes(bytes))
    }
}

/// `id`, if a table with `len` rows has it.
pub(super) fn in_table(id: u64, len: usize) -> Decoded<u32> {
    u32::try_from(id)
        .ok()
        .filter(|id| (*id as usize) < len)
        .ok_or(Damage("an id is not in its table"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length_come_back() {
        for shift in 0..64 {
            for value in [(1_u64 << shift) - 1, 1 << shift, u64::MAX >> shift] {
                let mut out = Vec::new();
                put(&mut out, value);
                put_signed(&mut out, value as i64);
                let mut bytes = Bytes(&out);

                assert_eq!(bytes.number(), Ok(value));
                assert_eq!(bytes.signed(), Ok(value as i64));
                assert!(bytes.is_empty());
            }
        }
    }

    #[test]
    fn a_number_past_64_bits_is_damage() {
        let mut eleven = [0x80; 11];
        eleven[10] = 1;
        assert!(Bytes(&eleven).number().is_err());
        let mut overflow = [0xff; 10];
        overflow[9] = 2;
        assert!(Bytes(&overflow).number().is_err());
    }

    #[test]
    fn a_count_cannot_exceed_the_bytes_that_follow() {
        assert_eq!(Bytes(&[3, 0, 0, 0]).count(1), Ok(3));
        assert!(Bytes(&[3, 0, 0, 0]).count(2).is_err());
        assert!(Bytes(&[0xff, 0xff, 0xff, 0xff, 0x7f]).count(1).is_err());
    }
}
