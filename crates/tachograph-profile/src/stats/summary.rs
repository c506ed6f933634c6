//! What is known of many values: count, sum, spread, extremes, percentiles and
//! their course, in memory that does not grow with their number.

use super::blocks::{Block, Blocks};
use super::histogram::Histogram;

/// Values that are kept as they are; percentiles of so few are exact.
pub const EXACT: usize = 64;

/// How a percentile between two values is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// In proportion between its two neighbours.
    #[default]
    Linear,
    /// The neighbour below.
    LowerRank,
}

/// An aggregate of many values.
///
/// ```
/// use tachograph_profile::stats::{Rule, Summary};
///
/// let mut summary = Summary::default();
/// for value in [2.0, 4.0, 6.0, 8.0] {
///     summary.add(value, 0);
/// }
///
/// assert_eq!((summary.count(), summary.mean()), (4, 5.0));
/// assert_eq!(summary.quantile(0.5, Rule::Linear), 5.0);
/// assert_eq!(summary.quantile(0.5, Rule::LowerRank), 4.0);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    count: u64,
    sum: f64,
    /// The first value. Distances from it stay small, so their squares keep
    /// the digits that squares of large values lose.
    origin: f64,
    /// Sum of the distances from `origin`, and of their squares.
    distances: f64,
    squares: f64,
    min: f64,
    max: f64,
    last: f64,
    last_ns: u64,
    /// The first values; all of them while there are no more than [`EXACT`].
    first: Vec<f64>,
    histogram: Histogram,
    blocks: Blocks,
}

