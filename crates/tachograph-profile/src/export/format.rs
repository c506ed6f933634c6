//! Numbers and names as people read them.
//!
//! A profile always holds nanoseconds and bytes. This file is the only place
//! of the crate that turns them into text.

use crate::{Measure, Meta};

const SECOND: f64 = 1e9;

/// A duration with three significant digits: `1.22 s`, `541 ms`, `12 µs`.
#[must_use]
pub fn duration(ns: u64) -> String {
    let value = ns as f64;
    if ns >= 120 * 1_000_000_000 {
        return long_duration(ns);
    }
    let (unit, size) = [("s", SECOND), ("ms", 1e6), ("µs", 1e3)]
        .into_iter()
        // A value that would be rounded to 1000 belongs to the next unit.
        .find(|(_, size)| value >= size * 0.9995)
        .unwrap_or(("ns", 1.0));
    format!("{} {unit}", three_digits(value / size))
}

/// A duration for narrow columns: `5.6 s`, `31 ms`.
#[must_use]
pub fn short_duration(ns: u64) -> String {
    let value = ns as f64;
    if ns >= 120 * 1_000_000_000 {
        return long_duration(ns);
    }
    let (unit, size) = [("s", SECOND), ("ms", 1e6), ("µs", 1e3)]
        .into_iter()
        .find(|(_, size)| value >= size * 0.995)
        .unwrap_or(("ns", 1.0));
    let scaled = value / size;
    if scaled < 9.95 && unit != "ns" || unit == "s" && scaled < 99.95 {
        format!("{scaled:.1} {unit}")
    } else {
        format!("{scaled:.0} {unit}")
    }
}

fn long_duration(ns: u64) -> String {
    let seconds = ns.saturating_add(500_000_000) / 1_000_000_000;
    if seconds < 7200 {
        return format!("{} min {} s", seconds / 60, seconds % 60);
    }
    let minutes = (seconds + 30) / 60;
    format!("{} h {} min", minutes / 60, minutes % 60)
}

/// A size in the units of a thousand: `412 MB`, `1.5 GB`.
#[must_use]
pub fn bytes(size: u64) -> String {
    let value = size as f64;
    let (unit, scale) = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3)]
        .into_iter()
        .find(|(_, scale)| value >= scale * 0.9995)
        .unwrap_or(("B", 1.0));
    format!("{} {unit}", three_digits(value / scale))
}

/// A whole number with thousands set apart: `18,112`.
#[must_use]
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `count` things: `1 sample`, `2 samples`.
#[must_use]
pub fn counted(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", count(number))
}

/// A share with one decimal: `15.3 %`.
#[must_use]
pub fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", share(part, whole) * 100.0)
}

/// A share for narrow columns: `31 %`, `0.7 %`, `<0.1 %`.
#[must_use]
pub fn short_percent(part: u64, whole: u64) -> String {
    let share = share(part, whole) * 100.0;
    if part == 0 || share >= 0.95 {
        format!("{share:.0} %")
    } else if share >= 0.05 {
        format!("{share:.1} %")
    } else {
        "<0.1 %".to_owned()
    }
}

/// `part` of `whole` between 0 and 1; 0 of nothing is 0.
#[must_use]
pub fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    part as f64 / whole as f64
}

/// A weight in the unit of its measure.
#[must_use]
pub fn weight(measure: Measure, amount: u64) -> String {
    match measure {
        Measure::WallTime | Measure::CpuTime => duration(amount),
        Measure::Samples => counted(amount, "sample"),
        Measure::BytesAllocated | Measure::BytesLive | Measure::BytesAtPeak => bytes(amount),
        Measure::Allocations => counted(amount, "block"),
    }
}

/// What a measure is called: `CPU time`.
#[must_use]
pub fn measure_name(measure: Measure) -> &'static str {
    match measure {
        Measure::WallTime => "wall time",
        Measure::CpuTime => "CPU time",
        Measure::Samples => "samples",
        Measure::BytesAllocated => "bytes allocated",
        Measure::BytesLive => "bytes not freed",
        Measure::BytesAtPeak => "bytes at the peak",
        Measure::Allocations => "blocks allocated",
    }
}

