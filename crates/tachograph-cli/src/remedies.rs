//! Remedies as one types them.
//!
//! A summary names arguments of the Python API; someone at a shell has options
//! with the same meaning.

use tachograph_profile::Profile;
use tachograph_profile::export::{Style, summary_of_run};

/// Columns by which an option may be longer than the argument it stands for.
const LONGER: usize = 2;

/// The arguments of `record()` and the options of `run`.
const WORDS: [(&str, &str); 7] = [
    ("interval_ms", "--interval"),
    ("max_depth", "--max-depth"),
    ("memory_limit_mb", "--memory-limit"),
    ("mode=\"wall\"", "--mode wall"),
    ("mode=\"cpu\"", "--mode cpu"),
    ("record longer", "run longer"),
    ("recording.spans()", "report --json"),
];

/// The summary of `profile` for someone at a shell; `facts` stand behind the
/// program's name.
pub(crate) fn summary(profile: &Profile, style: &Style, facts: &[String]) -> String {
    let style = Style { width: style.width.saturating_sub(LONGER).max(60), ..*style };
    as_options(&summary_of_run(profile, &style, facts))
}

fn as_options(text: &str) -> String {
    let mut text = text.to_owned();
    for (argument, option) in WORDS {
        text = text.replace(argument, option);
    }
    let begin = "recording.within(\"";
    if let Some((before, rest)) = text.split_once(begin)
        && let Some((span, after)) = rest.split_once("\")")
    {
        return format!("{before}report --within {span}{after}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_the_api_become_options() {
        assert_eq!(as_options("(raise interval_ms)"), "(raise --interval)");
        assert_eq!(as_options("mode=\"wall\" shows"), "--mode wall shows");
        assert_eq!(as_options("(raise max_depth)"), "(raise --max-depth)");
        assert_eq!(
            as_options("recording.within(\"epoch/step\") shows one alone"),
            "report --within epoch/step shows one alone"
        );
    }

    #[test]
    fn no_option_is_longer_than_there_is_room_for() {
        for (argument, option) in WORDS {
            assert!(option.len() <= argument.len() + LONGER, "{option}");
        }
    }
}
