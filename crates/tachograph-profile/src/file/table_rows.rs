//! Rows of the tables, as sections of a data chunk.
//!
//! Ids are written as the distance to a neighbour where that is small: a
//! stack's caller is usually the row before it, a frame's file is the file of
//! the frame before.

use super::bytes::{Bytes, Damage, Decoded, put, put_option, put_step, put_text, units};
use super::codes::{self, FRAME_KINDS, SERIES_KINDS, TRACK_KINDS, UNITS};
use crate::model::{
    Frame, FrameId, Mapping, MappingId, Series, Source, StackId, StackNode, StringId, Tables,
    Track, TrackId,
};

/// Set in the kind byte of a frame that has a mapping or an address.
const HAS_ADDRESS: u8 = 0x80;

pub(super) fn put_mapping(out: &mut Vec<u8>, row: &Mapping) {
    put(out, row.path.0.into());
    put(out, row.build_id.0.into());
    put(out, row.start);
    put(out, row.end.wrapping_sub(row.start));
}

pub(super) fn mapping(bytes: &mut Bytes<'_>, tables: &Tables) -> Decoded<Mapping> {
    let path = string(bytes, tables)?;
    let build_id = string(bytes, tables)?;
    let start = bytes.number()?;
    let end = start.checked_add(bytes.number()?);
    let end = end.ok_or(Damage("a mapping ends past the last address"))?;
    Ok(Mapping { path, build_id, start, end })
}

/// Appends `row`, written next to `last`, the row before it in the section.
pub(super) fn put_frame(out: &mut Vec<u8>, last: Option<&Frame>, row: &Frame) {
    let with_address = row.mapping.is_some() || row.address != 0;
    let (function, file) = last.map_or((0, 0), |last| (last.function.0, last.file.0));
    out.push(codes::code(FRAME_KINDS, &row.kind) | if with_address { HAS_ADDRESS } else { 0 });
    put_step(out, function.into(), row.function.0.into());
    put_step(out, file.into(), row.file.0.into());
    put(out, row.first_line.into());
    put_step(out, row.first_line.into(), row.line.into());
    if with_address {
        put_option(out, row.mapping.map(|id| id.0));
        put(out, row.address);
    }
}

pub(super) fn frame(
    bytes: &mut Bytes<'_>,
    last: Option<&Frame>,
    tables: &Tables,
) -> Decoded<Frame> {
    let head = bytes.byte()?;
    let kind = codes::variant(FRAME_KINDS, head & !HAS_ADDRESS)?;
    let (function, file) = last.map_or((0, 0), |last| (last.function.0, last.file.0));
    let strings = tables.strings.len();
    let function = super::bytes::in_table(bytes.step(function.into())?, strings)?;
    let file = super::bytes::in_table(bytes.step(file.into())?, strings)?;
    let first_line = bytes.small()?;
    let line = u32::try_from(bytes.step(first_line.into())?);
    let line = line.map_err(|_| Damage("a line number is out of range"))?;
    let (mut mapping, mut address) = (None, 0);
    if head & HAS_ADDRESS != 0 {
        mapping = bytes.option(tables.mappings.len())?.map(MappingId);
        address = bytes.number()?;
    }
    let (function, file) = (StringId(function), StringId(file));
    Ok(Frame { function, file, line, first_line, kind, mapping, address })
}

/// Appends the stack `row` whose id is `id`.
pub(super) fn put_stack(out: &mut Vec<u8>, id: usize, last: Option<&StackNode>, row: &StackNode) {
    let distance = |caller: StackId| (id as u64).saturating_sub(caller.0.into());
    put(out, row.caller.map_or(0, distance));
    put_step(out, last.map_or(0, |last| last.frame.0.into()), row.frame.0.into());
}

pub(super) fn stack(
    bytes: &mut Bytes<'_>,
    last: Option<&StackNode>,
    tables: &Tables,
) -> Decoded<StackNode> {
    let caller = match bytes.number()? {
        0 => None,
        distance => {
            let caller = (tables.stacks.len() as u64).checked_sub(distance);
            let caller = caller.ok_or(Damage("a stack is called from before the first"))?;
            Some(StackId::from(caller as usize))
        }
    };
    let frame = bytes.step(last.map_or(0, |last| last.frame.0.into()))?;
    let frame = FrameId(super::bytes::in_table(frame, tables.frames.len())?);
    Ok(StackNode { caller, frame })
}

pub(super) fn put_track(out: &mut Vec<u8>, row: &Track) {
    out.push(codes::code(TRACK_KINDS, &row.kind));
    put_option(out, row.parent.map(|id| id.0));
    put(out, row.os_id);
    put(out, row.name.0.into());
    put(out, units(row.start));
    put(out, row.end.map_or(0, |end| units(end) + 1));
}

/// Reads the track whose id is `id`; its parent comes before it.
pub(super) fn track(bytes: &mut Bytes<'_>, id: usize, tables: &Tables) -> Decoded<Track> {
    let kind = bytes.variant(TRACK_KINDS)?;
    let parent = bytes.option(id)?.map(TrackId);
    let os_id = bytes.number()?;
    let name = string(bytes, tables)?;
    let start = bytes.time()?;
    let end = match bytes.number()? {
        0 => None,
        above => Some(super::bytes::time(above - 1)?),
    };
    if end.is_some_and(|end| end < start) {
        return Err(Damage("a track ends before it starts"));
    }
    Ok(Track { kind, parent, os_id, name, start, end })
}

pub(super) fn put_series(out: &mut Vec<u8>, row: &Series) {
    put(out, row.name.0.into());
    put(out, row.track.0.into());
    out.push(codes::code(UNITS, &row.unit));
    out.push(codes::code(SERIES_KINDS, &row.kind));
}

pub(super) fn series(bytes: &mut Bytes<'_>, tables: &Tables) -> Decoded<Series> {
    let name = string(bytes, tables)?;
    let track = TrackId(bytes.id(tables.tracks.len())?);
    let unit = bytes.variant(UNITS)?;
    let kind = bytes.variant(SERIES_KINDS)?;
    Ok(Series { name, track, unit, kind })
}

pub(super) fn put_source(out: &mut Vec<u8>, row: &Source) {
    put(out, row.file.0.into());
    put_text(out, &row.text);
}

pub(super) fn source(bytes: &mut Bytes<'_>, tables: &Tables) -> Decoded<Source> {
    let file = string(bytes, tables)?;
    Ok(Source { file, text: bytes.text()?.into() })
}

pub(super) fn string(bytes: &mut Bytes<'_>, tables: &Tables) -> Decoded<StringId> {
    bytes.id(tables.strings.len()).map(StringId)
}
