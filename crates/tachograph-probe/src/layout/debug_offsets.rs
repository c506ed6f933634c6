//! What CPython 3.13 and newer say about themselves.
//!
//! `_PyRuntime` begins with a cookie and a list of offsets meant for tools like
//! this one. The list itself changes between minor versions: fields were put in
//! between. So there is one list of positions per minor version.

use super::version::{NEWEST_MINOR, OLDEST_MINOR};
use super::{Layout, LayoutError, Version};
use crate::memory::ReadMemory;

/// The first eight bytes of `_PyRuntime` from 3.13 on.
const COOKIE: u64 = u64::from_le_bytes(*b"xdebugpy");

/// No offset we use lies further into its structure than this.
const LARGEST_OFFSET: u64 = 1 << 20;

/// Positions of the description's words, counted from the cookie.
struct Positions {
    runtime_interpreters: u16,
    interpreter_next: u16,
    interpreter_threads: u16,
    /// `next`, `interp` and `current_frame` follow each other.
    thread_next: u16,
    /// `thread_id` and `native_thread_id` follow each other.
    thread_id: u16,
    /// `previous`, `executable`, `instr_ptr`, `localsplus`, `owner`.
    frame_previous: u16,
    /// 0: the version has no bytecode copies.
    frame_copy_index: u16,
    /// `filename`, `name`, `qualname`, `linetable`, `firstlineno`.
    code_filename: u16,
    /// `co_code_adaptive`, and from 3.14 on `co_tlbc` after it.
    code_bytecode: u16,
    object_type: u16,
    /// `tp_name`, `tp_repr`, `tp_flags`.
    type_name: u16,
    /// 0: the version does not say.
    type_cached_keys: u16,
    /// `ma_keys`, `ma_values`.
    dict_keys: u16,
    /// `lv_tag`, `ob_digit`.
    number_tag: u16,
    /// `ob_size`, `ob_sval`.
    bytes_length: u16,
    /// `state`, `length`, `asciiobject_size`.
    text_state: u16,
    /// `imports_modules`.
    interpreter_modules: u16,
    /// `ceval_gil`, then `locked` three and `holder` four words later.
    gil_at: u16,
    /// `ob_item` of tuples; that of lists is three words later.
    tuple_items: u16,
    /// `ob_fval`.
    float_value: u16,
}

const POSITIONS_3_13: Positions = Positions {
    runtime_interpreters: 5,
    interpreter_next: 8,
    interpreter_threads: 9,
    thread_next: 21,
    thread_id: 24,
    frame_previous: 29,
    frame_copy_index: 0,
    code_filename: 35,
    code_bytecode: 43,
    object_type: 45,
    type_name: 47,
    type_cached_keys: 0,
    dict_keys: 57,
    number_tag: 62,
    bytes_length: 65,
    text_state: 68,
    interpreter_modules: 11,
    gil_at: 14,
    tuple_items: 51,
    float_value: 60,
};

const POSITIONS_3_14: Positions = Positions {
    thread_next: 24,
    thread_id: 27,
    frame_previous: 32,
    frame_copy_index: 38,
    code_filename: 40,
    code_bytecode: 48,
    object_type: 51,
    type_name: 53,
    dict_keys: 67,
    number_tag: 72,
    bytes_length: 75,
    text_state: 78,
    interpreter_modules: 12,
    gil_at: 15,
    tuple_items: 57,
    float_value: 70,
    ..POSITIONS_3_13
};

const POSITIONS_3_15: Positions = Positions {
    thread_id: 30,
    frame_previous: 40,
    frame_copy_index: 46,
    code_filename: 48,
    code_bytecode: 56,
    object_type: 59,
    type_name: 61,
    type_cached_keys: 67,
    dict_keys: 79,
    number_tag: 84,
    bytes_length: 87,
    text_state: 90,
    tuple_items: 69,
    float_value: 82,
    ..POSITIONS_3_14
};

/// The description in memory, read a word at a time.
struct Description<'a, M> {
    memory: &'a M,
    runtime: u64,
    version: Version,
}

impl<M: ReadMemory> Description<'_, M> {
    fn word(&self, position: u16) -> Result<u64, LayoutError> {
        let address = self.runtime.wrapping_add(u64::from(position) * 8);
        self.memory.word(address).ok_or(LayoutError::NoDescription(self.version))
    }

    fn offset(&self, position: u16) -> Result<u32, LayoutError> {
        let value = self.word(position)?;
        u32::try_from(value)
            .ok()
            .filter(|_| value < LARGEST_OFFSET)
            .ok_or(LayoutError::Implausible { version: self.version, word: position, value })
    }
}

