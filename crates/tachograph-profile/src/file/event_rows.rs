//! Rows of the other events: blocks, spans, points, notes and what was lost.

use super::bytes::{Bytes, Damage, Decoded, exact_time, put, put_signed, put_step, time, units};
use super::codes::{self, ALLOCATORS};
use super::sample_rows::{Leaves, leaf};
use super::table_rows::string;
use crate::model::{
    Allocation, Free, Loss, Note, Point, SeriesId, Span, SpanEnd, SpanId, StackId, StringId,
    Tables, Time, TrackId, Value,
};

pub(super) fn put_allocation(
    out: &mut Vec<u8>,
    leaves: &mut Leaves,
    last: Option<&Allocation>,
    row: &Allocation,
) {
    put_step(out, last.map_or(0, |last| units(last.time)), units(row.time));
    let lived = |freed: Time| units(freed).saturating_sub(units(row.time)) + 1;
    put(out, row.freed.map_or(0, lived));
    put(out, row.track.0.into());
    leaves.put(out, row.stack);
    put_step(out, last.map_or(0, |last| last.address), row.address);
    put(out, row.size_bytes);
    put(out, row.weight_bytes);
    out.push(codes::code(ALLOCATORS, &row.allocator));
}

pub(super) fn allocation(
    bytes: &mut Bytes<'_>,
    leaves: &mut Vec<StackId>,
    last: Option<&Allocation>,
    tables: &Tables,
) -> Decoded<Allocation> {
    let at = bytes.step(last.map_or(0, |last| units(last.time)))?;
    Ok(Allocation {
        time: time(at)?,
        freed: later(at, bytes.number()?)?,
        track: TrackId(bytes.id(tables.tracks.len())?),
        stack: leaf(bytes, leaves, tables.stacks.len())?,
        address: bytes.step(last.map_or(0, |last| last.address))?,
        size_bytes: bytes.number()?,
        weight_bytes: bytes.number()?,
        allocator: bytes.variant(ALLOCATORS)?,
    })
}

/// The end that lies `above - 1` units after `start`; none for 0.
fn later(start: u64, above: u64) -> Decoded<Option<Time>> {
    match above {
        0 => Ok(None),
        above => time(start.saturating_add(above - 1)).map(Some),
    }
}

pub(super) fn put_free(out: &mut Vec<u8>, last: Option<&Free>, row: &Free) {
    put_step(out, last.map_or(0, |last| last.allocation.into()), row.allocation.into());
    put_step(out, last.map_or(0, |last| units(last.time)), units(row.time));
}

pub(super) fn free(
    bytes: &mut Bytes<'_>,
    last: Option<&Free>,
    allocations: usize,
) -> Decoded<Free> {
    let allocation = bytes.step(last.map_or(0, |last| last.allocation.into()))?;
    let allocation = super::bytes::in_table(allocation, allocations)?;
    let time = time(bytes.step(last.map_or(0, |last| units(last.time)))?)?;
    Ok(Free { allocation, time })
}

/// Appends the span `row`, the `id`-th of the file.
pub(super) fn put_span(out: &mut Vec<u8>, id: usize, last: Option<&Span>, row: &Span) {
    let distance = |parent: SpanId| (id as u64).saturating_sub(parent.0.into());
    put(out, row.parent.map_or(0, distance));
    put(out, row.track.0.into());
    put(out, row.name.0.into());
    // Spans are often shorter than a microsecond, so their times are exact.
    put_step(out, last.map_or(0, |last| last.start.0), row.start.0);
    let lasted = |end: Time| end.0.saturating_sub(row.start.0).saturating_add(1);
    put(out, row.end.map_or(0, lasted));
    put(out, row.suspended_ns);
    out.push(row.failed.into());
    put_attributes(out, &row.attributes);
}

