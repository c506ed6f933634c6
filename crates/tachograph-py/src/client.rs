//! A running window on the session.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use tachograph_capture as capture;
use tachograph_capture::{CpuOptions, HeapOptions, Host, MachineOptions, Options, TriggerChoice};
use tachograph_profile::{Mode, PythonInfo, Roots};

use crate::errors::{from_capture, guarded, unknown_word};
use crate::recording::Recording;
use crate::text::{Text, texts};

/// `(version, implementation, executable, free_threaded)`.
type PythonRow = (Text, Text, Text, bool);

/// `(working_directory, script, standard_library, site_packages)`.
type RootsRow = (Text, Text, Vec<Text>, Vec<Text>);

/// `(rate_bytes, python_objects, native, max_depth)`.
type HeapRow = (u64, bool, bool, u32);

/// Names of threads by OS thread id.
pub(crate) type ThreadNames = Vec<(u64, Text)>;

/// What the host program knows: interpreter, command, roots, names of threads.
pub(crate) type HostRow = (PythonRow, Vec<Text>, RootsRow, ThreadNames);

/// `(collected_samples, dropped_samples, duration_ns, cost, memory_bytes)`.
type StatsRow = (u64, u64, u64, f64, u64);

/// What a finished window leaves: the recording, and why its file is not complete.
///
/// Not the file's path: as a `pathlib.Path` it would import modules, and this
/// may run while the interpreter exits.
type FinishedRow = (Recording, Option<String>);

/// One door's window on the session.
#[pyclass(frozen, module = "tachograph._native")]
pub(crate) struct Client {
    running: capture::Shared,
}

impl Client {
    fn running(&self) -> MutexGuard<'_, Option<capture::Client>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Client {
    /// Opens a window and starts what it needs.
    #[staticmethod]
    #[pyo3(signature = (
        *, interval_ns, mode, trigger, native, max_depth, path, memory_limit_bytes, source,
        python, command, roots, thread_names, cpu = true, heap = None,
        machine_interval_ns = None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments, one per option")]
    fn open(
        py: Python<'_>,
        interval_ns: u64,
        mode: &str,
        trigger: &str,
        native: bool,
        max_depth: u32,
        path: Option<PathBuf>,
        memory_limit_bytes: u64,
        source: bool,
        python: PythonRow,
        command: Vec<Text>,
        roots: RootsRow,
        thread_names: ThreadNames,
        cpu: bool,
        heap: Option<HeapRow>,
        machine_interval_ns: Option<u64>,
    ) -> PyResult<Self> {
        let samples = CpuOptions {
            interval_ns,
            mode: mode_named(mode)?,
            trigger: TriggerChoice::from_name(trigger)
                .ok_or_else(|| unknown_word("trigger", trigger, TRIGGERS))?,
            native,
            max_depth,
        };
        let cpu = cpu.then_some(samples);
        let heap = heap.map(|(rate_bytes, python_objects, native, max_depth)| HeapOptions {
            rate_bytes,
            python_objects,
            native,
            max_depth,
            ..HeapOptions::default()
        });
        let machine = machine_interval_ns.map(|interval_ns| MachineOptions { interval_ns });
        let options =
            Options { cpu, heap, machine, path, memory_limit_bytes, source, without_spans: false };
        let host = host_of((python, command, roots, thread_names));
        guarded(|| {
            let wants_objects = heap.is_some_and(|heap| heap.python_objects);
            let objects = wants_objects.then(capture::PythonObjects::hold);
            let opened = py.detach(|| capture::Client::open_with(options, host, objects));
            let client = opened.map_err(from_capture)?;
            Ok(Self { running: Arc::new(Mutex::new(Some(client))) })
        })
    }

    /// Live figures; `None` once the window is closed.
    fn stats(&self) -> PyResult<Option<StatsRow>> {
        guarded(|| {
            let stats = self.running().as_ref().map(capture::Client::stats);
            Ok(stats.map(|now| {
                (
                    now.collected_samples,
                    now.dropped_samples,
                    now.duration_ns,
                    now.cost,
                    now.memory_bytes,
                )
            }))
        })
    }

    /// Samples no more blocks for this window; the end of those it has is still seen.
    fn pause_heap(&self, py: Python<'_>) -> PyResult<()> {
        guarded(|| {
            py.detach(|| {
                if let Some(client) = self.running().as_ref() {
                    client.pause_heap();
                }
            });
            capture::restore_python_allocators();
            Ok(())
        })
    }

    /// Closes the window and returns what it recorded.
    fn finish(&self, py: Python<'_>, thread_names: ThreadNames) -> PyResult<FinishedRow> {
        guarded(|| {
            capture::check_python_objects();
            let Some(client) = self.running().take() else {
                return Err(PyRuntimeError::new_err("the window is already closed"));
            };
            let thread_names = named(thread_names);
            let finished = py.detach(|| {
                let mut finished = client.finish(&thread_names);
                if let Some(fuller) = fuller_file(&finished) {
                    finished.bytes = fuller;
                }
                let recording = Recording::from_encoded(finished.bytes, "the recording");
                (recording, finished.file_error)
            });
            capture::restore_python_allocators();
            Ok(finished)
        })
    }

    /// Lets whoever listens at `socket` close the window; `finish` may still come first.
    fn finish_with(&self, py: Python<'_>, socket: PathBuf) -> PyResult<()> {
        guarded(|| {
            let door = Arc::clone(&self.running);
            py.detach(|| capture::finish_with(door, &socket)).map_err(from_capture)
        })
    }

    /// Whether the window is open and belongs to this process.
    fn is_alive(&self) -> PyResult<bool> {
        guarded(|| Ok(self.running().as_ref().is_some_and(capture::Client::is_alive)))
    }
}

/// Facts that only the host program knows.
pub(crate) fn host_of((python, command, roots, thread_names): HostRow) -> Host {
    let (version, implementation, executable, free_threaded) = python;
    let (working_directory, script, standard_library, site_packages) = roots;
    Host {
        python: Some(PythonInfo {
            version: version.0,
            implementation: implementation.0,
            executable: executable.0,
            free_threaded,
        }),
        command: texts(command),
        roots: Roots {
            working_directory: working_directory.0,
            script: script.0,
            standard_library: texts(standard_library),
            site_packages: texts(site_packages),
        },
        thread_names: named(thread_names),
    }
}

/// Names of threads as text.
pub(crate) fn named(names: ThreadNames) -> Vec<(u64, String)> {
    names.into_iter().map(|(id, name)| (id, name.0)).collect()
}

const TRIGGERS: &str = "\"auto\", \"tick\", \"perf\" or \"cpu-timer\"";

/// The mode called `name` in the API.
pub(crate) fn mode_named(name: &str) -> PyResult<Mode> {
    match name {
        "cpu" => Ok(Mode::Cpu),
        "wall" => Ok(Mode::Wall),
        _ => Err(unknown_word("mode", name, "\"cpu\" or \"wall\"")),
    }
}

/// The bytes of the file, when it holds more than fitted in memory.
///
/// They are read now, not on first use: the file may be overwritten by then.
fn fuller_file(finished: &capture::Finished) -> Option<Vec<u8>> {
    let path = finished.file.as_ref()?;
    let size = fs::metadata(path).ok()?.len();
    if size <= finished.bytes.len() as u64 {
        return None;
    }
    fs::read(path).ok()
}
