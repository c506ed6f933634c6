//! Rows of answers about memory as tuples; Python gives their fields names.

use pyo3::prelude::*;

use tachograph_profile::analyze::heap::{self, Explanation, Site};
use tachograph_profile::{FrameKind, Measure};

use crate::errors::unknown_word;

/// `(function, file, line, kind, own)`.
pub(crate) type Place = (String, String, u32, &'static str, bool);

/// `(place, (allocated, live, peak, freed), (blocks, live_blocks, samples), median_lifetime_ns,
/// (function, file, line) of the own line it allocated for)`.
pub(crate) type SiteRow =
    (Place, (u64, u64, u64, u64), (u64, u64, u64), Option<u64>, Option<(String, String, u32)>);

/// `(place, live_bytes, bytes_per_second, confidence, samples)`.
pub(crate) type LeakRow = (Place, u64, f64, &'static str, u64);

/// `(place, before_bytes, after_bytes, before_blocks, after_blocks)`.
pub(crate) type DiffRow = (Place, u64, u64, u64, u64);

/// `(resident_bytes, [(name, bytes)], unexplained_bytes)`.
pub(crate) type PartRow = (u64, Vec<(&'static str, u64)>, i64);

fn place(site: Site) -> Place {
    let kind = match site.kind {
        FrameKind::Python => "python",
        FrameKind::Native => "native",
        FrameKind::Kernel => "kernel",
        FrameKind::Label => "label",
    };
    (site.function, site.file, site.line, kind, site.own)
}

/// One site.
pub(crate) fn site(row: heap::SiteRow) -> SiteRow {
    let freed = row.freed_bytes();
    (
        place(row.site),
        (row.allocated_bytes, row.live_bytes, row.peak_bytes, freed),
        (row.blocks, row.live_blocks, row.samples),
        row.median_lifetime_ns,
        row.caller.map(|site| (site.function, site.file, site.line)),
    )
}

/// One site that keeps growing.
pub(crate) fn leak(row: heap::LeakRow) -> LeakRow {
    let confidence = row.confidence.name();
    (place(row.site), row.live_bytes, row.bytes_per_second, confidence, row.samples)
}

/// One site in two pictures.
pub(super) fn difference(row: heap::DiffRow) -> DiffRow {
    (place(row.site), row.before_bytes, row.after_bytes, row.before_blocks, row.after_blocks)
}

/// What the resident size is made of.
pub(crate) fn explanation(found: &Explanation) -> PartRow {
    let parts = found.parts.iter().map(|(part, bytes)| (part.name(), *bytes)).collect();
    (found.resident_bytes, parts, found.unexplained_bytes)
}

/// The measure of memory called `name` in the API.
pub(crate) fn measure_named(name: &str) -> PyResult<Measure> {
    Ok(match name {
        "allocated" => Measure::BytesAllocated,
        "live" => Measure::BytesLive,
        "peak" => Measure::BytesAtPeak,
        "blocks" => Measure::Allocations,
        other => {
            const KNOWN: &str = "\"live\", \"peak\", \"allocated\" or \"blocks\"";
            return Err(unknown_word("measure", other, KNOWN));
        }
    })
}
