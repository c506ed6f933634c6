//! An ELF object as it lies in the memory of a process: its segments, and the
//! symbols it offers to others.
//!
//! What is mapped is all that is read, so it makes no difference whether the
//! file is large, stripped, deleted or in another file system. Every CPython
//! offers `_PyRuntime`, statically linked ones too.

use std::ops::Range;

use tachograph_probe::memory::ReadMemory;

use crate::native::elf::Segment;

/// More program headers than an object has.
const MOST_HEADERS: u16 = 128;
/// More entries than a dynamic section has.
const MOST_ENTRIES: u64 = 512;
/// More symbols with one hash than an object has.
const LONGEST_CHAIN: u32 = 4096;
/// `p_type` of a segment that is mapped.
const PT_LOAD: u32 = 1;
/// `p_type` of the dynamic section.
const PT_DYNAMIC: u32 = 2;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
/// Bytes of one symbol.
const SYMBOL: u64 = 24;

/// An ELF object in memory.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    /// Distance between addresses in the file and addresses in memory.
    pub(crate) bias: u64,
    /// Its segments, where they are mapped.
    pub(crate) segments: Vec<Segment>,
}

impl Image {
    /// The object whose head is mapped at `start`.
    pub(crate) fn at<M: ReadMemory>(memory: &M, start: u64) -> Option<Self> {
        let mut head = [0; 64];
        if !memory.bytes(start, &mut head) || !head.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        let half = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let table = u64::from_le_bytes(head[32..40].try_into().ok()?);
        let (size, count) = (u64::from(half(54)), half(56).min(MOST_HEADERS));
        let mut segments = Vec::new();
        for index in 0..u64::from(count) {
            let mut header = [0; 56];
            if !memory.bytes(start.wrapping_add(table).wrapping_add(index * size), &mut header) {
                return None;
            }
            let word = |at: usize| {
                let bytes = header.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
                bytes.map_or(0, u64::from_le_bytes)
            };
            let kind = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
            segments.push(Segment { kind, range: word(16)..word(16).wrapping_add(word(40)) });
        }
        let loaded = segments.iter().filter(|segment| segment.kind == PT_LOAD);
        let lowest = loaded.map(|segment| segment.range.start).min()?;
        let bias = start.wrapping_sub(lowest & !0xfff);
        for segment in &mut segments {
            let Range { start, end } = segment.range;
            segment.range = start.wrapping_add(bias)..end.wrapping_add(bias);
        }
        Some(Self { bias, segments })
    }

    /// Where the exported symbol `name` is.
    pub(crate) fn symbol<M: ReadMemory>(&self, memory: &M, name: &str) -> Option<Range<u64>> {
        let dynamic = self.segments.iter().find(|segment| segment.kind == PT_DYNAMIC)?;
        let (mut strings, mut symbols, mut hashes) = (None, None, None);
        for index in 0..MOST_ENTRIES {
            let at = dynamic.range.start + index * 16;
            match memory.word(at)? {
                0 => break,
                DT_STRTAB => strings = Some(self.loaded(memory.word(at + 8)?)),
                DT_SYMTAB => symbols = Some(self.loaded(memory.word(at + 8)?)),
                DT_GNU_HASH => hashes = Some(self.loaded(memory.word(at + 8)?)),
                _ => {}
            }
        }
        let tables = Tables { memory, strings: strings?, symbols: symbols?, hashes: hashes? };
        let found = tables.find(name)?;
        let start = found.start.wrapping_add(self.bias);
        Some(start..start.wrapping_add(found.end))
    }

    /// The GNU loader turns addresses of the dynamic section into those in
    /// memory, others leave them as they are in the file.
    fn loaded(&self, address: u64) -> u64 {
        if address < self.bias { address.wrapping_add(self.bias) } else { address }
    }
}

/// The symbols an object offers, found by their hash.
struct Tables<'a, M> {
    memory: &'a M,
    strings: u64,
    symbols: u64,
    hashes: u64,
}

impl<M: ReadMemory> Tables<'_, M> {
    /// Address in the file and size of the symbol `name`.
    fn find(&self, name: &str) -> Option<Range<u64>> {
        let half = |index: u64| self.half(self.hashes.wrapping_add(index * 4));
        let (buckets, first, bloom) = (half(0)?, half(1)?, half(2)?);
        let buckets_at = self.hashes.wrapping_add(16 + u64::from(bloom) * 8);
        let chains_at = buckets_at.wrapping_add(u64::from(buckets) * 4);
        let hash = gnu_hash(name);
        let bucket = u64::from(hash.checked_rem(buckets)?);
        let mut index = self.half(buckets_at.wrapping_add(bucket * 4))?;
        for _ in 0..LONGEST_CHAIN {
            let position = u64::from(index.checked_sub(first)?);
            let found = self.half(chains_at.wrapping_add(position * 4))?;
            if found | 1 == hash | 1
                && let Some(symbol) = self.symbol(index, name)
            {
                return Some(symbol);
            }
            if found & 1 == 1 {
                return None;
            }
            index = index.checked_add(1)?;
        }
        None
    }

    /// Value and size of symbol number `index` if it is called `name`.
    fn symbol(&self, index: u32, name: &str) -> Option<Range<u64>> {
        let at = self.symbols.wrapping_add(u64::from(index) * SYMBOL);
        let string = self.strings.wrapping_add(u64::from(self.half(at)?));
        let mut found = vec![0; name.len() + 1];
        let is_name = self.memory.bytes(string, &mut found)
            && found.split_last().is_some_and(|(end, text)| *end == 0 && text == name.as_bytes());
        let (value, size) = (self.memory.word(at + 8)?, self.memory.word(at + 16)?);
        is_name.then_some(value..size)
    }

    fn half(&self, address: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        self.memory.bytes(address, &mut bytes).then(|| u32::from_le_bytes(bytes))
    }
}

fn gnu_hash(name: &str) -> u32 {
    name.bytes().fold(5381, |hash: u32, byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attach::find::maps::mapped;
    use crate::python::ProcessMemory;
    use crate::sys::{dynamic, threads};

    #[test]
    fn a_symbol_is_where_the_loader_says_it_is() {
        let memory = ProcessMemory::own();
        let maps = mapped(threads::process_id()).unwrap();
        let libc = maps.iter().find(|object| object.file_name().starts_with("libc.so")).unwrap();
        let image = Image::at(&memory, libc.start).unwrap();

        let found = image.symbol(&memory, "qsort").unwrap();

        assert_eq!(Some(found.start as usize), dynamic::symbol(c"qsort"));
        assert!(found.end > found.start);
        assert_eq!(image.symbol(&memory, "no_such_symbol_is_here"), None);
    }

    #[test]
    fn memory_that_is_no_elf_object_is_no_image() {
        let zeros = [0_u64; 64];
        assert!(Image::at(&ProcessMemory::own(), zeros.as_ptr() as u64).is_none());
        assert!(Image::at(&ProcessMemory::own(), 8).is_none());
    }
}
