//! Names for what was captured as addresses.
//!
//! Code objects are named by the handler that met them (`introduce`), or, where
//! it had no time for that, by reading them at the next emptying of the rings,
//! checked against the fingerprint the handler took.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use tachograph_probe::introduce::Introduced;
use tachograph_probe::walk::{EntryKind, RawFrame};
use tachograph_profile::{Frame, FrameId, FrameKind, Interner, Mapping, MappingId, StackId};

use crate::native::{self, NativePlace, NativeSymbol, Place, Role, Roles, Symbolizer};
use crate::python::{CodeCache, CodeInfo, Interpreter, ProcessMemory};
use crate::sys::clock;
use crate::sys::handler::EVAL_LOOP;

/// Entries after which the caches start over, so that code made without end
/// does not fill memory.
const CACHE_LIMIT: usize = 1 << 18;

/// A word in place of a function whose code was gone too soon.
const GONE: &str = "<code that is gone>";
/// A word in place of the stack of a thread that runs no Python.
pub(crate) const NO_PYTHON: &str = "<no Python frames>";
/// The same in a program without Python.
const NO_FRAMES: &str = "<no frames>";

/// Names frames and remembers them.
pub(crate) struct Frames {
    interpreter: Option<Interpreter>,
    codes: CodeCache,
    python: FxHashMap<RawFrame, FrameId>,
    native: FxHashMap<u64, (FrameId, Role)>,
    symbols: Symbolizer,
    roles: Option<Roles>,
    /// Frames whose code was gone before its name could be read.
    pub(crate) unnamed: u64,
}

impl Frames {
    /// Nothing named yet.
    pub(crate) fn new(interpreter: Option<Interpreter>) -> Self {
        Self {
            interpreter,
            codes: CodeCache::default(),
            python: FxHashMap::default(),
            native: FxHashMap::default(),
            symbols: Symbolizer::new(),
            roles: None,
            unnamed: 0,
        }
    }

    /// Whether the interpreter has a lock that a thread can hold.
    pub(crate) fn has_gil(&self) -> bool {
        self.interpreter.as_ref().is_some_and(|python| !python.free_threaded)
    }

    /// The frame that `entry` stands for; `None` for an eval loop's boundary.
    pub(crate) fn python(&mut self, tables: &mut Interner, entry: RawFrame) -> Option<FrameId> {
        if entry.kind() != EntryKind::Python {
            return None;
        }
        if let Some(&frame) = self.python.get(&entry) {
            return Some(frame);
        }
        let interpreter = self.interpreter.as_ref()?;
        let (code, print) = (entry.code_address(), entry.fingerprint());
        let (memory, now) = (ProcessMemory::own(), clock::monotonic());
        let Some(code) = self.codes.resolve(&memory, &interpreter.layout, code, print, now) else {
            self.unnamed += 1;
            return Some(tables.label(GONE));
        };
        Some(self.remember(tables, entry, &code, code.line(entry.offset())))
    }

    /// Takes in what a handler says of an entry.
    pub(crate) fn introduce(&mut self, tables: &mut Interner, told: &Introduced<'_>) {
        let (code, print) = (told.entry.code_address(), told.entry.fingerprint());
        if let Some(names) = &told.names {
            let info = CodeInfo::told(
                text(names.qualname().collect()),
                text(names.filename().collect()),
                told.first_line,
            );
            self.codes.tell(code, print, info);
        }
        if self.python.contains_key(&told.entry) {
            return;
        }
        if let Some(info) = self.codes.get(code, print) {
            self.remember(tables, told.entry, &info, told.line);
        }
    }

    /// Takes in the code object of an entry that someone else read.
    pub(crate) fn know(&mut self, entry: &RawFrame, code: &Arc<CodeInfo>) {
        self.codes.tell(entry.code_address(), entry.fingerprint(), Arc::clone(code));
    }

