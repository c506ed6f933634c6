//! Who allocates, who holds, who lets go.

use rustc_hash::FxHashMap;

use super::site::{Site, SiteTable};
use crate::{Measure, Profile};

/// One site and what it did to memory. All sizes are estimates from samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteRow {
    /// Where.
    pub site: Site,
    /// For a site of a library: the own line that most of its bytes were
    /// allocated for.
    pub caller: Option<Site>,
    /// Bytes it allocated.
    pub allocated_bytes: u64,
    /// Those that are not freed.
    pub live_bytes: u64,
    /// Those that were live when most memory was.
    pub peak_bytes: u64,
    /// Blocks it allocated.
    pub blocks: u64,
    /// Those that are not freed.
    pub live_blocks: u64,
    /// Samples behind these figures.
    pub samples: u64,
    /// Half of the bytes that were freed lived at most this long; `None`
    /// when none were.
    pub median_lifetime_ns: Option<u64>,
}

impl SiteRow {
    /// Bytes that were allocated and freed again.
    #[must_use]
    pub fn freed_bytes(&self) -> u64 {
        self.allocated_bytes.saturating_sub(self.live_bytes)
    }

    /// What `measure` says of it; 0 for one that is no measure of memory.
    #[must_use]
    pub fn weight(&self, measure: Measure) -> u64 {
        match measure {
            Measure::BytesAllocated => self.allocated_bytes,
            Measure::BytesLive => self.live_bytes,
            Measure::BytesAtPeak => self.peak_bytes,
            Measure::Allocations => self.blocks,
            _ => 0,
        }
    }
}

/// The sites that carry some of `measure`, heaviest first; ties in name order.
///
/// A site is a line of Python with all native code it called; a stack without
/// Python is its innermost function. The weights add up to the whole.
///
/// ```
/// use tachograph_profile::{Allocation, Measure, Profile, Time, TrackId, analyze::heap::sites};
///
/// let stack = &[("main", "train.py", 9), ("load", "data.py", 77)];
/// let mut profile = Profile::from_stacks(&[(0, 1, stack)]);
/// let stack = profile.samples[0].stack;
/// profile.allocations.push(Allocation {
///     time: Time(10),
///     freed: Some(Time(30)),
///     track: TrackId(1),
///     stack,
///     address: 0x1000,
///     size_bytes: 512,
///     weight_bytes: 4096,
///     allocator: Default::default(),
/// });
///
/// let rows = sites(&profile, Measure::BytesAtPeak);
///
/// assert_eq!((rows[0].site.function.as_str(), rows[0].site.line), ("load", 77));
/// assert_eq!((rows[0].peak_bytes, rows[0].live_bytes, rows[0].blocks), (4096, 0, 8));
/// assert_eq!(rows[0].median_lifetime_ns, Some(20));
/// ```
#[must_use]
pub fn sites(profile: &Profile, measure: Measure) -> Vec<SiteRow> {
    let peak = profile.peak().time;
    let mut table = SiteTable::new(profile);
    let mut rows: Vec<SiteRow> = Vec::new();
    let mut lifetimes: Vec<Vec<(u64, u64)>> = Vec::new();
    let mut own_lines = SiteTable::of_own_lines(profile);
    let mut callers: FxHashMap<(usize, usize), u64> = FxHashMap::default();
    for block in &profile.allocations {
        let Some(site) = table.of(block.stack) else { continue };
        rows.resize_with(table.len(), SiteRow::default);
        lifetimes.resize_with(table.len(), Vec::new);
        let row = &mut rows[site];
        let (bytes, blocks) = (block.weight_bytes, block.blocks());
        row.samples += 1;
        row.allocated_bytes = row.allocated_bytes.saturating_add(bytes);
        row.blocks = row.blocks.saturating_add(blocks);
        if let Some(line) = own_lines.of(block.stack) {
            let sum = callers.entry((site, line)).or_default();
            *sum = sum.saturating_add(bytes);
        }
        if block.is_live_at(peak) {
            row.peak_bytes = row.peak_bytes.saturating_add(bytes);
        }
        if let Some(freed) = block.freed {
            lifetimes[site].push((freed.0 - block.time.0, bytes));
        } else {
            row.live_bytes = row.live_bytes.saturating_add(bytes);
            row.live_blocks = row.live_blocks.saturating_add(blocks);
        }
    }
    let mut heaviest: Vec<(u64, usize)> = vec![(0, 0); rows.len()];
    for ((site, line), bytes) in callers {
        // Of equal ones the first that was met.
        if (bytes, std::cmp::Reverse(line))
            > (heaviest[site].0, std::cmp::Reverse(heaviest[site].1))
        {
            heaviest[site] = (bytes, line);
        }
    }
    for (number, (row, lifetimes)) in rows.iter_mut().zip(&mut lifetimes).enumerate() {
        row.site = table.site(number);
        row.median_lifetime_ns = median(lifetimes);
        let (bytes, line) = heaviest[number];
        row.caller = (bytes > 0 && !row.site.own).then(|| own_lines.site(line));
    }
    rows.retain(|row| row.weight(measure) > 0);
    rows.sort_by(|a, b| {
        b.weight(measure).cmp(&a.weight(measure)).then_with(|| a.site.cmp(&b.site))
    });
    rows
}

