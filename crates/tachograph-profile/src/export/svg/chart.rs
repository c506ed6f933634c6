//! The boxes of the flame graph.

use std::fmt::Write;

use rustc_hash::FxHashMap;

use super::label::{escape, fit};
use crate::analyze::{FlameBox, Origin, Tree, flame_boxes, frame_name, place_name, tree};
use crate::export::format::{count, percent, weight};
use crate::{Frame, Measure, Profile, StringId};

/// Height of a row, its gap included.
pub(super) const ROW: usize = 20;
/// Room left and right of the chart.
pub(super) const MARGIN: f64 = 16.0;

/// Boxes narrower than this share of the whole are folded: a third of a pixel
/// on a wide screen, so nothing that could be seen is missing until one zooms
/// in more than fifty times.
const NARROWEST_SHARE: u64 = 6000;
/// A picture with more boxes than this is slow to open; more are folded then.
const MOST_BOXES: usize = 6000;

/// Everything needed to draw the chart.
pub(super) struct Chart<'a> {
    profile: &'a Profile,
    measure: Measure,
    lowest_lines: FxHashMap<(StringId, StringId), u32>,
    tree: Tree,
    boxes: Vec<FlameBox>,
    narrowest: u64,
    /// What the whole weighs.
    pub(super) whole: u64,
    /// Depth of the deepest box.
    pub(super) deepest: usize,
}

impl<'a> Chart<'a> {
    pub(super) fn new(profile: &'a Profile, measure: Measure) -> Self {
        let tree = tree(profile, measure);
        let whole = tree.nodes.first().map_or(0, |node| node.total_weight);
        let mut narrowest = whole.div_ceil(NARROWEST_SHARE);
        let mut boxes = flame_boxes(&tree, narrowest);
        while boxes.len() > MOST_BOXES {
            narrowest = narrowest.saturating_mul(2);
            boxes = flame_boxes(&tree, narrowest);
        }
        let deepest = boxes.iter().map(|b| b.depth).max().unwrap_or(0);
        Self {
            profile,
            measure,
            lowest_lines: lowest_lines(profile),
            tree,
            boxes,
            narrowest,
            whole,
            deepest,
        }
    }

    /// Height of all rows.
    pub(super) fn height(&self) -> usize {
        (self.deepest + 1) * ROW
    }

    /// Writes every box, the whole first, root at the bottom.
    pub(super) fn write(&self, out: &mut String, top: usize, width: f64) {
        let scale = if self.whole == 0 { 0.0 } else { (width - 2.0 * MARGIN) / self.whole as f64 };
        for shown in &self.boxes {
            let y = top + (self.deepest - shown.depth) * ROW;
            let x = MARGIN + shown.start as f64 * scale;
            // One pixel between neighbours keeps them apart.
            let wide = (shown.weight as f64 * scale - 1.0).max(0.3);
            let text = self.describe(shown);
            let label = fit(&text.name, text.file(), wide);
            // Writing to a string cannot fail.
            let _ = write!(
                out,
                "<svg class=\"{}\" x=\"{x:.2}\" y=\"{y}\" width=\"{wide:.2}\" height=\"{}\" \
                 data-d=\"{}\" data-x=\"{}\" data-w=\"{}\"><title>{}\n{}\n{}\n{}</title>\
                 <rect width=\"100%\" height=\"100%\"/>",
                text.class,
                ROW - 1,
                shown.depth,
                shown.start,
                shown.weight,
                escape(&text.name),
                escape(&text.place),
                text.total,
                text.own,
            );
            if !label.name.is_empty() {
                let _ = write!(out, "<text x=\"5\" y=\"14\">{}", escape(&label.name));
                if !label.file.is_empty() {
                    let _ = write!(out, "<tspan dx=\"8\">{}</tspan>", escape(&label.file));
                }
                out.push_str("</text>");
            }
            out.push_str("</svg>\n");
        }
    }

    /// Where the function begins, or the lowest line seen of it; 0 when unknown.
    fn first_line(&self, frame: &Frame) -> u32 {
        if frame.first_line > 0 {
            return frame.first_line;
        }
        let function = (frame.function, frame.file);
        self.lowest_lines.get(&function).copied().unwrap_or(0)
    }

    fn describe(&self, shown: &FlameBox) -> Text {
        let node = &self.tree.nodes[shown.node];
        let value =
            |amount| format!("{} · {}", weight(self.measure, amount), percent(amount, self.whole));
        let total = format!("total {}", value(shown.weight));
        if shown.folded > 0 {
            let below = percent(self.narrowest, self.whole.max(1));
            let below = if below == "0.0 %" { "0.1 %".to_owned() } else { below };
            return Text {
                class: "f",
                name: format!("{} narrow calls", count(shown.folded as u64)),
                place: format!("folded, each below {below}"),
                total,
                own: String::new(),
            };
        }
        let own = format!("self {}", value(node.self_weight));
        let Some(frame) = node.frame.and_then(|id| self.profile.tables.frames.get(id.index()))
        else {
            return Text {
                class: "a",
                name: "all".to_owned(),
                place: String::new(),
                total,
                own: String::new(),
            };
        };
        let origin = Origin::of(self.profile, frame);
        let file = self.profile.text(frame.file);
        let file = place_name(&self.profile.meta.roots, frame.kind, file);
        let line = match self.first_line(frame) {
            0 => String::new(),
            line => format!(":{line}"),
        };
        let place = if file.is_empty() {
            origin.title().to_owned()
        } else {
            format!("{file}{line} · {}", origin.title())
        };
        Text {
            class: class(origin),
            name: frame_name(self.profile, frame).into_owned(),
            place,
            total,
            own,
        }
    }
}

/// The lowest line seen of every function whose own first line is unknown: a
/// profile made from another tool's stacks knows only lines that were running.
fn lowest_lines(profile: &Profile) -> FxHashMap<(StringId, StringId), u32> {
    let mut lowest = FxHashMap::default();
    for frame in &profile.tables.frames {
        if frame.first_line == 0 && frame.line > 0 {
            let line = lowest.entry((frame.function, frame.file)).or_insert(frame.line);
            *line = frame.line.min(*line);
        }
    }
    lowest
}

/// What a box says: the lines of its tooltip.
struct Text {
    class: &'static str,
    name: String,
    place: String,
    total: String,
    own: String,
}

impl Text {
    /// The file alone, for the label. `flame.js` cuts the place the same way.
    fn file(&self) -> &str {
        let Some((file, _)) = self.place.rsplit_once(" · ") else {
            return "";
        };
        match file.rsplit_once(':') {
            Some((name, line)) if line.bytes().all(|b| b.is_ascii_digit()) => name,
            _ => file,
        }
    }
}

/// The class of a box in the style sheet.
pub(super) fn class(origin: Origin) -> &'static str {
    match origin {
        Origin::Own => "o",
        Origin::StandardLibrary => "s",
        Origin::Package => "p",
        Origin::Native => "n",
        Origin::Kernel => "k",
        Origin::Label => "l",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_whose_start_is_unknown_shows_its_lowest_line() {
        let profile = Profile::from_stacks(&[
            (0, 10, &[("main", "a.py", 14)]),
            (10, 10, &[("main", "a.py", 12)]),
        ]);

        let mut out = String::new();
        Chart::new(&profile, Measure::CpuTime).write(&mut out, 0, 1200.0);

        assert!(out.contains("<title>main\na.py:12 · "), "{out}");
    }
}
