//! What the spans of a profile add up to, as a tree of names.

use super::function_table::FunctionTable;
use super::functions::{FunctionRow, rows_of};
use super::heap::memory_inside;
use super::measure::main_measure;
use super::span_names::{NameTree, Node};
use super::span_samples::sampled_inside;
use crate::{Profile, Span, Time};

/// Functions kept per row.
const MOST_FUNCTIONS: usize = 5;

/// All spans of one name inside the same spans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanRow {
    /// Their name.
    pub name: String,
    /// The names around them and their own, with `/` between: what
    /// [`Profile::within`] takes.
    pub path: String,
    /// The row of the spans around them.
    pub parent: Option<usize>,
    /// How many rows are around it.
    pub depth: usize,
    /// How many there are.
    pub count: u64,
    /// How many of them ended with an exception.
    pub failed: u64,
    /// How many of them had not ended when the recording did; they count with
    /// the time they had by then.
    pub open: u64,
    /// How long they took together. One inside another of the same row adds nothing.
    pub total_ns: u64,
    /// The same without the time in which a span inside them was open.
    pub self_ns: u64,
    /// How long one took, on average.
    pub mean_ns: u64,
    /// Half of them took at most this long.
    pub p50_ns: u64,
    /// 95 of 100 took at most this long.
    pub p95_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// How much of the total a coroutine or generator was suspended.
    pub suspended_ns: u64,
    /// CPU time that was sampled inside them.
    pub cpu_ns: u64,
    /// Bytes that were allocated inside them, on their thread. An estimate from
    /// samples, like the next two.
    pub allocated_bytes: u64,
    /// Those of them that were never freed.
    pub live_bytes: u64,
    /// The most that was live in the whole program while one of them was open.
    pub peak_bytes: u64,
    /// The functions they spent most time in themselves, heaviest first.
    pub functions: Vec<FunctionRow>,
}

/// The spans of `profile` by name and by what is around them: a row comes
/// before those inside it, and rows inside the same one are in the order in
/// which they first began.
///
/// A span inside another of the same name, at any distance, belongs to that
/// one's row, so recursion stays one row. Self times add up to the time of the
/// outermost spans of a thread.
///
/// ```
/// use tachograph_profile::{Profile, Span, StringId, Time, TrackId, analyze::spans};
///
/// let mut profile = Profile::from_stacks(&[(20, 10, &[("matmul", "ops.py", 1)])]);
/// let mut add = |name: &str, start, end, parent| {
///     profile.tables.strings.push(name.into());
///     profile.spans.push(Span {
///         parent,
///         track: TrackId(1),
///         name: StringId::from(profile.tables.strings.len() - 1),
///         start: Time(start),
///         end: Some(Time(end)),
///         suspended_ns: 0,
///         failed: false,
///         attributes: Vec::new(),
///     });
/// };
/// add("epoch", 0, 100, None);
/// add("forward", 10, 40, Some(0.into()));
///
/// let rows = spans(&profile);
///
/// assert_eq!((rows[0].total_ns, rows[0].self_ns), (100, 70));
/// assert_eq!((rows[1].path.as_str(), rows[1].depth), ("epoch/forward", 1));
/// assert_eq!((rows[1].cpu_ns, rows[1].functions[0].function.as_str()), (10, "matmul"));
/// ```
#[must_use]
pub fn spans(profile: &Profile) -> Vec<SpanRow> {
    let names = NameTree::of(profile);
    let mut sums = vec![Sums::default(); names.nodes.len()];
    let self_ns = own_times(profile);
    for (i, span) in profile.spans.iter().enumerate() {
        let length = end_of(profile, span).0 - span.start.0;
        let sum = &mut sums[names.of_span[i]];
        sum.lengths.push(length);
        sum.failed += u64::from(span.failed);
        sum.open += u64::from(span.end.is_none());
        sum.self_ns = sum.self_ns.saturating_add(self_ns[i]);
        if !names.is_nested[i] {
            sum.total_ns = sum.total_ns.saturating_add(length);
            sum.suspended_ns = sum.suspended_ns.saturating_add(span.suspended_ns);
        }
    }
    let inside = sampled_inside(profile, &names, main_measure(profile));
    let memory = memory_inside(profile, &names);
    let table = FunctionTable::new(profile);
    let order = names.in_order();
    let mut places = vec![0; order.len()];
    for (place, node) in order.iter().enumerate() {
        places[*node] = place;
    }
    let mut rows: Vec<SpanRow> = Vec::with_capacity(order.len());
    for node in order {
        let Node { name, parent } = names.nodes[node];
        let parent = parent.map(|parent| places[parent]);
        let around = parent.and_then(|parent| rows.get(parent));
        let name = profile.text(name);
        let weights = inside[node].weights.iter().map(|(stack, weight)| (*stack, *weight));
        let mut functions = rows_of(profile, &table, weights);
        functions.retain(|row| row.self_weight > 0);
        functions.truncate(MOST_FUNCTIONS);
        let sum = std::mem::take(&mut sums[node]);
        let row = SpanRow {
            name: name.to_owned(),
            path: around.map_or_else(|| name.to_owned(), |row| format!("{}/{name}", row.path)),
            parent,
            depth: around.map_or(0, |row| row.depth + 1),
            cpu_ns: inside[node].cpu_ns,
            allocated_bytes: memory[node].allocated_bytes,
            live_bytes: memory[node].live_bytes,
            peak_bytes: memory[node].peak_bytes,
            functions,
            ..sum.into_row()
        };
        rows.push(row);
    }
    rows
}

