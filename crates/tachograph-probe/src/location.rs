//! From a position in the bytecode to a line of source.
//!
//! The location table of CPython 3.11 and newer: entries of a code, a number of
//! bytecode units and, by code, a line delta and columns. A table read from a
//! code object that is just being freed may hold anything, so every step is
//! checked and a table that makes no sense gives the first line.
//!
//! The table comes byte by byte, so that a handler can read it where it lies
//! and the collector from a copy. No more of it is taken than the answer needs.

/// Bytes of bytecode per unit.
const UNIT: i64 = 2;

/// The line of the instruction `offset` bytes into the bytecode.
///
/// An offset before the first instruction, or one the table does not cover,
/// gives `first_line`; so does an instruction without a line.
///
/// Context: signal handler. Takes as many steps as the table has bytes.
pub fn line_at(table: impl Iterator<Item = u8>, first_line: u32, offset: i32) -> u32 {
    let target = i64::from(offset);
    let mut end: i64 = 0;
    let mut line = i64::from(first_line);
    let mut entries = Entries { table };
    while let Some(entry) = entries.next() {
        line = line.saturating_add(entry.line_delta);
        end = end.saturating_add(entry.units * UNIT);
        if target < end {
            let has_line = target >= 0 && entry.has_line;
            let line = if has_line { line } else { i64::from(first_line) };
            return u32::try_from(line).unwrap_or(first_line);
        }
    }
    first_line
}

/// As [`line_at`], for the tables of CPython 3.`minor`, which may be older.
///
/// 3.9 and 3.10 have pairs of bytes: how many bytes of bytecode, how many lines.
/// In 3.9 the lines come before what the next pair covers, in 3.10 before what
/// their own pair covers, and -128 there is bytecode without a line.
///
/// Context: signal handler.
pub fn line_of(minor: u8, table: impl Iterator<Item = u8>, first_line: u32, offset: i32) -> u32 {
    match minor {
        ..10 => line_in_pairs(table, first_line, offset, false),
        10 => line_in_pairs(table, first_line, offset, true),
        _ => line_at(table, first_line, offset),
    }
}

fn line_in_pairs(
    mut table: impl Iterator<Item = u8>,
    first_line: u32,
    offset: i32,
    lines_first: bool,
) -> u32 {
    const NO_LINE: i8 = -128;
    let target = i64::from(offset.max(0));
    let (mut end, mut line) = (0_i64, i64::from(first_line));
    while let (Some(bytes), Some(delta)) = (table.next(), table.next()) {
        let delta = delta.cast_signed();
        end = end.saturating_add(i64::from(bytes));
        let has_line = !lines_first || delta != NO_LINE;
        if lines_first && has_line {
            line = line.saturating_add(i64::from(delta));
        }
        if target < end {
            let line = if has_line { line } else { i64::from(first_line) };
            return u32::try_from(line).unwrap_or(first_line);
        }
        if !lines_first {
            line = line.saturating_add(i64::from(delta));
        }
    }
    // The last line of 3.9 goes on to the end of the bytecode.
    let line = if lines_first { i64::from(first_line) } else { line };
    u32::try_from(line).unwrap_or(first_line)
}

/// What a table says of one stretch of bytecode.
struct Entry {
    units: i64,
    line_delta: i64,
    has_line: bool,
}

struct Entries<T> {
    table: T,
}

impl<T: Iterator<Item = u8>> Entries<T> {
    /// The next entry; `None` at the end or where the table makes no sense.
    fn next(&mut self) -> Option<Entry> {
        let head = self.byte()?;
        if head & 0x80 == 0 {
            return None;
        }
        let units = i64::from(head & 7) + 1;
        let line_delta = match (head >> 3) & 15 {
            15 => {
                return Some(Entry { units, line_delta: 0, has_line: false });
            }
            14 => {
                let delta = self.signed()?;
                for _ in 0..3 {
                    self.unsigned()?;
                }
                delta
            }
            13 => self.signed()?,
            code @ 10..=12 => {
                self.byte()?;
                self.byte()?;
                i64::from(code) - 10
            }
            _ => {
                self.byte()?;
                0
            }
        };
        Some(Entry { units, line_delta, has_line: true })
    }

    fn byte(&mut self) -> Option<u8> {
        self.table.next()
    }

    /// Six bits a byte, lowest first; bit 6 says that more follow.
    fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..60).step_by(6) {
            let byte = self.byte()?;
            value |= u64::from(byte & 63) << shift;
            if byte & 64 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// The sign is the lowest bit.
    fn signed(&mut self) -> Option<i64> {
        let value = self.unsigned()?;
        let size = i64::try_from(value >> 1).ok()?;
        Some(if value & 1 == 1 { -size } else { size })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    fn line_at(table: &[u8], first_line: u32, offset: i32) -> u32 {
        super::line_at(table.iter().copied(), first_line, offset)
    }

    /// Two units on line 10, one on line 13 (long form), one without a line,
    /// three on line 12.
    const TABLE: [u8; 11] =
        [0x81, 0x12, 0x80 | (14 << 3), 6, 0, 1, 2, 0x80 | (15 << 3), 0x80 | (13 << 3) | 2, 3, 0];

    #[test]
    fn an_offset_finds_its_line() {
        let lines = [0, 2, 4, 6, 8, 12].map(|offset| line_at(&TABLE, 10, offset));
        assert_eq!(lines, [10, 10, 13, 10, 12, 12]);
    }

    #[test]
    fn an_offset_outside_of_the_table_gives_the_first_line() {
        assert_eq!(line_at(&TABLE, 10, -2), 10);
        assert_eq!(line_at(&TABLE, 10, 4000), 10);
        assert_eq!(line_at(&[], 10, 0), 10);
    }

    #[test]
    fn older_tables_find_their_lines() {
        // 3.9: bytes 0 to 5 on line 10, 6 and 7 on line 12, from 8 on line 11.
        let lnotab = [6_u8, 2, 2, 0xff];
        let lines = [0, 4, 6, 8, 400].map(|at| super::line_of(9, lnotab.into_iter(), 10, at));
        assert_eq!(lines, [10, 10, 12, 11, 11]);

        // 3.10: bytes 0 to 3 on line 11, 4 and 5 on none, 6 to 9 on line 10.
        let linetable = [4_u8, 1, 2, 0x80, 4, 0xff];
        let lines = [-1, 2, 4, 6, 400].map(|at| super::line_of(10, linetable.into_iter(), 10, at));
        assert_eq!(lines, [11, 11, 10, 10, 10]);
    }

    #[test]
    fn a_table_cut_anywhere_gives_some_line() {
        for length in 0..TABLE.len() {
            for offset in -4..40 {
                assert!(line_at(&TABLE[..length], 10, offset) >= 10);
            }
        }
    }

    #[test]
    fn a_number_without_an_end_is_refused() {
        let table: Vec<u8> = [0x80 | (13 << 3)].into_iter().chain([0x7f; 100]).collect();
        assert_eq!(line_at(&table, 7, 0), 7);
    }
}
