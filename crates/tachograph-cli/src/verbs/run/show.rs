//! What a person sees when the program has ended.

use std::env;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use tachograph_profile::export::{self, Format};

use super::Run;
use super::family::Recorded;
use super::watch::Ended;
use crate::console::{Console, Stream};
use crate::end::End;
use crate::failure::Failure;
use crate::{remedies, words};

/// Prints the summary and the next commands; the end is the program's.
pub(super) fn show(
    recorded: &Option<Recorded>,
    ended: Ended,
    options: &Run,
    obstacle: Option<&str>,
    console: &Console,
) -> Result<End, Failure> {
    let end = end_of(ended.status);
    let Some(recorded) = recorded else {
        console.failure(&nothing_recorded(obstacle));
        return Ok(if end == End::DONE { End::FAILED } else { end });
    };
    if !console.quiet {
        let style = console.style(Stream::Error);
        let mut facts = vec![ending(ended.status)];
        if recorded.processes > 1 {
            facts.push(format!("{} processes", recorded.processes));
        }
        let text = remedies::summary(&recorded.profile, &style, &facts);
        console.note(&format!("{text}\n\n{}", words::next_commands(&recorded.path, &style)));
    }
    if options.open {
        open(recorded, console)?;
    }
    Ok(end)
}

fn end_of(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Status(u8::try_from(code & 0xff).unwrap_or(u8::MAX)),
        (None, Some(signal)) => End::Signal(signal),
        (None, None) => End::FAILED,
    }
}

/// `exit 0`, `killed by SIGTERM`.
fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => {
            let name = signal_hook::low_level::signal_name(signal);
            format!("killed by {}", name.map_or_else(|| format!("signal {signal}"), str::to_owned))
        }
        (None, None) => "ended".to_owned(),
    }
}

fn nothing_recorded(obstacle: Option<&str>) -> Failure {
    if let Some(why) = obstacle {
        return Failure::failed(
            format!("nothing was recorded: no Python started, and {why}"),
            "record the command that starts Python, or a program that loads the C library",
        );
    }
    Failure::failed(
        "nothing was recorded: no Python with tachograph started",
        "start it with CPython 3.11 or newer and without -I, -E and -S, or look at it from outside \
         with tachograph attach",
    )
}

/// Draws the flame graph beside the recording and shows it in a browser.
fn open(recorded: &Recorded, console: &Console) -> Result<(), Failure> {
    let path = words::with_ending(&recorded.path, Format::Svg);
    export::save(&recorded.profile, &path, Some(Format::Svg), None)?;
    let shown = browsers().iter().any(|browser| starts(browser, &path));
    let told = if shown { "" } else { " (no browser was found: open it yourself)" };
    let name = words::shown_path(&path);
    console.note(&format!("  {name}{told}"));
    Ok(())
}

/// The browsers to try: those of `BROWSER`, then what the desktop prefers.
fn browsers() -> Vec<PathBuf> {
    let named = env::var_os("BROWSER").unwrap_or_default();
    let mut found: Vec<_> = env::split_paths(&named).filter(|path| path != Path::new("")).collect();
    found.extend(["xdg-open", "sensible-browser", "firefox", "chromium"].map(PathBuf::from));
    found
}

fn starts(browser: &Path, page: &Path) -> bool {
    let mut command = Command::new(browser);
    command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_program_is_ours() {
        // The kernel's word: status in the second byte, a signal in the first.
        assert_eq!(end_of(ExitStatus::from_raw(3 << 8)), End::Status(3));
        assert_eq!(end_of(ExitStatus::from_raw(15)), End::Signal(15));
        assert_eq!(ending(ExitStatus::from_raw(3 << 8)), "exit 3");
        assert_eq!(ending(ExitStatus::from_raw(15)), "killed by SIGTERM");
        assert_eq!(ending(ExitStatus::from_raw(9)), "killed by SIGKILL");
    }
}
