//! Which blocks are sampled and what a sample stands for.
//!
//! Every byte that a thread allocates is counted down; the block that holds the
//! byte at which the count runs out is sampled. Gaps between such bytes are
//! uniform between half a period and one and a half, and a thread's first gap is
//! drawn as if the thread had always been there. So a block of `n` bytes is
//! sampled with a known probability, and weighs `n` divided by it: sums over
//! samples are right on average for any mix of sizes. A block of one and a half
//! periods or more is always sampled and weighs what it is.

/// A thread's random numbers: splitmix64, whose every seed is as good as any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// The numbers of the `index`-th thread of a process with seed `seed`.
    pub(crate) fn of_thread(seed: u64, index: u64) -> Self {
        // Mixed twice, so that neighbouring threads share no stretch of numbers.
        Self(mix(mix(seed) ^ index.wrapping_mul(0xd134_2543_de82_ef95)))
    }

    /// A number from 0 to below 1.
    ///
    /// Context: allocator hook.
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (mix(self.0) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Bytes from a thread's first allocated byte to its first sampled one.
    ///
    /// Context: allocator hook.
    pub(crate) fn first_gap(&mut self, period: u64) -> i64 {
        let at = self.unit();
        let periods = if at < 0.5 { at } else { 1.5 - (2.0 - 2.0 * at).sqrt() };
        (periods * period as f64) as i64
    }

    /// The same after a sampled byte at which the period changes from `before`.
    ///
    /// Up to a sampled byte there are more samples than bytes over period, by 11/24 of
    /// one on average, since the first gap is shorter; this gap makes up for it.
    ///
    /// Context: allocator hook.
    pub(crate) fn gap_between(&mut self, before: u64, period: u64) -> i64 {
        self.first_gap(period).saturating_add((before as f64 * (11.0 / 24.0)) as i64)
    }

    /// Bytes from one sampled byte to the next.
    ///
    /// Context: allocator hook.
    pub(crate) fn gap(&mut self, period: u64) -> i64 {
        ((0.5 + self.unit()) * period as f64) as i64
    }
}

fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Whether a block of this size is always sampled.
///
/// Context: allocator hook.
#[inline]
pub(crate) fn is_certain(size: u64, period: u64) -> bool {
    size.saturating_mul(2) >= period.saturating_mul(3)
}

/// How many bytes a sampled block of `size` bytes stands for.
///
/// Context: allocator hook.
pub(crate) fn weight(size: u64, period: u64) -> u64 {
    if size == 0 || is_certain(size, period) {
        return size;
    }
    (size as f64 / probability(size, period)).round() as u64
}

