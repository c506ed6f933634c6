//! The whole report, put together from its sections.

use super::data::{data_section, empty_section, energy_lines};
use super::ink::{Ink, Line, Style};
use super::memory::memory_table;
use super::spans::spans_table;
use super::tables::code_section;
use super::time::{elapsed_ns, is_wall, main_thread, main_thread_section, threads_section};
use crate::analyze::{ThreadRow, main_measure, peak_memory, threads};
use crate::export::format::{bytes, duration, program_name};
use crate::{Measure, Profile};

/// Where the time of `profile` went, for a terminal.
///
/// ```
/// use tachograph_profile::Profile;
/// use tachograph_profile::export::{Style, summary};
///
/// let profile = Profile::from_stacks(&[(0, 3_000_000, &[("main", "train.py", 12)])]);
/// let text = summary(&profile, &Style::default());
/// assert!(text.contains("100 %  3.0 ms  main  train.py:12"));
/// ```
#[must_use]
pub fn summary(profile: &Profile, style: &Style) -> String {
    summary_of_run(profile, style, &[])
}

/// The same for a program that has just ended; `facts` about that, such as
/// `exit 0`, stand behind its name.
#[must_use]
pub fn summary_of_run(profile: &Profile, style: &Style, facts: &[String]) -> String {
    let style = *style;
    let rows = threads(profile);
    let mut sections = vec![vec![heading(profile, &rows, facts, style)]];
    if profile.samples.is_empty() {
        sections.push(spans_table(profile, style.columns() - 2, style));
        sections.push(memory_table(profile, style.columns() - 2));
        sections.push(empty_section(profile, style));
    } else {
        let main = main_thread(profile, &rows);
        if let Some(main) = main {
            sections.push(main_thread_section(profile, main, style));
        }
        sections.push(threads_section(profile, &rows, style));
        sections.push(code_section(profile, code_measure(profile, main), style));
        sections.push(data_section(profile, style));
    }
    if let Some(data) = sections.last_mut() {
        let mut energy = energy_lines(profile, style);
        energy.append(data);
        *data = energy;
    }
    let sections = sections.into_iter().filter(|lines| !lines.is_empty());
    let texts: Vec<_> = sections
        .map(|lines| {
            let lines: Vec<_> = lines.iter().map(|line| line.render(style)).collect();
            lines.join("\n")
        })
        .collect();
    texts.join("\n\n")
}

/// `tachograph · train.py · exit 0 · 12.4 s · 18.1 s CPU (1.46 cores) · peak 412 MB`
///
/// The cores can be left out where there is no room: they follow from the rest.
fn heading(profile: &Profile, rows: &[ThreadRow], of_the_run: &[String], style: Style) -> Line {
    let elapsed = elapsed_ns(profile);
    let sampled: u64 = rows.iter().map(|row| row.cpu_ns).sum();
    let cpu = if profile.meta.process_cpu_ns > 0 { profile.meta.process_cpu_ns } else { sampled };
    let times = format!(" · {} · {} CPU", duration(elapsed), duration(cpu));
    let peak = peak_memory(profile).map(|peak| format!(" · peak {}", bytes(peak)));
    let mut line = Line::default()
        .put(Ink::Faint, "tachograph · ")
        .put(Ink::Strong, program_name(&profile.meta));
    for name in &profile.meta.within {
        line = line.put(Ink::Plain, " · within ").put(Ink::Strong, name);
    }
    for fact in of_the_run {
        line = line.put(Ink::Plain, format!(" · {fact}"));
    }
    let peak = peak.unwrap_or_default();
    let cores = format!(" ({:.2} cores)", cpu as f64 / elapsed.max(1) as f64);
    let more = times.chars().count() + cores.chars().count() + peak.chars().count();
    let is_told = elapsed > 0 && line.width() + more <= style.columns();
    let cores = if is_told { cores } else { String::new() };
    line.put(Ink::Plain, format!("{times}{cores}{peak}"))
}

