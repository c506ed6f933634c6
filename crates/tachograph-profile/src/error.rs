//! Everything that can go wrong between a file and a profile.

use std::io;
use std::path::PathBuf;

/// Why a recording could not be read, written or exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file could not be opened or read.
    #[error("cannot read recording {path:?}; check the path")]
    Read {
        /// The file that was asked for.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// The file could not be created or written.
    #[error("cannot write {path:?}; {}, the profile is still in memory", remedy(source))]
    Write {
        /// The file that was asked for.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// The bytes do not start like a recording.
    #[error(
        "{name} is not a tachograph recording; recordings end in .tacho and are written by tachograph"
    )]
    NotARecording {
        /// The file, or a word for the bytes that were given.
        name: String,
    },
    /// The recording was written by a later release.
    #[error(
        "{name} has format version {found}, this release reads up to {supported}; upgrade tachograph"
    )]
    TooNew {
        /// The file, or a word for the bytes that were given.
        name: String,
        /// The version in the file.
        found: u32,
        /// The newest version this release reads.
        supported: u32,
    },
    /// The recording breaks one of its own rules.
    #[error("{name} is damaged: {what}")]
    Damaged {
        /// The file, or a word for the bytes that were given.
        name: String,
        /// Which rule is broken.
        what: String,
    },
    /// No span has this name.
    #[error("the recording has no span {name:?}; {known}")]
    NoSuchSpan {
        /// What was asked for.
        name: String,
        /// Which names there are, as a clause.
        known: String,
    },
    /// The format is not one we write.
    #[error("Unknown format {format:?}; known formats are {known}")]
    UnknownFormat {
        /// What was asked for.
        format: String,
        /// What could have been asked for.
        known: String,
    },
}

/// What helps against a file that could not be written.
fn remedy(source: &io::Error) -> &'static str {
    use io::ErrorKind::{
        IsADirectory, NotADirectory, NotFound, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem,
        StorageFull,
    };
    match source.kind() {
        StorageFull | QuotaExceeded => "free some room or choose another place",
        NotFound | NotADirectory => "choose a directory that exists",
        IsADirectory => "name a file in it",
        PermissionDenied | ReadOnlyFilesystem => "choose a place that you may write to",
        _ => "choose another place",
    }
}
