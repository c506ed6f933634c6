//! How far the numbers can be trusted, and why there may be none.

use std::collections::BTreeMap;

use super::ink::{Ink, Line, Style, wrap};
use super::time::elapsed_ns;
use crate::export::doubts::{losses, sampling, trigger_name};
use crate::export::format::{count, counted, duration};
use crate::{CpuSettings, Mode, Profile};

/// Column where the text of a titled line begins.
const TEXT: usize = 10;

/// The samples, how they were taken, what that cost, what is missing.
pub(super) fn data_section(profile: &Profile, style: Style) -> Vec<Line> {
    let mut lines = Vec::new();
    let lost = losses(profile);
    let mut phrases = vec![taken(profile)];
    if !profile.spans.is_empty() {
        phrases.push(counted(profile.spans.len() as u64, "span"));
    }
    if lost.is_empty() {
        phrases.push("none lost".to_owned());
        lines.extend(titled("DATA", Ink::Plain, &phrases, style));
    } else {
        lines.extend(titled("DATA", Ink::Plain, &phrases, style));
        lines.extend(titled("", Ink::Doubt, &lost, style));
    }
    lines.extend(notes(profile, style));
    lines
}

/// Why there are no samples, and what to do about it.
pub(super) fn empty_section(profile: &Profile, style: Style) -> Vec<Line> {
    let mut phrases = Vec::new();
    match &profile.meta.settings.cpu {
        None => phrases.push("no samples: CPU sampling was off".to_owned()),
        Some(cpu) => phrases.extend(no_samples(profile, cpu)),
    }
    phrases.extend(losses(profile));
    let mut lines = titled("DATA", Ink::Doubt, &phrases, style);
    lines.extend(notes(profile, style));
    lines
}

fn no_samples(profile: &Profile, cpu: &CpuSettings) -> Vec<String> {
    let elapsed = elapsed_ns(profile);
    let used = profile.meta.process_cpu_ns;
    let interval = duration(cpu.interval_ns);
    let remedy = "lower interval_ms or record longer";
    if elapsed == 0 {
        return vec![
            "no samples: this stretch is empty; choose one within the recording".to_owned(),
        ];
    }
    if cpu.mode == Mode::Wall || elapsed <= cpu.interval_ns {
        let elapsed = duration(elapsed);
        return vec![format!(
            "no samples: {elapsed} is too short for an interval of {interval}; {remedy}"
        )];
    }
    let wall =
        "a waiting thread gives none in mode=\"cpu\"; record with mode=\"wall\" to see where it waits"
            .to_owned();
    if used == 0 {
        let elapsed = duration(elapsed);
        return vec![format!("no samples: nothing was seen on a CPU in these {elapsed}"), wall];
    }
    vec![
        format!(
            "no samples: {} of CPU time is too short for an interval of {interval}; {remedy}",
            duration(used)
        ),
        wall,
    ]
}

fn taken(profile: &Profile) -> String {
    let samples = profile.samples.len() as u64;
    let Some(cpu) = &profile.meta.settings.cpu else {
        return counted(samples, "sample");
    };
    let report = &cpu.report;
    let mut text = if cpu.mode == Mode::Cpu && report.watched_cpu_ns > 0 {
        format!(
            "{}, {} per CPU-second, by {}",
            counted(samples, "sample"),
            count(report.rate_hz().round() as u64),
            trigger_name(cpu.trigger),
        )
    } else {
        sampling(profile)
    };
    if !cpu.trigger_reason.is_empty() {
        text.push_str(&format!(" ({})", cpu.trigger_reason));
    }
    text.push_str(&cost(profile, cpu));
    text
}

/// What sampling cost: a share of the program's CPU time or, when it used
/// little of that and any share would look large, of one core.
fn cost(profile: &Profile, cpu: &CpuSettings) -> String {
    let report = &cpu.report;
    let elapsed = elapsed_ns(profile);
    let is_busy = report.watched_cpu_ns >= elapsed / 2;
    if is_busy && report.watched_cpu_ns > 0 {
        return format!(", cost {:.1} %", report.cost() * 100.0);
    }
    // A stretch of a recording does not know its own CPU time, nor its share of the cost.
    if profile.meta.process_cpu_ns == 0 || elapsed == 0 {
        return String::new();
    }
    let used = report.own_cpu_ns.saturating_add(report.sampling_cpu_ns);
    format!(", cost {:.1} % of a core", used as f64 * 100.0 / elapsed as f64)
}

/// Notes of the recording, warnings first, equal ones once.
fn notes(profile: &Profile, style: Style) -> Vec<Line> {
    let mut texts: BTreeMap<(bool, &str), u64> = BTreeMap::new();
    for note in &profile.notes {
        *texts.entry((!note.warning, profile.text(note.text))).or_default() += 1;
    }
    let mut lines = Vec::new();
    for ((quiet, text), times) in texts {
        let (title, ink) = if quiet { ("NOTE", Ink::Plain) } else { ("WARNING", Ink::Doubt) };
        let text =
            if times > 1 { format!("{text} ({} times)", count(times)) } else { text.to_owned() };
        lines.extend(titled(title, ink, &[text], style));
    }
    lines
}

fn titled(title: &str, ink: Ink, phrases: &[String], style: Style) -> Vec<Line> {
    let room = style.columns().saturating_sub(TEXT);
    let mut lines = Vec::new();
    for (index, text) in wrap(phrases, room).into_iter().enumerate() {
        let title = if index == 0 { title } else { "" };
        let line = Line::indented(2).left(Ink::Strong, title, TEXT - 2);
        lines.push(line.put(ink, text));
    }
    lines
}
