//! The few parts of an ELF image that are mapped with the program: segments,
//! the build id, the head of the unwind table index.
//!
//! Memory is read through a function the caller gives, so hostile or vanished
//! memory is an absent answer and this file needs no `unsafe`.

use std::ops::Range;

/// Fills the buffer with the bytes at an address; false when it cannot.
pub(crate) type Read<'a> = &'a dyn Fn(u64, &mut [u8]) -> bool;

/// One program header, as addresses in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// `p_type`.
    pub kind: u32,
    /// Where it is mapped.
    pub range: Range<u64>,
}

/// `p_type` of a segment that is mapped.
const PT_LOAD: u32 = 1;
/// `p_type` of a segment of notes.
const PT_NOTE: u32 = 4;
/// `p_type` of the unwind table index.
const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
/// `n_type` of a note that holds a build id.
const NT_GNU_BUILD_ID: u32 = 3;
/// Pointer encoding: a signed 32-bit distance from the field itself.
const PCREL_SDATA4: u8 = 0x1b;
/// Pointer encoding: an unsigned 32-bit number.
const UDATA4: u8 = 0x03;
/// Pointer encoding: a signed 32-bit distance from the index's own start.
const DATAREL_SDATA4: u8 = 0x3b;
/// A build id longer than this is no build id.
const LONGEST_BUILD_ID: usize = 64;

/// From the first mapped address to the last, holes between segments included.
pub(crate) fn extent(segments: &[Segment]) -> Option<Range<u64>> {
    let loaded = || segments.iter().filter(|segment| segment.kind == PT_LOAD);
    let start = loaded().map(|segment| segment.range.start).min()?;
    Some(start..loaded().map(|segment| segment.range.end).max()?)
}

/// Where the unwind table index `.eh_frame_hdr` is.
pub(crate) fn unwind_index(segments: &[Segment]) -> Option<Range<u64>> {
    let index = segments.iter().find(|segment| segment.kind == PT_GNU_EH_FRAME)?;
    Some(index.range.clone())
}

/// Where the unwind table `.eh_frame` begins, up to the end of its segment.
///
/// Its true end stands only in section headers, which are not mapped; the
/// index leads to entries inside it, so the segment's end is bound enough.
pub(crate) fn unwind_table(
    segments: &[Segment],
    index: &Range<u64>,
    read: Read<'_>,
) -> Option<Range<u64>> {
    let mut head = [0; 8];
    if index.end.checked_sub(index.start)? < 8 || !read(index.start, &mut head) {
        return None;
    }
    let [version, pointer_encoding, _, _, distance @ ..] = head;
    if version != 1 || pointer_encoding != PCREL_SDATA4 {
        return None;
    }
    let distance = i64::from(i32::from_le_bytes(distance));
    let start = index.start.checked_add(4)?.checked_add_signed(distance)?;
    let segment = segments
        .iter()
        .find(|segment| segment.kind == PT_LOAD && segment.range.contains(&start))?;
    Some(start..segment.range.end)
}

