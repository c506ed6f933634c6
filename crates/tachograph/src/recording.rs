//! A recording that is over: what can be asked of it.

use std::path::Path;

use tachograph_profile::analyze::{self, FunctionRow, ThreadRow};
use tachograph_profile::export::{self, Format, Style};
use tachograph_profile::{Profile, Span, Time, file};

use crate::error::Error;

/// A finished recording.
#[derive(Clone, Debug)]
pub struct Recording {
    profile: Profile,
}

/// The recording in a file; that of a program that was killed as far as it goes.
///
/// # Errors
///
/// The file is missing, is not a recording, or is damaged.
pub fn open(path: impl AsRef<Path>) -> Result<Recording, Error> {
    Ok(Recording { profile: file::open(path.as_ref())? })
}

impl Recording {
    pub(crate) fn from_profile(profile: Profile) -> Self {
        Self { profile }
    }

    /// One screen of text that answers where the time went.
    #[must_use]
    pub fn summary(&self) -> String {
        export::summary(&self.profile, &Style::default())
    }

    /// Where the time went by function, the heaviest first.
    #[must_use]
    pub fn functions(&self) -> Vec<FunctionRow> {
        analyze::functions(&self.profile, analyze::main_measure(&self.profile))
    }

    /// What each thread was up to, the busiest first.
    #[must_use]
    pub fn threads(&self) -> Vec<ThreadRow> {
        analyze::threads(&self.profile)
    }

    /// The spans called `name`, in the order they began.
    pub fn spans<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Span> + 'a {
        self.profile.spans.iter().filter(move |span| self.profile.text(span.name) == name)
    }

    /// The part inside all spans called `name`.
    ///
    /// # Errors
    ///
    /// No span is called so; the message names those there are.
    pub fn within(&self, name: &str) -> Result<Self, Error> {
        Ok(Self { profile: self.profile.within(name)? })
    }

    /// The part from `from` until just before `to`, since the start.
    #[must_use]
    pub fn between(&self, from: std::time::Duration, to: std::time::Duration) -> Self {
        let time = |at: std::time::Duration| Time(u64::try_from(at.as_nanos()).unwrap_or(u64::MAX));
        Self { profile: self.profile.between(time(from), time(to)) }
    }

    /// Writes it to `path`; the ending says the format: `.tacho` (the recording
    /// itself), `.svg`, `.json` (speedscope), `.collapsed`.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        Ok(export::save(&self.profile, path.as_ref(), None, None)?)
    }

    /// Writes it to `path` in `format`.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn save_as(&self, path: impl AsRef<Path>, format: Format) -> Result<(), Error> {
        Ok(export::save(&self.profile, path.as_ref(), Some(format), None)?)
    }

    /// All of it, for questions of your own.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }
}
