//! A thread's stack laid out by hand in an array of words.

use std::cell::Cell;

use tachograph_probe::layout::Layout;
use tachograph_probe::memory::ReadMemory;
use tachograph_probe::walk::{RawFrame, Walk, walk};

/// Where the array begins in the address space.
pub(crate) const START: u64 = 0x7f00_0000_0000;

/// Every layout there is.
pub(crate) fn layouts() -> Vec<Layout> {
    let kinds = (11..=15).flat_map(|minor| [(minor, false), (minor, true)]);
    kinds.filter_map(|(minor, free_threaded)| Layout::of_table(minor, free_threaded)).collect()
}

/// Words at [`START`], and how often they were read.
pub(crate) struct Words {
    pub(crate) words: Vec<u64>,
    pub(crate) reads: Cell<usize>,
}

impl Words {
    pub(crate) fn new(words: Vec<u64>) -> Self {
        Self { words, reads: Cell::new(0) }
    }

    pub(crate) fn set(&mut self, address: u64, offset: u32, value: u64) {
        let at = address + u64::from(offset) - START;
        assert_eq!(at % 8, 0, "{at} is no word");
        self.words[usize::try_from(at / 8).unwrap()] = value;
    }

    pub(crate) fn word_at(&self, address: u64, offset: u32) -> u64 {
        self.word(address + u64::from(offset)).unwrap()
    }

    pub(crate) fn set_bytes(&mut self, address: u64, offset: u32, value: &[u8]) {
        for (at, &byte) in (address + u64::from(offset) - START..).zip(value) {
            let word = &mut self.words[usize::try_from(at / 8).unwrap()];
            let shift = at % 8 * 8;
            *word = *word & !(0xff << shift) | u64::from(byte) << shift;
        }
    }
}

impl ReadMemory for Words {
    fn word(&self, address: u64) -> Option<u64> {
        self.reads.set(self.reads.get() + 1);
        if !address.is_multiple_of(8) {
            return None;
        }
        let index = usize::try_from(address.checked_sub(START)? / 8).ok()?;
        self.words.get(index).copied()
    }

    fn bytes(&self, address: u64, out: &mut [u8]) -> bool {
        if address.checked_add(out.len() as u64).is_none() {
            return false;
        }
        for (at, byte) in (address..).zip(out) {
            let Some(word) = self.word(at & !7) else {
                return false;
            };
            *byte = word.to_le_bytes()[usize::try_from(at % 8).unwrap()];
        }
        true
    }
}

/// One frame to lay out.
#[derive(Clone, Copy)]
pub(crate) struct Planned {
    pub(crate) code: u64,
    pub(crate) owner: u8,
    /// Bytes into the bytecode.
    pub(crate) offset: i64,
    pub(crate) is_entry: bool,
    pub(crate) first_local: u64,
}

/// A made-up thread: its state, code objects and frames.
pub(crate) struct Thread {
    pub(crate) layout: Layout,
    pub(crate) memory: Words,
    next: u64,
    code_type: u64,
    pub(crate) tstate: u64,
    pub(crate) cframe: u64,
    pub(crate) frames: Vec<u64>,
}

impl Thread {
    /// A thread without frames.
    pub(crate) fn new(layout: Layout) -> Self {
        let memory = Words::new(vec![0; 16 * 1024]);
        let mut thread = Self {
            layout,
            memory,
            next: START,
            code_type: 0,
            tstate: 0,
            cframe: 0,
            frames: Vec::new(),
        };
        let (kind, name) = (thread.room(512), thread.room(8));
        thread.code_type = kind;
        thread.memory.set(kind, layout.type_name, name);
        thread.memory.set_bytes(name, 0, b"code\0");
        thread.tstate = thread.room(u64::from(layout.thread_size));
        if layout.has_cframes() {
            // The outermost C frame is a part of the thread state.
            let root = thread.tstate + 256;
            thread.cframe = thread.room(32);
            thread.memory.set(thread.cframe, layout.cframe_previous, root);
            thread.memory.set(thread.tstate, layout.thread_frame, thread.cframe);
        }
        thread
    }

    /// Room for `size` bytes.
    pub(crate) fn room(&mut self, size: u64) -> u64 {
        let address = self.next;
        self.next += size.next_multiple_of(16) + 16;
        address
    }

