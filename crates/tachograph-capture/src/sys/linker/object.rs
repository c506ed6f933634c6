//! What one loaded object says about itself: its segments, its symbols and the
//! slots through which it calls others.

use std::ffi::CStr;
use std::ops::Range;

const DT_PLTRELSZ: i64 = 2;
const DT_HASH: i64 = 4;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_STRSZ: i64 = 10;
const DT_PLTREL: i64 = 20;
const DT_JMPREL: i64 = 23;
const DT_GNU_HASH: i64 = 0x6fff_fef5;

/// More entries than a dynamic section has.
const MOST_TAGS: usize = 1024;

#[cfg(target_arch = "x86_64")]
mod kinds {
    pub(super) const ABSOLUTE: u32 = 1;
    pub(super) const DATA: u32 = 6;
    pub(super) const JUMP: u32 = 7;
}
#[cfg(target_arch = "aarch64")]
mod kinds {
    pub(super) const ABSOLUTE: u32 = 257;
    pub(super) const DATA: u32 = 1025;
    pub(super) const JUMP: u32 = 1026;
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Tag {
    tag: i64,
    value: u64,
}

/// One relocation, as the file has it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Relocation {
    offset: u64,
    info: u64,
    addend: i64,
}

/// One loaded object. Valid inside the loader's callback that it was made in.
pub(super) struct Object {
    base: u64,
    /// Where its segments lie.
    pub(super) range: Range<u64>,
    /// The dynamic section, by which the object is known.
    pub(super) dynamic: u64,
    /// The whole pages that the loader makes read-only after relocation.
    pub(super) relro: Range<u64>,
    strings: Range<u64>,
    symbols: u64,
    gnu_hash: u64,
    hash: u64,
    jumps: Range<u64>,
    data: Range<u64>,
}

/// A slot through which an object calls, or points to, a function by name.
pub(super) struct Slot {
    /// Where the slot is.
    pub(super) address: u64,
    /// The slot is filled at the first call, if the object binds lazily.
    pub(super) is_jump: bool,
    /// Which symbol of the object it is for.
    pub(super) symbol: u32,
}

impl Object {
    /// Reads the headers of `info`; `None` for one without a dynamic section.
    pub(super) fn of(info: &libc::dl_phdr_info) -> Option<Self> {
        if info.dlpi_phdr.is_null() {
            return None;
        }
        // SAFETY: the loader's description names this many program headers, mapped as
        // long as the object is, which the list lock around the callback guarantees.
        let headers =
            unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let base = info.dlpi_addr;
        let (mut first, mut last) = (u64::MAX, 0);
        let (mut dynamic, mut relro) = (0, 0..0);
        for header in headers {
            let start = base.wrapping_add(header.p_vaddr);
            let end = start.wrapping_add(header.p_memsz);
            match header.p_type {
                libc::PT_LOAD => (first, last) = (first.min(start), last.max(end)),
                libc::PT_DYNAMIC => dynamic = start,
                // The loader rounds both ends down.
                libc::PT_GNU_RELRO => relro = start & !4095..end & !4095,
                _ => {}
            }
        }
        let range = first..last;
        if dynamic == 0 || range.is_empty() {
            return None;
        }
        let mut object = Self {
            base,
            range,
            dynamic,
            relro,
            strings: 0..0,
            symbols: 0,
            gnu_hash: 0,
            hash: 0,
            jumps: 0..0,
            data: 0..0,
        };
        object.read_dynamic();
        (object.symbols != 0 && object.strings.start != 0).then_some(object)
    }

    fn read_dynamic(&mut self) {
        let (mut jumps, mut jumps_size, mut data, mut data_size) = (0, 0, 0, 0);
        let (mut strings, mut strings_size, mut with_addend) = (0, 0, true);
        for at in 0..MOST_TAGS {
            let entry: Tag = self.read(self.dynamic + (at * size_of::<Tag>()) as u64);
            // Some loaders store addresses, some offsets.
            let pointer =
                if entry.value < self.base { self.base + entry.value } else { entry.value };
            match entry.tag {
                0 => break,
                DT_PLTRELSZ => jumps_size = entry.value,
                DT_PLTREL => with_addend = entry.value == DT_RELA as u64,
                DT_JMPREL => jumps = pointer,
                DT_RELA => data = pointer,
                DT_RELASZ => data_size = entry.value,
                DT_STRTAB => strings = pointer,
                DT_STRSZ => strings_size = entry.value,
                DT_SYMTAB => self.symbols = pointer,
                DT_GNU_HASH => self.gnu_hash = pointer,
                DT_HASH => self.hash = pointer,
                _ => {}
            }
        }
        self.strings = strings..strings.saturating_add(strings_size);
        if jumps != 0 && with_addend {
            self.jumps = jumps..jumps.saturating_add(jumps_size);
        }
        if data != 0 {
            self.data = data..data.saturating_add(data_size);
        }
    }

