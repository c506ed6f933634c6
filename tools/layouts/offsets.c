/* Prints where CPython keeps the fields the stack reader follows.
 *
 * Compiled by generate.py against the internal headers of one interpreter; the
 * compiler is the authority, so no offset in the tables is counted by hand.
 * One line per field: name and byte offset. A field a version does not have is
 * printed as 0 where 0 cannot be a real offset that is used.
 */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "internal/pycore_interp.h"
#include "internal/pycore_object.h"
#include "internal/pycore_runtime.h"
#if PY_VERSION_HEX < 0x030B0000
#include "internal/pycore_gil.h"
#include "frameobject.h"
/* No header shows this one; 3.9 and 3.10 have it like this in dict-common.h. */
typedef struct {
    Py_ssize_t dk_refcnt;
    Py_ssize_t dk_size;
    void *dk_lookup;
    Py_ssize_t dk_usable;
    Py_ssize_t dk_nentries;
    char dk_indices[];
} OldDictKeys;
#else
#include "internal/pycore_code.h"
#include "internal/pycore_dict.h"
#include "internal/pycore_frame.h"
#endif
#if PY_VERSION_HEX >= 0x030D0000
#include "internal/pycore_tstate.h"
#endif
#if PY_VERSION_HEX >= 0x030E0000
#include "internal/pycore_interpframe_structs.h"
#endif

#define FIELD(name, type, member) printf(#name " %zu\n", offsetof(type, member))
#define VALUE(name, value) printf(#name " %lld\n", (long long)(value))

static void thread_states(void)
{
    FIELD(runtime_interpreters, _PyRuntimeState, interpreters.head);
    FIELD(interpreter_next, PyInterpreterState, next);
#if PY_VERSION_HEX < 0x030B0000
    FIELD(interpreter_threads, PyInterpreterState, tstate_head);
#else
    FIELD(interpreter_threads, PyInterpreterState, threads.head);
#endif
    FIELD(thread_next, PyThreadState, next);
    FIELD(thread_interpreter, PyThreadState, interp);
    FIELD(thread_id, PyThreadState, thread_id);
#if PY_VERSION_HEX < 0x030B0000
    VALUE(thread_native_id, 0);
    VALUE(thread_size, sizeof(PyThreadState));
    VALUE(thread_stack_top, 0);
    FIELD(thread_frame, PyThreadState, frame);
    VALUE(cframe_frame, 0);
    VALUE(cframe_previous, 0);
}

static void frames(void)
{
    FIELD(frame_code, PyFrameObject, f_code);
    FIELD(frame_instruction, PyFrameObject, f_lasti);
    FIELD(frame_previous, PyFrameObject, f_back);
    VALUE(frame_owner, 0);
    FIELD(frame_locals, PyFrameObject, f_localsplus);
    VALUE(frame_is_entry, 0);
    VALUE(frame_copy_index, 0);
    VALUE(code_copies, 0);
    VALUE(largest_owner, 0);
}

static void code_objects(void)
{
    FIELD(code_units, PyCodeObject, co_code);
    FIELD(code_locals, PyCodeObject, co_nlocals);
    FIELD(code_stack, PyCodeObject, co_stacksize);
    FIELD(code_flags, PyCodeObject, co_flags);
    FIELD(code_first_line, PyCodeObject, co_firstlineno);
    FIELD(code_filename, PyCodeObject, co_filename);
    FIELD(code_qualname, PyCodeObject, co_name);
#if PY_VERSION_HEX < 0x030A0000
    FIELD(code_linetable, PyCodeObject, co_lnotab);
#else
    FIELD(code_linetable, PyCodeObject, co_linetable);
#endif
    VALUE(code_first_traceable, 0);
    VALUE(code_bytecode, 0);
    VALUE(code_version, 0);
}
#else
    FIELD(thread_native_id, PyThreadState, native_thread_id);
#if PY_VERSION_HEX < 0x030D0000
    VALUE(thread_size, sizeof(PyThreadState));
    FIELD(thread_stack_top, PyThreadState, datastack_top);
    FIELD(thread_frame, PyThreadState, cframe);
    FIELD(cframe_frame, _PyCFrame, current_frame);
    FIELD(cframe_previous, _PyCFrame, previous);
