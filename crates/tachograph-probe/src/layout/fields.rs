//! The offsets themselves, and what follows from the version alone.

use super::table;

/// Offsets in bytes into CPython's structures, for one version and build kind.
///
/// A field that a version does not have is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The minor version: 12 for CPython 3.12.
    pub minor: u8,
    /// Whether this is a build without the GIL.
    pub free_threaded: bool,
    /// `_PyRuntimeState`: the first interpreter.
    pub runtime_interpreters: u32,
    /// `PyInterpreterState`: the next interpreter.
    pub interpreter_next: u32,
    /// `PyInterpreterState`: its first thread state.
    pub interpreter_threads: u32,
    /// `PyThreadState`: the next thread state.
    pub thread_next: u32,
    /// `PyThreadState`: its interpreter.
    pub thread_interpreter: u32,
    /// `PyThreadState`: the `pthread_t`.
    pub thread_id: u32,
    /// `PyThreadState`: the kernel's thread id.
    pub thread_native_id: u32,
    /// `PyThreadState`: its whole size, private part included.
    pub thread_size: u32,
    /// `PyThreadState`: where the next frame of the data stack would begin.
    pub thread_stack_top: u32,
    /// `PyThreadState`: the innermost frame; before 3.13 the innermost C frame.
    pub thread_frame: u32,
    /// `_PyCFrame`, before 3.13: the innermost frame.
    pub cframe_frame: u32,
    /// `_PyCFrame`, before 3.13: the one around it.
    pub cframe_previous: u32,
    /// `_PyInterpreterFrame`: its code object, tagged from 3.14 on.
    pub frame_code: u32,
    /// `_PyInterpreterFrame`: the instruction it stands at.
    pub frame_instruction: u32,
    /// `_PyInterpreterFrame`: its caller.
    pub frame_previous: u32,
    /// `_PyInterpreterFrame`: who owns its memory.
    pub frame_owner: u32,
    /// `_PyInterpreterFrame`: its first local variable.
    pub frame_locals: u32,
    /// `_PyInterpreterFrame`, 3.11 only: whether an eval loop began here.
    pub frame_is_entry: u32,
    /// `_PyInterpreterFrame`, free-threaded 3.14+: which copy of the bytecode runs.
    pub frame_copy_index: u32,
    /// `PyCodeObject`, free-threaded 3.14+: the copies of the bytecode.
    pub code_copies: u32,
    /// The largest value the owner of a frame can have.
    pub largest_owner: u32,
    /// `PyCodeObject`: how many two-byte units its bytecode has.
    pub code_units: u32,
    /// `PyCodeObject`: how many local variables of any kind.
    pub code_locals: u32,
    /// `PyCodeObject`: `co_stacksize`.
    pub code_stack: u32,
    /// `PyCodeObject`: `co_flags`.
    pub code_flags: u32,
    /// `PyCodeObject`: `co_firstlineno`.
    pub code_first_line: u32,
    /// `PyCodeObject`: `co_filename`.
    pub code_filename: u32,
    /// `PyCodeObject`: `co_qualname`.
    pub code_qualname: u32,
    /// `PyCodeObject`: `co_linetable`.
    pub code_linetable: u32,
    /// `PyCodeObject`: the unit from which on a frame counts as entered.
    pub code_first_traceable: u32,
    /// `PyCodeObject`: the first instruction.
    pub code_bytecode: u32,
    /// `PyCodeObject`, 3.12+: `co_version`, a number no other code object has.
    pub code_version: u32,
    /// `PyObject`: its type.
    pub object_type: u32,
    /// `PyTypeObject`: `tp_name`.
    pub type_name: u32,
    /// `PyTypeObject`: `tp_flags`.
    pub type_flags: u32,
    /// `PyTypeObject`: `tp_basicsize`.
    pub type_basic_size: u32,
    /// `PyTypeObject`: the type it derives from.
    pub type_parent: u32,
    /// `PyHeapTypeObject`: the attribute names its instances have in common.
    pub type_cached_keys: u32,
    /// `PyASCIIObject`: how many characters.
    pub text_length: u32,
    /// `PyASCIIObject`: the state bits.
    pub text_state: u32,
    /// The state bit where the size of a character begins.
    pub text_kind_shift: u32,
    /// Where the characters of an ASCII string begin.
    pub text_ascii_data: u32,
    /// Where the characters of any other compact string begin.
    pub text_compact_data: u32,
    /// `PyBytesObject`: how many bytes.
    pub bytes_length: u32,
    /// `PyBytesObject`: the first byte.
    pub bytes_data: u32,
    /// `PyLongObject`: sign and digit count.
    pub number_tag: u32,
    /// `PyLongObject`: the first 30-bit digit.
    pub number_digits: u32,
    /// `PyCFunctionObject`: what it is bound to.
    pub method_self: u32,
    /// `PyDictObject`: its keys.
    pub dict_keys: u32,
    /// `PyDictObject`: its values, if they are kept apart from the keys.
    pub dict_values: u32,
    /// `PyDictKeysObject`: logarithm of the size of the hash index.
    pub keys_index_bytes: u32,
    /// `PyDictKeysObject`: whether all keys are strings.
    pub keys_kind: u32,
    /// `PyDictKeysObject`: how many entries are in use.
    pub keys_entries: u32,
    /// `PyDictKeysObject`: the hash index, with the entries after it.
    pub keys_indices: u32,
    /// `PyDictValues`: the first value.
    pub values_first: u32,
    /// How far before an object the pointer to its `__dict__` lies.
    pub dict_before_object: u32,
    /// 3.11 only: how far before an object the pointer to its values lies.
    pub values_before_object: u32,
    /// `PyDictValues`, 3.13+: whether values inside an object are in use.
    pub values_valid: u32,
    /// `PyTypeObject`: where instances keep the pointer to their `__dict__`.
    pub type_dict_offset: u32,
    /// The GIL: before 3.12 in `_PyRuntimeState`, since then a pointer to it in
    /// `PyInterpreterState`.
    pub gil_at: u32,
    /// `PyInterpreterState`: `sys.modules`.
    pub interpreter_modules: u32,
    /// The GIL: the thread state that took it last.
    pub gil_holder: u32,
    /// The GIL: whether it is taken.
    pub gil_locked: u32,
    /// `PyModuleObject`: its `__dict__`.
    pub module_dict: u32,
    /// `PyCodeObject`: the names of local variables, a tuple.
    pub code_local_names: u32,
    /// `PyGenObject`: its frame, before 3.11 a pointer to it.
    pub generator_frame: u32,
    /// The frame: how far its value stack is filled.
    pub frame_stack_top: u32,
    /// `PyFrameObject`, before 3.11: where its value stack begins.
    pub frame_values: u32,
    /// `PyTupleObject`: the first item.
    pub tuple_items: u32,
    /// `PyListObject`: the pointer to its items.
    pub list_items: u32,
    /// `PyFloatObject`: the value.
    pub float_value: u32,
    /// `PyDictObject`: how many entries it has.
    pub dict_used: u32,
    /// `PySetObject`: how many members it has.
    pub set_used: u32,
    /// `PySetObject`: the number of its slots less one.
    pub set_mask: u32,
    /// `PySetObject`: the pointer to its slots.
    pub set_table: u32,
    /// `PyWeakReference`: what it refers to.
    pub weakref_object: u32,
    /// `_asyncio.Task`: its name, a string or a number.
    pub task_name: u32,
    /// `asyncio.Handle`: what it calls.
    pub handle_callback: u32,
    /// `_asyncio.TaskStepMethWrapper`: its task.
    pub step_task: u32,
    /// `_asyncio.Task`: its coroutine.
    pub task_coroutine: u32,
    /// `_asyncio.Task`: the future it waits for.
    pub task_awaits: u32,
}