    /// Reads a value of the object's own tables.
    fn read<T: Copy>(&self, address: u64) -> T {
        // SAFETY: called for places in tables that the object's own dynamic section
        // names, which lie in its mapped segments; the loader's list lock keeps them
        // mapped. Tables hold plain integers in any alignment.
        unsafe { std::ptr::read_unaligned(address as *const T) }
    }

    /// Every slot that names a symbol.
    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        let tables = [self.jumps.clone(), self.data.clone()];
        tables
            .into_iter()
            .flat_map(|table| table.step_by(size_of::<Relocation>()).filter_map(|at| self.slot(at)))
    }

    #[inline]
    fn slot(&self, at: u64) -> Option<Slot> {
        let relocation: Relocation = self.read(at);
        let (kind, symbol) = (relocation.info as u32, (relocation.info >> 32) as u32);
        let is_jump = kind == kinds::JUMP;
        let named =
            is_jump || kind == kinds::DATA || kind == kinds::ABSOLUTE && relocation.addend == 0;
        if !named || symbol == 0 {
            return None;
        }
        let address = self.base.wrapping_add(relocation.offset);
        (address.is_multiple_of(8) && self.range.contains(&address)).then_some(Slot {
            address,
            is_jump,
            symbol,
        })
    }

    /// What a symbol is called.
    #[inline]
    pub(super) fn name(&self, symbol: u32) -> Option<&CStr> {
        let row: libc::Elf64_Sym = self.row(symbol);
        let start = self.strings.start + u64::from(row.st_name);
        if !self.strings.contains(&start) {
            return None;
        }
        // SAFETY: the offset lies inside the string table, which ends with a zero
        // byte, and the object stays mapped for the time of the callback.
        Some(unsafe { CStr::from_ptr(start as *const libc::c_char) })
    }

    /// Whether the object itself defines the symbol.
    pub(super) fn defines(&self, symbol: u32) -> bool {
        self.row(symbol).st_shndx != 0
    }

    fn row(&self, symbol: u32) -> libc::Elf64_Sym {
        self.read(self.symbols + u64::from(symbol) * size_of::<libc::Elf64_Sym>() as u64)
    }

    /// Where the object defines the function `name`.
    pub(super) fn defined(&self, name: &CStr) -> Option<usize> {
        let found = if self.gnu_hash != 0 { self.by_gnu_hash(name) } else { self.by_hash(name) };
        let row = self.row(found?);
        let address = self.base.wrapping_add(row.st_value);
        match row.st_info & 0xf {
            // A function.
            2 => Some(address as usize),
            // A function that answers where the function is.
            10 => {
                // SAFETY: the symbol's type says that this address is a resolver: a
                // function without arguments that returns an address.
                let resolver = unsafe {
                    std::mem::transmute::<usize, extern "C" fn() -> usize>(address as usize)
                };
                Some(resolver())
            }
            _ => None,
        }
    }

    fn is(&self, symbol: u32, name: &CStr) -> bool {
        self.defines(symbol) && self.name(symbol) == Some(name)
    }

    fn by_gnu_hash(&self, name: &CStr) -> Option<u32> {
        let hash = name
            .to_bytes()
            .iter()
            .fold(5381_u32, |hash, byte| hash.wrapping_mul(33).wrapping_add(u32::from(*byte)));
        let [buckets, first, blooms]: [u32; 3] = self.read(self.gnu_hash);
        if buckets == 0 {
            return None;
        }
        let table = self.gnu_hash + 16 + u64::from(blooms) * 8;
        let mut symbol: u32 = self.read(table + u64::from(hash % buckets) * 4);
        let chains = table + u64::from(buckets) * 4;
        while symbol >= first {
            let link: u32 = self.read(chains + u64::from(symbol - first) * 4);
            if link | 1 == hash | 1 && self.is(symbol, name) {
                return Some(symbol);
            }
            if link & 1 == 1 {
                return None;
            }
            symbol += 1;
        }
        None
    }

    fn by_hash(&self, name: &CStr) -> Option<u32> {
        if self.hash == 0 {
            return None;
        }
        let count: u32 = self.read(self.hash + 4);
        (1..count).find(|symbol| self.is(*symbol, name))
    }
}
