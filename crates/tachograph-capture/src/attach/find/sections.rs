//! `_PyRuntime` in the file of an interpreter that does not export it.
//!
//! The symbol table says where it is, unless it was stripped. Builds of 3.11 and
//! newer also keep it in a section of its own.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// More sections than a file has.
const MOST_SECTIONS: u16 = 4096;
/// A symbol table larger than this is not read.
const LARGEST_TABLE: u64 = 256 << 20;
/// `sh_type` of the symbol table.
const SYMTAB: u32 = 2;
/// Bytes of one section header.
const HEADER: usize = 64;
/// Bytes of one symbol.
const SYMBOL: usize = 24;

struct Section {
    name: u32,
    kind: u32,
    address: u64,
    offset: u64,
    size: u64,
    link: u32,
}

/// Where `_PyRuntime` is in a process that mapped `file` with this bias.
pub(crate) fn runtime(file: &File, bias: u64) -> Option<Range<u64>> {
    let sections = sections(file)?;
    let found =
        by_symbol(file, &sections.all).or_else(|| by_section(file, &sections, b".PyRuntime"))?;
    Some(found.start.wrapping_add(bias)..found.end.wrapping_add(bias))
}

struct Sections {
    all: Vec<Section>,
    names: usize,
}

fn sections(file: &File) -> Option<Sections> {
    let head = read(file, 0, 64)?;
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (table, size) = (word(&head, 40)?, half(&head, 58)?);
    let (count, names) = (half(&head, 60)?.min(MOST_SECTIONS), half(&head, 62)?);
    if usize::from(size) != HEADER {
        return None;
    }
    let headers = read(file, table, u64::from(count) * HEADER as u64)?;
    let section = |header: &[u8]| {
        Some(Section {
            name: word(header, 0)? as u32,
            kind: (word(header, 0)? >> 32) as u32,
            address: word(header, 16)?,
            offset: word(header, 24)?,
            size: word(header, 32)?,
            link: word(header, 40)? as u32,
        })
    };
    let all = headers.chunks_exact(HEADER).filter_map(section).collect();
    Some(Sections { all, names: usize::from(names) })
}

fn by_symbol(file: &File, sections: &[Section]) -> Option<Range<u64>> {
    let table = sections.iter().find(|section| section.kind == SYMTAB)?;
    let strings = sections.get(table.link as usize)?;
    let symbols = read(file, table.offset, table.size)?;
    let strings = read(file, strings.offset, strings.size)?;
    symbols.chunks_exact(SYMBOL).find_map(|symbol| {
        let name = strings.get((word(symbol, 0)? & 0xffff_ffff) as usize..)?;
        let (value, size) = (word(symbol, 8)?, word(symbol, 16)?);
        (name.starts_with(b"_PyRuntime\0") && value != 0).then(|| value..value + size)
    })
}

/// Where the section called `name` is in a process that mapped `file` with this bias.
pub(crate) fn section(file: &File, bias: u64, name: &[u8]) -> Option<Range<u64>> {
    let found = by_section(file, &sections(file)?, name)?;
    Some(found.start.wrapping_add(bias)..found.end.wrapping_add(bias))
}

fn by_section(file: &File, sections: &Sections, wanted: &[u8]) -> Option<Range<u64>> {
    let names = sections.all.get(sections.names)?;
    let names = read(file, names.offset, names.size)?;
    let is_wanted = |section: &&Section| {
        let name = names.get(section.name as usize..).unwrap_or_default();
        name.strip_prefix(wanted).is_some_and(|rest| rest.first() == Some(&0))
    };
    let found = sections.all.iter().find(is_wanted)?;
    Some(found.address..found.address + found.size)
}

fn read(file: &File, offset: u64, size: u64) -> Option<Vec<u8>> {
    let length = usize::try_from(size).ok().filter(|_| size <= LARGEST_TABLE)?;
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, offset).ok().map(|()| bytes)
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_le_bytes)
}
