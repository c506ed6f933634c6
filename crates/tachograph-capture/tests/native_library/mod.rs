//! A C library that the tests build, load and unload.
//!
//! It is compiled without frame pointers, so only its unwind table leads
//! through it.

use std::ffi::{CStr, CString, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the library calls back.
pub(crate) type Callback = extern "C" fn(*mut c_void);

const SOURCE: &str = r"
typedef void (*callback)(void *);
static volatile int sink;

__attribute__((noinline)) static void hidden(callback back, void *data)
{
    volatile char room[SIZE];
    room[SIZE / 2] = 1;
    back(data);
    sink += room[SIZE / 2];
}

__attribute__((noinline)) void tachograph_test_inner(callback back, void *data)
{
    volatile int many[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    hidden(back, data);
    sink += many[3];
}

__attribute__((noinline)) void tachograph_test_outer(callback back, void *data)
{
    tachograph_test_inner(back, data);
    sink += 1;
}
";

/// Compiles the library with frames of `size` bytes. The name tells them apart.
pub(crate) fn build(directory: &Path, name: &str, size: usize) -> PathBuf {
    let source = directory.join(format!("{name}.c"));
    std::fs::write(&source, SOURCE).unwrap();
    let library = directory.join(format!("lib{name}.so"));
    let status = Command::new("gcc")
        .args(["-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"])
        .args(["-shared", "-fPIC", "-Wl,--build-id"])
        .arg(format!("-DSIZE={size}"))
        .arg("-o")
        .args([&library, &source])
        .status()
        .expect("gcc is needed to build the test library");
    assert!(status.success());
    library
}

/// A directory of this test, removed when dropped.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tachograph-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

/// A library that is loaded until this is dropped.
pub(crate) struct Loaded(*mut c_void);

impl Loaded {
    pub(crate) fn new(path: &Path) -> Self {
        let name = CString::new(path.as_os_str().as_encoded_bytes()).unwrap();
        // SAFETY: a terminated path; the library has no constructors of note.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!handle.is_null(), "cannot load {path:?}");
        Self(handle)
    }

    pub(crate) fn symbol(&self, name: &CStr) -> usize {
        // SAFETY: the handle is open and the name terminated.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        assert!(!address.is_null(), "no symbol {name:?}");
        address as usize
    }

    /// Calls `tachograph_test_outer`, which calls `back` with `data`.
    pub(crate) fn call(&self, back: Callback, data: *mut c_void) {
        let address = self.symbol(c"tachograph_test_outer");
        // SAFETY: the function has this signature in the source above.
        let outer: extern "C" fn(Callback, *mut c_void) = unsafe { std::mem::transmute(address) };
        outer(back, data);
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: the handle is open, and no function of it is on a stack.
        unsafe { libc::dlclose(self.0) };
    }
}
