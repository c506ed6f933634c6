//! One session per process, many doors: each door is a [`Client`] with its own window.

use std::path::PathBuf;

use crate::error::Error;
use crate::options::{Host, Options};

/// One door's window on the session. Dropping it without `finish` discards the window.
#[derive(Debug)]
pub struct Client {
    _private: (),
}

/// What a finished client leaves behind.
#[derive(Debug)]
pub struct Finished {
    /// The encoded recording (read with `tachograph_profile::file::read`); may lack late samples when `file` is set and memory was short.
    pub bytes: Vec<u8>,
    /// The complete recording on disk, when a path was asked for and every write succeeded.
    pub file: Option<PathBuf>,
    /// Why the file is not complete, as a sentence.
    pub file_error: Option<String>,
}

/// Live figures of one client.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stats {
    /// Samples kept so far.
    pub collected_samples: u64,
    /// Samples lost so far: no room, or unreadable.
    pub dropped_samples: u64,
    /// How long the window is.
    pub duration_ns: u64,
    /// Sampling cost as a share of the CPU time watched, 0 to 1.
    pub cost: f64,
    /// Bytes of encoded recording held in memory.
    pub memory_bytes: u64,
}

impl Client {
    /// Opens a window: starts the sources it needs, joins them if they run.
    pub fn open(options: Options, host: Host) -> Result<Self, Error> {
        let _ = (options, host);
        Err(Error::UnsupportedPlatform)
    }

    /// How it goes so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats::default()
    }

    /// Closes the window. `thread_names` are names by OS thread id known now.
    /// Takes well under 100 ms; call it without the interpreter lock.
    #[must_use]
    pub fn finish(self, thread_names: &[(u64, String)]) -> Finished {
        let _ = thread_names;
        Finished {
            bytes: Vec::new(),
            file: None,
            file_error: None,
        }
    }

    /// False after a `fork` in the child: the window belongs to the parent.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        false
    }
}
