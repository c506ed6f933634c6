//! Names for native addresses, resolved after capture and off the hot path.
//!
//! Only symbol tables are read. Debug information would add lines, but parsing
//! it takes seconds for a large library. An object that was unloaded meanwhile
//! is still known by its number, and a file that was replaced on disk since it
//! was loaded is not trusted for names.

use std::path::Path;
use std::sync::Arc;

use blazesym::Pid;
use blazesym::symbolize::source::{Elf, Process, Source};
use blazesym::symbolize::{Input, Sym, Symbolized, Symbolizer as Reader};
use rustc_hash::FxHashMap;

use super::elf;
use super::objects::{object, object_at};
use crate::sys::native::memory::{read_bytes, read_word};
use crate::sys::native::objects::LoadedObject;
use crate::sys::native::unwind::{PC_BITS, PC_MASK};

/// Names kept; when there are more, all are forgotten and resolved anew.
const MOST_NAMES: usize = 200_000;

/// Code of `_init` ends before this: 23 to 27 bytes, then the table, aligned to 16.
const LONGEST_INIT: usize = 32;

/// What calls to other libraries, and some of a library to itself, jump through.
const JUMP_TABLE: &str = "[jump table]";

/// How the loader calls the object that the kernel maps into every process.
const KERNEL_OBJECT: &str = "linux-vdso";

/// What a native address is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NativeSymbol {
    /// The function, demangled; when it has no symbol `libfoo.so+0x1234`, with
    /// the address in the file where the function starts.
    pub function: String,
    /// Whether `function` is a symbol's name.
    pub is_named: bool,
    /// The object's file.
    pub module_path: String,
    /// The object's first mapped address.
    pub module_base: u64,
    /// The first address past the object.
    pub module_end: u64,
    /// The object's build id as hex digits; empty when it has none.
    pub build_id: String,
    /// The address as the object's file counts it.
    pub file_address: u64,
    /// Where the function starts, counted the same way; `file_address` when unknown.
    pub function_start: u64,
}

impl NativeSymbol {
    /// The symbol's name, or nothing.
    #[must_use]
    pub fn known_name(&self) -> &str {
        if self.is_named { &self.function } else { "" }
    }

    /// Distance from the start of the function.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.file_address.saturating_sub(self.function_start)
    }
}

/// Turns the code words of captured frames into names, and remembers them.
pub struct Symbolizer {
    reader: Reader,
    names: FxHashMap<u64, Arc<NativeSymbol>>,
    /// Per path, the build id it was read for and whether the file has it.
    files: FxHashMap<String, (Vec<u8>, bool)>,
}

impl std::fmt::Debug for Symbolizer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Symbolizer").field("names", &self.names.len()).finish()
    }
}

impl Default for Symbolizer {
    fn default() -> Self {
        Self::new()
    }
}

