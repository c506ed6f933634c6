//! Sites whose live bytes keep growing.
//!
//! Only survivors are looked at: blocks that are still live, by when they were
//! allocated. A leak leaves survivors from every stretch of the run. A cache
//! that warms up leaves them from its beginning, a buffer that is emptied now
//! and then from its end, a bounded queue from the last lifetime of its
//! entries: none of them is called a leak. One look at live memory is enough,
//! so a running program and a recording are judged alike.

use super::site::{Site, SiteTable};
use crate::{Profile, Time};

/// The first part of a run is warm-up and proves nothing.
const WARM_UP: f64 = 0.2;
/// Stretches that the rest is divided into.
const STRETCHES: usize = 8;
/// A run shorter than this shows no trend.
const SHORTEST_NS: u64 = 1_000_000_000;

/// How sure it is that a site leaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// At least 10 survivors, from 6 of 8 stretches of the run, not slowing down.
    Medium,
    /// At least 24 survivors, from all stretches, evenly.
    High,
}

impl Confidence {
    /// Its name in the API and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// One site that keeps growing.
#[derive(Clone, Debug, PartialEq)]
pub struct LeakRow {
    /// Where.
    pub site: Site,
    /// Bytes it holds.
    pub live_bytes: u64,
    /// How fast they grow.
    pub bytes_per_second: f64,
    /// How sure that is.
    pub confidence: Confidence,
    /// Survivors behind the verdict.
    pub samples: u64,
}

/// The sites of `profile` whose live bytes keep growing, the fastest first.
///
/// A run shorter than a second has no trend and gives none.
///
/// ```
/// use tachograph_profile::analyze::heap::{from_rows, leaks};
///
/// let put: &[_] = &[("cache_put", "data.py", 102)];
/// let blocks: Vec<_> = (0..100).map(|i| (i * 100_000_000, None, 120_000, put)).collect();
/// let rows = leaks(&from_rows(&blocks));
/// assert_eq!(rows[0].site.function, "cache_put");
/// assert!((rows[0].bytes_per_second / 1_200_000.0 - 1.0).abs() < 0.05);
/// ```
#[must_use]
pub fn leaks(profile: &Profile) -> Vec<LeakRow> {
    let (from, to) = (profile.meta.from_ns, profile.meta.duration_ns);
    let length = to.saturating_sub(from);
    if length < SHORTEST_NS {
        return Vec::new();
    }
    let begin = from + (length as f64 * WARM_UP) as u64;
    let mut table = SiteTable::new(profile);
    let mut found: Vec<Survivors> = Vec::new();
    for block in profile.allocations.iter().filter(|block| block.freed.is_none()) {
        let Some(site) = table.of(block.stack) else { continue };
        found.resize_with(table.len(), Survivors::default);
        found[site].add(block.time, block.weight_bytes, begin, to);
    }
    let seconds = (to - begin) as f64 / 1e9;
    let mut rows: Vec<_> = found
        .iter()
        .enumerate()
        .filter_map(|(site, survivors)| {
            Some(LeakRow {
                confidence: survivors.verdict()?,
                site: table.site(site),
                live_bytes: survivors.live_bytes,
                bytes_per_second: survivors.grown() / seconds,
                samples: survivors.counts.iter().sum(),
            })
        })
        .collect();
    rows.sort_by(|a, b| {
        b.bytes_per_second.total_cmp(&a.bytes_per_second).then_with(|| a.site.cmp(&b.site))
    });
    rows
}

/// What of one site is still live, by when it was allocated.
#[derive(Clone, Default)]
struct Survivors {
    live_bytes: u64,
    bytes: [u64; STRETCHES],
    counts: [u64; STRETCHES],
}

impl Survivors {
    fn add(&mut self, time: Time, weight: u64, begin: u64, end: u64) {
        self.live_bytes = self.live_bytes.saturating_add(weight);
        let Some(since) = time.0.checked_sub(begin) else { return };
        let place = since as f64 / (end - begin).max(1) as f64 * STRETCHES as f64;
        let place = (place as usize).min(STRETCHES - 1);
        self.bytes[place] = self.bytes[place].saturating_add(weight);
        self.counts[place] += 1;
    }

