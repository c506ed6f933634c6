//! Recording this program: how, and for how long.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tachograph_capture::{
    Client, CpuOptions, HeapOptions, HeapPicture, Host, MachineOptions, Options,
};
use tachograph_profile::{Mode, Roots, file};

use crate::error::Error;
use crate::recording::Recording;

/// Records until the guard is finished or dropped, into the file `path`.
///
/// The file grows while the program runs; one that is killed leaves what it had.
///
/// # Errors
///
/// The file cannot be written, or this machine cannot be sampled.
pub fn record(path: impl AsRef<Path>) -> Result<Started, Error> {
    Recorder::new().path(path).start()
}

/// How to record.
///
/// ```
/// use std::time::Duration;
///
/// let started = tachograph::Recorder::new().interval(Duration::from_millis(1)).start()?;
/// let recording = started.finish()?;
/// # Ok::<(), tachograph::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "recording begins with start()"]
pub struct Recorder {
    cpu: Option<CpuOptions>,
    heap: Option<HeapOptions>,
    machine: Option<MachineOptions>,
    path: Option<PathBuf>,
    memory_limit_bytes: u64,
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

impl Recorder {
    /// CPU samples every 10 ms with native stacks, spans and metrics, in memory.
    pub fn new() -> Self {
        let cpu = CpuOptions { native: true, ..CpuOptions::default() };
        Self { cpu: Some(cpu), heap: None, machine: None, path: None, memory_limit_bytes: 0 }
    }

    /// Writes the recording to `path` while it is made.
    pub fn path(mut self, path: impl AsRef<Path>) -> Self {
        self.path = Some(path.as_ref().to_owned());
        self
    }

    /// Time between two looks at a running thread.
    pub fn interval(mut self, interval: Duration) -> Self {
        let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX).max(1);
        self.cpu = self.cpu.map(|cpu| CpuOptions { interval_ns, ..cpu });
        self
    }

    /// Samples elapsed time, waiting threads included, instead of CPU time.
    pub fn wall_time(mut self) -> Self {
        self.cpu = self.cpu.map(|cpu| CpuOptions { mode: Mode::Wall, ..cpu });
        self
    }

    /// Takes no samples: spans and metrics only.
    pub fn without_samples(mut self) -> Self {
        self.cpu = None;
        self
    }

    /// Samples blocks of memory too, one every `rate_bytes` bytes on average; 0 means
    /// every 512 KB. Blocks of C libraries are seen as they are; those of this program
    /// need [`Allocator`](crate::Allocator) as its `#[global_allocator]`.
    pub fn heap(mut self, rate_bytes: u64) -> Self {
        self.heap = Some(HeapOptions { rate_bytes, ..HeapOptions::default() });
        self
    }

    /// Reads memory, processors, network, disks and energy too, this often.
    pub fn machine(mut self, interval: Duration) -> Self {
        let interval_ns = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX).max(1);
        self.machine = Some(MachineOptions { interval_ns });
        self
    }

    /// Room for the recording in memory; 100 MB if nothing is said.
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit_bytes = bytes;
        self
    }

    /// Begins to record.
    ///
    /// # Errors
    ///
    /// The file cannot be written, or this machine cannot be sampled.
    pub fn start(self) -> Result<Started, Error> {
        let options = Options {
            cpu: self.cpu,
            heap: self.heap,
            machine: self.machine,
            path: self.path,
            memory_limit_bytes: self.memory_limit_bytes,
            source: false,
            without_spans: false,
        };
        Ok(Started { client: Some(Client::open(options, host())?) })
    }
}

/// A recording that is being made. Dropped without [`finish`](Started::finish),
/// its file is complete all the same.
#[derive(Debug)]
#[must_use = "recording ends when this is dropped"]
pub struct Started {
    client: Option<Client>,
}

impl Started {
    /// What is live now and what was live when most was; `None` without
    /// [`Recorder::heap`].
    #[must_use]
    pub fn heap_picture(&self) -> Option<HeapPicture> {
        self.client.as_ref()?.heap_picture()
    }

    /// Ends the recording and opens it.
    ///
    /// # Errors
    ///
    /// The file could not be written to the end; what it holds can be opened.
    pub fn finish(mut self) -> Result<Recording, Error> {
        let Some(client) = self.client.take() else { return Err(incomplete("it was finished")) };
        let finished = client.finish(&[]);
        if let Some(reason) = finished.file_error {
            return Err(incomplete(&reason));
        }
        let profile = match &finished.file {
            Some(path) => file::open(path)?,
            None => file::read(&finished.bytes, "the recording")?,
        };
        Ok(Recording::from_profile(profile))
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            let _ = client.finish(&[]);
        }
    }
}

fn incomplete(reason: &str) -> Error {
    Error::Incomplete { reason: reason.to_owned() }
}

/// What is known of this program.
fn host() -> Host {
    let folder = std::env::current_dir().unwrap_or_default().display().to_string();
    let command: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let roots = Roots { working_directory: folder, ..Roots::default() };
    Host { command, roots, ..Host::default() }
}