impl Layout {
    /// The layout of CPython 3.`minor` as it was when the table was made.
    ///
    /// [`Layout::find`] also asks the interpreter itself, where it can answer.
    #[must_use]
    pub fn of_table(minor: u8, free_threaded: bool) -> Option<Self> {
        Some(match (minor, free_threaded) {
            (9, false) => table::CPYTHON_3_9,
            (10, false) => table::CPYTHON_3_10,
            (11, false) => table::CPYTHON_3_11,
            (12, false) => table::CPYTHON_3_12,
            (13, false) => table::CPYTHON_3_13,
            (13, true) => table::CPYTHON_3_13T,
            (14, false) => table::CPYTHON_3_14,
            (14, true) => table::CPYTHON_3_14T,
            (15, false) => table::CPYTHON_3_15,
            (15, true) => table::CPYTHON_3_15T,
            _ => return None,
        })
    }

    /// Whether every frame is an object of its own, run by its own eval loop.
    ///
    /// So it was before 3.11. Only readers from outside meet those versions.
    #[must_use]
    #[inline]
    pub fn has_frame_objects(&self) -> bool {
        self.minor < 11
    }

    /// Whether frames hang off a chain of C frames instead of the thread state.
    #[must_use]
    #[inline]
    pub fn has_cframes(&self) -> bool {
        self.minor < 13
    }

    /// Whether an eval loop is marked by a frame of its own, the entry shim.
    ///
    /// 3.11 marks the first frame of the loop instead.
    #[must_use]
    #[inline]
    pub fn has_shims(&self) -> bool {
        self.minor >= 12
    }

    /// Whether threads run private copies of the bytecode.
    #[must_use]
    #[inline]
    pub fn has_bytecode_copies(&self) -> bool {
        self.code_copies != 0
    }

    /// The address in a reference a frame holds, without its tag.
    #[must_use]
    #[inline]
    pub fn untag(&self, reference: u64) -> u64 {
        if self.minor >= 14 { reference & !3 } else { reference }
    }
}
