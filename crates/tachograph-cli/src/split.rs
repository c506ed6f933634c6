//! Where the words for us end and those for the program begin.
//!
//! `tachograph run -q train.py -q`: the first `-q` is ours, the second the
//! program's. clap cannot tell, because `-m` and `-c` begin a program too, so
//! the words are cut here, by what clap knows about our options.

use std::ffi::OsString;

use clap::{Arg, Command};

/// The verb whose last words belong to a program.
const VERB: &str = "run";

/// The words with a `--` before the program: after `run`, its options, then
/// `--`, then the program as it was written. Of `-- command` the `--` is kept
/// as the first word of the program, which tells it from a script.
pub(crate) fn apart(command: &Command, words: Vec<OsString>) -> Vec<OsString> {
    let Some(verb) = end_of_options(command, &words, 1) else { return words };
    let Some(run) = command.find_subcommand(VERB).filter(|_| words[verb] == VERB) else {
        return words;
    };
    // Options of the whole command may follow the verb too.
    let all = run.clone().args(command.get_arguments().cloned());
    let Some(program) = end_of_options(&all, &words, verb + 1) else { return words };
    let mut words = words;
    words.insert(program, "--".into());
    words
}

/// Where the first word stands that is neither an option nor its value;
/// `None` when there is none or an option is not known.
fn end_of_options(command: &Command, words: &[OsString], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(word) = words.get(at) {
        let text = word.to_str();
        match text {
            Some("-" | "--") | None => return Some(at),
            Some(text) if !text.starts_with('-') || is_program(command, text) => return Some(at),
            Some("-h" | "--help" | "-V" | "--version") => return None,
            Some(text) => at += if wants_next(command, text)? { 2 } else { 1 },
        }
    }
    None
}

/// `-m` and `-c` begin a program as they do for Python.
fn is_program(command: &Command, word: &str) -> bool {
    command.get_name() == VERB && (word.starts_with("-m") || word.starts_with("-c"))
}

/// Whether the value of the option `word` is the next word; `None` for an
/// option that is not known.
fn wants_next(command: &Command, word: &str) -> Option<bool> {
    let takes_value = |arg: &Arg| arg.get_action().takes_values();
    if let Some(long) = word.strip_prefix("--") {
        let (name, has_value) =
            long.split_once('=').map_or((long, false), |(name, _)| (name, true));
        let arg = command.get_arguments().find(|arg| arg.get_long() == Some(name))?;
        return Some(takes_value(arg) && !has_value);
    }
    let mut letters = word.trim_start_matches('-').chars();
    while let Some(letter) = letters.next() {
        let arg = command.get_arguments().find(|arg| arg.get_short() == Some(letter))?;
        if takes_value(arg) {
            return Some(letters.as_str().is_empty());
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    fn cut(line: &str) -> String {
        let words = line.split(' ').map(OsString::from).collect();
        let words = apart(&crate::command(), words);
        words.join(OsStr::new(" ")).to_string_lossy().into_owned()
    }

    #[test]
    fn the_program_begins_at_the_first_word_that_is_not_ours() {
        assert_eq!(cut("t run train.py -q"), "t run -- train.py -q");
        assert_eq!(
            cut("t run -q -o a.tacho train.py -o b"),
            "t run -q -o a.tacho -- train.py -o b"
        );
        assert_eq!(cut("t run -qo a.tacho train.py"), "t run -qo a.tacho -- train.py");
        assert_eq!(
            cut("t run -oa.tacho --rate=50 train.py"),
            "t run -oa.tacho --rate=50 -- train.py"
        );
        assert_eq!(
            cut("t --color never run train.py --help"),
            "t --color never run -- train.py --help"
        );
        assert_eq!(cut("t run - x"), "t run -- - x");
    }

    #[test]
    fn modules_and_code_begin_a_program_as_they_do_for_python() {
        assert_eq!(cut("t run -q -m pytest -q"), "t run -q -- -m pytest -q");
        assert_eq!(cut("t run -mpytest -q"), "t run -- -mpytest -q");
        assert_eq!(cut("t run -c pass -q"), "t run -- -c pass -q");
    }

    #[test]
    fn a_command_keeps_its_dashes() {
        assert_eq!(cut("t run -q -- python -O a.py"), "t run -q -- -- python -O a.py");
    }

    #[test]
    fn what_is_not_for_run_or_not_known_is_left_to_clap() {
        for line in ["t report a.tacho", "t", "t run", "t run --help", "t run --nope a.py", "t -h"]
        {
            assert_eq!(cut(line), line);
        }
    }
}