    /// Gives `entry` the frame at `line` of `code`.
    fn remember(
        &mut self,
        tables: &mut Interner,
        entry: RawFrame,
        code: &CodeInfo,
        line: u32,
    ) -> FrameId {
        let frame = tables.python_frame(&code.qualname, &code.filename, line, code.first_line);
        if self.python.len() >= CACHE_LIMIT {
            self.python.clear();
        }
        self.python.insert(entry, frame);
        frame
    }

    /// The stack of a thread that runs no Python and has no native frames.
    pub(crate) fn without_python(&mut self, tables: &mut Interner) -> StackId {
        let label = tables.label(if self.interpreter.is_some() { NO_PYTHON } else { NO_FRAMES });
        tables.stack(None, label)
    }

    /// One stack of native and Python frames. `entries` are the walked Python
    /// entries, outermost first; `native` the native frames, innermost first,
    /// with [`EVAL_LOOP`] set on eval loops.
    pub(crate) fn merged(
        &mut self,
        tables: &mut Interner,
        entries: &[RawFrame],
        native: &[u64],
    ) -> Option<StackId> {
        self.name_native(tables, native);
        let places: Vec<NativePlace> = native
            .iter()
            .map(|word| {
                let known = self.native.get(&(word & !EVAL_LOOP));
                let role = known.map_or(Role::Foreign, |known| known.1);
                NativePlace { boundary: word & EVAL_LOOP != 0, role }
            })
            .collect();
        let (python, segments) = segments(entries.iter().rev());
        let mut merged = Vec::new();
        native::merge(&places, &segments, &mut merged);
        let mut stack = None;
        for place in merged.into_iter().rev() {
            let frame = match place {
                Place::Python(at) => python.get(at).and_then(|entry| self.python(tables, *entry)),
                Place::Native(at) => {
                    let code = native.get(at).map(|word| word & !EVAL_LOOP);
                    code.and_then(|code| self.native.get(&code)).map(|known| known.0)
                }
            };
            if let Some(frame) = frame {
                stack = Some(tables.stack(stack, frame));
            }
        }
        stack
    }

    /// Gives native addresses that are new their names.
    fn name_native(&mut self, tables: &mut Interner, native: &[u64]) {
        let codes = native.iter().map(|word| word & !EVAL_LOOP);
        let new: Vec<u64> = codes.filter(|code| !self.native.contains_key(code)).collect();
        if new.is_empty() {
            return;
        }
        if self.native.len() >= CACHE_LIMIT {
            self.native.clear();
        }
        let symbols = self.symbols.resolve(&new);
        let roles = *self.roles.get_or_insert_with(Roles::of_this_process);
        for (code, symbol) in new.into_iter().zip(symbols) {
            let frame = native_frame(tables, &symbol);
            self.native.insert(code, (frame, roles.role(&symbol)));
        }
    }
}

/// Bytes that a handler copied from a string.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

pub(crate) fn native_frame(tables: &mut Interner, symbol: &NativeSymbol) -> FrameId {
    let mapping: Option<MappingId> = (!symbol.module_path.is_empty()).then(|| {
        let path = tables.string(&symbol.module_path);
        let build_id = tables.string(&symbol.build_id);
        let (start, end) = (symbol.module_base, symbol.module_end);
        tables.mapping(Mapping { path, build_id, start, end })
    });
    let function = tables.string(&symbol.function);
    let file = tables.string(&symbol.module_path);
    // One frame per function, not per address: the address is the function's.
    let address = symbol.function_start;
    let kind = FrameKind::Native;
    tables.frame(Frame { function, file, line: 0, first_line: 0, kind, mapping, address })
}

/// Python frames innermost first, and how many of them each eval loop ran;
/// `entries` are innermost first.
pub(crate) fn segments<'a>(
    entries: impl Iterator<Item = &'a RawFrame>,
) -> (Vec<RawFrame>, Vec<usize>) {
    let (mut python, mut lengths, mut length) = (Vec::new(), Vec::new(), 0);
    for entry in entries {
        match entry.kind() {
            EntryKind::Python => {
                python.push(*entry);
                length += 1;
            }
            EntryKind::Boundary => lengths.push(std::mem::take(&mut length)),
        }
    }
    if length > 0 {
        lengths.push(length);
    }
    (python, lengths)
}
