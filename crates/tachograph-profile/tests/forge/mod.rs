//! Makes recordings no writer of ours would make: wrong inside, right outside.
//!
//! It follows `docs/reference/file-format.md` and shares no code with the
//! crate, so a change of the format by mistake is noticed here.
#![allow(dead_code, reason = "each test binary uses a part")]

/// Magic and version.
const HEAD: usize = 9;
/// Kind, packing, two lengths, checksum.
const CHUNK_HEAD: usize = 14;

/// `file` with every chunk unpacked, changed, and stored under a new checksum.
pub(crate) fn rewrite(file: &[u8], mut change: impl FnMut(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = file[..HEAD].to_vec();
    let mut rest = &file[HEAD..];
    while !rest.is_empty() {
        let number = |at: usize| {
            let bytes = rest[at..at + 4].try_into().expect("four bytes");
            u32::from_le_bytes(bytes) as usize
        };
        let (packed, len) = (number(2), number(6));
        let payload = &rest[CHUNK_HEAD..CHUNK_HEAD + packed];
        let mut plain = match rest[1] {
            0 => payload.to_vec(),
            _ => zstd::bulk::decompress(payload, len).expect("a chunk of our own unpacks"),
        };
        // The facts stay, or nearly every file would end with an error there.
        if rest[0] == 2 {
            change(&mut plain);
        }
        store(&mut out, rest[0], &plain);
        rest = &rest[CHUNK_HEAD + packed..];
    }
    out
}

/// Appends a chunk that is not compressed.
pub(crate) fn store(out: &mut Vec<u8>, kind: u8, plain: &[u8]) {
    let len = u32::try_from(plain.len()).expect("less than 4 GiB").to_le_bytes();
    let header = [&[kind, 0][..], &len, &len].concat();
    let checksum = crc32fast::hash(&[&header, plain].concat());
    out.extend(header);
    out.extend(checksum.to_le_bytes());
    out.extend_from_slice(plain);
}