    /// Bytes since the warm-up.
    fn grown(&self) -> f64 {
        self.bytes.iter().map(|bytes| *bytes as f64).sum()
    }

    fn verdict(&self) -> Option<Confidence> {
        let count: u64 = self.counts.iter().sum();
        let filled = self.counts.iter().filter(|count| **count > 0).count();
        let whole = self.grown();
        let most = self.bytes.iter().copied().max().unwrap_or(0) as f64;
        let (first, last) = self.bytes.split_at(STRETCHES / 2);
        let sum = |part: &[u64]| part.iter().map(|bytes| *bytes as f64).sum::<f64>();
        let pace = sum(last) / sum(first).max(1.0);
        if count >= 24 && filled == STRETCHES && most <= 0.35 * whole && pace >= 0.7 {
            return Some(Confidence::High);
        }
        let enough = count >= 10 && filled * 4 >= STRETCHES * 3;
        (enough && most <= 0.5 * whole && pace >= 0.6).then_some(Confidence::Medium)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::heap::from_rows;

    const SITE: &[(&str, &str, u32)] = &[("put", "a.py", 1)];
    const SECOND: u64 = 1_000_000_000;

    /// Blocks every 10 ms for 20 s; `freed` says when the one of that time goes.
    fn run(freed: impl Fn(u64) -> Option<u64>) -> Profile {
        let times = (0..2000).map(|i| i * SECOND / 100);
        let rows: Vec<_> = times.map(|time| (time, freed(time), 1000, SITE)).collect();
        let mut profile = from_rows(&rows);
        profile.meta.duration_ns = 20 * SECOND;
        for block in &mut profile.allocations {
            block.freed = block.freed.filter(|freed| *freed < Time(20 * SECOND));
        }
        profile
    }

    #[test]
    fn what_keeps_growing_is_found_with_its_rate() {
        // One block in four stays.
        let profile = run(|time| (time / 10_000_000 % 4 > 0).then_some(time + 1000));

        let rows = leaks(&profile);

        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].confidence, Confidence::High);
        assert!((rows[0].bytes_per_second / 25_000.0 - 1.0).abs() < 0.02, "{rows:?}");
    }

    #[test]
    fn a_sawtooth_is_no_leak_wherever_it_is_seen() {
        for period in [SECOND, 3 * SECOND, 7 * SECOND, 9 * SECOND] {
            let profile = run(|time| Some((time / period + 1) * period));
            assert!(leaks(&profile).is_empty(), "{period}");
        }
    }

    #[test]
    fn a_warm_up_is_no_leak() {
        let early = run(|time| (time > 4 * SECOND).then_some(time + 1000));
        assert!(leaks(&early).is_empty());
        // A cache that fills ever more slowly: the misses halve every three seconds.
        let slowing = run(|time| {
            let number = time / 10_000_000;
            let every = 1 << (time / (3 * SECOND));
            (!number.is_multiple_of(every)).then_some(time + 1000)
        });
        assert!(leaks(&slowing).is_empty());
    }

    #[test]
    fn a_bounded_queue_and_steady_churn_are_no_leaks() {
        for lifetime in [SECOND / 100, SECOND, 8 * SECOND] {
            let profile = run(|time| Some(time + lifetime));
            assert!(leaks(&profile).is_empty(), "{lifetime}");
        }
    }

    #[test]
    fn a_few_large_steps_and_a_short_run_prove_nothing() {
        let steps = run(|time| (time % (6 * SECOND) != 0).then_some(time + 1000));
        assert!(leaks(&steps).is_empty());
        let mut short = run(|_| None);
        short.allocations.truncate(80);
        short.meta.duration_ns = 800_000_000;
        assert!(leaks(&short).is_empty());
    }
}
