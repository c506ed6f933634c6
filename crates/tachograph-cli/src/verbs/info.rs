//! `info FILE`: what a recording is, without judging what it says.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use tachograph_profile::export::format::{bytes, counted, duration};
use tachograph_profile::export::program_name;
use tachograph_profile::{Meta, Profile, Settings, TrackKind, file};

use crate::clock::utc;
use crate::console::{Console, Stream};
use crate::end::End;
use crate::failure::Failure;

const EXAMPLES: &str = "\
examples:
  tachograph info train.tacho
  tachograph info train.tacho --json | jq .counts

exit status:
  0  done     2  wrong usage     3  the recording could not be read";

/// Tell what a recording holds: program, machine, settings, counts
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Info {
    /// The recording
    file: PathBuf,
    /// Print every fact as JSON
    #[arg(long)]
    json: bool,
}

impl Info {
    pub(crate) fn run(self, console: &Console) -> Result<End, Failure> {
        let profile = file::open(&self.file)?;
        let size = fs::metadata(&self.file).map_or(0, |found| found.len());
        let text = if self.json {
            format!("{}\n", as_json(&self.file, size, &profile))
        } else {
            let bold = console.style(Stream::Output).color;
            as_text(&rows(&self.file, size, &profile), bold)
        };
        console.result(text.as_bytes())?;
        Ok(End::DONE)
    }
}

fn as_json(path: &Path, size: u64, profile: &Profile) -> Value {
    json!({
        "file": path,
        "size_bytes": size,
        "program": program_name(&profile.meta),
        "meta": profile.meta,
        "loss": profile.loss,
        "counts": counts(profile).into_iter().map(|(name, count)| {
            let many = if name == "process" { "processes".to_owned() } else { format!("{name}s") };
            (many, json!(count))
        }).collect::<serde_json::Map<_, _>>(),
    })
}

/// How much there is of each thing, named in the singular.
fn counts(profile: &Profile) -> [(&'static str, u64); 8] {
    let tracks = |kind| {
        let tracks = profile.tables.tracks.iter();
        tracks.filter(|track| track.kind == kind).count() as u64
    };
    [
        ("sample", profile.samples.len() as u64),
        ("span", profile.spans.len() as u64),
        ("allocation", profile.allocations.len() as u64),
        ("point", profile.points.len() as u64),
        ("note", profile.notes.len() as u64),
        ("process", tracks(TrackKind::Process)),
        ("thread", tracks(TrackKind::Thread)),
        ("task", tracks(TrackKind::Task)),
    ]
}

fn rows(path: &Path, size: u64, profile: &Profile) -> Vec<(&'static str, String)> {
    let meta = &profile.meta;
    let mut rows = vec![
        ("file", format!("{} ({})", path.display(), bytes(size))),
        ("program", program_name(meta)),
        ("command", meta.command.join(" ")),
        ("started", utc(meta.started_unix_ns)),
        ("duration", duration(meta.elapsed_ns())),
        ("process", meta.pid.to_string()),
    ];
    if let Some(python) = &meta.python {
        let threading = if python.free_threaded { ", free-threaded" } else { "" };
        rows.push((
            "python",
            format!(
                "{} {}{threading}, {}",
                python.implementation, python.version, python.executable
            ),
        ));
    }
    rows.push(("machine", machine(meta)));
    rows.extend(sources(&meta.settings));
    let held = counts(profile).into_iter().filter(|(_, count)| *count > 0);
    let held: Vec<_> = held.map(|(name, count)| plural(name, count)).collect();
    rows.push(("holds", held.join(", ")));
    rows.push(("lost", lost(profile)));
    rows.extend(meta.labels.iter().map(|(name, text)| ("label", format!("{name} = {text}"))));
    rows
}

/// What was recorded and how, one line per source.
fn sources(settings: &Settings) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    if let Some(cpu) = &settings.cpu {
        let mode = format!("{:?}", cpu.mode).to_lowercase();
        let native = if cpu.native { ", native frames" } else { "" };
        let interval = duration(cpu.interval_ns);
        let trigger = cpu.trigger.name();
        rows.push(("cpu", format!("{mode} time every {interval} by {trigger}{native}")));
    }
    if let Some(heap) = &settings.heap {
        let rate = heap.rate_bytes / 1024;
        let objects = if heap.python_objects { ", Python objects one by one" } else { "" };
        rows.push(("heap", format!("a block every {rate} KB{objects}")));
    }
    if let Some(machine) = &settings.machine {
        rows.push(("series", format!("every {}", duration(machine.interval_ns))));
    }
    rows
}

/// `2 spans`, `1 process`.
fn plural(name: &str, count: u64) -> String {
    if name == "process" && count != 1 { counted(count, "processe") } else { counted(count, name) }
}

fn machine(meta: &Meta) -> String {
    let machine = &meta.machine;
    let cores = counted(u64::from(machine.cores), "core");
    let memory = bytes(machine.memory_bytes);
    format!("{}, {} {}, {cores}, {memory}", machine.host, machine.system, machine.architecture)
}

/// Every kind of loss that happened, as the file names it.
fn lost(profile: &Profile) -> String {
    let Ok(Value::Object(kinds)) = serde_json::to_value(profile.loss) else {
        return String::new();
    };
    let some = kinds.into_iter().filter(|(_, count)| count.as_u64() != Some(0));
    let some: Vec<_> =
        some.map(|(kind, count)| format!("{count} {}", kind.replace('_', " "))).collect();
    if some.is_empty() { "nothing".to_owned() } else { some.join(", ") }
}

fn as_text(rows: &[(&'static str, String)], bold: bool) -> String {
    let (on, off) = if bold { ("\x1b[2m", "\x1b[0m") } else { ("", "") };
    let shown = |text: &str| -> String {
        text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
    };
    rows.iter().map(|(name, text)| format!("{on}{name:>9}{off}  {}\n", shown(text))).collect()
}

#[cfg(test)]
mod tests {
    use tachograph_profile::HeapSettings;

    use super::*;

    #[test]
    fn the_facts_are_told_one_a_line() {
        let mut profile = Profile::from_stacks(&[(0, 30, &[("main", "train.py", 12)])]);
        profile.meta.command = vec!["train.py".to_owned(), "--fast".to_owned()];
        profile.loss.late_ticks = 2;
        let heap = HeapSettings { rate_bytes: 512 * 1024, ..HeapSettings::default() };
        profile.meta.settings.heap = Some(heap);

        let text = as_text(&rows(Path::new("a.tacho"), 1500, &profile), false);

        assert!(text.contains("     file  a.tacho (1.50 KB)\n"), "{text}");
        assert!(text.contains("  program  train.py\n"), "{text}");
        assert!(text.contains("    holds  1 sample, 1 process, 1 thread\n"), "{text}");
        assert!(text.contains("     heap  a block every 512 KB\n"), "{text}");
        assert!(text.contains("     lost  2 late ticks\n"), "{text}");
    }

    #[test]
    fn the_json_holds_every_fact() {
        let profile = Profile::from_stacks(&[(0, 30, &[("main", "train.py", 12)])]);

        let facts = as_json(Path::new("a.tacho"), 7, &profile);

        assert_eq!(facts["size_bytes"], 7);
        assert_eq!(facts["counts"]["samples"], 1);
        assert_eq!(facts["meta"]["duration_ns"], 30);
        assert_eq!(facts["loss"]["dropped_samples"], 0);
    }
}
