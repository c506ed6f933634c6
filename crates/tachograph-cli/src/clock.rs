//! The time of day, as a person reads it.

/// `2026-11-18 00:41:31 UTC`: what `unix_ns`, nanoseconds since 1970, stands for.
pub(crate) fn utc(unix_ns: i64) -> String {
    let seconds = unix_ns.div_euclid(1_000_000_000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// The date `days` after 1970-01-01, by counting in eras of 400 years that
/// begin on the first of March, when every leap day is the last of its year.
fn date(days: i64) -> (i64, i64, i64) {
    let from_march = days + 719_468;
    let (era, day) = (from_march.div_euclid(146_097), from_march.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_with_leap_years() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(951_782_400_000_000_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(utc(1_794_962_491_000_000_000), "2026-11-18 00:41:31 UTC");
        assert_eq!(utc(-1), "1969-12-31 23:59:59 UTC");
    }
}
