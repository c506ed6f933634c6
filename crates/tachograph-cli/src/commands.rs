//! The words of the command line, and what they stand for.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};

use anstyle::{AnsiColor, Style};
use clap::builder::Styles;
use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser};

use crate::console::{Color, Console, Stream};
use crate::end::{End, Installation};
use crate::failure::Failure;
use crate::verbs::Verb;
use crate::{help, split};

/// Headings stand out, words to type are bold; nothing depends on a colour.
const STYLES: Styles = Styles::styled()
    .header(Style::new().bold())
    .usage(Style::new().bold())
    .literal(Style::new().bold())
    .placeholder(Style::new())
    .error(AnsiColor::Red.on_default().bold());

const EXAMPLES: &str = "\
examples:
  tachograph run train.py                        record a program, show where its time went
  tachograph report train.tacho                  show it again
  tachograph export train.tacho -f speedscope    turn it into what other tools open
  tachograph doctor                              see what this machine allows

exit status:
  0  done     2  wrong usage     3  tachograph could not do it
  `run` ends as the program it ran";

/// The flight recorder for Python performance
///
/// Records where a program's time and memory go, and answers from the recording.
#[derive(Debug, Parser)]
#[command(name = "tachograph", bin_name = "tachograph", version, styles = STYLES)]
#[command(after_help = EXAMPLES)]
struct Words {
    /// Say nothing but results and errors
    #[arg(short, long, global = true, display_order = 900)]
    quiet: bool,
    /// Colour: auto (on a terminal, unless NO_COLOR is set), always or never
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    #[arg(hide_possible_values = true, display_order = 901)]
    color: Color,
    #[command(subcommand)]
    verb: Verb,
}

/// First the sentence, then what the verb does, then how to write it.
const TEMPLATE: &str =
    "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";

/// Help is never wider than this.
const WIDEST: usize = 100;

/// The command as clap knows it, for completions and for tests.
#[must_use]
pub fn command() -> clap::Command {
    command_for(Console::default().style(Stream::Output).width.min(WIDEST))
}

/// The command with help for a terminal of `width` columns.
pub(crate) fn command_for(width: usize) -> clap::Command {
    let shaped = |command| with_short_help(command, width);
    shaped(Words::command()).term_width(width).mut_subcommands(shaped)
}

/// `-h` and `--help` print the same compact text, every option on a line.
fn with_short_help(command: clap::Command, width: usize) -> clap::Command {
    let after = command.get_after_help().map(|text| help::fitted(&text.to_string(), width));
    let command = command.after_help(after.unwrap_or_default());
    let said = command.get_long_about().map(ToString::to_string).unwrap_or_default();
    let more = said.split_once("\n\n").map(|(_, more)| more.to_owned());
    let command = command.long_about(None::<&str>).help_template(TEMPLATE);
    match more {
        Some(more) => command.before_help(more),
        None => command,
    }
}

/// Reads the words and does what they say.
pub(crate) fn run(words: Vec<OsString>, installation: Option<Installation>) -> End {
    let command = command();
    let words = split::apart(&command, words);
    let parsed = command.try_get_matches_from(words);
    let words = match parsed.and_then(|found| Words::from_arg_matches(&found)) {
        Ok(words) => words,
        Err(error) => return refused(&error),
    };
    let console = Console { quiet: words.quiet, color: words.color };
    let work = AssertUnwindSafe(|| words.verb.run(&console, installation.as_ref()));
    let done = catch_unwind(work).unwrap_or_else(|_| {
        Err(Failure::failed("it failed on its own side", "please report it with the lines above"))
    });
    done.unwrap_or_else(|failure| {
        console.failure(&failure);
        failure.end
    })
}

/// Help and versions are results; everything else is wrong usage.
fn refused(error: &clap::Error) -> End {
    // A reader that went away, as `head` does, is not an error.
    let _ = error.print();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => End::DONE,
        _ => End::WRONG_USAGE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_put_together_without_contradictions() {
        command().debug_assert();
    }

    #[test]
    fn every_verb_has_a_sentence_and_examples() {
        for verb in command().get_subcommands() {
            let name = verb.get_name();
            assert!(verb.get_about().is_some(), "{name} has no sentence");
            let after = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(after.contains("examples:"), "{name} has no examples");
            assert!(after.contains("exit status:"), "{name} does not tell its exit status");
        }
    }

    #[test]
    fn a_wrong_word_is_exit_status_two_and_help_is_zero() {
        let end = |words: &[&str]| run(words.iter().map(OsString::from).collect(), None);

        assert_eq!(end(&["tachograph", "reprot"]), End::WRONG_USAGE);
        assert_eq!(end(&["tachograph"]), End::WRONG_USAGE);
        assert_eq!(end(&["tachograph", "--version"]), End::DONE);
    }
}