/// The value up to which half of the weight lies.
fn median(values: &mut [(u64, u64)]) -> Option<u64> {
    values.sort_unstable();
    let whole: u128 = values.iter().map(|(_, weight)| u128::from(*weight)).sum();
    let mut sum = 0_u128;
    let half = values.iter().find(|(_, weight)| {
        sum += u128::from(*weight);
        sum * 2 >= whole
    });
    half.map(|(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameKind;
    use crate::analyze::heap::from_rows;

    const MAIN: (&str, &str, u32) = ("main", "a.py", 1);

    #[test]
    fn native_code_allocates_for_the_line_that_called_it() {
        let mut profile = from_rows(&[
            (0, None, 100, &[MAIN, ("malloc_it", "libx.so", 0)]),
            (1, None, 40, &[("worker", "liby.so", 0), ("malloc_it", "libx.so", 0)]),
        ]);
        for frame in &mut profile.tables.frames {
            if frame.line == 0 {
                frame.kind = FrameKind::Native;
            }
        }

        let rows = sites(&profile, Measure::BytesLive);

        let found: Vec<_> =
            rows.iter().map(|row| (row.site.function.as_str(), row.live_bytes)).collect();
        assert_eq!(found, [("main", 100), ("malloc_it", 40)]);
    }

    #[test]
    fn a_site_of_a_library_names_the_own_line_it_allocated_for() {
        let decode = ("decode", "/py/json.py", 9);
        let mut profile = from_rows(&[
            (0, None, 10, &[MAIN, ("read", "a.py", 5), decode]),
            (1, None, 30, &[MAIN, ("parse", "a.py", 7), decode]),
            (2, None, 5, &[MAIN]),
        ]);
        profile.meta.roots.standard_library = vec!["/py".to_owned()];

        let rows = sites(&profile, Measure::BytesLive);

        assert_eq!(rows[0].site.function, "decode");
        assert_eq!(rows[0].caller.as_ref().map(|site| site.line), Some(7));
        assert_eq!(rows[1].caller, None);
    }

    #[test]
    fn churn_is_told_by_bytes_freed_and_how_long_they_lived() {
        let profile = from_rows(&[
            (0, Some(10), 100, &[MAIN]),
            (20, Some(25), 100, &[MAIN]),
            (30, None, 7, &[MAIN]),
        ]);

        let rows = sites(&profile, Measure::BytesAllocated);

        assert_eq!((rows[0].freed_bytes(), rows[0].median_lifetime_ns), (200, Some(5)));
        assert_eq!((rows[0].live_bytes, rows[0].peak_bytes, rows[0].samples), (7, 100, 3));
    }

    #[test]
    fn two_lines_of_one_function_are_two_sites() {
        let profile = from_rows(&[(0, None, 5, &[MAIN]), (1, None, 6, &[("main", "a.py", 2)])]);

        let rows = sites(&profile, Measure::BytesLive);

        assert_eq!(rows.iter().map(|row| row.site.line).collect::<Vec<_>>(), [2, 1]);
    }
}
