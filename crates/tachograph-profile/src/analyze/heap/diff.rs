//! What changed between two pictures of memory.

use std::collections::BTreeMap;

use super::site::Site;
use super::sites::sites;
use crate::{Measure, Profile};

/// One site in two pictures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiffRow {
    /// Where.
    pub site: Site,
    /// Live bytes in the first picture.
    pub before_bytes: u64,
    /// Live bytes in the second.
    pub after_bytes: u64,
    /// Live blocks in the first picture.
    pub before_blocks: u64,
    /// Live blocks in the second.
    pub after_blocks: u64,
}

impl DiffRow {
    /// How many bytes more there are; negative for fewer.
    #[must_use]
    pub fn change_bytes(&self) -> i64 {
        let clamp = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        clamp(self.after_bytes) - clamp(self.before_bytes)
    }
}

/// How the live bytes of each site changed from `before` to `after`, what grew
/// most first. A site that did not change is left out.
///
/// ```
/// use tachograph_profile::analyze::heap::{diff, from_rows};
///
/// let load: &[_] = &[("load", "data.py", 77)];
/// let before = from_rows(&[(0, None, 100, load)]);
/// let after = from_rows(&[(0, None, 100, load), (5, None, 50, load)]);
/// let rows = diff(&before, &after);
/// assert_eq!((rows[0].site.line, rows[0].change_bytes()), (77, 50));
/// ```
#[must_use]
pub fn diff(before: &Profile, after: &Profile) -> Vec<DiffRow> {
    let mut rows: BTreeMap<Site, DiffRow> = BTreeMap::new();
    for row in sites(before, Measure::BytesLive) {
        let found = rows.entry(row.site).or_default();
        (found.before_bytes, found.before_blocks) = (row.live_bytes, row.live_blocks);
    }
    for row in sites(after, Measure::BytesLive) {
        let found = rows.entry(row.site).or_default();
        (found.after_bytes, found.after_blocks) = (row.live_bytes, row.live_blocks);
    }
    let mut rows: Vec<_> = rows.into_iter().map(|(site, row)| DiffRow { site, ..row }).collect();
    rows.retain(|row| row.before_bytes != row.after_bytes || row.before_blocks != row.after_blocks);
    rows.sort_by(|a, b| b.change_bytes().cmp(&a.change_bytes()).then_with(|| a.site.cmp(&b.site)));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::heap::from_rows;

    #[test]
    fn what_went_away_is_last_and_what_stayed_is_left_out() {
        let at = |line| [("f", "a.py", line)];
        let before = from_rows(&[(0, None, 9, &at(1)), (0, None, 5, &at(2))]);
        let after = from_rows(&[(0, None, 5, &at(2)), (1, None, 4, &at(3))]);

        let rows = diff(&before, &after);

        let found: Vec<_> = rows.iter().map(|row| (row.site.line, row.change_bytes())).collect();
        assert_eq!(found, [(3, 4), (1, -9)]);
        assert!(diff(&after, &after).is_empty());
    }
}
