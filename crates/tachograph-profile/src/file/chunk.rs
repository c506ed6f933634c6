//! Chunks: the unit that is written, checked and, after a crash, lost.
//!
//! A chunk says its kind, how its payload is packed, how long it is packed
//! and unpacked, and carries a checksum over all of it. A reader stops at the
//! first chunk that is cut off or does not match its checksum.

use std::io;

use zstd::bulk::{Compressor, Decompressor};

use super::bytes::Damage;

/// The version of the format this release writes, and the newest it reads.
pub const VERSION: u8 = 1;

/// How every recording begins. The first byte is not ASCII and the line end
/// is of two bytes, so a transfer as text is noticed at once.
pub(super) const MAGIC: [u8; 8] = *b"\x89TACHO\r\n";

/// Facts as they were when the recording started.
pub(super) const META: u8 = 1;
/// Rows of tables and events.
pub(super) const DATA: u8 = 2;
/// Facts as they were when the recording ended; nothing follows.
pub(super) const END: u8 = 3;

const STORED: u8 = 0;
const ZSTD: u8 = 1;

/// Kind, packing, packed length, unpacked length, checksum.
const HEADER: usize = 14;
const CHECKED: usize = 10;

/// zstd's own default: the writer runs beside the program it records.
const LEVEL: i32 = 3;

/// All chunks so far unpack to at most [`FREE`] bytes plus this many for each
/// byte of the file, so a small hostile file cannot fill the memory. The
/// writer keeps the rule by not compressing a chunk that would break it.
const RATIO: u64 = 32;
/// See [`RATIO`].
const FREE: u64 = 1 << 20;

/// How much a file may unpack to after `file` bytes.
fn allowance(file: u64) -> u64 {
    file.saturating_mul(RATIO).saturating_add(FREE)
}

/// Packs chunks for one file, in order.
pub(super) struct Packer {
    compressor: Compressor<'static>,
    file: u64,
    plain: u64,
}

impl Packer {
    pub(super) fn new() -> io::Result<Self> {
        let file = MAGIC.len() as u64 + 1;
        Ok(Self { compressor: Compressor::new(LEVEL)?, file, plain: 0 })
    }

    /// Appends a chunk with `plain` in it to `out`.
    pub(super) fn pack(&mut self, kind: u8, plain: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        let packed = self.compressor.compress(plain)?;
        let all_plain = self.plain + plain.len() as u64;
        let file = self.file + (HEADER + packed.len()) as u64;
        let (packing, payload) = if packed.len() < plain.len() && all_plain <= allowance(file) {
            (ZSTD, packed.as_slice())
        } else {
            (STORED, plain)
        };
        let length = |len: usize| {
            u32::try_from(len).map_err(|_| {
                let text =
                    format!("a chunk of {len} bytes is larger than 4 GiB; shorten its texts");
                io::Error::new(io::ErrorKind::InvalidInput, text)
            })
        };

        let start = out.len();
        out.extend([kind, packing]);
        out.extend(length(payload.len())?.to_le_bytes());
        out.extend(length(plain.len())?.to_le_bytes());
        let checksum = checksum(&out[start..], payload);
        out.extend(checksum.to_le_bytes());
        out.extend_from_slice(payload);
        self.file += (out.len() - start) as u64;
        self.plain = all_plain;
        Ok(())
    }
}

fn checksum(header: &[u8], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(header);
    hasher.update(payload);
    hasher.finalize()
}

/// What the next bytes of a file are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A whole chunk, unpacked.
    Chunk(u8, Vec<u8>),
    /// The bytes end here, between two chunks.
    Nothing,
    /// The bytes end inside a chunk.
    Torn,
    /// The chunk is not what was written.
    Damaged(Damage),
}

/// Walks over the chunks of a file.
pub(super) struct Chunks<'a> {
    bytes: &'a [u8],
    offset: usize,
    plain: u64,
}

