//! Names for native addresses, resolved after capture and off the hot path.
//!
//! Only symbol tables are read. Debug information would add lines, but parsing
//! it takes seconds for a large library. An object that was unloaded meanwhile
//! is still known by its number, and a file that was replaced on disk since it
//! was loaded is not trusted for names.

use std::path::Path;
use std::sync::Arc;

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{Input, Symbolized, Symbolizer as Reader};
use rustc_hash::FxHashMap;

use super::objects::{object, object_at};
use crate::sys::native_objects::LoadedObject;
use crate::sys::native_unwind::{PC_BITS, PC_MASK};

/// Names kept; when there are more, all are forgotten and resolved anew.
const MOST_NAMES: usize = 200_000;

/// What a native address is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NativeSymbol {
    /// The function, demangled; `libfoo.so+0x1234` when it has no symbol.
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
    /// Whether the file of an object, by number, is the one that was loaded.
    trusted: FxHashMap<u16, bool>,
}

impl std::fmt::Debug for Symbolizer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Symbolizer")
            .field("names", &self.names.len())
            .finish()
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
        let reader = Reader::builder()
            .enable_auto_reload(false)
            .enable_code_info(false)
            .enable_inlined_fns(false)
            .enable_demangling(true)
            .build();
        Self {
            reader,
            names: FxHashMap::default(),
            trusted: FxHashMap::default(),
        }
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
        let mut new: Vec<u64> = codes
            .iter()
            .copied()
            .filter(|code| !self.names.contains_key(code))
            .collect();
        new.sort_unstable();
        new.dedup();
        for group in new.chunk_by(|a, b| a >> PC_BITS == b >> PC_BITS) {
            self.learn(group);
        }
        codes
            .iter()
            .map(|code| self.names.get(code).cloned().unwrap_or_default())
            .collect()
    }

    /// Resolves words of one object number.
    fn learn(&mut self, codes: &[u64]) {
        let Some(first) = codes.first() else { return };
        let id = (first >> PC_BITS) as u16;
        if id == 0 {
            for code in codes {
                let symbol = match object_at(code & PC_MASK) {
                    Some(object) => self.symbols_in(&object, None, &[*code]).pop(),
                    None => None,
                };
                self.names.insert(
                    *code,
                    Arc::new(symbol.unwrap_or_else(|| nowhere(code & PC_MASK))),
                );
            }
            return;
        }
        let symbols = match object(id) {
            Some(object) => self.symbols_in(&object, Some(id), codes),
            None => codes.iter().map(|code| nowhere(code & PC_MASK)).collect(),
        };
        for (code, symbol) in codes.iter().zip(symbols) {
            self.names.insert(*code, Arc::new(symbol));
        }
    }

    fn symbols_in(
        &mut self,
        object: &LoadedObject,
        id: Option<u16>,
        codes: &[u64],
    ) -> Vec<NativeSymbol> {
        let mut symbols: Vec<NativeSymbol> = codes
            .iter()
            .map(|code| unnamed(object, code & PC_MASK))
            .collect();
        let trusted = match id {
            Some(id) => *self.trusted.entry(id).or_insert_with(|| is_file_of(object)),
            None => is_file_of(object),
        };
        if !trusted {
            return symbols;
        }
        let mut elf = Elf::new(&object.name);
        elf.debug_syms = false;
        let addresses: Vec<u64> = symbols.iter().map(|symbol| symbol.file_address).collect();
        let Ok(found) = self
            .reader
            .symbolize(&Source::from(elf), Input::VirtOffset(&addresses))
        else {
            return symbols;
        };
        for (symbol, found) in symbols.iter_mut().zip(found) {
            if let Symbolized::Sym(found) = found {
                symbol.function = found.name.into_owned();
                symbol.is_named = true;
                symbol.function_start = found.addr;
            }
        }
        symbols
    }
}

/// Whether the object's path still leads to the file that was loaded.
fn is_file_of(object: &LoadedObject) -> bool {
    let path = Path::new(&object.name);
    if object.build_id.is_empty() {
        return path.is_file();
    }
    blazesym::helper::read_elf_build_id(&path)
        .is_ok_and(|found| found.is_some_and(|found| *found == *object.build_id))
}

/// An address in an object, before its symbol is known.
fn unnamed(object: &LoadedObject, pc: u64) -> NativeSymbol {
    let file_address = pc.wrapping_sub(object.bias);
    let file_name = object.name.rsplit('/').next().unwrap_or_default();
    NativeSymbol {
        function: format!("{file_name}+{file_address:#x}"),
        is_named: false,
        module_path: object.name.clone(),
        module_base: object.found.start,
        module_end: object.found.end,
        build_id: object
            .build_id
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect(),
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