impl Symbolizer {
    /// A symbolizer that has read nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self { reader: reader(), names: FxHashMap::default(), files: FxHashMap::default() }
    }

    /// The symbols of `codes`, in their order.
    ///
    /// A code word is a frame's address with its object's number above it, as
    /// the unwinder gives it. The first look into a large library takes some
    /// milliseconds; a word that was seen before costs one hash lookup.
    pub fn resolve(&mut self, codes: &[u64]) -> Vec<Arc<NativeSymbol>> {
        if self.names.len() > MOST_NAMES {
            self.names.clear();
        }
        let mut new: Vec<u64> =
            codes.iter().copied().filter(|code| !self.names.contains_key(code)).collect();
        new.sort_unstable();
        new.dedup();
        for group in new.chunk_by(|a, b| a >> PC_BITS == b >> PC_BITS) {
            self.learn(group);
        }
        codes.iter().map(|code| self.names.get(code).cloned().unwrap_or_default()).collect()
    }

    /// Resolves words of one object number.
    fn learn(&mut self, codes: &[u64]) {
        let Some(first) = codes.first() else { return };
        let id = (first >> PC_BITS) as u16;
        let symbols: Vec<NativeSymbol> = if id == 0 {
            codes.iter().map(|code| self.symbol_at(*code)).collect()
        } else if let Some(object) = object(id) {
            self.symbols_in(&object, codes)
        } else {
            codes.iter().map(|code| nowhere(code & PC_MASK)).collect()
        };
        for (code, symbol) in codes.iter().zip(symbols) {
            self.names.insert(*code, Arc::new(symbol));
        }
    }

    /// Resolves a word without an object, by what is at its address now.
    fn symbol_at(&mut self, code: u64) -> NativeSymbol {
        object_at(code & PC_MASK)
            .and_then(|object| self.symbols_in(&object, &[code]).pop())
            .unwrap_or_else(|| nowhere(code & PC_MASK))
    }

    fn symbols_in(&mut self, object: &LoadedObject, codes: &[u64]) -> Vec<NativeSymbol> {
        let unnamed = |code| unnamed(object, code & PC_MASK);
        let mut symbols: Vec<NativeSymbol> = codes.iter().map(unnamed).collect();
        let addresses: Vec<u64> = symbols.iter().map(|symbol| symbol.file_address).collect();
        let found = self.look_up(object, &addresses);
        for (symbol, found) in symbols.iter_mut().zip(found) {
            if let Some((name, start)) = found {
                symbol.function = tidy(&name).to_owned();
                symbol.is_named = true;
                symbol.function_start = start;
            }
        }
        for symbol in symbols.iter_mut().filter(|symbol| !symbol.is_named) {
            symbol.function_start = start_of(object, symbol.file_address);
            let file_name = object.name.rsplit('/').next().unwrap_or_default();
            symbol.function = format!("{file_name}+{:#x}", symbol.function_start);
        }
        symbols
    }

    /// Names and starts of the functions at addresses in the object's file.
    fn look_up(&mut self, object: &LoadedObject, addresses: &[u64]) -> Vec<Option<(String, u64)>> {
        let found = if object.name.starts_with(KERNEL_OBJECT) {
            // It has no file; its symbols are read from memory.
            let mut process = Process::new(Pid::Slf);
            process.debug_syms = false;
            process.perf_map = false;
            process.map_files = false;
            let in_memory = addresses.iter().map(|at| at.wrapping_add(object.bias));
            let in_memory: Vec<u64> = in_memory.collect();
            let source = Source::from(process);
            self.reader.symbolize(&source, Input::AbsAddr(&in_memory))
        } else if self.trusts(object) {
            let mut elf = Elf::new(&object.name);
            elf.debug_syms = false;
            let source = Source::from(elf);
            self.reader.symbolize(&source, Input::VirtOffset(addresses))
        } else {
            return Vec::new();
        };
        let named = |found| match found {
            Symbolized::Sym(Sym { name, addr, offset, .. }) => {
                Some((own_name(&name, offset).to_owned(), addr))
            }
            Symbolized::Unknown(_) => None,
        };
        found.unwrap_or_default().into_iter().map(named).collect()
    }

    /// Whether the object's path still leads to the file that was loaded.
    ///
    /// Files are read once. When a path turns up with another build id than
    /// before, what was read is forgotten.
    fn trusts(&mut self, object: &LoadedObject) -> bool {
        if let Some((build_id, trusted)) = self.files.get(&object.name) {
            if *build_id == object.build_id {
                return *trusted;
            }
            self.files.clear();
            self.reader = reader();
        }
        let trusted = is_file_of(object);
        let known = (object.build_id.clone(), trusted);
        self.files.insert(object.name.clone(), known);
        trusted
    }
}

pub(crate) fn reader() -> Reader {
    Reader::builder()
        .enable_auto_reload(false)
        .enable_code_info(false)
        .enable_inlined_fns(false)
        .enable_demangling(true)
        .build()
}

