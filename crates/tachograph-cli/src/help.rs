//! Help texts that fit a narrow terminal.
//!
//! clap breaks a line where it ends. The examples and the exit status are
//! tables, so they are broken here, where their columns are known: a command to
//! paste stays on a line, and what it does goes below it.

/// What separates the columns of a table.
const GAP: &str = "   ";

/// What a command does stands this far in when it stands below it.
const BELOW: &str = "      ";

/// `text` with lines of at most `width` columns, where words allow it.
pub(crate) fn fitted(text: &str, width: usize) -> String {
    let lines: Vec<_> = text.lines().flat_map(|line| fitted_line(line, width)).collect();
    lines.join("\n")
}

fn fitted_line(line: &str, width: usize) -> Vec<String> {
    if length(line) <= width {
        return vec![line.to_owned()];
    }
    let words = line.trim_start();
    let indent = &line[..line.len() - words.len()];
    match words.split_once(GAP) {
        Some((status, rest)) if is_status(status) => {
            let mut lines = wrapped(&format!("{indent}{status}"), &format!("{indent}   "), width);
            lines.extend(fitted_line(&format!("{indent}{}", rest.trim_start()), width));
            lines
        }
        Some((command, what)) if !indent.is_empty() => {
            let mut lines = vec![format!("{indent}{command}")];
            lines.extend(wrapped(&format!("{BELOW}{}", what.trim_start()), BELOW, width));
            lines
        }
        _ if is_status(words) => wrapped(line, &format!("{indent}   "), width),
        _ => wrapped(line, indent, width),
    }
}

/// `3  the program could not be read`.
fn is_status(text: &str) -> bool {
    let (number, rest) = text.split_at_checked(1).unwrap_or_default();
    number.chars().all(|letter| letter.is_ascii_digit()) && rest.starts_with("  ")
}

/// `line` broken between words; what follows the first line begins with `hanging`.
fn wrapped(line: &str, hanging: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut last: Option<String> = None;
    for word in line.split(' ') {
        last = Some(match last {
            None => word.to_owned(),
            Some(full) if !word.is_empty() && length(&full) + 1 + length(word) > width => {
                lines.push(full);
                format!("{hanging}{word}")
            }
            Some(begun) => format!("{begun} {word}"),
        });
    }
    lines.extend(last);
    lines
}

fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_stays_whole_and_what_it_does_goes_below() {
        let line = "  tachograph attach 4242 --no-native     Python frames only";

        assert_eq!(fitted(line, 80), line);
        assert_eq!(
            fitted(line, 50),
            "  tachograph attach 4242 --no-native\n      Python frames only"
        );
    }

    #[test]
    fn exit_statuses_get_a_line_each() {
        let line = "  0  done     2  wrong usage     3  the result was not written";

        assert_eq!(
            fitted(line, 30),
            "  0  done\n  2  wrong usage\n  3  the result was not\n     written"
        );
    }

    #[test]
    fn every_help_text_fits_eighty_columns_and_keeps_its_commands_whole() {
        for verb in crate::commands::command_for(80).get_subcommands() {
            let after = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in after.lines() {
                assert!(length(line) <= 80, "{}: {line}", verb.get_name());
            }
        }
    }
}