impl<'a> Chunks<'a> {
    /// Starts after the magic and the version.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: MAGIC.len() + 1, plain: 0 }
    }

    /// Where in the file the next chunk starts.
    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    /// The next chunk of a kind this release knows.
    pub(super) fn next(&mut self) -> Next {
        loop {
            let rest = self.bytes.get(self.offset..).unwrap_or_default();
            if rest.is_empty() {
                return Next::Nothing;
            }
            let Some((header, rest)) = rest.split_first_chunk::<HEADER>() else {
                return Next::Torn;
            };
            let [kind, packing, a, b, c, d, e, f, g, h, i, j, k, l] = *header;
            let Some(payload) = rest.get(..u32::from_le_bytes([a, b, c, d]) as usize) else {
                return Next::Torn;
            };
            if checksum(&header[..CHECKED], payload) != u32::from_le_bytes([i, j, k, l]) {
                return Next::Damaged(Damage("a checksum does not match"));
            }
            let end = self.offset + HEADER + payload.len();
            if !matches!(kind, META | DATA | END) {
                self.offset = end;
                continue;
            }
            let len = u32::from_le_bytes([e, f, g, h]);
            self.plain += u64::from(len);
            return match self.unpack(packing, payload, len as usize, end) {
                Ok(plain) => {
                    self.offset = end;
                    Next::Chunk(kind, plain)
                }
                Err(damage) => Next::Damaged(damage),
            };
        }
    }

    fn unpack(
        &self,
        packing: u8,
        payload: &[u8],
        len: usize,
        end: usize,
    ) -> Result<Vec<u8>, Damage> {
        if self.plain > allowance(end as u64) {
            return Err(Damage("a chunk unpacks to more than the format allows"));
        }
        let plain = match packing {
            STORED => payload.to_vec(),
            ZSTD => Decompressor::new()
                .and_then(|mut decompressor| decompressor.decompress(payload, len))
                .map_err(|_| Damage("a chunk does not unpack"))?,
            _ => return Err(Damage("a chunk is packed in an unknown way")),
        };
        if plain.len() != len {
            return Err(Damage("a chunk unpacks to another length than it says"));
        }
        Ok(plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(chunks: &[(u8, &[u8])]) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.push(VERSION);
        let mut packer = Packer::new().unwrap();
        for (kind, plain) in chunks {
            packer.pack(*kind, plain, &mut out).unwrap();
        }
        out
    }

    #[test]
    fn a_kind_from_the_future_is_skipped() {
        let bytes = file(&[(META, b"first"), (200, b"later release"), (END, b"last")]);
        let mut chunks = Chunks::new(&bytes);

        assert_eq!(chunks.next(), Next::Chunk(META, b"first".to_vec()));
        assert_eq!(chunks.next(), Next::Chunk(END, b"last".to_vec()));
        assert_eq!(chunks.next(), Next::Nothing);
    }

    #[test]
    fn a_chunk_that_packs_too_well_is_stored() {
        let zeros = vec![0; 4 << 20];
        let bytes = file(&[(DATA, &zeros)]);

        assert!(bytes.len() > zeros.len());
        assert_eq!(Chunks::new(&bytes).next(), Next::Chunk(DATA, zeros));
    }

    #[test]
    fn a_bomb_is_refused_before_it_is_unpacked() {
        let mut bytes = file(&[]);
        let payload = zstd::bulk::compress(&vec![0; 64 << 20], LEVEL).unwrap();
        let mut header = vec![DATA, ZSTD];
        header.extend((payload.len() as u32).to_le_bytes());
        header.extend((64_u32 << 20).to_le_bytes());
        let sum = checksum(&header, &payload);
        bytes.extend(header);
        bytes.extend(sum.to_le_bytes());
        bytes.extend(payload);

        let expected = Damage("a chunk unpacks to more than the format allows");
        assert_eq!(Chunks::new(&bytes).next(), Next::Damaged(expected));
    }

    #[test]
    fn every_flipped_bit_of_a_chunk_is_noticed() {
        let good = file(&[(DATA, b"some rows of a table, some rows of a table")]);
        for at in MAGIC.len() + 1..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[at] ^= 1 << bit;
                let next = Chunks::new(&bad).next();
                assert!(matches!(next, Next::Torn | Next::Damaged(_)), "{at} {bit} {next:?}");
            }
        }
    }
}