/// When `span` ends: with the recording if not before.
pub(super) fn end_of(profile: &Profile, span: &Span) -> Time {
    span.end.unwrap_or(Time(profile.meta.duration_ns).max(span.start))
}

/// How much of each span no other span inside it was open.
fn own_times(profile: &Profile) -> Vec<u64> {
    let length = |span: &Span| end_of(profile, span).0 - span.start.0;
    let mut own: Vec<u64> = profile.spans.iter().map(length).collect();
    // Up to where each span is covered by those inside it; they come in order.
    let mut covered: Vec<Time> = profile.spans.iter().map(|span| span.start).collect();
    for span in &profile.spans {
        let Some(parent) = span.parent.map(|parent| parent.index()) else { continue };
        let Some(outer) = profile.spans.get(parent) else { continue };
        let end = end_of(profile, span).min(end_of(profile, outer));
        let from = span.start.max(covered[parent]);
        own[parent] = own[parent].saturating_sub(end.0.saturating_sub(from.0));
        covered[parent] = covered[parent].max(end);
    }
    own
}

/// What the spans of one node add up to.
#[derive(Clone, Default)]
struct Sums {
    lengths: Vec<u64>,
    failed: u64,
    open: u64,
    total_ns: u64,
    self_ns: u64,
    suspended_ns: u64,
}

impl Sums {
    fn into_row(mut self) -> SpanRow {
        self.lengths.sort_unstable();
        let count = self.lengths.len() as u64;
        let sum = self.lengths.iter().fold(0_u128, |sum, length| sum + u128::from(*length));
        SpanRow {
            name: String::new(),
            path: String::new(),
            parent: None,
            depth: 0,
            count,
            failed: self.failed,
            open: self.open,
            total_ns: self.total_ns,
            self_ns: self.self_ns,
            mean_ns: sum.checked_div(u128::from(count)).map_or(0, |mean| mean as u64),
            p50_ns: quantile(&self.lengths, 0.5),
            p95_ns: quantile(&self.lengths, 0.95),
            max_ns: self.lengths.last().copied().unwrap_or(0),
            suspended_ns: self.suspended_ns,
            cpu_ns: 0,
            allocated_bytes: 0,
            live_bytes: 0,
            peak_bytes: 0,
            functions: Vec::new(),
        }
    }
}

