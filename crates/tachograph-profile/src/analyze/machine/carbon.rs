//! From energy to greenhouse gas: how much the grid of a country emits.
//!
//! Figures: yearly life-cycle carbon intensity of electricity generation in
//! grams of CO₂ equivalents per kilowatt-hour, Ember and Energy Institute,
//! processed by Our World in Data ("Carbon intensity of electricity
//! generation", edition of 2024). They are of 2023; of the countries that are
//! marked, 2022 was the last year.

/// How much a grid emits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Intensity {
    /// Grams of CO₂ equivalents per kilowatt-hour.
    pub grams_per_kwh: f64,
    /// The year of the figure.
    pub year: u16,
}

/// Where the figures are from.
pub const INTENSITY_SOURCE: &str =
    "Ember and Energy Institute, processed by Our World in Data (2024)";

/// The mean of the world, for who does not say where.
pub const WORLD: Intensity = Intensity { grams_per_kwh: 481.0, year: 2023 };

/// Joules of a kilowatt-hour.
pub const JOULES_PER_KWH: f64 = 3.6e6;

/// Two letters, three letters, grams per kilowatt-hour.
const TABLE: [(&str, &str, u16); 55] = [
    ("AE", "ARE", 561),
    ("AR", "ARG", 354),
    ("AT", "AUT", 111),
    ("AU", "AUS", 549),
    ("BD", "BGD", 691),
    ("BE", "BEL", 138),
    ("BR", "BRA", 98),
    ("CA", "CAN", 170),
    ("CH", "CHE", 35),
    ("CL", "CHL", 291),
    ("CN", "CHN", 582),
    ("CO", "COL", 260),
    ("CZ", "CZE", 450),
    ("DE", "DEU", 381),
    ("DK", "DNK", 152),
    ("EE", "EST", 417),
    ("EG", "EGY", 570),
    ("ES", "ESP", 174),
    ("FI", "FIN", 79),
    ("FR", "FRA", 56),
    ("GB", "GBR", 238),
    ("GR", "GRC", 337),
    ("HK", "HKG", 699),
    ("HU", "HUN", 204),
    ("ID", "IDN", 676),
    ("IE", "IRL", 291),
    ("IL", "ISR", 583),
    ("IN", "IND", 713),
    ("IS", "ISL", 28),
    ("IT", "ITA", 331),
    ("JP", "JPN", 485),
    ("KE", "KEN", 70),
    ("KR", "KOR", 431),
    ("LU", "LUX", 105),
    ("MX", "MEX", 507),
    ("MY", "MYS", 606),
    ("NG", "NGA", 523),
    ("NL", "NLD", 268),
    ("NO", "NOR", 30),
    ("NZ", "NZL", 113),
    ("PH", "PHL", 611),
    ("PK", "PAK", 441),
    ("PL", "POL", 662),
    ("PT", "PRT", 166),
    ("RO", "ROU", 241),
    ("SA", "SAU", 707),
    ("SE", "SWE", 41),
    ("SG", "SGP", 471),
    ("TH", "THA", 550),
    ("TR", "TUR", 465),
    ("TW", "TWN", 642),
    ("UA", "UKR", 260),
    ("US", "USA", 369),
    ("VN", "VNM", 475),
    ("ZA", "ZAF", 708),
];

/// Countries whose last figure is of 2022.
const OF_2022: [&str; 8] = ["AE", "HK", "ID", "IL", "IS", "MY", "SA", "UA"];

/// The grid of the country with this code of two or three letters; `None` for
/// one that is not in the table.
///
/// ```
/// use tachograph_profile::analyze::intensity_of;
///
/// assert_eq!(intensity_of("fr").unwrap().grams_per_kwh, 56.0);
/// assert_eq!(intensity_of("POL"), intensity_of("PL"));
/// assert_eq!(intensity_of("atlantis"), None);
/// ```
#[must_use]
pub fn intensity_of(country: &str) -> Option<Intensity> {
    let wanted = country.trim().to_ascii_uppercase();
    let row = TABLE.iter().find(|(two, three, _)| *two == wanted || *three == wanted)?;
    let year = if OF_2022.contains(&row.0) { 2022 } else { 2023 };
    Some(Intensity { grams_per_kwh: f64::from(row.2), year })
}

/// The countries in the table, by their two letters.
#[must_use]
pub fn countries() -> Vec<&'static str> {
    TABLE.iter().map(|row| row.0).collect()
}

/// Grams of CO₂ equivalents that `joules` from this grid stand for.
#[must_use]
pub fn grams(joules: f64, intensity: Intensity) -> f64 {
    joules / JOULES_PER_KWH * intensity.grams_per_kwh
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kilowatt_hour_emits_what_the_table_says() {
        assert!((grams(3.6e6, intensity_of("DE").unwrap()) - 381.0).abs() < 1e-9);
        assert!((grams(1.8e6, WORLD) - 240.5).abs() < 1e-9);
    }

    #[test]
    fn the_table_is_in_order_and_each_country_is_in_it_once() {
        assert!(TABLE.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(OF_2022.iter().all(|code| intensity_of(code).is_some_and(|row| row.year == 2022)));
        assert!(TABLE.iter().all(|row| row.0.len() == 2 && row.1.len() == 3 && row.2 > 0));
    }
}