pub(super) fn span(
    bytes: &mut Bytes<'_>,
    last: Option<&Span>,
    spans: &[Span],
    tables: &Tables,
) -> Decoded<Span> {
    let parent = match bytes.number()? {
        0 => None,
        distance => {
            let parent = (spans.len() as u64).checked_sub(distance);
            let parent = parent.ok_or(Damage("a span lies inside one before the first"))?;
            Some(SpanId::from(parent as usize))
        }
    };
    let track = TrackId(bytes.id(tables.tracks.len())?);
    let name = string(bytes, tables)?;
    let start = exact_time(bytes.step(last.map_or(0, |last| last.start.0))?)?;
    let outer = parent.and_then(|parent| spans.get(parent.index()));
    if outer.is_some_and(|outer| outer.start > start) {
        return Err(Damage("a span starts before its parent"));
    }
    let end = match bytes.number()? {
        0 => None,
        above => Some(exact_time(start.0.saturating_add(above - 1))?),
    };
    let suspended_ns = at_most_whole(bytes.number()?, start, end);
    let failed = bytes.byte()? != 0;
    let attributes = attributes(bytes, tables)?;
    Ok(Span { parent, track, name, start, end, suspended_ns, failed, attributes })
}

/// A span is not suspended for longer than it lasts.
pub(super) fn at_most_whole(suspended_ns: u64, start: Time, end: Option<Time>) -> u64 {
    suspended_ns.min(end.map_or(0, |end| end.0.saturating_sub(start.0)))
}

pub(super) fn put_span_end(out: &mut Vec<u8>, row: &SpanEnd) {
    put(out, row.span.0.into());
    put(out, row.end.0);
    put(out, row.suspended_ns);
    out.push(row.failed.into());
    put_attributes(out, &row.attributes);
}

pub(super) fn span_end(bytes: &mut Bytes<'_>, spans: usize, tables: &Tables) -> Decoded<SpanEnd> {
    Ok(SpanEnd {
        span: SpanId(bytes.id(spans)?),
        end: exact_time(bytes.number()?)?,
        suspended_ns: bytes.number()?,
        failed: bytes.byte()? != 0,
        attributes: attributes(bytes, tables)?,
    })
}

fn put_attributes(out: &mut Vec<u8>, attributes: &[(StringId, Value)]) {
    put(out, attributes.len() as u64);
    for (name, value) in attributes {
        put(out, name.0.into());
        match value {
            Value::None => out.push(0),
            Value::Bool(false) => out.push(1),
            Value::Bool(true) => out.push(2),
            Value::Int(number) => {
                out.push(3);
                put_signed(out, *number);
            }
            Value::Float(number) => {
                out.push(4);
                out.extend(number.to_le_bytes());
            }
            Value::Text(text) => {
                out.push(5);
                put(out, text.0.into());
            }
        }
    }
}

fn attributes(bytes: &mut Bytes<'_>, tables: &Tables) -> Decoded<Vec<(StringId, Value)>> {
    let count = bytes.count(2)?;
    let mut rows = Vec::with_capacity(count);
    for _ in 0..count {
        let name = string(bytes, tables)?;
        let value = match bytes.byte()? {
            0 => Value::None,
            1 => Value::Bool(false),
            2 => Value::Bool(true),
            3 => Value::Int(bytes.signed()?),
            4 => Value::Float(bytes.float()?),
            5 => Value::Text(string(bytes, tables)?),
            _ => return Err(Damage("a value is of an unknown type")),
        };
        rows.push((name, value));
    }
    Ok(rows)
}

/// Values that are whole numbers, each as the step from the one before.
const WHOLE: u8 = 0;
/// Values as they are, eight bytes each.
const REAL: u8 = 1;

/// Appends the points of one series, sorted by time. A value that is no
/// finite number says nothing, and the caller has left it out.
pub(super) fn put_points(out: &mut Vec<u8>, points: &[&Point]) {
    let Some(first) = points.first() else { return };
    put(out, first.series.0.into());
    put(out, points.len() as u64);
    let mut last = 0;
    for point in points {
        put_step(out, last, units(point.time));
        last = units(point.time);
    }
    // The bits are compared, because -0.0 is no whole number here.
    let whole = |value: f64| ((value as i64) as f64).to_bits() == value.to_bits();
    if points.iter().all(|point| whole(point.value)) {
        out.push(WHOLE);
        let mut last = 0;
        for point in points {
            put_step(out, last, point.value as i64 as u64);
            last = point.value as i64 as u64;
        }
    } else {
        out.push(REAL);
        for point in points {
            out.extend(point.value.to_le_bytes());
        }
    }
}