/// The value below which the share `q` of `sorted` lies, between neighbours if
/// need be.
fn quantile(sorted: &[u64], q: f64) -> u64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0 };
    let place = q * last as f64;
    let (low, high) = (sorted[place as usize], sorted[(place as usize + 1).min(last)]);
    low + ((high - low) as f64 * place.fract()).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interner, SpanId, TrackId};

    fn profile(rows: &[(&str, u64, u64, Option<u32>)]) -> Profile {
        let mut profile = Profile::from_stacks(&[(0, 1, &[("main", "a.py", 1)])]);
        let mut tables = Interner::from_tables(std::mem::take(&mut profile.tables));
        for (name, start, end, parent) in rows {
            profile.spans.push(Span {
                parent: parent.map(SpanId),
                track: TrackId(1),
                name: tables.string(name),
                start: Time(*start),
                end: Some(Time(*end)),
                suspended_ns: 0,
                failed: false,
                attributes: Vec::new(),
            });
        }
        profile.tables = tables.into_tables();
        assert_eq!(profile.check(), Ok(()));
        profile
    }

    fn totals(rows: &[SpanRow]) -> Vec<(&str, u64, u64, u64)> {
        rows.iter().map(|row| (row.path.as_str(), row.count, row.total_ns, row.self_ns)).collect()
    }

    #[test]
    fn a_row_comes_before_those_inside_it() {
        let rows = spans(&profile(&[
            ("epoch", 0, 100, None),
            ("forward", 10, 30, Some(0)),
            ("backward", 30, 70, Some(0)),
            ("report", 100, 105, None),
            ("epoch", 110, 200, None),
            ("forward", 120, 150, Some(4)),
        ]));

        let expected = [
            ("epoch", 2, 190, 100),
            ("epoch/forward", 2, 50, 50),
            ("epoch/backward", 1, 40, 40),
            ("report", 1, 5, 5),
        ];
        assert_eq!(totals(&rows), expected);
        assert_eq!((rows[1].p50_ns, rows[1].mean_ns, rows[1].max_ns), (25, 25, 30));
        assert_eq!((rows[2].parent, rows[2].depth), (Some(0), 1));
    }

    #[test]
    fn recursion_stays_one_row_and_counts_time_once() {
        let rows = spans(&profile(&[
            ("walk", 0, 100, None),
            ("visit", 10, 90, Some(0)),
            ("walk", 20, 80, Some(1)),
            ("visit", 30, 50, Some(2)),
        ]));

        assert_eq!(totals(&rows), [("walk", 2, 100, 60), ("walk/visit", 2, 80, 40)]);
    }

    #[test]
    fn spans_inside_that_overlap_or_outlive_it_leave_no_negative_self_time() {
        let rows = spans(&profile(&[
            ("gather", 0, 100, None),
            ("fetch", 10, 60, Some(0)),
            ("fetch", 20, 70, Some(0)),
            ("fetch", 90, 150, Some(0)),
        ]));

        assert_eq!(totals(&rows), [("gather", 1, 100, 30), ("gather/fetch", 3, 160, 160)]);
    }

    #[test]
    fn a_span_that_has_not_ended_counts_until_the_end() {
        let mut profile = profile(&[("job", 10, 11, None)]);
        (profile.spans[0].end, profile.meta.duration_ns) = (None, 50);

        let rows = spans(&profile);

        assert_eq!((rows[0].open, rows[0].total_ns), (1, 40));
    }

    #[test]
    fn deep_chains_do_not_exhaust_the_stack() {
        let names: Vec<String> = (0..1_000).map(|i| format!("level {i}")).collect();
        let chain: Vec<_> = names
            .iter()
            .enumerate()
            .map(|(i, name)| (name.as_str(), i as u64, 10_000, (i as u32).checked_sub(1)))
            .collect();

        let rows = spans(&profile(&chain));

        assert_eq!(rows.last().map(|row| row.depth), Some(999));
    }
}
