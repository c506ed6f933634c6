//! Samples per second, as people write them.

/// How often to look at a running thread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rate(f64);

impl Rate {
    /// Time between two looks.
    pub(crate) fn interval_ns(self) -> u64 {
        (1e9 / self.0).round() as u64
    }
}

/// `100`, `100hz`, `1khz`: between 1 and 1000 looks per second.
pub(crate) fn parse(text: &str) -> Result<Rate, String> {
    let lower = text.to_ascii_lowercase();
    let (digits, scale) = match (lower.strip_suffix("khz"), lower.strip_suffix("hz")) {
        (Some(digits), _) => (digits, 1000.0),
        (None, Some(digits)) => (digits, 1.0),
        (None, None) => (lower.as_str(), 1.0),
    };
    let number: f64 = digits.trim().parse().map_err(|_| "must be a number such as 100 or 1khz")?;
    let hertz = number * scale;
    if (1.0..=1000.0).contains(&hertz) {
        Ok(Rate(hertz))
    } else {
        Err("must be between 1 and 1000".to_owned())
    }
}

/// `10`, `10ms`: a whole or broken number of milliseconds, from 1 to an hour.
pub(crate) fn interval(text: &str) -> Result<Rate, String> {
    let lower = text.to_ascii_lowercase();
    let digits = lower.strip_suffix("ms").unwrap_or(&lower);
    let number: f64 = digits.trim().parse().map_err(|_| "must be a number such as 10 or 2.5ms")?;
    if (1.0..=3_600_000.0).contains(&number) {
        Ok(Rate(1000.0 / number))
    } else {
        Err("must be between 1 and 3600000".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_told_in_milliseconds() {
        assert_eq!(interval("10ms").map(Rate::interval_ns), Ok(10_000_000));
        assert_eq!(interval("2.5").map(Rate::interval_ns), Ok(2_500_000));
        assert_eq!(interval("0"), Err("must be between 1 and 3600000".to_owned()));
        assert_eq!(interval("x"), Err("must be a number such as 10 or 2.5ms".to_owned()));
    }

    #[test]
    fn a_rate_is_a_number_with_or_without_its_unit() {
        assert_eq!(parse("100").map(Rate::interval_ns), Ok(10_000_000));
        assert_eq!(parse("1khz").map(Rate::interval_ns), Ok(1_000_000));
        assert_eq!(parse("250 Hz").map(Rate::interval_ns), Ok(4_000_000));
        assert_eq!(parse("0.5"), Err("must be between 1 and 1000".to_owned()));
        assert_eq!(parse("10khz"), Err("must be between 1 and 1000".to_owned()));
        assert_eq!(parse("fast"), Err("must be a number such as 100 or 1khz".to_owned()));
        assert_eq!(parse("nan"), Err("must be between 1 and 1000".to_owned()));
    }
}
