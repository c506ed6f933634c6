//! Which measure answers "where did the time go?" when the caller names none.

use crate::{Measure, Mode, Profile};

/// The measure a reader of `profile` wants to see first.
///
/// CPU time, or wall time when that was sampled. A profile whose samples carry
/// neither is counted in samples, and one without samples in bytes, so that a
/// picture is never empty while there is something to draw.
#[must_use]
pub fn main_measure(profile: &Profile) -> Measure {
    let mode = profile.meta.settings.cpu.as_ref().map(|cpu| cpu.mode);
    let carries = |measure| profile.weights(measure).next().is_some();
    let order = match mode {
        Some(Mode::Wall) => [Measure::WallTime, Measure::CpuTime],
        _ => [Measure::CpuTime, Measure::WallTime],
    };
    let rest = [Measure::Samples, Measure::BytesAllocated];
    order.into_iter().chain(rest).find(|measure| carries(*measure)).unwrap_or(order[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CpuSettings;

    #[test]
    fn cpu_time_comes_first_unless_wall_time_was_asked_for() {
        let mut profile = Profile::from_stacks(&[(0, 5, &[("main", "a.py", 1)])]);
        assert_eq!(main_measure(&profile), Measure::CpuTime);

        profile.meta.settings.cpu =
            Some(CpuSettings { mode: Mode::Wall, ..CpuSettings::default() });
        assert_eq!(main_measure(&profile), Measure::WallTime);
    }

    #[test]
    fn samples_without_times_are_counted() {
        let profile = Profile::from_stacks(&[(0, 0, &[("main", "a.py", 1)])]);

        assert_eq!(main_measure(&profile), Measure::Samples);
        assert_eq!(main_measure(&Profile::default()), Measure::CpuTime);
    }
}
