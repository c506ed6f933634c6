//! A part of a recording, as the command line names it.

use clap::Args;

use tachograph_profile::{Profile, Time};

use crate::failure::Failure;

/// Which part of a recording is meant.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Part {
    /// Only what happened inside the spans of this name or path
    #[arg(long, value_name = "SPAN")]
    within: Option<String>,
    /// Only this stretch, in seconds since the start of the recording
    #[arg(long, num_args = 2, value_names = ["FROM", "TO"], value_parser = seconds)]
    between: Vec<f64>,
}

impl Part {
    /// That part of `profile`.
    pub(crate) fn of(&self, profile: Profile) -> Result<Profile, Failure> {
        let profile = match self.between[..] {
            [from, to] if from > to => {
                return Err(Failure::usage(
                    format!("--between ends before it begins: {from} {to}"),
                    "name the earlier second first",
                ));
            }
            [from, to] => profile.between(Time(nanoseconds(from)), Time(nanoseconds(to))),
            _ => profile,
        };
        match &self.within {
            Some(span) => Ok(profile.within(span)?),
            None => Ok(profile),
        }
    }
}

fn nanoseconds(seconds: f64) -> u64 {
    // The longest time there is serves for anything longer.
    (seconds * 1e9).round().min(i64::MAX as f64) as u64
}

fn seconds(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "must be a number of seconds".to_owned())?;
    if !number.is_finite() || number < 0.0 {
        return Err("must be 0 or more".to_owned());
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_that_ends_before_it_begins_is_refused() {
        let part = Part { between: vec![3.0, 2.5], ..Part::default() };

        let failure = part.of(Profile::default()).unwrap_err();

        assert_eq!(failure.what, "--between ends before it begins: 3 2.5");
        assert_eq!(failure.end, crate::End::WRONG_USAGE);
    }

    #[test]
    fn seconds_are_numbers_from_zero_on() {
        assert_eq!(seconds("2.5"), Ok(2.5));
        assert_eq!(seconds("-1"), Err("must be 0 or more".to_owned()));
        assert_eq!(seconds("soon"), Err("must be a number of seconds".to_owned()));
        assert_eq!(nanoseconds(2.5), 2_500_000_000);
    }

    #[test]
    fn a_span_that_is_not_there_is_wrong_usage() {
        let part = Part { within: Some("epoch".to_owned()), ..Part::default() };

        let failure = part.of(Profile::default()).unwrap_err();

        assert_eq!(failure.what, "the recording has no span \"epoch\"");
        assert_eq!(failure.end, crate::End::WRONG_USAGE);
    }
}
