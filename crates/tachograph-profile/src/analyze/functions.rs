//! Which functions the weight fell on.

use super::aggregate::weight_by_stack;
use super::function_table::{FunctionTable, frame_ids};
use super::origin::{Origin, frame_name};
use crate::{FrameKind, Measure, Profile, StackId};

/// One function and what fell on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionRow {
    /// Qualified name.
    pub function: String,
    /// The file it is in, as recorded; may be empty.
    pub file: String,
    /// The line it starts on; 0 when unknown.
    pub first_line: u32,
    /// Python, native, kernel or a label.
    pub kind: FrameKind,
    /// It is the user's own code.
    pub own: bool,
    /// What fell on the function itself.
    pub self_weight: u64,
    /// What fell on it and on everything it called.
    pub total_weight: u64,
}

/// Sums `measure` over the functions of `profile`, heaviest `self_weight` first.
///
/// A function that is several times on one stack counts once in its
/// `total_weight`, so recursion never pushes a total past the whole profile.
/// Self weights add up to the whole. Functions of equal weight are ordered by
/// total, then by name: the same profile gives the same table every time.
///
/// ```
/// use tachograph_profile::{Measure, Profile, analyze::functions};
///
/// let profile = Profile::from_stacks(&[
///     (0, 30, &[("main", "train.py", 12), ("load", "data.py", 7)]),
///     (30, 10, &[("main", "train.py", 12)]),
/// ]);
/// let rows = functions(&profile, Measure::CpuTime);
/// assert_eq!((rows[0].function.as_str(), rows[0].self_weight), ("load", 30));
/// assert_eq!((rows[1].function.as_str(), rows[1].total_weight), ("main", 40));
/// ```
#[must_use]
pub fn functions(profile: &Profile, measure: Measure) -> Vec<FunctionRow> {
    rows_of(profile, &FunctionTable::new(profile), weight_by_stack(profile, measure).into_iter())
}

/// The same for stacks whose weights are known, each stack once.
pub(super) fn rows_of(
    profile: &Profile,
    table: &FunctionTable,
    weights: impl Iterator<Item = (StackId, u64)>,
) -> Vec<FunctionRow> {
    let mut self_weights = vec![0u64; table.len()];
    let mut total_weights = vec![0u64; table.len()];
    // The last stack on which a function was counted.
    let mut counted = vec![usize::MAX; table.len()];
    for (round, (stack, weight)) in weights.enumerate() {
        let on_stack = frame_ids(profile, stack).filter_map(|frame| table.of(frame));
        for (depth, function) in on_stack.enumerate() {
            if depth == 0 {
                self_weights[function] = self_weights[function].saturating_add(weight);
            }
            if counted[function] != round {
                counted[function] = round;
                total_weights[function] = total_weights[function].saturating_add(weight);
            }
        }
    }
    let mut rows = Vec::new();
    for (index, key) in table.keys.iter().enumerate() {
        if total_weights[index] == 0 {
            continue;
        }
        let frame = &profile.tables.frames[table.frames[index].index()];
        rows.push(FunctionRow {
            function: frame_name(profile, frame).into_owned(),
            file: profile.text(key.file).to_owned(),
            first_line: key.first_line,
            kind: key.kind,
            own: Origin::of(profile, frame) == Origin::Own,
            self_weight: self_weights[index],
            total_weight: total_weights[index],
        });
    }
    rows.sort_by(|a, b| {
        let heaviest = (b.self_weight, b.total_weight).cmp(&(a.self_weight, a.total_weight));
        let place = |row: &FunctionRow| (row.first_line, row.kind);
        heaviest
            .then_with(|| a.function.cmp(&b.function))
            .then_with(|| a.file.cmp(&b.file))
            .then_with(|| place(a).cmp(&place(b)))
    });
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recursion_counts_once_in_the_total() {
        let fib = ("fib", "fib.py", 2);
        let profile = Profile::from_stacks(&[(0, 7, &[fib, fib, fib])]);

        let rows = functions(&profile, Measure::CpuTime);

        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].self_weight, rows[0].total_weight), (7, 7));
    }

    #[test]
    fn functions_of_equal_weight_are_in_name_order() {
        let profile = Profile::from_stacks(&[
            (0, 5, &[("zeta", "a.py", 1)]),
            (5, 5, &[("alpha", "a.py", 9)]),
        ]);

        let rows = functions(&profile, Measure::Samples);

        let names: Vec<_> = rows.iter().map(|row| row.function.as_str()).collect();
        assert_eq!(names, ["alpha", "zeta"]);
    }

    #[test]
    fn lines_of_one_function_are_one_row() {
        let mut profile =
            Profile::from_stacks(&[(0, 5, &[("work", "a.py", 3)]), (5, 6, &[("work", "a.py", 4)])]);
        for frame in &mut profile.tables.frames {
            frame.first_line = 2;
        }

        let rows = functions(&profile, Measure::CpuTime);

        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].first_line, rows[0].self_weight), (2, 11));
        assert!(rows[0].own);
    }

    #[test]
    fn a_measure_that_was_not_recorded_gives_no_rows() {
        let profile = Profile::from_stacks(&[(0, 5, &[("work", "a.py", 3)])]);

        assert!(functions(&profile, Measure::BytesLive).is_empty());
    }
}
