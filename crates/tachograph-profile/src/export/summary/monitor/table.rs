//! What a monitor saw, a line or two for each thing.

use super::super::ink::{Ink, Line, Style, wrap};
use super::report::{
    MonitorDevice, MonitorMemory, MonitorReport, MonitorSystem, MonitorTiming, MonitorValidation,
};
use crate::export::format::{bytes, duration};

/// Bytes of a megabyte in the reports of monitors.
const MB: f64 = 1_048_576.0;
/// Columns of a section's title.
const TITLE: usize = 12;

/// What a monitor saw, as a table.
#[must_use]
pub fn monitor_table(report: &MonitorReport, style: &Style) -> String {
    let mut lines = heading(report, *style);
    lines.push(Line::default());
    let mut section = |title, phrases: Vec<String>, ink| {
        lines.extend(paragraph(title, &phrases, ink, *style));
    };
    if let Some(timing) = &report.timing {
        section("TIMING", vec![precisely(timing), clock(timing)], Ink::Plain);
    }
    if let Some(memory) = &report.memory {
        section("MEMORY", memory_phrases(memory), Ink::Plain);
        for site in &memory.allocations {
            let place = format!("{} {}", site.function, site.place);
            section("", vec![format!("{} kept by {place}", megabytes(site.size_mb))], Ink::Faint);
        }
    }
    if let Some(system) = &report.system {
        section("SYSTEM", system_phrases(system), Ink::Plain);
    }
    for device in &report.gpu {
        section("GPU", device_phrases(device), Ink::Plain);
    }
    if let Some(validation) = &report.validation {
        section("VALIDATION", validation_phrases(validation), Ink::Plain);
        section("", validation.errors.clone(), Ink::Doubt);
    }
    section("DATA", report.notes.clone(), Ink::Plain);
    let texts: Vec<String> = lines.iter().map(|line| line.render(*style)).collect();
    texts.join("\n").trim_end().to_owned()
}

fn heading(report: &MonitorReport, style: Style) -> Vec<Line> {
    let mut facts = vec!["tachograph".to_owned(), report.function_name.clone()];
    facts.push(seconds(report.total_duration));
    if let Some(error) = &report.error {
        facts.push(format!("failed: {error}"));
    }
    let lines = wrap(&facts, style.columns()).into_iter();
    lines.map(|line| Line::default().put(Ink::Strong, line)).collect()
}

fn paragraph(title: &str, phrases: &[String], ink: Ink, style: Style) -> Vec<Line> {
    if phrases.is_empty() {
        return Vec::new();
    }
    let texts = wrap(phrases, style.columns() - 2 - TITLE).into_iter().enumerate();
    texts
        .map(|(nth, text)| {
            let title = if nth == 0 { title } else { "" };
            Line::indented(2).left(Ink::Strong, title, TITLE).put(ink, text)
        })
        .collect()
}

/// Seconds with the decimals that were asked for.
fn precisely(timing: &MonitorTiming) -> String {
    match timing.precision {
        Some(decimals) => format!("{:.*} s", decimals.min(18), timing.execution_time),
        None => seconds(timing.execution_time),
    }
}

fn clock(timing: &MonitorTiming) -> String {
    match timing.timing_mode.as_str() {
        "process_time" => "CPU time of the process".to_owned(),
        "thread_time" => "CPU time of the thread".to_owned(),
        _ => "elapsed".to_owned(),
    }
}

fn memory_phrases(memory: &MonitorMemory) -> Vec<String> {
    let mut phrases = vec![format!("peak {}", megabytes(memory.peak_memory_mb))];
    if let (Some(start), Some(end)) = (memory.start_memory_mb, memory.end_memory_mb) {
        phrases.push(format!("from {} to {}", megabytes(start), megabytes(end)));
    }
    let sign = if memory.memory_diff_mb < 0.0 { "-" } else { "+" };
    phrases.push(format!("change {sign}{}", megabytes(memory.memory_diff_mb.abs())));
    phrases
}

fn system_phrases(system: &MonitorSystem) -> Vec<String> {
    let mut phrases = Vec::new();
    match (system.cpu_percent, system.peak_cpu) {
        (Some(mean), Some(peak)) => {
            phrases.push(format!("CPU {}, at most {}", percent(mean), percent(peak)));
        }
        (None, Some(peak)) => phrases.push(format!("CPU at most {}", percent(peak))),
        (Some(mean), None) => phrases.push(format!("CPU {}", percent(mean))),
        (None, None) => {}
    }
    if let Some(peak) = system.peak_memory {
        phrases.push(format!("memory at most {} of the machine's", percent(peak)));
    }
    if let (Some(read), Some(written)) = (system.total_disk_read_mb, system.total_disk_write_mb) {
        phrases.push(format!("disk {} read, {} written", megabytes(read), megabytes(written)));
    }
    if let (Some(sent), Some(received)) = (system.total_net_sent_mb, system.total_net_recv_mb) {
        let (sent, received) = (megabytes(sent), megabytes(received));
        phrases.push(format!("network of the machine {received} in, {sent} out"));
    }
    phrases
}

