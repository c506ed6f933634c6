//! Words of the command line that stand for a process, a time or a rate.

use std::time::Duration;

use tachograph_profile::Mode;

/// The highest rate that can be asked for, in looks a second.
const HIGHEST_RATE: f64 = 1e6;

/// A process id.
pub(crate) fn pid(text: &str) -> Result<i32, String> {
    let pid = text.parse::<i32>().ok().filter(|pid| *pid > 0);
    pid.ok_or_else(|| "a pid is a whole number above 0; `pgrep -af python` lists some".to_owned())
}

/// A length of time in seconds.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.strip_suffix('s').unwrap_or(text).trim();
    let seconds = number.parse::<f64>().ok().filter(|seconds| *seconds > 0.0);
    let length = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    length.ok_or_else(|| "say a number of seconds above 0, such as 30 or 0.5".to_owned())
}

/// A rate: `100`, `250hz`, `1khz`.
pub(crate) fn rate_hz(text: &str) -> Result<f64, String> {
    let lower = text.to_ascii_lowercase();
    let (number, unit) = match (lower.strip_suffix("khz"), lower.strip_suffix("hz")) {
        (Some(number), _) => (number, 1000.0),
        (None, Some(number)) => (number, 1.0),
        (None, None) => (lower.as_str(), 1.0),
    };
    let rate = number.trim().parse::<f64>().ok().map(|number| number * unit);
    rate.filter(|rate| (0.01..=HIGHEST_RATE).contains(rate))
        .ok_or_else(|| "say looks per second, from 0.01 to 1000000, such as 100 or 1khz".to_owned())
}

/// Which time is sampled.
pub(crate) fn mode(text: &str) -> Result<Mode, String> {
    match text {
        "cpu" => Ok(Mode::Cpu),
        "wall" => Ok(Mode::Wall),
        _ => Err("modes are cpu and wall".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_said_as_people_say_them() {
        assert_eq!(rate_hz("100"), Ok(100.0));
        assert_eq!(rate_hz("1kHz"), Ok(1000.0));
        assert_eq!(rate_hz("2.5 khz"), Ok(2500.0));
        assert_eq!(rate_hz("250hz"), Ok(250.0));
        assert!(rate_hz("0").is_err() && rate_hz("fast").is_err() && rate_hz("inf").is_err());
    }

    #[test]
    fn pids_and_times_that_cannot_be_are_refused() {
        assert_eq!(pid("4242"), Ok(4242));
        assert!(pid("-1").is_err() && pid("train.py").is_err());
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(seconds("30s"), Ok(Duration::from_secs(30)));
        assert!(seconds("0").is_err() && seconds("nan").is_err());
    }
}
