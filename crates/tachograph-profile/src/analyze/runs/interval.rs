//! How far a mean can be trusted when its values depend on each other.
//!
//! Iterations of a program do: caches warm up, clocks of processors rise and
//! fall, neighbours come and go. The textbook interval takes every value for
//! news and is then far too narrow. Here consecutive values are joined to
//! blocks until neighbouring blocks are nearly unrelated, and what relation is
//! left widens the interval.

use std::f64::consts::FRAC_2_PI;

/// Blocks are joined until neighbours are less related than this.
const UNRELATED: f64 = 0.1;

/// Fewer blocks say too little of their own spread.
const FEWEST_BLOCKS: usize = 8;

/// Relation that is reckoned with at most; beyond it nothing can be told anyway.
const CLOSEST: f64 = 0.9;

/// A mean and the doubt about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    /// The mean.
    pub(super) mean: f64,
    /// The standard error of the mean.
    pub(super) error: f64,
    /// Degrees of freedom behind the error.
    pub(super) freedom: f64,
}

/// The mean of all values of `blocks` (count, mean) and how sure it is; `None`
/// for fewer than two blocks.
pub(super) fn estimate(blocks: &[(u64, f64)]) -> Option<Estimate> {
    let count: u64 = blocks.iter().map(|block| block.0).sum();
    if count == 0 {
        return None;
    }
    let mean = blocks.iter().map(|(count, mean)| *count as f64 * mean).sum::<f64>() / count as f64;
    // The last block may not be full; half of one says too little.
    let full = blocks.iter().map(|block| block.0).max().unwrap_or(0);
    let mut means: Vec<f64> =
        blocks.iter().filter(|block| block.0 * 2 > full).map(|block| block.1).collect();
    let mut relation = relation(&means);
    while relation >= UNRELATED && means.len() / 2 >= FEWEST_BLOCKS {
        means = means.chunks_exact(2).map(|pair| pair.iter().sum::<f64>() / 2.0).collect();
        relation = self::relation(&means);
    }
    if means.len() < 2 {
        return None;
    }
    let freedom = means.len() as f64 - 1.0;
    let middle = means.iter().sum::<f64>() / means.len() as f64;
    let spread = means.iter().map(|one| (one - middle).powi(2)).sum::<f64>() / freedom;
    let close = relation.clamp(0.0, CLOSEST);
    let widened = spread / means.len() as f64 * (1.0 + close) / (1.0 - close);
    Some(Estimate { mean, error: widened.sqrt(), freedom })
}

/// How much neighbours resemble each other, from -1 to 1: the autocorrelation
/// at lag one, with the bias of short series taken out.
fn relation(means: &[f64]) -> f64 {
    let count = means.len() as f64;
    let middle = means.iter().sum::<f64>() / count;
    let square: f64 = means.iter().map(|one| (one - middle).powi(2)).sum();
    if square <= 0.0 || means.len() < 3 {
        return 0.0;
    }
    let neighbours: f64 =
        means.windows(2).map(|pair| pair.iter().map(|one| one - middle).product::<f64>()).sum();
    let plain = neighbours / square;
    plain + (1.0 + 3.0 * plain.max(0.0)) / count
}

/// The ratio of two means with the interval that holds it with `confidence`.
pub(super) fn ratio(over: &Estimate, under: &Estimate, confidence: f64) -> (f64, (f64, f64)) {
    let ratio = over.mean / under.mean;
    let part = |one: &Estimate| (one.error / one.mean).powi(2);
    let (a, b) = (part(over), part(under));
    let whole = a + b;
    if whole <= 0.0 {
        return (ratio, (ratio, ratio));
    }
    let freedom = whole * whole / (a * a / over.freedom + b * b / under.freedom);
    let reach = (student(confidence, freedom) * whole.sqrt()).exp();
    (ratio, (ratio / reach, ratio * reach))
}

/// How many standard errors on either side hold the truth with `confidence`,
/// by Student's distribution; `freedom` is rounded down.
pub(super) fn student(confidence: f64, freedom: f64) -> f64 {
    let freedom = freedom.clamp(1.0, 1000.0) as u32;
    let (mut low, mut high) = (0.0, 1.0);
    while student_within(high, freedom) < confidence && high < 1e9 {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if student_within(middle, freedom) < confidence {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The probability of less than `t` standard errors either way, as the finite
/// sum that whole degrees of freedom have.
fn student_within(t: f64, freedom: u32) -> f64 {
    let angle = (t / f64::from(freedom).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let first = if freedom % 2 == 1 { 3 } else { 2 };
    let mut term = if freedom % 2 == 1 { cosine } else { 1.0 };
    let mut sum = if freedom == 1 { 0.0 } else { term };
    for step in (first..=freedom.saturating_sub(2)).step_by(2) {
        term *= cosine * cosine * f64::from(step - 1) / f64::from(step);
        sum += term;
    }
    if freedom % 2 == 1 { FRAC_2_PI * (angle + sine * sum) } else { sine * sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_agrees_with_the_printed_tables() {
        for (confidence, freedom, table) in [
            (0.95, 1.0, 12.706),
            (0.95, 2.0, 4.303),
            (0.95, 7.9, 2.365),
            (0.95, 10.0, 2.228),
            (0.99, 15.0, 2.947),
            (0.95, 30.0, 2.042),
            (0.95, 1e9, 1.962),
        ] {
            let told = student(confidence, freedom);
            assert!((told - table).abs() < 6e-4, "{told} for {table}");
        }
    }

    #[test]
    fn equal_values_leave_no_doubt() {
        let told = estimate(&[(1, 5.0); 10]).unwrap();
        assert_eq!((told.mean, told.error), (5.0, 0.0));
    }

    #[test]
    fn values_that_follow_each_other_are_trusted_less() {
        let apart: Vec<(u64, f64)> = (0..64).map(|at| (1, f64::from(at * 37 % 64))).collect();
        let along: Vec<(u64, f64)> = (0..64).map(|at| (1, f64::from(at))).collect();

        let (apart, along) = (estimate(&apart).unwrap(), estimate(&along).unwrap());

        assert_eq!(apart.mean, along.mean);
        assert!(along.error > 3.0 * apart.error, "{along:?} and {apart:?}");
    }

    #[test]
    fn one_block_tells_no_error() {
        assert_eq!(estimate(&[(9, 5.0)]), None);
        assert_eq!(estimate(&[]), None);
    }
}
