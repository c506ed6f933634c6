//! Words of the command line that stand for something of the profile crate.

use std::path::{Path, PathBuf};

use tachograph_profile::Measure;
use tachograph_profile::export::Format;

use crate::failure::Failure;

/// The measures people can name.
const MEASURES: [(&str, Measure); 6] = [
    ("cpu", Measure::CpuTime),
    ("wall", Measure::WallTime),
    ("samples", Measure::Samples),
    ("allocated", Measure::BytesAllocated),
    ("live", Measure::BytesLive),
    ("blocks", Measure::Allocations),
];

/// The measure called `name`.
pub(crate) fn measure(name: &str) -> Result<Measure, String> {
    let found = MEASURES.iter().find(|(known, _)| *known == name);
    found.map(|(_, measure)| *measure).ok_or_else(|| {
        format!("known measures are {}", MEASURES.map(|(known, _)| known).join(", "))
    })
}

/// What `measure` is called on the command line.
pub(crate) fn measure_name(measure: Measure) -> &'static str {
    MEASURES.iter().find(|(_, known)| *known == measure).map_or("other", |(name, _)| name)
}

/// The format called `name`.
pub(crate) fn format(name: &str) -> Result<Format, String> {
    Format::from_name(name).map_err(|_| format!("known formats are {}", format_names()))
}

/// The names of all formats.
pub(crate) fn format_names() -> String {
    Format::ALL.map(Format::name).join(", ")
}

/// Refuses to replace the file at `path` unless the user said `--force`.
///
/// A pipe or a device is not replaced by writing to it.
pub(crate) fn refuse_to_replace(path: &Path, force: bool) -> Result<(), Failure> {
    if force || !path.is_file() {
        return Ok(());
    }
    Err(Failure::usage(
        format!("{} exists and would be replaced", path.display()),
        "choose another name with -o, or say --force",
    ))
}

/// `-` stands for standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// `run.tacho` with the ending of `format`: `run.svg`.
pub(crate) fn with_ending(path: &Path, format: Format) -> PathBuf {
    path.with_extension(match format {
        Format::Speedscope => "speedscope.json",
        format => format.name(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_measure_lists_the_known_ones() {
        assert_eq!(measure("cpu"), Ok(Measure::CpuTime));
        let error = measure("time").unwrap_err();
        assert_eq!(error, "known measures are cpu, wall, samples, allocated, live, blocks");
    }

    #[test]
    fn an_export_is_named_after_its_recording() {
        let name = |format| with_ending(Path::new("a/run.tacho"), format);
        assert_eq!(name(Format::Svg), Path::new("a/run.svg"));
        assert_eq!(name(Format::Speedscope), Path::new("a/run.speedscope.json"));
    }

    #[test]
    fn a_file_is_replaced_only_when_told_to() {
        let path = std::env::temp_dir().join(format!("tacho-replace-{}", std::process::id()));
        std::fs::write(&path, "old").unwrap();

        let refused = refuse_to_replace(&path, false).unwrap_err();

        assert!(refused.what.ends_with("exists and would be replaced"), "{refused:?}");
        assert_eq!(refused.end, crate::End::WRONG_USAGE);
        assert_eq!(refuse_to_replace(&path, true), Ok(()));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(refuse_to_replace(&path, false), Ok(()));
    }
}
