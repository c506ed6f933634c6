//! The page around the chart: title, facts, legend, style and script.

use std::fmt::Write;

use super::chart::{Chart, MARGIN, class};
use super::label::escape;
use crate::analyze::Origin;
use crate::export::doubts::{losses, sampling};
use crate::export::format::{duration, measure_name, part_name, weight};
use crate::{Measure, Profile};

/// Width of the still picture; the script follows the window instead.
const WIDTH: f64 = 1200.0;
/// Height of the page's head.
const HEAD: usize = 92;
/// Room below the chart.
const FOOT: usize = 16;

const STYLE: &str = include_str!("flame.css");
const SCRIPT: &str = include_str!("flame.js");

/// `profile` as a flame graph over `measure`, root at the bottom.
///
/// ```
/// use tachograph_profile::{Measure, Profile, export::svg};
///
/// let profile = Profile::from_stacks(&[(0, 30, &[("main", "train.py", 12)])]);
/// let picture = svg(&profile, Measure::CpuTime);
/// assert!(picture.starts_with("<?xml"));
/// assert!(picture.contains("main"));
/// ```
#[must_use]
pub fn svg(profile: &Profile, measure: Measure) -> String {
    let chart = Chart::new(profile, measure);
    let height = HEAD + chart.height().max(60) + FOOT;
    let program = escape(&part_name(&profile.meta));
    let mut out = String::with_capacity(64 * 1024);
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" data-head=\"{HEAD}\" data-deepest=\"{}\" \
         data-unit=\"{}\">\n<title>{program}: {}</title>\n<style>\n{STYLE}</style>\n\
         <rect class=\"page\" width=\"100%\" height=\"100%\"/>\n<g class=\"chart\">\n",
        chart.deepest,
        unit(measure),
        measure_name(measure),
    );
    if chart.whole == 0 {
        let _ = writeln!(
            out,
            "<text class=\"empty\" x=\"{MARGIN}\" y=\"{}\">No {} was recorded.</text>",
            HEAD + 24,
            measure_name(measure),
        );
    }
    chart.write(&mut out, HEAD, WIDTH);
    out.push_str("</g>\n");
    write_head(&mut out, profile, measure, chart.whole, &program);
    let _ = write!(out, "<script><![CDATA[\n{SCRIPT}]]></script>\n</svg>\n");
    out
}

fn write_head(out: &mut String, profile: &Profile, measure: Measure, whole: u64, program: &str) {
    let _ = writeln!(
        out,
        "<g class=\"head\"><rect class=\"page\" width=\"100%\" height=\"{}\"/>\
         <text class=\"program\" x=\"{MARGIN}\" y=\"30\">{program}\
         <tspan class=\"what\" dx=\"10\">{}, {}</tspan></text>",
        HEAD - 6,
        measure_name(measure),
        weight(measure, whole),
    );
    let _ = writeln!(
        out,
        "<svg class=\"facts\" y=\"36\" width=\"{}\" height=\"44\">\
         <text x=\"{MARGIN}\" y=\"16\">{}</text>",
        WIDTH - MARGIN,
        escape(&facts(profile)),
    );
    let lost = losses(profile);
    let (style, lost) = if lost.is_empty() {
        ("sure", "nothing lost".to_owned())
    } else {
        ("doubt", lost.join(" · "))
    };
    let _ = writeln!(
        out,
        "<text class=\"{style}\" x=\"{MARGIN}\" y=\"34\">{}</text></svg>",
        escape(&lost)
    );
    write_legend(out);
    out.push_str("</g>\n");
}

fn facts(profile: &Profile) -> String {
    let meta = &profile.meta;
    let mut facts = vec![duration(meta.elapsed_ns())];
    if meta.process_cpu_ns > 0 {
        facts.push(format!("{} CPU", duration(meta.process_cpu_ns)));
    }
    facts.push(sampling(profile));
    if let Some(python) = &meta.python {
        let python = format!("{} {}", python.implementation, python.version);
        facts.push(python.trim().to_owned());
    }
    facts.join(" · ")
}

/// The legend stands at the right edge, so its parts are placed from there.
fn write_legend(out: &mut String) {
    let parts = [
        (Origin::Own, 80.0),
        (Origin::StandardLibrary, 116.0),
        (Origin::Package, 76.0),
        (Origin::Native, 62.0),
        (Origin::Kernel, 64.0),
    ];
    let whole: f64 = parts.iter().map(|(_, width)| width).sum();
    let _ = write!(
        out,
        "<g class=\"legend\" transform=\"translate({} 0)\" data-width=\"{whole}\">",
        WIDTH - MARGIN - whole + 12.0
    );
    let mut x = 0.0;
    for (origin, width) in parts {
        let _ = write!(
            out,
            "<svg class=\"{}\" x=\"{x}\" y=\"20\" width=\"10\" height=\"10\">\
             <rect width=\"100%\" height=\"100%\"/></svg>\
             <text x=\"{}\" y=\"29\">{}</text>",
            class(origin),
            x + 15.0,
            origin.title(),
        );
        x += width;
    }
    out.push_str("</g>");
}

/// How the script writes a weight.
fn unit(measure: Measure) -> &'static str {
    match measure {
        Measure::WallTime | Measure::CpuTime => "ns",
        Measure::BytesAllocated | Measure::BytesLive | Measure::BytesAtPeak => "B",
        Measure::Samples | Measure::Allocations => "",
    }
}
