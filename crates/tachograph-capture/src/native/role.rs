//! What a native frame is to a reader: work worth showing, or machinery.
//!
//! A Python program spends its native time below the interpreter. A reader wants
//! to see `deflate` and `list_sort`, not the seven functions by which the
//! interpreter came to call them.

use super::NativeSymbol;
use super::objects::object_at;
use crate::sys::dynamic;
use crate::sys::native;

/// What a native frame is to a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Role {
    /// Code of another object than the interpreter.
    #[default]
    Foreign,
    /// A function of the interpreter whose name says what is being done.
    Telling,
    /// A function of the interpreter that only leads to others, or has no name.
    Plumbing,
    /// How the C library starts a program or a thread.
    Startup,
}

/// Beginnings of names that only lead to others.
const PLUMBING: &[&str] = &[
    "Py",
    "_Py",
    "py_",
    "pymain_",
    "pyrun_",
    "pythread_",
    "run_eval_code",
    "run_mod",
    "thread_run",
    "t_bootstrap",
    "cfunction_",
    "method_vectorcall",
    "method_call",
    "vectorcall_",
    "object_vacall",
    "object_call",
    "call_",
    "do_call",
    "slot_",
    "wrap_",
    "wrapper_",
    "type_call",
    "tp_new_wrapper",
    "gen_send",
    "gen_iternext",
    "lookup_",
    "function___call__",
    "partial_call",
    "partial_vectorcall",
    "property_descr",
    "builtin_exec",
    "builtin_eval",
    "builtin___import__",
    "builtin___build_class__",
    "import_",
    "initialize_locals",
];

/// Functions of the C library below the first function of a program or thread.
const STARTUP: &[&str] = &[
    "main",
    "_start",
    "__libc_start_main",
    "__libc_start_main_impl",
    "__libc_start_main@@GLIBC_2.34",
    "__libc_start_call_main",
    "start_thread",
    "clone",
    "clone3",
    "__clone",
    "__clone3",
    "thread_start",
];

/// Tells the roles of frames in this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Roles {
    /// First address of the object that holds the interpreter.
    interpreter: Option<u64>,
}

impl Roles {
    /// Looks for the interpreter: the object that holds `_PyRuntime`.
    ///
    /// Asks the dynamic loader; make it once per session.
    #[must_use]
    pub fn of_this_process() -> Self {
        native::objects::prepare();
        let interpreter = dynamic::symbol(c"_PyRuntime").and_then(|runtime| {
            let listed = object_at(runtime as u64).map(|object| object.found.start);
            listed.or_else(|| native::objects::find(runtime as u64).map(|found| found.start))
        });
        Self { interpreter }
    }

    /// For a process whose interpreter is in the object that begins at `start`.
    #[must_use]
    pub fn with_interpreter_at(start: u64) -> Self {
        Self { interpreter: Some(start) }
    }

    /// The role of a frame with this symbol.
    #[must_use]
    pub fn role(&self, symbol: &NativeSymbol) -> Role {
        let name = symbol.known_name();
        if self.interpreter == Some(symbol.module_base) {
            return interpreter_role(name);
        }
        if STARTUP.contains(&name) || is_unnamed_startup(symbol) {
            return Role::Startup;
        }
        Role::Foreign
    }
}

fn interpreter_role(name: &str) -> Role {
    if STARTUP.contains(&name) {
        return Role::Startup;
    }
    if name.is_empty() || PLUMBING.iter().any(|start| name.starts_with(start)) {
        return Role::Plumbing;
    }
    Role::Telling
}

/// A stripped C library gives its starters no name of their own.
fn is_unnamed_startup(symbol: &NativeSymbol) -> bool {
    let file = symbol.module_path.rsplit('/').next().unwrap_or_default();
    !symbol.is_named && (file.starts_with("libc.so") || file.starts_with("libpthread.so"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERPRETER: u64 = 0x40_0000;

    fn role(name: &str, module_base: u64, file: &str) -> Role {
        let symbol = NativeSymbol {
            function: name.to_owned(),
            is_named: !name.is_empty(),
            module_base,
            module_path: format!("/usr/lib/{file}"),
            ..NativeSymbol::default()
        };
        let interpreter = Some(INTERPRETER);
        Roles { interpreter }.role(&symbol)
    }

    #[test]
    fn call_plumbing_of_the_interpreter_is_told_from_its_work() {
        for name in ["_PyEval_EvalFrameDefault", "PyObject_Vectorcall", "cfunction_call", ""] {
            assert_eq!(role(name, INTERPRETER, "libpython3.so"), Role::Plumbing, "{name:?}");
        }
        for name in ["list_sort", "dict_merge", "long_divrem", "gc_collect_main", "take_gil"] {
            assert_eq!(role(name, INTERPRETER, "libpython3.so"), Role::Telling, "{name:?}");
        }
    }

    #[test]
    fn the_same_name_in_another_object_is_foreign() {
        assert_eq!(role("PyArray_Sort", 0x7000, "_multiarray.so"), Role::Foreign);
        assert_eq!(role("", 0x7000, "libblas.so"), Role::Foreign);
    }

    #[test]
    fn the_c_librarys_starters_are_startup_with_and_without_a_name() {
        assert_eq!(role("__libc_start_main", 0x9000, "libc.so.6"), Role::Startup);
        assert_eq!(role("clone3", 0x9000, "libc.so.6"), Role::Startup);
        assert_eq!(role("", 0x9000, "libc.so.6"), Role::Startup);
        assert_eq!(role("qsort_r", 0x9000, "libc.so.6"), Role::Foreign);
    }
}
