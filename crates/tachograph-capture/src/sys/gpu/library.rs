//! A library of a driver, found by name at run time.

use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A loaded library. It is never unloaded: a driver's own threads may run in it.
#[derive(Debug)]
pub(super) struct Library {
    handle: *mut c_void,
}

// SAFETY: a handle is a name for the linker, which takes its own lock.
unsafe impl Send for Library {}
// SAFETY: as above; every look-up goes through the linker's lock.
unsafe impl Sync for Library {}

impl Library {
    /// Loads the library; the linker's own words when it cannot.
    ///
    /// This runs the library's constructors, as the program itself would by
    /// using the device.
    pub(super) fn load(name: &Path) -> Result<Self, String> {
        open(name, libc::RTLD_NOW | libc::RTLD_LOCAL)
    }

    /// The library if this process has loaded it by now.
    pub(super) fn loaded(name: &Path) -> Result<Self, String> {
        open(name, libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_NOLOAD)
    }

    /// Where `symbol` is, if the library has it.
    pub(super) fn address(&self, symbol: &CStr) -> Option<*mut c_void> {
        // SAFETY: the handle came from `dlopen` and is never closed; `symbol`
        // is a terminated string.
        let address = unsafe { libc::dlsym(self.handle, symbol.as_ptr()) };
        (!address.is_null()).then_some(address)
    }
}

fn open(name: &Path, flags: i32) -> Result<Library, String> {
    let path = CString::new(name.as_os_str().as_bytes())
        .map_err(|_| format!("{}: the name has a zero byte", name.display()))?;
    // SAFETY: `path` is a terminated string that lives until the call returns.
    let handle = unsafe { libc::dlopen(path.as_ptr(), flags) };
    if handle.is_null() { Err(linker_error(name)) } else { Ok(Library { handle }) }
}

/// What the linker says about the last failure on this thread.
fn linker_error(name: &Path) -> String {
    // SAFETY: takes no argument; the text stays until this thread's next call
    // of the linker.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return format!("{} is not loaded", name.display());
    }
    // SAFETY: not null, so it is the linker's terminated string, copied at once.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_there_is_named_in_the_reason() {
        let name = Path::new("libtachograph-has-no-such.so.9");

        assert!(Library::load(name).unwrap_err().contains("no-such.so.9"));
        assert!(Library::loaded(name).unwrap_err().contains("no-such.so.9"));
    }

    #[test]
    fn the_c_library_is_loaded_and_has_its_symbols() {
        let library = Library::loaded(Path::new("libc.so.6")).unwrap();

        assert!(library.address(c"malloc").is_some());
        assert!(library.address(c"tachograph_has_no_such_symbol").is_none());
    }
}
