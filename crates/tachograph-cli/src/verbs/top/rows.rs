//! Functions by the time they took, per thread.

use std::collections::{HashMap, HashSet};

use tachograph_profile::{FrameKind, Mode, Sample, StringId, Tables, TrackId};

/// One function of one thread.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// Share of the time in the function itself, 0 to 1.
    pub(super) own: f64,
    /// Share of the time in the function and what it called.
    pub(super) total: f64,
    /// The thread.
    pub(super) thread: String,
    /// The function.
    pub(super) function: String,
    /// Where it is: `ops.py:41`, or the object of a native function.
    pub(super) place: String,
    /// Whether it is a native function.
    pub(super) is_native: bool,
}

/// What a row is sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    #[default]
    Own,
    Total,
    Place,
    Thread,
}

type Key = (TrackId, StringId, StringId, u32, FrameKind);

/// The functions of `samples`, as shares of all their time.
pub(super) fn rows<'a>(
    tables: &Tables,
    samples: impl Iterator<Item = &'a Sample>,
    mode: Mode,
) -> Vec<Row> {
    let mut times: HashMap<Key, (u64, u64)> = HashMap::new();
    let mut whole = 0;
    let mut seen = HashSet::new();
    for sample in samples {
        let weight = if mode == Mode::Wall { sample.wall_ns } else { sample.cpu_ns };
        whole += weight;
        seen.clear();
        let mut next = Some(sample.stack);
        let mut is_innermost = true;
        while let Some(node) = next.and_then(|stack| tables.stacks.get(stack.index())) {
            next = node.caller;
            let Some(frame) = tables.frames.get(node.frame.index()) else { continue };
            let key = (sample.track, frame.function, frame.file, frame.first_line, frame.kind);
            let entry = times.entry(key).or_default();
            if is_innermost {
                entry.0 += weight;
            }
            // A function that calls itself counts once.
            if seen.insert(key) {
                entry.1 += weight;
            }
            is_innermost = false;
        }
    }
    let share = |weight: u64| if whole == 0 { 0.0 } else { weight as f64 / whole as f64 };
    let text = |id: StringId| tables.strings.get(id.index()).map_or("", |text| text);
    let thread = |track: TrackId| tables.tracks.get(track.index()).map_or("", |t| text(t.name));
    times
        .into_iter()
        .map(|((track, function, file, line, kind), (own, total))| {
            let file = text(file).rsplit('/').next().unwrap_or_default();
            Row {
                own: share(own),
                total: share(total),
                thread: thread(track).to_owned(),
                function: text(function).to_owned(),
                place: if line == 0 { file.to_owned() } else { format!("{file}:{line}") },
                is_native: kind == FrameKind::Native,
            }
        })
        .collect()
}

/// Puts `rows` in `order`; what is equal is in the order of names.
pub(super) fn sort(rows: &mut [Row], order: Order) {
    rows.sort_by(|a, b| {
        let by_time = |x: f64, y: f64| y.total_cmp(&x);
        let first = match order {
            Order::Own => by_time(a.own, b.own),
            Order::Total => by_time(a.total, b.total),
            Order::Place => a.place.cmp(&b.place),
            Order::Thread => a.thread.cmp(&b.thread),
        };
        let rest = by_time(a.own, b.own).then(by_time(a.total, b.total));
        first.then(rest).then_with(|| (&a.function, &a.thread).cmp(&(&b.function, &b.thread)))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use tachograph_profile::Profile;

    #[test]
    fn recursion_counts_once_and_shares_are_of_all_time() {
        let (main, fib) = (("main", "/app/a.py", 1), ("fib", "/app/b.py", 2));
        let profile = Profile::from_stacks(&[(0, 30, &[main, fib, fib]), (30, 10, &[main])]);

        let mut found = rows(&profile.tables, profile.samples.iter(), Mode::Wall);
        sort(&mut found, Order::Own);

        let figures: Vec<_> = found.iter().map(|r| (r.function.as_str(), r.own, r.total)).collect();
        assert_eq!(figures, [("fib", 0.75, 0.75), ("main", 0.25, 1.0)]);
        sort(&mut found, Order::Total);
        assert_eq!(found[0].function, "main");
        sort(&mut found, Order::Place);
        assert_eq!(found[0].place.split(':').next(), Some("a.py"));
    }
}