    /// A code object whose bytecode begins to count at unit `first_traceable`.
    pub(crate) fn code(&mut self, first_traceable: u8, flags: u16) -> u64 {
        let layout = self.layout;
        let code = self.room(512);
        self.memory.set(code, layout.object_type, self.code_type);
        self.memory.set(code, layout.code_qualname, code + 1);
        self.memory.set_bytes(code, layout.code_locals, &[1]);
        self.memory.set_bytes(code, layout.code_stack, &[2]);
        self.memory.set_bytes(code, layout.code_first_traceable, &[first_traceable, 0, 0, 0]);
        self.memory.set_bytes(code, layout.code_flags, &flags.to_le_bytes());
        self.memory.set(code, layout.code_units, 64);
        if layout.has_bytecode_copies() {
            let copies = self.room(64);
            self.memory.set(code, layout.code_copies, copies);
            self.memory.set(copies, 0, 1);
            self.memory.set(copies, 8, self.bytecode(code));
        }
        code
    }

    /// A string, as narrow as its characters allow.
    pub(crate) fn text(&mut self, text: &str) -> u64 {
        let layout = self.layout;
        let widest = text.chars().map(u32::from).max().unwrap_or(0);
        let width = if widest < 256 { 1 } else { 2_usize };
        let bytes: Vec<u8> =
            text.chars().flat_map(|c| u32::from(c).to_le_bytes().into_iter().take(width)).collect();
        let object = self.room(64 + bytes.len() as u64);
        let ascii = text.is_ascii();
        let state = (width as u32 | 8 | u32::from(ascii) << 4) << layout.text_kind_shift;
        self.memory.set(object, layout.text_length, text.chars().count() as u64);
        self.memory.set_bytes(object, layout.text_state, &state.to_le_bytes());
        let data = if ascii { layout.text_ascii_data } else { layout.text_compact_data };
        self.memory.set_bytes(object, data, &bytes);
        object
    }

    /// A bytes object.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> u64 {
        let object = self.room(64 + bytes.len() as u64);
        self.memory.set(object, self.layout.bytes_length, bytes.len() as u64);
        self.memory.set_bytes(object, self.layout.bytes_data, bytes);
        object
    }

    /// Where the bytecode of `code` begins.
    pub(crate) fn bytecode(&self, code: u64) -> u64 {
        code + u64::from(self.layout.code_bytecode)
    }

    /// A plain frame of a new code object.
    pub(crate) fn plain(&mut self) -> Planned {
        let code = self.code(0, 0);
        Planned { code, owner: 0, offset: 8, is_entry: false, first_local: 0 }
    }

    /// What closes an eval loop in this version: an entry frame or a shim.
    pub(crate) fn root(&mut self) -> Vec<Planned> {
        let mut root = self.plain();
        if !self.layout.has_shims() {
            root.is_entry = true;
            return vec![root];
        }
        let shim = Planned { owner: 3, ..self.plain() };
        vec![root, shim]
    }

    /// Lays out `planned`, innermost first, and makes it the thread's stack.
    pub(crate) fn stack(&mut self, planned: &[Planned]) {
        let layout = self.layout;
        let size = u64::from(layout.frame_locals) + 3 * 8;
        let on_data_stack = planned.iter().filter(|plan| plan.owner == 0).count() as u64;
        let mut top = self.room(size * (on_data_stack + 2)) + size * on_data_stack;
        self.memory.set(self.tstate, layout.thread_stack_top, top);
        self.frames.clear();
        for plan in planned {
            top -= if plan.owner == 0 { size } else { 0 };
            let elsewhere = self.room(size);
            self.frames.push(if plan.owner == 0 { top } else { elsewhere });
        }
        let previous: Vec<u64> = self.frames.iter().skip(1).copied().chain([0]).collect();
        for ((plan, &frame), previous) in planned.iter().zip(&self.frames.clone()).zip(previous) {
            let tag = u64::from(layout.minor >= 14);
            self.memory.set(frame, layout.frame_code, plan.code | tag);
            self.memory.set(frame, layout.frame_previous, previous);
            let instruction = self.bytecode(plan.code).wrapping_add_signed(plan.offset);
            self.memory.set(frame, layout.frame_instruction, instruction);
            self.memory.set(frame, layout.frame_locals, plan.first_local | tag);
            self.memory.set_bytes(frame, layout.frame_owner, &[plan.owner]);
            if !layout.has_shims() {
                self.memory.set_bytes(frame, layout.frame_is_entry, &[u8::from(plan.is_entry)]);
            }
        }
        let first = self.frames.first().copied().unwrap_or(0);
        if layout.has_cframes() {
            self.memory.set(self.cframe, layout.cframe_frame, first);
        } else {
            self.memory.set(self.tstate, layout.thread_frame, first);
        }
    }

    /// Walks the stack; returns the code objects of its frames too.
    pub(crate) fn walk(&self, room: usize) -> (Walk, Vec<u64>) {
        let mut out = vec![RawFrame::default(); room];
        let walk = walk(&self.memory, &self.layout, self.tstate, false, &mut out);
        let codes = out.iter().take(walk.depth).map(RawFrame::code_address).collect();
        (walk, codes)
    }
}
