//! Words of the command line that stand for something of the profile crate.

use std::path::{Path, PathBuf};
use std::{env, fs};

use tachograph_profile::Measure;
use tachograph_profile::export::format::bytes;
use tachograph_profile::export::{Format, Style};

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

/// The recording at `path` and what to do with it: on one line where that has
/// room, otherwise a line for each.
pub(crate) fn next_commands(path: &Path, style: &Style) -> String {
    let size = bytes(fs::metadata(path).map_or(0, |file| file.len()));
    let name = shown_path(path);
    let quoted = shell_word(&name);
    let file = format!("  {name} ({size})");
    let report = format!("tachograph report {quoted}");
    let export = format!("tachograph export {quoted} -f speedscope");
    let between = if style.unicode { "·" } else { "|" };
    let line = format!("{file}   {report}   {between}   {export}");
    if line.chars().count() <= style.width {
        return line;
    }
    format!("{file}\n    {report}\n    {export}")
}

/// The path from the working directory if the file is below it, otherwise from the root.
pub(crate) fn shown_path(path: &Path) -> String {
    path_from(path, env::current_dir().ok().as_deref())
}

fn path_from(path: &Path, here: Option<&Path>) -> String {
    let below = here.and_then(|here| path.strip_prefix(here).ok());
    below.unwrap_or(path).display().to_string()
}

/// `text` as one word of a shell.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./+=:@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
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
    fn the_next_command_can_be_pasted() {
        assert_eq!(shell_word("runs/train-2.tacho"), "runs/train-2.tacho");
        assert_eq!(shell_word("it's a run.tacho"), r"'it'\''s a run.tacho'");
        let here = Path::new("/home/ada");
        assert_eq!(path_from(Path::new("/home/ada/a.tacho"), Some(here)), "a.tacho");
        assert_eq!(path_from(Path::new("/tmp/a.tacho"), Some(here)), "/tmp/a.tacho");
    }

    #[test]
    fn commands_that_do_not_fit_on_a_line_get_one_each() {
        let style = |width| Style { width, unicode: true, color: false };
        let path = Path::new("/nowhere/train.tacho");

        assert_eq!(next_commands(path, &style(200)).lines().count(), 1);
        let narrow = next_commands(path, &style(80));
        assert_eq!(narrow.lines().count(), 3);
        assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
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
