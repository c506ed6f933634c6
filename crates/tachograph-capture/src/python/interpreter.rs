//! Finds the interpreter of a process and how it lays out its memory.

use tachograph_probe::layout::{Layout, LayoutError, Version};
use tachograph_probe::memory::ReadMemory;

use super::ProcessMemory;
use crate::Error;
use crate::sys::dynamic::symbol;
use crate::sys::handler::PythonEntry;

/// A CPython and where its structures are.
#[derive(Clone, Copy, Debug)]
pub struct Interpreter {
    /// Where its structures keep their fields.
    pub layout: Layout,
    /// The address of `_PyRuntime`.
    pub runtime: u64,
    /// Which CPython it is.
    pub version: Version,
    /// Whether it is a build without the GIL.
    pub free_threaded: bool,
}

impl Interpreter {
    /// The interpreter of this process.
    ///
    /// Every CPython exports the two symbols this needs, stripped and
    /// statically linked ones too. A version we do not know is refused.
    pub fn find() -> Result<Self, Error> {
        let runtime = symbol(c"_PyRuntime").ok_or_else(no_python)? as u64;
        let version = symbol(c"Py_Version").ok_or_else(no_python)? as u64;
        let memory = ProcessMemory::own();
        let version_hex = memory.half(version).ok_or_else(no_python)?;
        Self::at(&memory, runtime, version_hex)
    }

    /// The interpreter whose `_PyRuntime` is at `runtime` and whose
    /// `sys.hexversion` is `version_hex`.
    pub fn at<M: ReadMemory>(memory: &M, runtime: u64, version_hex: u32) -> Result<Self, Error> {
        let layout = Layout::find(memory, runtime, version_hex).map_err(|error| unknown(&error))?;
        let version = Version::from_hex(version_hex);
        Ok(Self { layout, runtime, version, free_threaded: layout.free_threaded })
    }

    /// How a signal handler finds the interpreter's state of its own thread.
    pub(crate) fn entry(&self) -> PythonEntry {
        PythonEntry {
            layout: self.layout,
            this_thread_state: symbol(c"PyGILState_GetThisThreadState").unwrap_or(0),
            current_thread_state: symbol(c"_PyThreadState_UncheckedGet").unwrap_or(0),
            prefers_current: self.layout.minor < 12,
        }
    }
}

fn no_python() -> Error {
    Error::UnknownInterpreter { found: "this process, in which no CPython 3.11+ is loaded".into() }
}

fn unknown(error: &LayoutError) -> Error {
    let found = match error {
        LayoutError::TooNew(version) | LayoutError::TooOld(version) => format!("CPython {version}"),
        modified => format!("this interpreter ({modified})"),
    };
    Error::UnknownInterpreter { found }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_without_python_says_so() {
        let error = Interpreter::find().unwrap_err();
        assert!(error.to_string().contains("no CPython"), "{error}");
    }

    #[test]
    fn a_version_nobody_knows_is_refused_by_name() {
        let error = Interpreter::at(&ProcessMemory::own(), 0, 0x0310_00f0).unwrap_err();
        assert!(error.to_string().contains("CPython 3.16.0"), "{error}");
    }
}