fn is_file_of(object: &LoadedObject) -> bool {
    let path = Path::new(&object.name);
    if object.build_id.is_empty() {
        return path.is_file();
    }
    blazesym::helper::read_elf_build_id(&path)
        .is_ok_and(|found| found.is_some_and(|found| *found == *object.build_id))
}

/// Where the function at `file_address` starts, if the object is still there to ask.
fn start_of(object: &LoadedObject, file_address: u64) -> u64 {
    let mark = object.mark;
    let is_loaded = mark.words.into_iter().zip([mark.address, mark.address + 8]);
    let is_loaded = is_loaded.into_iter().all(|(word, address)| read_word(address) == Some(word));
    let pc = file_address.wrapping_add(object.bias);
    let start = is_loaded.then(|| elf::function_start(&object.index, pc, &read_bytes));
    start.flatten().map_or(file_address, |start| start.wrapping_sub(object.bias))
}

/// The name of what stands `offset` bytes behind the start of `symbol`.
///
/// `_init` has no size in an ELF file, so the linker's jump table that follows
/// it would go by its name.
pub(crate) fn own_name(symbol: &str, offset: usize) -> &str {
    if symbol == "_init" && offset >= LONGEST_INIT { JUMP_TABLE } else { symbol }
}

/// A name without the endings a compiler gives to parts and copies of a function.
pub(crate) fn tidy(name: &str) -> &str {
    let endings = [".constprop.", ".isra.", ".part.", ".cold", ".lto_priv."];
    let cut = endings.iter().filter_map(|ending| name.find(ending)).min();
    match cut {
        Some(at) if at > 0 => &name[..at],
        _ => name,
    }
}

/// An address in an object, before its symbol is known.
fn unnamed(object: &LoadedObject, pc: u64) -> NativeSymbol {
    let file_address = pc.wrapping_sub(object.bias);
    let digits = object.build_id.iter().map(|byte| format!("{byte:02x}"));
    NativeSymbol {
        function: String::new(),
        is_named: false,
        module_path: object.name.clone(),
        module_base: object.found.start,
        module_end: object.found.end,
        build_id: digits.collect(),
        file_address,
        function_start: file_address,
    }
}

/// An address in no object: made at run time, or unknown.
fn nowhere(pc: u64) -> NativeSymbol {
    NativeSymbol {
        function: format!("[anonymous]+{pc:#x}"),
        file_address: pc,
        function_start: pc,
        ..NativeSymbol::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compilers_endings_are_cut_and_other_dots_stay() {
        assert_eq!(tidy("list_sort.constprop.0"), "list_sort");
        assert_eq!(tidy("run.part.3.cold"), "run");
        assert_eq!(tidy("operator.new"), "operator.new");
        assert_eq!(tidy(".cold"), ".cold");
    }

    #[test]
    fn functions_the_kernel_maps_have_names_too() {
        super::super::refresh();
        let (_, objects) = crate::sys::native::objects::loaded_objects();
        for kernel in objects.iter().filter(|object| object.name.starts_with(KERNEL_OBJECT)) {
            let codes: Vec<u64> = (kernel.found.start..kernel.found.end).step_by(64).collect();

            let symbols = Symbolizer::new().resolve(&codes);

            let is_clock = |name: &str| name.contains("clock_gettime");
            assert!(symbols.iter().any(|symbol| is_clock(symbol.known_name())), "{symbols:#?}");
        }
    }

    #[test]
    fn the_jump_table_behind_init_is_not_called_init() {
        assert_eq!(own_name("_init", 4), "_init");
        assert_eq!(own_name("_init", 0x20), JUMP_TABLE);
        assert_eq!(own_name("work", 0x400), "work");
    }

    #[test]
    fn an_address_in_no_object_says_so() {
        let symbols = Symbolizer::new().resolve(&[16, 16]);

        assert_eq!(symbols[0].function, "[anonymous]+0x10");
        assert_eq!(symbols[0].known_name(), "");
        assert_eq!(symbols[0], symbols[1]);
    }
}