impl Summary {
    /// Adds a value that came at `time_ns`. What is no number is left out.
    pub fn add(&mut self, value: f64, time_ns: u64) {
        if !value.is_finite() {
            return;
        }
        if self.count == 0 {
            (self.min, self.max, self.origin) = (value, value, value);
        }
        self.count += 1;
        self.sum += value;
        let distance = value - self.origin;
        self.distances += distance;
        self.squares += distance * distance;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        (self.last, self.last_ns) = (value, time_ns);
        if self.first.len() < EXACT && self.first.len() as u64 + 1 == self.count {
            self.first.push(value);
        }
        self.histogram.add(value);
        self.blocks.add(time_ns, value);
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            self.clone_from(other);
            return;
        }
        let is_exact = self.is_exact() && other.is_exact();
        let (more, apart) = (other.count as f64, other.origin - self.origin);
        self.squares += other.squares + 2.0 * apart * other.distances + more * apart * apart;
        self.distances += other.distances + more * apart;
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        if other.last_ns >= self.last_ns {
            (self.last, self.last_ns) = (other.last, other.last_ns);
        }
        if is_exact && self.first.len() + other.first.len() <= EXACT {
            self.first.extend_from_slice(&other.first);
        } else if is_exact {
            self.first.clear();
        }
        self.histogram.merge(&other.histogram);
        self.blocks.merge(&other.blocks);
    }

    /// Whether every value is known, not only its bucket.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.first.len() as u64 == self.count
    }

    /// How many values there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their sum.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// Their mean; 0 when there are none.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum / self.count as f64 }
    }

    /// Their standard deviation as a sample has it (n - 1); 0 for fewer than two.
    #[must_use]
    pub fn std(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let count = self.count as f64;
        let spread = self.squares - self.distances * self.distances / count;
        (spread.max(0.0) / (count - 1.0)).sqrt()
    }

    /// The smallest; 0 when there are none.
    #[must_use]
    pub fn min(&self) -> f64 {
        self.min
    }

    /// The largest; 0 when there are none.
    #[must_use]
    pub fn max(&self) -> f64 {
        self.max
    }

    /// The one that came last; 0 when there are none.
    #[must_use]
    pub fn last(&self) -> f64 {
        self.last
    }

    /// Their course: blocks of consecutive values, the oldest first.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        self.blocks.as_slice()
    }

    /// The value below which the share `q` (0 to 1) of all values lies; exact
    /// for up to [`EXACT`] values, then less than 1 % off. 0 when there are none.
    #[must_use]
    pub fn quantile(&self, q: f64, rule: Rule) -> f64 {
        let Some(top) = self.count.checked_sub(1) else { return 0.0 };
        let mut sorted = if self.is_exact() { self.first.clone() } else { Vec::new() };
        sorted.sort_by(f64::total_cmp);
        let at = q.clamp(0.0, 1.0) * top as f64;
        let below = self.ranked(&sorted, at.floor() as u64);
        let part = at - at.floor();
        if rule == Rule::LowerRank || part == 0.0 {
            return below;
        }
        let above = self.ranked(&sorted, at.floor() as u64 + 1);
        below + (above - below) * part
    }

    /// The value at `rank`, the smallest at 0; from `sorted` when all are there.
    fn ranked(&self, sorted: &[f64], rank: u64) -> f64 {
        if rank == 0 {
            return self.min;
        }
        if rank + 1 >= self.count {
            return self.max;
        }
        let exact = usize::try_from(rank).ok().and_then(|at| sorted.get(at).copied());
        let value = exact.or_else(|| self.histogram.nth(rank)).unwrap_or(self.max);
        value.clamp(self.min, self.max)
    }

    /// Bytes it takes, itself included.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + self.first.capacity() * 8
            + self.histogram.memory_bytes()
            + size_of_val(self.blocks.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: &[f64]) -> Summary {
        let mut summary = Summary::default();
        for (time, value) in values.iter().enumerate() {
            summary.add(*value, time as u64);
        }
        summary
    }

    fn linear(sorted: &[f64], q: f64) -> f64 {
        let at = q * (sorted.len() - 1) as f64;
        let (low, part) = (sorted[at as usize], at - at.floor());
        let high = sorted[(at as usize + 1).min(sorted.len() - 1)];
        low + (high - low) * part
    }

    proptest! {
        #[test]
        fn percentiles_are_exact_for_few_values_and_close_for_many(
            values in prop::collection::vec(1.0..1e9_f64, 1..300), q in 0.0..=1.0_f64,
        ) {
            let summary = of(&values);
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let (told, truth) = (summary.quantile(q, Rule::Linear), linear(&sorted, q));
            let allowed = if values.len() <= EXACT { 1e-12 } else { 0.01 };
            prop_assert!((told - truth).abs() <= truth * allowed, "{told} for {truth}");
            let lower = summary.quantile(q, Rule::LowerRank);
            let rank = sorted[(q * (sorted.len() - 1) as f64) as usize];
            prop_assert!((lower - rank).abs() <= rank * allowed);
        }

        #[test]
        fn a_merged_summary_is_the_summary_of_all(
            left in prop::collection::vec(-1e6..1e6_f64, 0..80),
            right in prop::collection::vec(-1e6..1e6_f64, 0..80),
        ) {
            let mut merged = of(&left);
            merged.merge(&of(&right));
            let both: Vec<f64> = left.iter().chain(&right).copied().collect();
            let whole = of(&both);
            prop_assert_eq!(merged.count(), whole.count());
            prop_assert!((merged.mean() - whole.mean()).abs() < 1e-6);
            prop_assert!((merged.std() - whole.std()).abs() < 1e-6 * whole.std().max(1.0));
            prop_assert_eq!((merged.min(), merged.max()), (whole.min(), whole.max()));
            prop_assert_eq!(merged.is_exact(), whole.is_exact());
            for q in [0.0, 0.25, 0.5, 0.95, 1.0] {
                let (a, b) = (merged.quantile(q, Rule::Linear), whole.quantile(q, Rule::Linear));
                prop_assert!((a - b).abs() <= b.abs() * 1e-9 + 1e-9, "{a} and {b} at {q}");
            }
        }
    }

    #[test]
    fn one_value_has_no_spread() {
        let summary = of(&[7.0]);
        assert_eq!((summary.std(), summary.quantile(0.95, Rule::Linear)), (0.0, 7.0));
    }

    #[test]
    fn nothing_is_all_zeros() {
        let summary = Summary::default();
        assert_eq!(
            (summary.mean(), summary.std(), summary.quantile(0.5, Rule::Linear)),
            (0.0, 0.0, 0.0)
        );
    }

    #[test]
    fn memory_does_not_grow_with_the_number_of_values() {
        let values: Vec<f64> = (0..200_000).map(|at| f64::from(at % 1000 + 1)).collect();
        assert!(of(&values).memory_bytes() < 16 << 10);
    }
}