/// Reads the points of one series.
pub(super) fn points(bytes: &mut Bytes<'_>, tables: &Tables, out: &mut Vec<Point>) -> Decoded<()> {
    let series = SeriesId(bytes.id(tables.series.len())?);
    let count = bytes.count(2)?;
    let mut times = Vec::with_capacity(count);
    let mut last = 0;
    for _ in 0..count {
        last = bytes.step(last)?;
        times.push(time(last)?);
    }
    let way = bytes.byte()?;
    let mut last = 0;
    for time in times {
        let value = match way {
            WHOLE => {
                last = bytes.step(last)?;
                last as i64 as f64
            }
            REAL => bytes.float()?,
            _ => return Err(Damage("points are kept in an unknown way")),
        };
        if !value.is_finite() {
            return Err(Damage("a point is not a finite number"));
        }
        out.push(Point { time, series, value });
    }
    Ok(())
}

pub(super) fn put_note(out: &mut Vec<u8>, last: Option<&Note>, row: &Note) {
    put_step(out, last.map_or(0, |last| units(last.time)), units(row.time));
    put(out, row.track.0.into());
    out.push(row.warning.into());
    put(out, row.text.0.into());
}

pub(super) fn note(bytes: &mut Bytes<'_>, last: Option<&Note>, tables: &Tables) -> Decoded<Note> {
    Ok(Note {
        time: time(bytes.step(last.map_or(0, |last| units(last.time)))?)?,
        track: TrackId(bytes.id(tables.tracks.len())?),
        warning: bytes.byte()? != 0,
        text: string(bytes, tables)?,
    })
}

/// The counts of `loss`, in the order of the file.
fn counts(loss: &mut Loss) -> [&mut u64; 9] {
    [
        &mut loss.late_ticks,
        &mut loss.dropped_samples,
        &mut loss.dropped_allocations,
        &mut loss.dropped_spans,
        &mut loss.unreadable_stacks,
        &mut loss.truncated_stacks,
        &mut loss.unnamed_frames,
        &mut loss.partial_native_stacks,
        &mut loss.blocked_threads,
    ]
}

pub(super) fn put_loss(out: &mut Vec<u8>, loss: &Loss) {
    for count in counts(&mut loss.clone()) {
        put(out, *count);
    }
}

/// Reads the counts; those a later release added are left unread, those an
/// earlier one did not have stay 0.
pub(super) fn loss(bytes: &mut Bytes<'_>) -> Decoded<Loss> {
    let mut loss = Loss::default();
    for count in counts(&mut loss) {
        if bytes.is_empty() {
            break;
        }
        *count = bytes.number()?;
    }
    Ok(loss)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Series, SeriesKind, Unit};

    #[test]
    fn every_finite_value_comes_back_bit_by_bit() {
        let (name, track) = (StringId(0), TrackId(0));
        let (unit, kind) = (Unit::Count, SeriesKind::Gauge);
        let mut tables = Tables::default();
        tables.series.push(Series { name, track, unit, kind });
        let large = i64::MAX as f64;
        for values in [[0.0, -0.0, 1.0], [large, -large, 3.0], [0.5, f64::MAX, f64::MIN_POSITIVE]] {
            let point = |value| Point { time: Time(7_000), series: SeriesId(0), value };
            let rows = values.map(point);
            let mut out = Vec::new();
            put_points(&mut out, &rows.iter().collect::<Vec<_>>());

            let mut back = Vec::new();
            points(&mut Bytes(&out), &tables, &mut back).unwrap();

            let bits =
                |rows: &[Point]| rows.iter().map(|row| row.value.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&back), bits(&rows));
        }
    }
}