impl Layout {
    /// The layout of the interpreter whose `_PyRuntime` is at `runtime`.
    ///
    /// `version_hex` is the interpreter's `Py_Version`. A version this crate
    /// does not know is refused rather than guessed at: a wrong offset would
    /// give stacks that never were.
    pub fn find<M: ReadMemory>(
        memory: &M,
        runtime: u64,
        version_hex: u32,
    ) -> Result<Self, LayoutError> {
        let version = Version::from_hex(version_hex);
        match (version.major(), version.minor()) {
            (3, minor @ OLDEST_MINOR..=12) => {
                Self::of_table(minor, false).ok_or(LayoutError::TooOld(version))
            }
            (3, 13..=NEWEST_MINOR) => Self::from_debug_offsets(memory, runtime, version_hex),
            (3, minor) if minor < OLDEST_MINOR => Err(LayoutError::TooOld(version)),
            (0..3, _) => Err(LayoutError::TooOld(version)),
            _ => Err(LayoutError::TooNew(version)),
        }
    }

    /// The layout that CPython 3.13 or newer describes at `runtime`.
    pub fn from_debug_offsets<M: ReadMemory>(
        memory: &M,
        runtime: u64,
        version_hex: u32,
    ) -> Result<Self, LayoutError> {
        let version = Version::from_hex(version_hex);
        let description = Description { memory, runtime, version };
        let described = Version::from_hex(description.word(1)? as u32);
        let same_minor =
            (described.major(), described.minor()) == (version.major(), version.minor());
        if description.word(0)? != COOKIE || !same_minor {
            return Err(LayoutError::NoDescription(version));
        }
        let free_threaded = description.word(2)? != 0;
        let positions = match version.minor() {
            13 => POSITIONS_3_13,
            14 => POSITIONS_3_14,
            15 => POSITIONS_3_15,
            _ => return Err(LayoutError::TooNew(version)),
        };
        let layout = Self::of_table(version.minor(), free_threaded);
        layout.ok_or(LayoutError::TooNew(version))?.described_by(&description, &positions)
    }

    fn described_by<M: ReadMemory>(
        mut self,
        description: &Description<'_, M>,
        at: &Positions,
    ) -> Result<Self, LayoutError> {
        let offset = |position| description.offset(position);
        self.runtime_interpreters = offset(at.runtime_interpreters)?;
        self.interpreter_next = offset(at.interpreter_next)?;
        self.interpreter_threads = offset(at.interpreter_threads)?;
        self.thread_next = offset(at.thread_next)?;
        self.thread_interpreter = offset(at.thread_next + 1)?;
        self.thread_frame = offset(at.thread_next + 2)?;
        self.thread_id = offset(at.thread_id)?;
        self.thread_native_id = offset(at.thread_id + 1)?;
        self.frame_previous = offset(at.frame_previous)?;
        self.frame_code = offset(at.frame_previous + 1)?;
        self.frame_instruction = offset(at.frame_previous + 2)?;
        self.frame_locals = offset(at.frame_previous + 3)?;
        self.frame_owner = offset(at.frame_previous + 4)?;
        self.code_filename = offset(at.code_filename)?;
        self.code_qualname = offset(at.code_filename + 2)?;
        self.code_linetable = offset(at.code_filename + 3)?;
        self.code_first_line = offset(at.code_filename + 4)?;
        self.code_bytecode = offset(at.code_bytecode)?;
        if self.free_threaded && at.frame_copy_index != 0 {
            self.frame_copy_index = offset(at.frame_copy_index)?;
            self.code_copies = offset(at.code_bytecode + 1)?;
        }
        self.object_type = offset(at.object_type)?;
        self.type_name = offset(at.type_name)?;
        self.type_flags = offset(at.type_name + 2)?;
        if at.type_cached_keys != 0 {
            self.type_cached_keys = offset(at.type_cached_keys)?;
        }
        self.dict_keys = offset(at.dict_keys)?;
        self.dict_values = offset(at.dict_keys + 1)?;
        self.number_tag = offset(at.number_tag)?;
        self.number_digits = offset(at.number_tag + 1)?;
        self.bytes_length = offset(at.bytes_length)?;
        self.bytes_data = offset(at.bytes_length + 1)?;
        self.text_state = offset(at.text_state)?;
        self.text_length = offset(at.text_state + 1)?;
        self.text_ascii_data = offset(at.text_state + 2)?;
        self.interpreter_modules = offset(at.interpreter_modules)?;
        self.gil_at = offset(at.gil_at)?;
        self.gil_locked = offset(at.gil_at + 3)?;
        self.gil_holder = offset(at.gil_at + 4)?;
        self.code_local_names = offset(at.code_filename + 6)?;
        self.tuple_items = offset(at.tuple_items)?;
        self.list_items = offset(at.tuple_items + 3)?;
        self.float_value = offset(at.float_value)?;
        Ok(self)
    }
}
