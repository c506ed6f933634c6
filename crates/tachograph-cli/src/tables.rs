//! The tables of a report as JSON, for scripts.

use serde_json::{Value, json};

use tachograph_profile::analyze::{
    FunctionRow, SpanRow, functions, lines, main_measure, metrics, spans, tasks, threads,
};
use tachograph_profile::export::program_name;
use tachograph_profile::{FrameKind, Measure, Profile, Unit};

use crate::words;

/// Every table of `profile`; weights of functions and lines are of `measure`.
pub(crate) fn of(profile: &Profile, measure: Option<Measure>) -> Value {
    let measure = measure.unwrap_or_else(|| main_measure(profile));
    let meta = &profile.meta;
    json!({
        "program": program_name(meta),
        "elapsed_ns": meta.elapsed_ns(),
        "cpu_ns": meta.process_cpu_ns,
        "measure": words::measure_name(measure),
        "functions": functions(profile, measure).iter().map(function).collect::<Vec<_>>(),
        "lines": lines(profile, measure).iter().map(|row| json!({
            "file": row.file,
            "line": row.line,
            "function": row.function,
            "self_weight": row.self_weight,
            "total_weight": row.total_weight,
            "text": row.text,
        })).collect::<Vec<_>>(),
        "threads": threads(profile).iter().map(|row| json!({
            "name": row.name,
            "os_id": row.os_id,
            "samples": row.samples,
            "cpu_ns": row.cpu_ns,
            "wall_ns": row.wall_ns,
            "running_ns": row.running_ns,
            "gil_wait_ns": row.gil_wait_ns,
            "idle_ns": row.idle_ns,
            "waiting_at": row.waiting_at.as_ref().map(|place| json!({
                "function": place.function,
                "file": place.file,
                "line": place.line,
                "wall_ns": place.wall_ns,
            })),
        })).collect::<Vec<_>>(),
        "tasks": tasks(profile).iter().map(|row| json!({
            "name": row.name,
            "samples": row.samples,
            "cpu_ns": row.cpu_ns,
            "wall_ns": row.wall_ns,
        })).collect::<Vec<_>>(),
        "spans": spans(profile).iter().map(span).collect::<Vec<_>>(),
        "metrics": metrics(profile).iter().map(|row| json!({
            "name": row.name,
            "unit": unit_name(row.unit),
            "count": row.count,
            "mean": row.mean,
            "min": row.min,
            "max": row.max,
            "last": row.last,
        })).collect::<Vec<_>>(),
        "loss": profile.loss,
    })
}

fn function(row: &FunctionRow) -> Value {
    json!({
        "function": row.function,
        "file": row.file,
        "first_line": row.first_line,
        "kind": match row.kind {
            FrameKind::Python => "python",
            FrameKind::Native => "native",
            FrameKind::Kernel => "kernel",
            FrameKind::Label => "label",
        },
        "own": row.own,
        "self_weight": row.self_weight,
        "total_weight": row.total_weight,
    })
}

fn span(row: &SpanRow) -> Value {
    json!({
        "name": row.name,
        "path": row.path,
        "depth": row.depth,
        "count": row.count,
        "failed": row.failed,
        "open": row.open,
        "total_ns": row.total_ns,
        "self_ns": row.self_ns,
        "mean_ns": row.mean_ns,
        "p50_ns": row.p50_ns,
        "p95_ns": row.p95_ns,
        "max_ns": row.max_ns,
        "suspended_ns": row.suspended_ns,
        "cpu_ns": row.cpu_ns,
    })
}

fn unit_name(unit: Unit) -> String {
    format!("{unit:?}").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_hold_what_the_report_shows() {
        let profile = Profile::from_stacks(&[
            (0, 30, &[("main", "train.py", 12), ("load", "data.py", 7)]),
            (30, 10, &[("main", "train.py", 12)]),
        ]);

        let tables = of(&profile, Some(Measure::Samples));

        assert_eq!(tables["measure"], "samples");
        assert_eq!(tables["functions"][0]["function"], "main");
        assert_eq!(tables["functions"][0]["self_weight"], 1);
        assert_eq!(tables["functions"][0]["total_weight"], 2);
        assert_eq!(tables["threads"][0]["cpu_ns"], 40);
        assert_eq!(of(&profile, None)["functions"][0]["self_weight"], 30);
    }
}