/// The start of the function that holds `pc`, as the unwind table index lists it.
///
/// Names nothing, but tells functions apart in code without symbols.
pub(crate) fn function_start(index: &Range<u64>, pc: u64, read: Read<'_>) -> Option<u64> {
    let mut head = [0; 12];
    if !read(index.start, &mut head) {
        return None;
    }
    let [version, _, count_encoding, table_encoding, _, _, _, _, count @ ..] = head;
    if (version, count_encoding, table_encoding) != (1, UDATA4, DATAREL_SDATA4) {
        return None;
    }
    let room = index.end.checked_sub(index.start.checked_add(12)?)? / 8;
    let count = u64::from(u32::from_le_bytes(count)).min(room);
    let start_of = |entry: u64| {
        let mut distance = [0; 4];
        read(index.start + 12 + 8 * entry, &mut distance)
            .then(|| index.start.wrapping_add_signed(i32::from_le_bytes(distance).into()))
    };
    // The entries are sorted: find the last one that starts at or before `pc`.
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low.midpoint(high);
        if start_of(middle)? <= pc {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    start_of(low.checked_sub(1)?)
}

/// The build id and the address where it stands.
pub(crate) fn build_id(segments: &[Segment], read: Read<'_>) -> Option<(Vec<u8>, u64)> {
    segments
        .iter()
        .filter(|segment| segment.kind == PT_NOTE)
        .find_map(|segment| build_id_note(&segment.range, read))
}

fn build_id_note(notes: &Range<u64>, read: Read<'_>) -> Option<(Vec<u8>, u64)> {
    let mut at = notes.start;
    while at.checked_add(16)? <= notes.end {
        let mut header = [0; 16];
        if !read(at, &mut header) {
            return None;
        }
        let [name_size, size, kind, name] = words(header);
        let description = (at + 12).checked_add(u64::from(name_size).next_multiple_of(4))?;
        let end = description.checked_add(u64::from(size))?;
        if end > notes.end {
            return None;
        }
        let is_gnu = name_size == 4 && name == u32::from_le_bytes(*b"GNU\0");
        if is_gnu && kind == NT_GNU_BUILD_ID && size as usize <= LONGEST_BUILD_ID {
            let mut id = vec![0; size as usize];
            return read(description, &mut id).then_some((id, description));
        }
        at = end.next_multiple_of(4);
    }
    None
}

fn words(bytes: [u8; 16]) -> [u32; 4] {
    let mut words = [0; 4];
    for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = chunk.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An image at address 0x1000.
    fn image(bytes: &[u8]) -> impl Fn(u64, &mut [u8]) -> bool {
        move |address, out| {
            let start = address.wrapping_sub(0x1000) as usize;
            let Some(from) = start.checked_add(out.len()).and_then(|end| bytes.get(start..end))
            else {
                return false;
            };
            out.copy_from_slice(from);
            true
        }
    }

    fn note(kind: u32, name: &[u8; 4], description: &[u8]) -> Vec<u8> {
        let mut note = Vec::new();
        note.extend(4u32.to_le_bytes());
        note.extend((description.len() as u32).to_le_bytes());
        note.extend(kind.to_le_bytes());
        note.extend(name);
        note.extend(description);
        note
    }

    #[test]
    fn the_build_id_is_found_behind_another_note() {
        let mut bytes = note(1, b"GNU\0", &[9; 8]);
        bytes.extend(note(NT_GNU_BUILD_ID, b"GNU\0", &[7; 20]));
        let notes = Segment { kind: PT_NOTE, range: 0x1000..0x1000 + bytes.len() as u64 };

        let found = build_id(&[notes], &image(&bytes));

        assert_eq!(found, Some((vec![7; 20], 0x1000 + 24 + 16)));
    }

    #[test]
    fn a_note_that_runs_past_its_segment_is_no_build_id() {
        let mut bytes = note(NT_GNU_BUILD_ID, b"GNU\0", &[7; 20]);
        bytes[4] = 0xff;
        let notes = Segment { kind: PT_NOTE, range: 0x1000..0x1000 + bytes.len() as u64 };

        assert_eq!(build_id(&[notes], &image(&bytes)), None);
    }

    #[test]
    fn the_unwind_table_begins_where_the_index_points() {
        let bytes = [1, PCREL_SDATA4, 3, 0x3b, 0x0c, 0, 0, 0, 0, 0, 0, 0];
        let index = 0x1000..0x100c;
        let segments = [
            Segment { kind: PT_LOAD, range: 0x1000..0x2000 },
            Segment { kind: PT_GNU_EH_FRAME, range: index.clone() },
        ];

        assert_eq!(unwind_index(&segments), Some(index.clone()));
        assert_eq!(unwind_table(&segments, &index, &image(&bytes)), Some(0x1010..0x2000));
    }

    #[test]
    fn the_index_tells_where_the_function_of_an_address_starts() {
        let mut bytes = vec![1, PCREL_SDATA4, UDATA4, DATAREL_SDATA4, 0, 0, 0, 0, 3, 0, 0, 0];
        for (start, entry) in [(0x100_i32, 1_i32), (0x180, 2), (0x300, 3)] {
            bytes.extend(start.to_le_bytes());
            bytes.extend(entry.to_le_bytes());
        }
        let index = 0x1000..0x1000 + bytes.len() as u64;
        let image = image(&bytes);

        let start = |pc| function_start(&index, pc, &image);

        assert_eq!(start(0x10ff), None);
        assert_eq!(start(0x1100), Some(0x1100));
        assert_eq!(start(0x12ff), Some(0x1180));
        assert_eq!(start(0x9000), Some(0x1300));
    }

    #[test]
    fn an_index_of_an_unknown_version_gives_no_table() {
        let bytes = [2, PCREL_SDATA4, 3, 0x3b, 0x0c, 0, 0, 0];
        let segments = [Segment { kind: PT_LOAD, range: 0x1000..0x2000 }];

        assert_eq!(unwind_table(&segments, &(0x1000..0x1008), &image(&bytes)), None);
    }
}