fn three_digits(value: f64) -> String {
    let decimals = match value {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    if value.fract() == 0.0 {
        // Whole numbers are exact, and zeros would claim a precision.
        return format!("{value:.0}");
    }
    text
}

/// What the recorded program is called: its script, its module, or its command.
///
/// ```
/// use tachograph_profile::{Meta, export::program_name};
///
/// let command = ["/usr/bin/python3", "-m", "train", "--fast"].map(String::from);
/// let meta = Meta { command: command.into(), ..Meta::default() };
/// assert_eq!(program_name(&meta), "python -m train");
/// ```
#[must_use]
pub fn program_name(meta: &Meta) -> String {
    let last_part = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    if !meta.roots.script.is_empty() {
        return last_part(&meta.roots.script);
    }
    let mut words = meta.command.iter().map(String::as_str);
    let Some(first) = words.next().filter(|word| !word.is_empty()) else {
        return "python".to_owned();
    };
    if !last_part(first).starts_with("python") {
        return match first {
            "-c" | "-" => format!("python {first}"),
            first => last_part(first),
        };
    }
    match (words.next(), words.next()) {
        (Some("-m"), Some(module)) => format!("python -m {module}"),
        (Some("-c"), _) => "python -c".to_owned(),
        (Some(script), _) if !script.starts_with('-') => last_part(script),
        _ => last_part(first),
    }
}

/// The program, and the spans its recording was narrowed to:
/// `train.py within epoch/forward`.
pub(super) fn part_name(meta: &Meta) -> String {
    let mut name = program_name(meta);
    for span in &meta.within {
        name.push_str(" within ");
        name.push_str(span);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Roots;

    #[test]
    fn durations_have_three_digits_and_a_unit() {
        let texts =
            [0, 999, 12_345, 999_999, 541_200_000, 1_224_000_000, 12_400_000_000].map(duration);
        assert_eq!(texts, ["0 ns", "999 ns", "12.3 µs", "1.00 ms", "541 ms", "1.22 s", "12.4 s"]);
        assert_eq!(duration(134_000_000_000), "2 min 14 s");
        assert_eq!(duration(8_040_000_000_000), "2 h 14 min");
    }

    #[test]
    fn short_durations_fit_a_narrow_column() {
        let texts =
            [0, 5_600_000_000, 31_000_000, 9_960_000, 4_200_000, 996_000_000, 64_000_000_000]
                .map(short_duration);
        assert_eq!(texts, ["0 ns", "5.6 s", "31 ms", "10 ms", "4.2 ms", "1.0 s", "64.0 s"]);
    }

    #[test]
    fn sizes_shares_and_counts_are_readable() {
        assert_eq!(bytes(412_000_000), "412 MB");
        assert_eq!(bytes(1_536), "1.54 KB");
        assert_eq!(bytes(12), "12 B");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(12), "12");
        assert_eq!(counted(1, "stack"), "1 stack");
        assert_eq!(percent(153, 1000), "15.3 %");
        assert_eq!(short_percent(7, 1000), "0.7 %");
        assert_eq!(short_percent(1, 9000), "<0.1 %");
        assert_eq!(short_percent(0, 1000), "0 %");
        assert_eq!(short_percent(5, 0), "<0.1 %");
    }

    #[test]
    fn a_part_is_called_by_the_spans_it_was_narrowed_to() {
        let mut meta = Meta { command: vec!["train.py".to_owned()], ..Meta::default() };
        assert_eq!(part_name(&meta), "train.py");
        meta.within = vec!["epoch/forward".to_owned(), "matmul".to_owned()];
        assert_eq!(part_name(&meta), "train.py within epoch/forward within matmul");
    }

    #[test]
    fn a_program_is_called_by_its_script() {
        let named = |command: &[&str], script: &str| {
            let meta = Meta {
                command: command.iter().map(ToString::to_string).collect(),
                roots: Roots { script: script.to_owned(), ..Roots::default() },
                ..Meta::default()
            };
            program_name(&meta)
        };
        assert_eq!(named(&["x"], "/home/ada/train.py"), "train.py");
        assert_eq!(named(&["/usr/bin/python3.12", "src/train.py", "-v"], ""), "train.py");
        assert_eq!(named(&["src/train.py", "-v"], ""), "train.py");
        assert_eq!(named(&["-c"], ""), "python -c");
        assert_eq!(named(&[], ""), "python");
    }
}