#else
    VALUE(thread_size, sizeof(_PyThreadStateImpl));
    FIELD(thread_stack_top, PyThreadState, datastack_top);
    FIELD(thread_frame, PyThreadState, current_frame);
    VALUE(cframe_frame, 0);
    VALUE(cframe_previous, 0);
#endif
}

static void frames(void)
{
#if PY_VERSION_HEX < 0x030D0000
    FIELD(frame_code, _PyInterpreterFrame, f_code);
    FIELD(frame_instruction, _PyInterpreterFrame, prev_instr);
#else
    FIELD(frame_code, _PyInterpreterFrame, f_executable);
    FIELD(frame_instruction, _PyInterpreterFrame, instr_ptr);
#endif
    FIELD(frame_previous, _PyInterpreterFrame, previous);
    FIELD(frame_owner, _PyInterpreterFrame, owner);
    FIELD(frame_locals, _PyInterpreterFrame, localsplus);
#if PY_VERSION_HEX < 0x030C0000
    FIELD(frame_is_entry, _PyInterpreterFrame, is_entry);
#else
    VALUE(frame_is_entry, 0);
#endif
#if PY_VERSION_HEX >= 0x030E0000 && defined(Py_GIL_DISABLED)
    FIELD(frame_copy_index, _PyInterpreterFrame, tlbc_index);
    FIELD(code_copies, PyCodeObject, co_tlbc);
#else
    VALUE(frame_copy_index, 0);
    VALUE(code_copies, 0);
#endif
#if PY_VERSION_HEX >= 0x030F0000
    VALUE(largest_owner, FRAME_OWNED_BY_INTERPRETER);
#elif PY_VERSION_HEX >= 0x030C0000
    VALUE(largest_owner, FRAME_OWNED_BY_CSTACK);
#else
    VALUE(largest_owner, FRAME_OWNED_BY_FRAME_OBJECT);
#endif
}

static void code_objects(void)
{
    FIELD(code_units, PyVarObject, ob_size);
    FIELD(code_locals, PyCodeObject, co_nlocalsplus);
    FIELD(code_stack, PyCodeObject, co_stacksize);
    FIELD(code_flags, PyCodeObject, co_flags);
    FIELD(code_first_line, PyCodeObject, co_firstlineno);
    FIELD(code_filename, PyCodeObject, co_filename);
    FIELD(code_qualname, PyCodeObject, co_qualname);
    FIELD(code_linetable, PyCodeObject, co_linetable);
    FIELD(code_first_traceable, PyCodeObject, _co_firsttraceable);
    FIELD(code_bytecode, PyCodeObject, co_code_adaptive);
#if PY_VERSION_HEX >= 0x030C0000
    FIELD(code_version, PyCodeObject, co_version);
#else
    VALUE(code_version, 0);
#endif
}

#endif

/* The string's character size sits behind the interning state, whose width
 * differs between builds; set it and see which bit moved. */
static int kind_shift(void)
{
    PyASCIIObject text;
    unsigned int bits;
    memset(&text, 0, sizeof text);
    text.state.kind = 1;
    memcpy(&bits, &text.state, sizeof bits);
    return __builtin_ctz(bits);
}

static void objects(void)
{
    FIELD(object_type, PyObject, ob_type);
    FIELD(type_name, PyTypeObject, tp_name);
    FIELD(type_flags, PyTypeObject, tp_flags);
    FIELD(type_basic_size, PyTypeObject, tp_basicsize);
    FIELD(type_parent, PyTypeObject, tp_base);
    FIELD(type_cached_keys, PyHeapTypeObject, ht_cached_keys);
    FIELD(text_length, PyASCIIObject, length);
    FIELD(text_state, PyASCIIObject, state);
    VALUE(text_kind_shift, kind_shift());
    VALUE(text_ascii_data, sizeof(PyASCIIObject));
    VALUE(text_compact_data, sizeof(PyCompactUnicodeObject));
    FIELD(bytes_length, PyVarObject, ob_size);
    FIELD(bytes_data, PyBytesObject, ob_sval);
#if PY_VERSION_HEX < 0x030C0000
    FIELD(number_tag, PyLongObject, ob_base.ob_size);
    FIELD(number_digits, PyLongObject, ob_digit);
#else
    FIELD(number_tag, PyLongObject, long_value.lv_tag);
    FIELD(number_digits, PyLongObject, long_value.ob_digit);
#endif
    FIELD(method_self, PyCFunctionObject, m_self);
}

