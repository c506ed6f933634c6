//! The tables beside the bytecode: which handler serves what, and which
//! instruction belongs to which line.

use super::Position;

/// Set in the first byte of an entry.
const FIRST: u8 = 0x80;
/// Set in a byte that is followed by another of the same number.
const MORE: u8 = 0x40;
const BITS: u8 = 0x3f;

/// Units that one entry of a line table can stand for.
const LONGEST: usize = 8;
/// Forms of entries in a line table.
const WITH_COLUMNS: u8 = 14;
const LINE_ALONE: u8 = 13;
const NOWHERE: u8 = 15;

/// One row of an exception table, in units of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) start: usize,
    pub(super) size: usize,
    pub(super) target: usize,
    pub(super) depth: u32,
    pub(super) tells_where: bool,
}

/// Reads an exception table.
pub(super) fn read_handlers(table: &[u8]) -> Result<Vec<Row>, &'static str> {
    let mut bytes = table.iter().copied();
    let mut rows = Vec::new();
    while let Some(first) = bytes.next() {
        let start = number(first, &mut bytes)?;
        let mut next = || {
            let first = bytes.next().ok_or(CUT_OFF)?;
            number(first, &mut bytes)
        };
        let (size, target, depth) = (next()?, next()?, next()?);
        rows.push(Row {
            start,
            size,
            target,
            depth: u32::try_from(depth >> 1).map_err(|_| CUT_OFF)?,
            tells_where: depth & 1 == 1,
        });
    }
    Ok(rows)
}

const CUT_OFF: &str = "its exception table is cut off";

fn number(first: u8, bytes: &mut impl Iterator<Item = u8>) -> Result<usize, &'static str> {
    let mut value = usize::from(first & BITS);
    let mut byte = first;
    while byte & MORE != 0 {
        byte = bytes.next().ok_or(CUT_OFF)?;
        value = value << 6 | usize::from(byte & BITS);
    }
    Ok(value)
}

/// Adds a row to an exception table.
pub(super) fn write_handler(table: &mut Vec<u8>, row: Row) {
    let begin = table.len();
    for value in
        [row.start, row.size, row.target, (row.depth as usize) << 1 | usize::from(row.tells_where)]
    {
        let groups = (usize::BITS - value.leading_zeros()).div_ceil(6).max(1);
        for group in (0..groups).rev() {
            let more = if group > 0 { MORE } else { 0 };
            table.push((value >> (6 * group)) as u8 & BITS | more);
        }
    }
    if let Some(first) = table.get_mut(begin) {
        *first |= FIRST;
    }
}

/// Writes a line table for runs of units.
pub(super) fn write_lines(
    runs: impl Iterator<Item = (Position, usize)>,
    first_line: u32,
) -> Vec<u8> {
    let mut table = Vec::new();
    let mut line = i64::from(first_line);
    for (position, mut units) in runs {
        while units > 0 {
            let here = units.min(LONGEST);
            units -= here;
            let form = match position {
                Position { line: 0, .. } => NOWHERE,
                Position { columns: Some(_), .. } => WITH_COLUMNS,
                _ => LINE_ALONE,
            };
            table.push(FIRST | form << 3 | (here - 1) as u8);
            if form == NOWHERE {
                continue;
            }
            put_signed(&mut table, i64::from(position.line) - line);
            line = i64::from(position.line);
            if let Some((begin, end)) = position.columns {
                put(&mut table, u64::from(position.end_line.saturating_sub(position.line)));
                put(&mut table, u64::from(begin) + 1);
                put(&mut table, u64::from(end) + 1);
            }
        }
    }
    table
}

fn put(table: &mut Vec<u8>, mut value: u64) {
    while value > u64::from(BITS) {
        table.push(value as u8 & BITS | MORE);
        value >>= 6;
    }
    table.push(value as u8);
}

fn put_signed(table: &mut Vec<u8>, value: i64) {
    put(table, value.unsigned_abs() << 1 | u64::from(value < 0));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_table_is_read_as_it_was_written() {
        let rows = [(0, 1, 7, 0, false), (3, 64, 4_097, 3, true), (70_000, 2, 63, 40, true)];
        let rows = rows.map(|(start, size, target, depth, tells_where)| Row {
            start,
            size,
            target,
            depth,
            tells_where,
        });
        let mut table = Vec::new();
        for row in rows {
            write_handler(&mut table, row);
        }

        assert_eq!(read_handlers(&table), Ok(rows.to_vec()));
        assert!(read_handlers(&table[..table.len() - 1]).is_err());
    }
}