/// How likely a block of `size` bytes is sampled, more than 0 and at most 1.
fn probability(size: u64, period: u64) -> f64 {
    let x = size as f64 / period as f64;
    let chance = match x {
        x if x <= 0.5 => x,
        x if x < 1.5 => 0.5 + 1.5 * (x - 0.5) - (x * x - 0.25) / 2.0,
        _ => 1.0,
    };
    chance.clamp(f64::MIN_POSITIVE, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One thread's count, as the hooks keep it.
    struct Thread {
        random: Random,
        left: i64,
        period: u64,
        /// The period of the next gap.
        asked: u64,
        samples: u64,
    }

    impl Thread {
        fn new(seed: u64, index: u64, period: u64) -> Self {
            let mut random = Random::of_thread(seed, index);
            let left = random.first_gap(period);
            Self { random, left, period, asked: period, samples: 0 }
        }

        /// What the block stands for; 0 when it is not sampled.
        fn allocate(&mut self, size: u64) -> u64 {
            self.left -= size as i64;
            if self.left >= 0 {
                return 0;
            }
            let drawn_with = std::mem::replace(&mut self.period, self.asked);
            let is_certain = is_certain(size, drawn_with);
            if is_certain && drawn_with == self.period {
                self.left += size as i64;
            } else if is_certain {
                self.left = self.random.first_gap(self.period);
            } else if drawn_with != self.period {
                self.left += self.random.gap_between(drawn_with, self.period);
            }
            while self.left < 0 {
                self.left += self.random.gap(self.period);
            }
            self.samples += 1;
            weight(size, drawn_with)
        }
    }

    /// Mean error and its standard error over `trials` of `work`, as shares of `truth`.
    fn errors(trials: u64, truth: u64, work: impl Fn(u64) -> u64) -> (f64, f64) {
        let relative = |trial| work(trial) as f64 / truth as f64 - 1.0;
        let all: Vec<f64> = (0..trials).map(relative).collect();
        let mean = all.iter().sum::<f64>() / trials as f64;
        let spread = all.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / (trials - 1) as f64;
        (mean, (spread / trials as f64).sqrt())
    }

    const PERIOD: u64 = 64 << 10;

    #[test]
    fn any_size_is_right_on_average() {
        // From far below the period, over both seams of the formula, to beyond it.
        for size in [16, 48, 700, 8_000, 30_000, 33_000, 50_000, 70_000, 90_000, 99_000, 200_000] {
            let blocks = 40_000_000_u64.div_ceil(size).min(20_000);
            let (mean, error) = errors(600, blocks * size, |trial| {
                let mut thread = Thread::new(0x5eed ^ size, trial, PERIOD);
                (0..blocks).map(|_| thread.allocate(size)).sum()
            });
            // Of eleven independent means, one beyond 4 standard errors is a chance of one in
            // 1400. 60,000 trials of the middle sizes were within 1.4 of theirs.
            assert!(mean.abs() <= 4.0 * error + 1e-6, "{size}: {mean} ± {error}");
        }
    }

    #[test]
    fn a_mix_of_sizes_is_right_on_average_and_spreads_as_theory_says() {
        let sizes = |i: u64| [48, 16 + i % 1000, 20_000, 300, 150_000, 64_000][(i % 6) as usize];
        let truth: u64 = (0..6_000).map(sizes).sum();
        let trials = 800;
        let (mean, error) = errors(trials, truth, |trial| {
            let mut thread = Thread::new(77, trial, PERIOD);
            (0..6_000).map(|i| thread.allocate(sizes(i))).sum()
        });

        assert!(mean.abs() <= 2.0 * error, "{mean} ± {error}");
        // Gaps have a standard deviation of a period over the root of 12; the total is a
        // sum of truth / period of them where blocks are small. Blocks near the period add
        // the spread of being taken or not, so this bounds it from both sides.
        let spread = error * (trials as f64).sqrt();
        let renewal = (PERIOD as f64 / truth as f64 / 12.0).sqrt();
        assert!(spread > 0.2 * renewal && spread < 4.0 * renewal, "{spread} against {renewal}");
    }

    #[test]
    fn short_threads_are_right_on_average() {
        // Each thread allocates 10 KB, a sixth of a period, and ends.
        let threads = 2_000_u64;
        let (mean, error) = errors(500, threads * 20 * 500, |trial| {
            (0..threads)
                .map(|index| {
                    let mut thread = Thread::new(99, trial * threads + index, PERIOD);
                    (0..20).map(|_| thread.allocate(500)).sum::<u64>()
                })
                .sum()
        });

        assert!(error < 0.003, "the test sees a bias of a percent: {error}");
        assert!(mean.abs() <= 2.5 * error, "{mean} ± {error}");
    }

    #[test]
    fn a_period_that_doubles_again_and_again_leaves_sums_right_on_average() {
        // As when the table of live samples fills up; blocks that were always sampled
        // become ones that are drawn.
        for size in [100, 1_000, 5_000, 70_000] {
            let blocks = 40_000_000 / size;
            let (mean, error) = errors(3_000, blocks * size, |trial| {
                let mut thread = Thread::new(0xd0b1e ^ size, trial, 4 << 10);
                let allocate = |_| {
                    let weight = thread.allocate(size);
                    thread.asked = (4 << 10) << (thread.samples / 50).min(9);
                    weight
                };
                (0..blocks).map(allocate).sum()
            });
            // Without the longer gap at each change the mean was a percent off.
            assert!(error < 0.001, "{size}: the test sees two tenths of a percent: {error}");
            assert!(mean.abs() <= 3.5 * error, "{size}: {mean} ± {error}");
        }
    }

    #[test]
    fn a_large_block_weighs_what_it_is() {
        assert_eq!(weight(100 << 20, PERIOD), 100 << 20);
        assert_eq!(weight(48, PERIOD), PERIOD);
        assert_eq!(weight(0, PERIOD), 0);
        assert!(is_certain(PERIOD * 3 / 2, PERIOD));
        assert!(!is_certain(PERIOD * 3 / 2 - 1, PERIOD));
    }
}
