//! Begins a recording before `main` and finishes it at exit.
#![allow(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use tachograph_capture::{Client, HeapOptions, Host, Options};

use crate::run;

const OUTPUT: &str = "TACHOGRAPH_OUTPUT";
const RATE: &str = "TACHOGRAPH_HEAP_RATE";
const PID: &str = "{pid}";

static CLIENT: Mutex<Option<Client>> = Mutex::new(None);

/// The loader calls it when the library is loaded, before the program begins.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

extern "C" fn begin() {
    let _ = catch_unwind(AssertUnwindSafe(open));
}

extern "C" fn end() {
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let client = CLIENT.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(client) = client.filter(Client::is_alive) {
            let _ = client.finish(&[]);
        }
    }));
}

fn open() {
    let Some(options) = run::wishes().or_else(of_variables) else { return };
    let command = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let host = Host { command, ..Host::default() };
    if let Ok(client) = Client::open(options, host) {
        *CLIENT.lock().unwrap_or_else(PoisonError::into_inner) = Some(client);
        tachograph_capture::finish_when_told_to_end();
        // SAFETY: the function has no arguments and stays loaded.
        unsafe { libc::atexit(end) };
    }
}

/// What a user's own variables ask for: the heap alone.
fn of_variables() -> Option<Options> {
    let output = std::env::var(OUTPUT).ok().filter(|output| !output.is_empty())?;
    if !output.contains(PID) {
        // SAFETY: the program has not begun, so there is one thread and nobody reads it.
        unsafe { std::env::remove_var(OUTPUT) };
    }
    let rate_bytes = std::env::var(RATE).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let path = output.replace(PID, &std::process::id().to_string());
    let heap = HeapOptions { rate_bytes, python_objects: false, ..HeapOptions::default() };
    Some(Options { heap: Some(heap), path: Some(path.into()), ..Options::default() })
}