/// CPU time tells most; a program that waits more than it works is told by
/// elapsed time, if that was sampled.
fn code_measure(profile: &Profile, main: Option<&ThreadRow>) -> Measure {
    let worked = main.is_some_and(|row| row.running_ns.saturating_mul(2) >= row.wall_ns);
    let has_cpu = profile.weights(Measure::CpuTime).next().is_some();
    if is_wall(profile) && worked && has_cpu {
        return Measure::CpuTime;
    }
    main_measure(profile)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::example::training_run;
    use crate::{CpuSettings, Meta, Mode, Settings};

    fn empty(mode: Mode, duration_ns: u64) -> Profile {
        let cpu = CpuSettings { mode, interval_ns: 10_000_000, ..CpuSettings::default() };
        Profile {
            meta: Meta {
                duration_ns,
                process_cpu_ns: 400_000,
                settings: Settings { cpu: Some(cpu), ..Settings::default() },
                ..Meta::default()
            },
            ..Profile::default()
        }
    }

    #[test]
    fn a_short_recording_without_samples_says_why_and_what_to_do() {
        let text = summary(&empty(Mode::Cpu, 3_000_000), &Style::default());

        assert!(text.contains("3 ms is too short for an interval of 10 ms"), "{text}");
        assert!(text.contains("lower interval_ms or record longer"), "{text}");
    }

    #[test]
    fn a_narrow_heading_leaves_the_cores_out_and_nothing_else() {
        let profile = empty(Mode::Cpu, 3_000_000);
        let facts = ["killed by SIGTERM".to_owned(), "12 processes".to_owned()];
        let heading = |width| {
            let text = summary_of_run(&profile, &Style { width, ..Style::default() }, &facts);
            text.lines().next().unwrap_or_default().to_owned()
        };

        assert!(heading(120).ends_with(" · 3 ms · 400 µs CPU (0.13 cores)"), "{}", heading(120));
        assert!(heading(80).ends_with(" · 12 processes · 3 ms · 400 µs CPU"), "{}", heading(80));
    }

    #[test]
    fn a_sleeping_program_is_told_about_wall_mode() {
        let text = summary(&empty(Mode::Cpu, 3_000_000_000), &Style::default());

        assert!(text.contains("400 µs of CPU time is too short"), "{text}");
        assert!(text.contains("mode=\"wall\""), "{text}");
    }

    #[test]
    fn an_empty_stretch_is_not_called_too_short_for_the_interval() {
        let text = summary(&empty(Mode::Cpu, 0), &Style::default());

        assert!(text.contains("this stretch is empty"), "{text}");
    }

    #[test]
    fn the_cost_of_watching_a_sleeper_is_told_by_the_core_it_took() {
        let mut profile = training_run(Mode::Wall);
        profile.meta.duration_ns = 1_000_000_000;
        if let Some(cpu) = &mut profile.meta.settings.cpu {
            cpu.report.watched_cpu_ns = 1_000_000;
            cpu.report.own_cpu_ns = 20_000_000;
            cpu.report.sampling_cpu_ns = 4_000_000;
        }

        let text = summary(&profile, &Style::default()).replace("\n          ", " ");

        assert!(text.contains("cost 2.4 % of a core"), "{text}");
    }

    #[test]
    fn a_wait_keeps_its_place_when_room_is_short() {
        let style = Style { width: 100, ..Style::default() };

        let text = summary(&training_run(Mode::Wall), &style);

        let wait = text.lines().find(|line| line.contains("mostly"));
        assert!(wait.is_some_and(|line| !line.ends_with('…')), "{text}");
    }

    #[test]
    fn a_part_within_a_span_is_measured_by_the_time_its_spans_took() {
        let profile = training_run(Mode::Cpu).within("forward").unwrap();

        let text = summary(&profile, &Style::default());

        let first = text.lines().next().unwrap_or_default();
        assert!(first.contains("train.py · within forward · 1.20 s · "), "{text}");
        assert!(!text.contains("recording.within"), "{text}");
    }

    #[test]
    fn threads_of_several_processes_are_told_apart() {
        let mut child = training_run(Mode::Cpu);
        child.meta.pid += 1;
        for track in &mut child.tables.tracks {
            track.os_id += 1;
        }

        let text = summary(&Profile::merge(&[training_run(Mode::Cpu), child]), &Style::default());

        assert!(text.contains(" 4242 MainThread"), "{text}");
        assert!(text.contains(" 4243 MainThread"), "{text}");
    }

    #[test]
    fn how_a_run_ended_stands_behind_its_name() {
        let facts = ["exit 3".to_owned()];

        let text = summary_of_run(&training_run(Mode::Cpu), &Style::default(), &facts);

        assert!(text.starts_with("tachograph · train.py · exit 3 · 1.93 s · "), "{text}");
    }

    #[test]
    fn spans_are_shown_when_there_are_no_samples() {
        let mut profile = training_run(Mode::Cpu);
        profile.samples.clear();
        profile.meta.settings.cpu = None;

        let text = summary(&profile, &Style::default());

        assert!(text.contains("├ forward") && text.contains("CPU sampling was off"), "{text}");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for mode in [Mode::Cpu, Mode::Wall] {
            let profile = training_run(mode);
            for width in [60, 80, 100, 120, 160, 300] {
                let style = Style { width, ..Style::default() };
                let text = summary(&profile, &style);
                for line in text.lines() {
                    assert!(line.chars().count() <= width, "{width} columns: {line:?}");
                }
            }
        }
    }

    #[test]
    fn without_unicode_everything_is_ascii() {
        let style = Style { color: false, width: 100, unicode: false };

        assert!(summary(&training_run(Mode::Wall), &style).is_ascii());
    }
}
