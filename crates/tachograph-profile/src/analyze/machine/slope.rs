//! A slope that a few odd points do not move, and how sure it is.

/// Points that are compared pair by pair; more are thinned out first.
const MOST_POINTS: usize = 200;

/// One-sided 95 % quantile of the normal distribution.
const SURE: f64 = 1.645;

/// A robust slope with its bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// The median of the slopes between all pairs of points (Theil and Sen).
    pub median: f64,
    /// 95 of 100 times the true slope is above this.
    pub lower: f64,
    /// 95 of 100 times the true slope is below this.
    pub upper: f64,
    /// Points it was made from, after thinning.
    pub points: usize,
}

/// The slope through `points`, each a time and a value, in order of time.
///
/// Almost a third of the points can be anything without moving it. The bounds
/// are those of Sen: they count how many pairs would rise by chance. `None` for
/// fewer than four points, or when all are at one time.
///
/// ```
/// use tachograph_profile::analyze::robust_slope;
///
/// let mut points: Vec<_> = (0..30).map(|i| (f64::from(i), 2.0 * f64::from(i))).collect();
/// points[7].1 = 1e9;
///
/// let slope = robust_slope(&points).unwrap();
///
/// assert!((slope.median - 2.0).abs() < 1e-9 && slope.lower > 1.9);
/// ```
#[must_use]
pub fn robust_slope(points: &[(f64, f64)]) -> Option<Slope> {
    let points = thinned(points);
    let n = points.len();
    if n < 4 {
        return None;
    }
    let mut slopes = Vec::with_capacity(n * (n - 1) / 2);
    for (i, one) in points.iter().enumerate() {
        for other in points.iter().skip(i + 1) {
            let apart = other.0 - one.0;
            if apart > 0.0 {
                slopes.push((other.1 - one.1) / apart);
            }
        }
    }
    slopes.retain(|slope| slope.is_finite());
    if slopes.is_empty() {
        return None;
    }
    slopes.sort_by(f64::total_cmp);
    let count = n as f64;
    // Standard deviation of the number of rising pairs, were there no slope.
    let deviation = (count * (count - 1.0) * (2.0 * count + 5.0) / 18.0).sqrt();
    let pairs = slopes.len() as f64;
    let below = ((pairs - SURE * deviation) / 2.0).floor().max(0.0) as usize;
    let above = ((pairs + SURE * deviation) / 2.0).ceil() as usize;
    let at = |place: usize| slopes.get(place.min(slopes.len() - 1)).copied().unwrap_or(0.0);
    let middle = slopes.len() / 2;
    let median =
        if slopes.len() % 2 == 1 { at(middle) } else { f64::midpoint(at(middle - 1), at(middle)) };
    Some(Slope { median, lower: at(below), upper: at(above), points: n })
}

/// At most `MOST_POINTS` of `points`, evenly; the first and the last stay.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= MOST_POINTS {
        return points.to_vec();
    }
    let last = points.len() - 1;
    let places = (0..MOST_POINTS).map(|i| i * last / (MOST_POINTS - 1));
    places.filter_map(|place| points.get(place).copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_flat_line_has_no_slope() {
        let points: Vec<_> = (0..20).map(|i| (f64::from(i), 7.0)).collect();

        let slope = robust_slope(&points).unwrap();

        assert_eq!((slope.median, slope.lower, slope.upper), (0.0, 0.0, 0.0));
    }

    #[test]
    fn too_few_points_or_one_time_have_none() {
        assert_eq!(robust_slope(&[(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]), None);
        assert_eq!(robust_slope(&[(1.0, 1.0); 9]), None);
    }

    #[test]
    fn a_long_series_keeps_its_slope() {
        let points: Vec<_> = (0..5_000).map(|i| (f64::from(i), 3.0 * f64::from(i))).collect();

        let slope = robust_slope(&points).unwrap();

        assert_eq!(slope.points, MOST_POINTS);
        assert!((slope.median - 3.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn the_bounds_are_around_the_slope(values in prop::collection::vec(-1e6..1e6f64, 4..80)) {
            let points: Vec<_> =
                values.iter().enumerate().map(|(i, value)| (i as f64, *value)).collect();
            let slope = robust_slope(&points).unwrap();
            prop_assert!(slope.lower <= slope.median && slope.median <= slope.upper);
        }
    }
}
