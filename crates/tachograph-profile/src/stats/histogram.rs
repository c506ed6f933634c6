//! Counts by size: each power of two is cut into 64 equal buckets, so a value
//! read back is less than 1 % off, whatever its size.

/// Buckets per power of two, as a power of two.
const CUT_BITS: u32 = 6;
const CUTS: usize = 1 << CUT_BITS;
/// Bits of a double's mantissa that do not choose a bucket.
const REST_BITS: u32 = 52 - CUT_BITS;

/// A histogram of finite numbers with a relative error below 1 %.
///
/// Memory is taken per power of two that occurs (half a kilobyte), never per value.
///
/// ```
/// use tachograph_profile::stats::Histogram;
///
/// let mut histogram = Histogram::default();
/// for value in 1..=1000 {
///     histogram.add(f64::from(value));
/// }
///
/// let median = histogram.nth(499).unwrap();
/// assert!((median / 500.0 - 1.0).abs() < 0.01);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// In the order of their numbers.
    octaves: Vec<Octave>,
    /// Where the last value went.
    latest: usize,
}

/// The numbers between two powers of two, of one sign.
#[derive(Clone, Debug, PartialEq)]
struct Octave {
    /// Sign and exponent as the double has them.
    key: u16,
    counts: Box<[u64; CUTS]>,
}

impl Octave {
    fn new(key: u16) -> Self {
        Self { key, counts: Box::new([0; CUTS]) }
    }

    /// Sorts octaves as their numbers sort.
    fn order(key: u16) -> i32 {
        let exponent = i32::from(key & 0x7ff) + 1;
        if key & 0x800 == 0 { exponent } else { -exponent }
    }

    fn is_negative(&self) -> bool {
        self.key & 0x800 != 0
    }

    /// The number in the middle of a bucket.
    fn middle(&self, cut: usize) -> f64 {
        let index = (u64::from(self.key) << CUT_BITS) | cut as u64;
        f64::from_bits((index << REST_BITS) | 1 << (REST_BITS - 1))
    }
}

impl Histogram {
    /// Counts one value. Infinities and NaN are not numbers and are left out.
    pub fn add(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        let index = value.to_bits() >> REST_BITS;
        let (key, cut) = ((index >> CUT_BITS) as u16, index as usize % CUTS);
        // Values that follow each other are mostly near each other.
        let is_at = |place: usize| self.octaves.get(place).is_some_and(|near| near.key == key);
        let latest = self.latest;
        let place = if is_at(latest) {
            latest
        } else if is_at(latest + 1) {
            latest + 1
        } else if is_at(latest.wrapping_sub(1)) {
            latest - 1
        } else {
            self.place(key)
        };
        self.latest = place;
        if let Some(count) =
            self.octaves.get_mut(place).and_then(|octave| octave.counts.get_mut(cut))
        {
            *count += 1;
        }
    }

    /// Where the octave of `key` is; made if need be.
    fn place(&mut self, key: u16) -> usize {
        let order = Octave::order(key);
        match self.octaves.binary_search_by_key(&order, |octave| Octave::order(octave.key)) {
            Ok(place) => place,
            Err(place) => {
                self.octaves.insert(place, Octave::new(key));
                place
            }
        }
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Self) {
        for octave in &other.octaves {
            let place = self.place(octave.key);
            if let Some(own) = self.octaves.get_mut(place) {
                for (own, more) in own.counts.iter_mut().zip(octave.counts.iter()) {
                    *own += more;
                }
            }
        }
        self.latest = 0;
    }

    /// How many values there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.octaves.iter().flat_map(|octave| octave.counts.iter()).sum()
    }

    /// The value at `rank` when all are sorted, the smallest at 0; less than
    /// 1 % off. `None` when there are not so many.
    #[must_use]
    pub fn nth(&self, rank: u64) -> Option<f64> {
        let mut before = 0;
        for (value, count) in self.buckets() {
            before += count;
            if rank < before {
                return Some(value);
            }
        }
        None
    }

    /// Every bucket that holds something: its middle and its count, the
    /// smallest first.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        self.octaves.iter().flat_map(|octave| {
            let negative = octave.is_negative();
            (0..CUTS).filter_map(move |at| {
                let cut = if negative { CUTS - 1 - at } else { at };
                let count = octave.counts.get(cut).copied().filter(|count| *count > 0)?;
                Some((octave.middle(cut), count))
            })
        })
    }

    /// Bytes it takes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.octaves.capacity() * size_of::<Octave>() + self.octaves.len() * CUTS * 8
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: &[f64]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|value| histogram.add(*value));
        histogram
    }

    proptest! {
        #[test]
        fn every_value_is_read_back_within_one_percent(
            values in prop::collection::vec(prop_oneof![
                prop::num::f64::NORMAL, -1e3..1e3, 1.0..1e12,
            ], 1..200)
        ) {
            let histogram = of(&values);
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            prop_assert_eq!(histogram.count(), values.len() as u64);
            for (rank, value) in sorted.iter().enumerate() {
                let told = histogram.nth(rank as u64).unwrap();
                prop_assert!((told - value).abs() <= value.abs() * 0.01, "{told} for {value}");
            }
        }

        #[test]
        fn merging_is_the_same_as_adding(
            left in prop::collection::vec(-1e6..1e6, 0..100),
            right in prop::collection::vec(-1e6..1e6, 0..100),
        ) {
            let mut merged = of(&left);
            merged.merge(&of(&right));
            let both: Vec<f64> = left.into_iter().chain(right).collect();
            prop_assert!(merged.buckets().eq(of(&both).buckets()));
        }
    }

    #[test]
    fn a_million_values_take_no_more_memory_than_a_thousand() {
        let (mut few, mut many) = (Histogram::default(), Histogram::default());
        for value in 0..1_000_000_u32 {
            many.add(f64::from(value % 1000 + 1));
            if value < 1000 {
                few.add(f64::from(value + 1));
            }
        }
        assert_eq!(few.memory_bytes(), many.memory_bytes());
    }

    #[test]
    fn what_is_no_number_is_left_out() {
        assert_eq!(of(&[f64::NAN, f64::INFINITY, 0.0]).count(), 1);
    }
}
