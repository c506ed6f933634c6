//! What tests of the heap share: a C library that allocates in known ways, and
//! what a door saw of it.

#[path = "../native_library/mod.rs"]
mod native_library;

use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use native_library::{Loaded, Scratch};
use tachograph_capture::{Client, Finished, HeapOptions, HeapPicture, Host, Options};
use tachograph_profile::{Allocation, Profile, file};

const SOURCE: &str = include_str!("../heap_library.c");

/// Only one session at a time makes its numbers its own.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

pub(crate) fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Builds the library; `flags` tell how it is linked.
pub(crate) fn build(directory: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let source = directory.join(format!("{name}.c"));
    std::fs::write(&source, SOURCE).unwrap();
    let library = directory.join(format!("lib{name}.so"));
    let status = Command::new("gcc")
        .args(["-O1", "-shared", "-fPIC", "-pthread", "-fno-builtin", "-Wl,--build-id"])
        .args(flags)
        .arg("-o")
        .args([&library, &source])
        .status()
        .expect("gcc is needed to build the test library");
    assert!(status.success());
    library
}

pub(crate) fn open(rate_bytes: u64) -> Client {
    open_with(HeapOptions { rate_bytes, ..HeapOptions::default() })
}

pub(crate) fn open_with(heap: HeapOptions) -> Client {
    let options = Options { heap: Some(heap), ..Options::default() };
    Client::open(options, Host::default()).unwrap()
}

pub(crate) fn profile(finished: &Finished) -> Profile {
    assert_eq!(finished.file_error, None);
    file::read(&finished.bytes, "test").unwrap()
}

/// Calls a function of the library that takes and gives a number.
pub(crate) fn call(library: &Loaded, name: &CStr, argument: u64) -> u64 {
    let address = library.symbol(name);
    // SAFETY: the functions that the tests name have this signature.
    let function: extern "C" fn(u64) -> u64 = unsafe { std::mem::transmute(address) };
    function(argument)
}

/// Estimated live bytes whose stack has a function called `function`.
pub(crate) fn live(picture: &HeapPicture, function: &str) -> u64 {
    weight(&picture.profile, picture.profile.allocations.iter(), function)
}

pub(crate) fn weight<'a>(
    profile: &Profile,
    rows: impl Iterator<Item = &'a Allocation>,
    function: &str,
) -> u64 {
    let named = |row: &&Allocation| {
        profile.frames_of(row.stack).any(|frame| profile.text(frame.function) == function)
    };
    rows.filter(named).map(|row| row.weight_bytes).sum()
}

#[track_caller]
pub(crate) fn near(found: u64, truth: u64, share: f64) {
    let error = (found as f64 - truth as f64).abs() / truth as f64;
    assert!(error <= share, "{found} is not {truth} within {share}");
}
