//! When to look next.
//!
//! A fixed beat falls into step with work that has the same beat: 2 ms + 8 ms
//! of work every 10 ms, looked at every 10 ms, came out 20 to 80 points wrong.
//! So every gap is drawn uniformly from half to one and a half periods. The
//! deadlines are absolute: a late tick does not move the ones after it.

/// Absolute deadlines with jittered gaps.
#[derive(Debug)]
pub(crate) struct Deadlines {
    period_ns: u64,
    next_ns: u64,
    random: fastrand::Rng,
}

impl Deadlines {
    /// The first deadline is one gap after `now_ns`.
    pub(crate) fn new(period_ns: u64, now_ns: u64) -> Self {
        let mut all = Self { period_ns, next_ns: now_ns, random: fastrand::Rng::new() };
        all.advance(now_ns);
        all
    }

    /// The deadline that comes next.
    pub(crate) fn next(&self) -> u64 {
        self.next_ns
    }

    /// Moves past `now_ns`; says how many deadlines were missed altogether.
    pub(crate) fn advance(&mut self, now_ns: u64) -> u64 {
        self.next_ns = self.next_ns.wrapping_add(self.gap());
        let mut missed = 0;
        if self.next_ns + 100 * self.period_ns < now_ns {
            // Suspended or stopped: start over instead of counting for ages.
            missed = (now_ns - self.next_ns) / self.period_ns;
            self.next_ns = now_ns;
        }
        while self.next_ns <= now_ns {
            missed += 1;
            self.next_ns = self.next_ns.wrapping_add(self.gap());
        }
        missed
    }

    /// How many deadlines were missed when the wait for the next one is given up at `now_ns`:
    /// someone who waits for a processor until the end has not looked in all that time.
    pub(crate) fn missed_at(&mut self, now_ns: u64) -> u64 {
        if now_ns < self.next_ns { 0 } else { self.advance(now_ns) }
    }

    /// One gap: uniform in half to one and a half periods.
    pub(crate) fn gap(&mut self) -> u64 {
        jittered(&mut self.random, self.period_ns)
    }
}

/// A value drawn uniformly from half to one and a half of `period_ns`.
pub(crate) fn jittered(random: &mut fastrand::Rng, period_ns: u64) -> u64 {
    let half = period_ns / 2;
    half + random.u64(0..=period_ns.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_lie_between_half_and_one_and_a_half_periods_and_average_one() {
        let mut deadlines = Deadlines::new(1_000_000, 0);
        let gaps: Vec<u64> = (0..20_000).map(|_| deadlines.gap()).collect();

        assert!(gaps.iter().all(|gap| (500_000..=1_500_000).contains(gap)));
        // Uniform over one period: standard error 0.29/sqrt(20,000) periods.
        let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
        assert!((mean - 1e6).abs() < 4.0 * 0.289e6 / 20_000_f64.sqrt(), "{mean}");
    }

    #[test]
    fn a_late_tick_counts_what_it_missed_and_does_not_move_the_rest() {
        let mut deadlines = Deadlines::new(1_000, 0);
        let mut seen = 0;
        for now in (0..1_000_000).step_by(10_000) {
            seen += 1 + deadlines.advance(now);
        }
        // About a thousand deadlines lie in a thousand periods.
        assert!((900..=1_100).contains(&seen), "{seen}");
    }

    #[test]
    fn what_passed_before_an_end_counts_as_missed() {
        let mut deadlines = Deadlines::new(1_000, 0);
        let next = deadlines.next();

        assert_eq!(deadlines.missed_at(next - 1), 0);
        assert_eq!(deadlines.missed_at(next), 0, "only just late");
        let missed = deadlines.missed_at(50_000);
        assert!((30..=70).contains(&missed), "{missed}");
        assert_eq!(deadlines.missed_at(50_000), 0, "counted once");
    }

    #[test]
    fn a_long_sleep_of_the_machine_does_not_count_for_ages() {
        let mut deadlines = Deadlines::new(1_000, 0);
        let missed = deadlines.advance(3_600_000_000_000);
        assert!(missed > 1_000_000);
        assert!(deadlines.next() > 3_600_000_000_000);
    }
}
