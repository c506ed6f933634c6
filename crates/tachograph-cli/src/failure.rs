//! What a verb could not do: a sentence with the value, and a remedy.

use std::error::Error;
use std::io;

use crate::end::End;

/// Why a verb ends without a result.
///
/// Printed as `tachograph: <what>` with the remedy on a line of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What failed, with the value; lower case, no full stop.
    pub what: String,
    /// What to do next.
    pub remedy: Option<String>,
    /// How the command ends.
    pub end: End,
}

impl Failure {
    /// The words of the user made no sense: exit status 2.
    pub fn usage(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what: what.into(), remedy: Some(remedy.into()), end: End::WRONG_USAGE }
    }

    /// We could not do it: exit status 3.
    pub fn failed(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what: what.into(), remedy: Some(remedy.into()), end: End::FAILED }
    }

    /// Turns an error of a library into a failure. Its text is `what; remedy`,
    /// and what caused it belongs to the first half.
    pub fn from_error(error: &dyn Error) -> Self {
        let text = error.to_string();
        let (what, remedy) = match text.split_once("; ") {
            Some((what, remedy)) => (what.to_owned(), Some(remedy.to_owned())),
            None => (text, None),
        };
        let mut what = what;
        let mut cause = error.source();
        while let Some(next) = cause {
            what = format!("{what}: {}", without_number(&next.to_string()));
            cause = next.source();
        }
        Self { what, remedy, end: End::FAILED }
    }
}

/// `No such file or directory (os error 2)` without the number, which helps nobody.
pub(crate) fn without_number(text: &str) -> &str {
    text.split_once(" (os error").map_or(text, |(words, _)| words)
}

impl From<tachograph_profile::Error> for Failure {
    fn from(error: tachograph_profile::Error) -> Self {
        use tachograph_profile::Error::{NoSuchSpan, UnknownFormat};
        let end = match &error {
            NoSuchSpan { .. } | UnknownFormat { .. } => End::WRONG_USAGE,
            _ => End::FAILED,
        };
        Self { end, ..Self::from_error(&error) }
    }
}

impl From<io::Error> for Failure {
    /// Our own output could not be written.
    fn from(error: io::Error) -> Self {
        Self::failed(
            format!("cannot write the result: {}", without_number(&error.to_string())),
            "name a file with -o",
        )
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_library_error_keeps_its_cause_beside_what_failed_and_its_remedy_apart() {
        let source = io::Error::from_raw_os_error(2);
        let error = tachograph_profile::Error::Read { path: PathBuf::from("a.tacho"), source };

        let failure = Failure::from(error);

        assert_eq!(failure.what, "cannot read recording \"a.tacho\": No such file or directory");
        assert_eq!(failure.remedy.as_deref(), Some("check the path"));
        assert_eq!(failure.end, End::FAILED);
    }

    #[test]
    fn a_word_nobody_knows_is_wrong_usage() {
        let error = tachograph_profile::export::Format::from_name("png").unwrap_err();

        assert_eq!(Failure::from(error).end, End::WRONG_USAGE);
    }
}
