//! How far the numbers can be trusted, and why there may be none.

use std::collections::BTreeMap;

use super::ink::{Ink, Line, Style, wrap};
use super::time::elapsed_ns;
use crate::export::doubts::{losses, sampling, trigger_name};
use crate::export::format::{count, counted, duration};
use crate::{CpuSettings, Mode, Profile, analyze};

/// Column where the text of a titled line begins.
const TEXT: usize = 10;

/// The samples, how they were taken, what that cost, what is missing.
pub(super) fn data_section(profile: &Profile, style: Style) -> Vec<Line> {
    let mut lines = Vec::new();
    let lost = losses(profile);
    let mut phrases = vec![taken(profile)];
    phrases.extend(heap_taken(profile));
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

/// `ENERGY  38 J modelled from CPU time at …; RAPL is not readable: …`
pub(super) fn energy_lines(profile: &Profile, style: Style) -> Vec<Line> {
    let Some(energy) = analyze::energy(profile) else { return Vec::new() };
    let how = if energy.measured { "measured" } else { "modelled" };
    let source = if energy.source.is_empty() { how } else { energy.source.as_str() };
    let mut parts = source.split("; ").map(str::to_owned);
    let first = parts.next().unwrap_or_default();
    let mut phrases = vec![format!("{} {first}", joules(energy.joules))];
    if energy.device_joules > 0.0 {
        phrases.push(format!("{} of it by devices", joules(energy.device_joules)));
    }
    phrases.extend(parts);
    titled("ENERGY", Ink::Plain, &phrases, style)
}

/// Joules with the digits that matter.
fn joules(joules: f64) -> String {
    match joules {
        at if at >= 1e6 => format!("{:.2} MJ", at / 1e6),
        at if at >= 1e4 => format!("{:.1} kJ", at / 1e3),
        at if at >= 10.0 => format!("{at:.0} J"),
        at if at >= 1.0 => format!("{at:.1} J"),
        at => format!("{:.0} mJ", at * 1e3),
    }
}

/// Why there are no samples, and what to do about it.
pub(super) fn empty_section(profile: &Profile, style: Style) -> Vec<Line> {
    let mut phrases = Vec::new();
    match &profile.meta.settings.cpu {
        None => phrases.push("no samples: CPU sampling was off".to_owned()),
        Some(cpu) => phrases.extend(no_samples(profile, cpu)),
    }
    phrases.extend(heap_taken(profile));
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

/// `1,204 blocks sampled every 512 KB`, when memory was.
fn heap_taken(profile: &Profile) -> Option<String> {
    let heap = profile.meta.settings.heap.as_ref()?;
    let mut text = format!(
        "{} sampled, one every {}",
        counted(profile.allocations.len() as u64, "block"),
        binary_bytes(heap.rate_bytes)
    );
    let effective = heap.report.effective_rate_bytes;
    if effective > heap.rate_bytes + heap.rate_bytes / 10 {
        let effective = binary_bytes(effective);
        text.push_str(&format!(" (in effect {effective}: the table of live blocks was full)"));
    }
    if !heap.python_objects && profile.meta.python.is_some() {
        text.push_str(" (Python objects by their arenas)");
    }
    Some(text)
}

/// A rate as people give it: `512 KB` means 512 times 1024 bytes.
fn binary_bytes(size: u64) -> String {
    format!("{} KB", count(size.div_ceil(1024)))
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
