//! Which source lines the weight fell on.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::aggregate::weight_by_stack;
use crate::{FrameKind, Measure, Profile, StringId};

/// One source line and what fell on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineRow {
    /// The file, as recorded.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The function the line belongs to; where several share it, the heaviest.
    pub function: String,
    /// What fell on the line itself and on native code it called.
    pub self_weight: u64,
    /// What fell on the line and on everything it called.
    pub total_weight: u64,
    /// The line's text without its indentation, when the recording holds it.
    pub text: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    file: StringId,
    line: u32,
}

#[derive(Clone, Copy, Default)]
struct Sums {
    own: u64,
    total: u64,
    /// The last stack on which the line was counted, from 1.
    counted: usize,
    /// The function on the line with the largest share.
    function: StringId,
}

/// Sums `measure` over the Python lines of `profile`, heaviest `self_weight` first.
///
/// Native code has no lines of its own, so its weight belongs to the Python
/// line that called it: self weights add up to everything that has a Python
/// line on its stack. A line that is several times on one stack counts once in
/// its `total_weight`; a comprehension and the function around it share their
/// line. Lines of equal weight are in file and line order.
///
/// ```
/// use tachograph_profile::{Measure, Profile, analyze::lines};
///
/// let profile = Profile::from_stacks(&[
///     (0, 30, &[("main", "train.py", 12), ("load", "data.py", 7)]),
///     (30, 10, &[("main", "train.py", 13)]),
/// ]);
/// let rows = lines(&profile, Measure::CpuTime);
/// assert_eq!((rows[0].file.as_str(), rows[0].line, rows[0].self_weight), ("data.py", 7, 30));
/// assert_eq!((rows[1].line, rows[1].self_weight, rows[1].total_weight), (13, 10, 10));
/// assert_eq!((rows[2].line, rows[2].self_weight, rows[2].total_weight), (12, 0, 30));
/// ```
#[must_use]
pub fn lines(profile: &Profile, measure: Measure) -> Vec<LineRow> {
    let mut sums: FxHashMap<Place, Sums> = FxHashMap::default();
    let mut shares: FxHashMap<(Place, StringId), u64> = FxHashMap::default();
    for (round, (stack, weight)) in weight_by_stack(profile, measure).into_iter().enumerate() {
        let with_line = profile
            .frames_of(stack)
            .filter(|frame| frame.kind == FrameKind::Python && frame.line > 0);
        for (depth, frame) in with_line.enumerate() {
            let place = Place { file: frame.file, line: frame.line };
            let sum = sums.entry(place).or_default();
            let share = shares.entry((place, frame.function)).or_default();
            if depth == 0 {
                sum.own = sum.own.saturating_add(weight);
                *share = share.saturating_add(weight);
            }
            if sum.counted != round + 1 {
                sum.counted = round + 1;
                sum.total = sum.total.saturating_add(weight);
            }
        }
    }
    let mut shares: Vec<_> = shares.into_iter().collect();
    shares.sort_unstable_by_key(|((_, function), share)| (*share, std::cmp::Reverse(*function)));
    for ((place, function), _) in shares {
        if let Some(sum) = sums.get_mut(&place) {
            sum.function = function;
        }
    }
    let texts = SourceLines::new(profile);
    let mut rows: Vec<_> = sums
        .into_iter()
        .map(|(place, sum)| LineRow {
            file: profile.text(place.file).to_owned(),
            line: place.line,
            function: profile.text(sum.function).to_owned(),
            self_weight: sum.own,
            total_weight: sum.total,
            text: texts.get(place.file, place.line),
        })
        .collect();
    rows.sort_by(|a, b| {
        let heaviest = (b.self_weight, b.total_weight).cmp(&(a.self_weight, a.total_weight));
        heaviest
            .then_with(|| a.file.cmp(&b.file))
            .then_with(|| a.line.cmp(&b.line))
            .then_with(|| a.function.cmp(&b.function))
    });
    rows
}

/// The source texts of a recording, cut into lines.
struct SourceLines<'a> {
    files: BTreeMap<StringId, Vec<&'a str>>,
}

impl<'a> SourceLines<'a> {
    fn new(profile: &'a Profile) -> Self {
        let sources = profile.tables.sources.iter();
        let files = sources.map(|source| (source.file, source.text.lines().collect()));
        Self { files: files.collect() }
    }

    fn get(&self, file: StringId, line: u32) -> Option<String> {
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        let text = self.files.get(&file)?.get(index)?;
        Some(text.trim().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Frame, Source};

    #[test]
    fn functions_that_share_a_line_share_its_row() {
        let profile = Profile::from_stacks(&[
            (0, 5, &[("matmul", "a.py", 3)]),
            (5, 9, &[("matmul", "a.py", 3), ("matmul.<genexpr>", "a.py", 3)]),
        ]);

        let rows = lines(&profile, Measure::CpuTime);

        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].self_weight, rows[0].total_weight), (14, 14));
        assert_eq!(rows[0].function, "matmul.<genexpr>");
    }

    #[test]
    fn native_code_belongs_to_the_line_that_called_it() {
        let mut profile =
            Profile::from_stacks(&[(0, 9, &[("main", "a.py", 3), ("adler32", "libz.so", 0)])]);
        let leaf: &mut Frame = profile.tables.frames.last_mut().unwrap();
        leaf.kind = FrameKind::Native;

        let rows = lines(&profile, Measure::CpuTime);

        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].line, rows[0].self_weight), (3, 9));
    }

    #[test]
    fn a_line_shows_its_text_when_the_recording_holds_it() {
        let mut profile = Profile::from_stacks(&[
            (0, 9, &[("main", "a.py", 2)]),
            (9, 3, &[("main", "a.py", 99)]),
        ]);
        let file = profile.tables.frames[0].file;
        let text = "def main():\n    total += 1\n".into();
        profile.tables.sources.push(Source { file, text });

        let rows = lines(&profile, Measure::CpuTime);

        assert_eq!(rows[0].text.as_deref(), Some("total += 1"));
        assert_eq!(rows[1].text, None);
    }

    #[test]
    fn a_recursive_line_counts_once_in_the_total() {
        let fib = ("fib", "fib.py", 2);
        let profile = Profile::from_stacks(&[(0, 7, &[fib, fib])]);

        let rows = lines(&profile, Measure::CpuTime);

        assert_eq!((rows[0].self_weight, rows[0].total_weight), (7, 7));
    }
}
