//! What each asyncio task took: the samples that were taken while it ran.

use crate::{Profile, TrackId};

/// One task name of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRow {
    /// The task's name; tasks of the same name are one row.
    pub name: String,
    /// How often it was seen.
    pub samples: u64,
    /// Time on a processor.
    pub cpu_ns: u64,
    /// Elapsed time that was sampled; 0 when only CPU time was.
    pub wall_ns: u64,
}

/// The tasks of `profile`, the one with most time first.
///
/// Tasks of equal weight are in name order: the same profile gives the same
/// table every time. Samples outside any task are in no row.
#[must_use]
pub fn tasks(profile: &Profile) -> Vec<TaskRow> {
    let name_of = |task: TrackId| profile.tables.tracks.get(task.index()).map(|t| t.name);
    let mut rows: Vec<TaskRow> = Vec::new();
    let mut positions = rustc_hash::FxHashMap::default();
    for sample in &profile.samples {
        let Some(name) = sample.task.and_then(name_of) else {
            continue;
        };
        let position = *positions.entry(name).or_insert_with(|| {
            let row =
                TaskRow { name: profile.text(name).to_owned(), samples: 0, cpu_ns: 0, wall_ns: 0 };
            rows.push(row);
            rows.len() - 1
        });
        let row = &mut rows[position];
        row.samples += 1;
        row.cpu_ns = row.cpu_ns.saturating_add(sample.cpu_ns);
        row.wall_ns = row.wall_ns.saturating_add(sample.wall_ns);
    }
    rows.sort_by(|a, b| {
        let weight = |row: &TaskRow| (row.cpu_ns, row.wall_ns);
        weight(b).cmp(&weight(a)).then_with(|| a.name.cmp(&b.name))
    });
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interner, Time, TrackKind};

    #[test]
    fn samples_count_for_the_task_that_ran_and_for_no_other() {
        let mut profile = Profile::from_stacks(&[
            (0, 5, &[("fetch", "a.py", 1)]),
            (1, 7, &[("parse", "a.py", 2)]),
            (2, 9, &[("fetch", "a.py", 1)]),
            (3, 100, &[("loop", "a.py", 3)]),
        ]);
        let mut tables = Interner::from_tables(profile.tables);
        let first = tables.track(TrackKind::Task, None, 0, "fetch", Time(0));
        let second = tables.track(TrackKind::Task, None, 0, "parse", Time(0));
        let namesake = tables.track(TrackKind::Task, None, 0, "fetch", Time(2));
        profile.tables = tables.into_tables();
        for (sample, task) in profile.samples.iter_mut().zip([first, second, namesake]) {
            sample.task = Some(task);
        }

        let rows = tasks(&profile);

        let found: Vec<_> =
            rows.iter().map(|row| (row.name.as_str(), row.samples, row.cpu_ns)).collect();
        assert_eq!(found, [("fetch", 2, 14), ("parse", 1, 7)]);
    }
}