fn device_phrases(device: &MonitorDevice) -> Vec<String> {
    let mut phrases = vec![device.name.clone()];
    phrases.extend(device.peak_utilization.map(|busy| format!("busy at most {}", percent(busy))));
    phrases.extend(device.peak_memory_mb.map(|used| format!("memory peak {}", megabytes(used))));
    phrases.extend(device.peak_temperature.map(|heat| format!("{heat:.0} °C")));
    phrases.extend(device.peak_power.map(|watts| format!("{watts:.0} W")));
    phrases
}

fn validation_phrases(validation: &MonitorValidation) -> Vec<String> {
    let verdict = |valid: bool| if valid { "valid" } else { "not valid" };
    vec![
        format!("arguments {}", verdict(validation.input_valid)),
        format!("result {}", verdict(validation.output_valid)),
        format!("took {}", seconds(validation.validation_time)),
    ]
}

fn seconds(value: f64) -> String {
    duration((value.max(0.0) * 1e9).round() as u64)
}

fn megabytes(value: f64) -> String {
    bytes((value.max(0.0) * MB).round() as u64)
}

fn percent(value: f64) -> String {
    if value.abs() < 10.0 { format!("{value:.1} %") } else { format!("{value:.0} %") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::summary::monitor::report::MonitorSite;

    fn everything() -> MonitorReport {
        MonitorReport {
            function_name: "train_epoch".to_owned(),
            total_duration: 1.234_567,
            timing: Some(MonitorTiming {
                execution_time: 1.234,
                timing_mode: "wall_clock".to_owned(),
                precision: Some(6),
            }),
            memory: Some(MonitorMemory {
                peak_memory_mb: 400.0,
                memory_diff_mb: -1.0,
                start_memory_mb: Some(200.0),
                end_memory_mb: Some(199.0),
                allocations: vec![MonitorSite {
                    function: "load".to_owned(),
                    place: "data.py:41".to_owned(),
                    size_mb: 12.0,
                }],
            }),
            system: Some(MonitorSystem {
                cpu_percent: Some(146.2),
                peak_cpu: Some(199.0),
                peak_memory: Some(1.72),
                total_disk_read_mb: Some(0.0),
                total_disk_write_mb: Some(16.0),
                total_net_sent_mb: Some(0.5),
                total_net_recv_mb: Some(1.0),
            }),
            gpu: vec![MonitorDevice {
                name: "A100".to_owned(),
                peak_utilization: Some(87.0),
                ..MonitorDevice::default()
            }],
            validation: Some(MonitorValidation {
                input_valid: true,
                output_valid: false,
                validation_time: 0.000_012,
                errors: vec!["must be within [0, 1]".to_owned()],
            }),
            notes: vec!["12 samples, one every 100 ms".to_owned()],
            error: None,
        }
    }

    #[test]
    fn every_part_has_its_line_with_units() {
        let style = Style { width: 160, ..Style::default() };

        let text = monitor_table(&everything(), &style);

        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "tachograph · train_epoch · 1.23 s",
                "",
                "  TIMING      1.234000 s · elapsed",
                "  MEMORY      peak 419 MB · from 210 MB to 209 MB · change -1.05 MB",
                "              12.6 MB kept by load data.py:41",
                "  SYSTEM      CPU 146 %, at most 199 % · memory at most 1.7 % of the machine's · \
                 disk 0 B read, 16.8 MB written · \
                 network of the machine 1.05 MB in, 524 KB out",
                "  GPU         A100 · busy at most 87 %",
                "  VALIDATION  arguments valid · result not valid · took 12 µs",
                "              must be within [0, 1]",
                "  DATA        12 samples, one every 100 ms",
            ]
        );
    }

    #[test]
    fn what_was_not_asked_for_is_not_shown() {
        let report = MonitorReport {
            function_name: "f".to_owned(),
            total_duration: 0.5,
            error: Some("KeyError".to_owned()),
            ..MonitorReport::default()
        };

        let text = monitor_table(&report, &Style::default());

        assert_eq!(text, "tachograph · f · 500 ms · failed: KeyError");
    }

    #[test]
    fn a_table_stays_within_its_terminal_and_its_letters() {
        for width in [60, 80, 100] {
            let style = Style { color: false, width, unicode: false };
            let text = monitor_table(&everything(), &style);
            assert!(text.is_ascii(), "{text}");
            assert!(text.lines().all(|line| line.len() <= width), "{text}");
        }
    }
}
