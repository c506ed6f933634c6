//! Names for the frames of another process, and one stack of both kinds.

use rustc_hash::FxHashMap;
use tachograph_probe::layout::Layout;
use tachograph_probe::memory::ReadMemory;
use tachograph_probe::walk::{EntryKind, RawFrame};
use tachograph_profile::{FrameId, Interner, StackId};

use crate::attach::find::target::Target;
use crate::attach::read::symbols::Symbols;
use crate::attach::read::unwind::Unwinder;
use crate::collect::{native_frame, segments};
use crate::native::{self, NativePlace, Place, Role, Roles};
use crate::python::CodeCache;
use crate::sys::clock;
use crate::sys::handler::EVAL_LOOP;
use crate::sys::native::unwind::{NativeRaw, PC_BITS, PC_MASK, words_with_loops};

/// Entries after which a table starts over.
const CACHE_LIMIT: usize = 1 << 18;

/// A word in place of a function whose code was gone too soon.
const GONE: &str = "<code that is gone>";
/// A word in place of the stack of a thread that runs no Python.
pub(crate) const NO_PYTHON: &str = "<no Python frames>";

/// How the eval loop is called where no address marks it, before 3.11.
const EVAL_FUNCTION: &str = "_PyEval_EvalFrameDefault";

#[derive(Clone, Copy, Debug)]
struct Native {
    frame: FrameId,
    role: Role,
    is_loop: bool,
}

/// Names frames of one process and remembers them.
#[derive(Debug)]
pub(crate) struct Naming {
    layout: Layout,
    codes: CodeCache,
    python: FxHashMap<RawFrame, FrameId>,
    native: FxHashMap<u64, Native>,
    symbols: Symbols,
    roles: Roles,
    /// The Python frames that were met last, outermost first. Most of a stack is
    /// what it was the last time.
    met: Vec<(RawFrame, Option<FrameId>)>,
    /// The last stack, outermost first, and the stack up to each of its frames.
    path: Vec<(FrameId, StackId)>,
    /// Frames whose code was gone before its name could be read.
    pub(crate) unnamed: u64,
}

impl Naming {
    /// Nothing named yet.
    pub(crate) fn of(target: &Target) -> Self {
        Self {
            layout: target.interpreter.layout,
            codes: CodeCache::default(),
            python: FxHashMap::default(),
            native: FxHashMap::default(),
            symbols: Symbols::of(target.pid),
            roles: Roles::with_interpreter_at(target.object),
            met: Vec::new(),
            path: Vec::new(),
            unnamed: 0,
        }
    }

    /// Reads what names `entries`, while their thread stands still.
    pub(crate) fn meet<M: ReadMemory>(
        &mut self,
        memory: &M,
        tables: &mut Interner,
        entries: &[RawFrame],
    ) {
        let mut depth = 0;
        for entry in entries.iter().rev().filter(|entry| entry.kind() == EntryKind::Python) {
            let met = self.met.get(depth).is_some_and(|met| met.0 == *entry && met.1.is_some());
            if !met {
                let known = self.python.get(entry).copied();
                let frame = known.or_else(|| self.read(memory, tables, *entry));
                self.met.truncate(depth);
                self.met.push((*entry, frame));
            }
            depth += 1;
        }
        self.met.truncate(depth);
    }

    fn read<M: ReadMemory>(
        &mut self,
        memory: &M,
        tables: &mut Interner,
        entry: RawFrame,
    ) -> Option<FrameId> {
        let (code, print) = (entry.code_address(), entry.fingerprint());
        let now = clock::monotonic();
        let code = self.codes.resolve(memory, &self.layout, code, print, now)?;
        let line = code.line(entry.offset());
        let frame = tables.python_frame(&code.qualname, &code.filename, line, code.first_line);
        if self.python.len() >= CACHE_LIMIT {
            self.python.clear();
        }
        self.python.insert(entry, frame);
        Some(frame)
    }

    /// The stack of `entries`, which were met last, and of `natives`; both
    /// innermost first.
    pub(crate) fn stack(
        &mut self,
        tables: &mut Interner,
        entries: &[RawFrame],
        natives: &[NativeRaw],
        unwinder: Option<&Unwinder>,
    ) -> StackId {
        let frames = if natives.is_empty() {
            (0..self.met.len()).rev().map(|at| self.python_frame(tables, at)).collect()
        } else {
            self.merged(tables, entries, natives, unwinder)
        };
        let stack = self.stack_of(tables, &frames);
        stack.unwrap_or_else(|| {
            let label = tables.label(NO_PYTHON);
            tables.stack(None, label)
        })
    }

    /// The stack of `frames`, outermost first.
    fn stack_of(&mut self, tables: &mut Interner, frames: &[FrameId]) -> Option<StackId> {
        let mut stack = None;
        for (depth, frame) in frames.iter().enumerate() {
            stack = match self.path.get(depth) {
                Some((known, stack)) if known == frame => Some(*stack),
                _ => {
                    let stack = tables.stack(stack, *frame);
                    self.path.truncate(depth);
                    self.path.push((*frame, stack));
                    Some(stack)
                }
            };
        }
        stack
    }

    /// The frame of Python number `at`, counted from the innermost.
    fn python_frame(&mut self, tables: &mut Interner, at: usize) -> FrameId {
        let met = self.met.iter().rev().nth(at);
        if let Some((_, Some(frame))) = met {
            return *frame;
        }
        self.unnamed += 1;
        tables.label(GONE)
    }

    fn merged(
        &mut self,
        tables: &mut Interner,
        entries: &[RawFrame],
        natives: &[NativeRaw],
        unwinder: Option<&Unwinder>,
    ) -> Vec<FrameId> {
        let boundaries = entries.iter().filter(|entry| entry.kind() == EntryKind::Boundary);
        let markers = boundaries.map(RawFrame::marker);
        let words: Vec<u64> = words_with_loops(natives, markers, EVAL_LOOP).collect();
        let by_name = self.layout.has_frame_objects();
        let known: Vec<Native> =
            words.iter().map(|word| self.native(tables, word & !EVAL_LOOP, unwinder)).collect();
        let places: Vec<NativePlace> = words
            .iter()
            .zip(&known)
            .map(|(word, native)| NativePlace {
                boundary: if by_name { native.is_loop } else { word & EVAL_LOOP != 0 },
                role: native.role,
            })
            .collect();
        let (_, segments) = segments(entries.iter());
        let mut merged = Vec::new();
        native::merge(&places, &segments, &mut merged);
        let frame = |place: Place| match place {
            Place::Python(at) => Some(self.python_frame(tables, at)),
            Place::Native(at) => known.get(at).map(|native| native.frame),
        };
        merged.into_iter().rev().filter_map(frame).collect()
    }

    fn native(&mut self, tables: &mut Interner, code: u64, unwinder: Option<&Unwinder>) -> Native {
        if let Some(native) = self.native.get(&code) {
            return *native;
        }
        let object = unwinder.and_then(|unwinder| unwinder.object((code >> PC_BITS) as u16));
        let symbol = self.symbols.name(object, code & PC_MASK);
        let native = Native {
            frame: native_frame(tables, &symbol),
            role: self.roles.role(&symbol),
            is_loop: symbol.known_name() == EVAL_FUNCTION,
        };
        if self.native.len() >= CACHE_LIMIT {
            self.native.clear();
        }
        self.native.insert(code, native);
        native
    }
}
