//! What a reader must know before trusting a number: how the samples were
//! taken, what is missing, and what would help.

use super::format::{count, counted, duration, percent};
use crate::{Mode, Profile, Trigger};

/// How the samples came about: `18,112 samples every 10 ms of CPU time by jittered tick`.
pub(super) fn sampling(profile: &Profile) -> String {
    let samples = counted(profile.samples.len() as u64, "sample");
    let Some(cpu) = &profile.meta.settings.cpu else {
        return samples;
    };
    let time = match cpu.mode {
        Mode::Cpu => " of CPU time",
        Mode::Wall => "",
    };
    let interval = duration(cpu.interval_ns);
    let trigger = trigger_name(cpu.trigger);
    format!("{samples} every {interval}{time} by {trigger}")
}

/// What made the sampler look, in words.
pub(super) fn trigger_name(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Tick => "jittered tick",
        Trigger::Perf => "perf events",
        Trigger::CpuTimer => "CPU timers",
    }
}

/// Everything that is missing from `profile`, one phrase each, with a remedy.
///
/// Empty when nothing is.
pub(super) fn losses(profile: &Profile) -> Vec<String> {
    let loss = &profile.loss;
    let seen = profile.samples.len() as u64;
    let whole = seen.saturating_add(loss.missing_samples());
    let share = |part| percent(part, whole);
    let ticks = profile.meta.settings.cpu.as_ref().map_or(0, |cpu| cpu.report.ticks);
    let late = match ticks.max(loss.late_ticks) {
        ticks if ticks > loss.late_ticks => format!("({}) ", percent(loss.late_ticks, ticks)),
        _ => String::new(),
    };
    let rows = [
        (
            loss.dropped_samples,
            "sample",
            format!(
                "({}) dropped for lack of room (raise memory_limit_mb)",
                share(loss.dropped_samples)
            ),
        ),
        (
            loss.unreadable_stacks,
            "stack",
            format!(
                "({}) unreadable; their time is with the thread's other samples",
                share(loss.unreadable_stacks)
            ),
        ),
        (loss.truncated_stacks, "stack", format!("cut{} (raise max_depth)", depth_limit(profile))),
        (
            loss.blocked_threads,
            "thread",
            "never sampled: the program blocks SIGURG there (unblock it)".to_owned(),
        ),
        (
            loss.partial_native_stacks,
            "native stack",
            "cut short: a library has no unwind information (Python frames are complete)".to_owned(),
        ),
        (
            loss.unnamed_frames,
            "frame",
            "without a name: code that ran once was gone before it could be read (its time is counted)"
                .to_owned(),
        ),
        (
            loss.late_ticks,
            "look",
            format!("{late}came late because the machine was busy (raise interval_ms)"),
        ),
        (
            loss.dropped_allocations,
            "block",
            "dropped for lack of room: sums of memory lack them (raise heap_rate_kb or \
             memory_limit_mb)"
                .to_owned(),
        ),
        (
            loss.dropped_spans,
            "span",
            "dropped, they came too fast or filled memory (time larger pieces, or raise \
             memory_limit_mb)"
                .to_owned(),
        ),
    ];
    rows.into_iter()
        .filter(|(number, _, _)| *number > 0)
        .map(|(number, thing, rest)| format!("{} {rest}", counted(number, thing)))
        .chain(unseen_cpu(profile))
        .collect()
}

/// CPU time of the process that is in no sample, once it matters: threads that
/// began and ended between two looks. What was dropped has a row of its own.
fn unseen_cpu(profile: &Profile) -> Option<String> {
    let cpu = profile.meta.settings.cpu.as_ref()?;
    if profile.loss.dropped_samples > 0 || profile.loss.blocked_threads > 0 {
        return None;
    }
    let process = profile.meta.process_cpu_ns;
    let seen: u64 = profile.samples.iter().map(|sample| sample.cpu_ns).sum();
    let unseen = process.checked_sub(seen.saturating_add(cpu.report.own_cpu_ns))?;
    let matters = unseen > cpu.interval_ns.saturating_mul(10) && unseen > process / 20;
    matters.then(|| {
        let (share, time) = (percent(unseen, process), duration(unseen));
        format!(
            "{time} of CPU time ({share}) in threads too short-lived to be seen (lower interval_ms)"
        )
    })
}

fn depth_limit(profile: &Profile) -> String {
    match &profile.meta.settings.cpu {
        Some(cpu) if cpu.max_depth > 0 => {
            format!(" at {} frames", count(u64::from(cpu.max_depth)))
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CpuSettings;

    #[test]
    fn cpu_time_of_threads_that_were_never_seen_is_told() {
        let mut profile = Profile::from_stacks(&[(0, 850_000_000, &[("main", "a.py", 1)])]);
        profile.meta.process_cpu_ns = 1_000_000_000;
        let mut cpu = CpuSettings { interval_ns: 1_000_000, ..CpuSettings::default() };
        cpu.report.own_cpu_ns = 50_000_000;
        profile.meta.settings.cpu = Some(cpu);

        let losses = losses(&profile);

        assert_eq!(losses.len(), 1);
        assert!(losses[0].starts_with("100 ms of CPU time (10.0 %)"), "{losses:?}");
    }

    #[test]
    fn every_loss_is_told_with_its_remedy() {
        let mut profile = Profile::from_stacks(&[(0, 5, &[("main", "a.py", 1)])]);
        profile.meta.settings.cpu = Some(CpuSettings { max_depth: 512, ..CpuSettings::default() });
        if let Some(cpu) = &mut profile.meta.settings.cpu {
            cpu.report.ticks = 200;
        }
        profile.loss.late_ticks = 3;
        profile.loss.truncated_stacks = 2;
        profile.loss.dropped_samples = 1;

        let phrases = losses(&profile);

        assert_eq!(
            phrases,
            [
                "1 sample (50.0 %) dropped for lack of room (raise memory_limit_mb)",
                "2 stacks cut at 512 frames (raise max_depth)",
                "3 looks (1.5 %) came late because the machine was busy (raise interval_ms)",
            ]
        );
    }

    #[test]
    fn a_whole_profile_has_no_losses() {
        assert!(losses(&Profile::default()).is_empty());
    }

    #[test]
    fn sampling_is_told_with_its_interval_and_trigger() {
        let mut profile = Profile::from_stacks(&[(0, 5, &[("main", "a.py", 1)])]);
        assert_eq!(sampling(&profile), "1 sample");

        profile.meta.settings.cpu =
            Some(CpuSettings { interval_ns: 10_000_000, ..CpuSettings::default() });
        assert_eq!(sampling(&profile), "1 sample every 10 ms of CPU time by jittered tick");
    }
}