static void dictionaries(void)
{
    FIELD(dict_keys, PyDictObject, ma_keys);
    FIELD(dict_values, PyDictObject, ma_values);
#if PY_VERSION_HEX < 0x030B0000
    FIELD(keys_index_bytes, OldDictKeys, dk_size);
    VALUE(keys_kind, 0);
    FIELD(keys_entries, OldDictKeys, dk_nentries);
    FIELD(keys_indices, OldDictKeys, dk_indices);
    VALUE(values_first, 0);
    VALUE(dict_before_object, 0);
    VALUE(values_before_object, 0);
    VALUE(values_valid, 0);
}
#else
    FIELD(keys_index_bytes, PyDictKeysObject, dk_log2_index_bytes);
    FIELD(keys_kind, PyDictKeysObject, dk_kind);
    FIELD(keys_entries, PyDictKeysObject, dk_nentries);
    FIELD(keys_indices, PyDictKeysObject, dk_indices);
    FIELD(values_first, PyDictValues, values);
#if PY_VERSION_HEX >= 0x030D0000
    VALUE(dict_before_object, -(MANAGED_DICT_OFFSET));
#else
    VALUE(dict_before_object, 3 * sizeof(PyObject *));
#endif
#if PY_VERSION_HEX < 0x030C0000
    VALUE(values_before_object, 4 * sizeof(PyObject *));
#else
    VALUE(values_before_object, 0);
#endif
#if PY_VERSION_HEX >= 0x030D0000
    FIELD(values_valid, PyDictValues, valid);
#else
    VALUE(values_valid, 0);
#endif
}

#endif

/* What only a reader from outside asks for. */
static void outside(void)
{
    FIELD(type_dict_offset, PyTypeObject, tp_dictoffset);
#if PY_VERSION_HEX < 0x030C0000
    FIELD(gil_at, _PyRuntimeState, ceval.gil);
    FIELD(interpreter_modules, PyInterpreterState, modules);
#else
    FIELD(gil_at, PyInterpreterState, ceval.gil);
    FIELD(interpreter_modules, PyInterpreterState, imports.modules);
#endif
    FIELD(gil_holder, struct _gil_runtime_state, last_holder);
    FIELD(gil_locked, struct _gil_runtime_state, locked);
    VALUE(module_dict, sizeof(PyObject));
#if PY_VERSION_HEX < 0x030B0000
    FIELD(code_local_names, PyCodeObject, co_varnames);
    FIELD(generator_frame, PyGenObject, gi_frame);
#if PY_VERSION_HEX < 0x030A0000
    FIELD(frame_stack_top, PyFrameObject, f_stacktop);
#else
    FIELD(frame_stack_top, PyFrameObject, f_stackdepth);
#endif
    FIELD(frame_values, PyFrameObject, f_valuestack);
#else
    FIELD(code_local_names, PyCodeObject, co_localsplusnames);
    FIELD(generator_frame, PyGenObject, gi_iframe);
#if PY_VERSION_HEX < 0x030E0000
    FIELD(frame_stack_top, _PyInterpreterFrame, stacktop);
#else
    FIELD(frame_stack_top, _PyInterpreterFrame, stackpointer);
#endif
    VALUE(frame_values, 0);
#endif
    FIELD(tuple_items, PyTupleObject, ob_item);
    FIELD(list_items, PyListObject, ob_item);
    FIELD(float_value, PyFloatObject, ob_fval);
    FIELD(dict_used, PyDictObject, ma_used);
    FIELD(set_used, PySetObject, used);
    FIELD(set_mask, PySetObject, mask);
    FIELD(set_table, PySetObject, table);
    FIELD(weakref_object, PyWeakReference, wr_object);
}

int main(void)
{
    VALUE(version, PY_VERSION_HEX);
    thread_states();
    frames();
    code_objects();
    objects();
    dictionaries();
    outside();
    return 0;
}
