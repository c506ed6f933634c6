//! Tracks: the process, its threads and its tasks, with the names people know.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use tachograph_probe::names::{NAME_BYTES, NameBuf, TaskName, TaskRef};
use tachograph_profile::{Interner, Time, TrackId, TrackKind};

use crate::cpu::Watched;

/// Tasks that get a track of their own. A server makes them without end, and
/// a track stays in memory until the session ends.
const TASK_LIMIT: usize = 1 << 16;

/// The track of all tasks of a thread that came after those.
const MORE_TASKS: &str = "<more tasks>";

/// A thread of the same number this soon after the end of another is that
/// other: it was last seen before its last span. Numbers are given anew only
/// after all others were used.
const SAME_THREAD_NS: u64 = 1_000_000_000;

/// The tracks of one session.
#[derive(Debug)]
pub(crate) struct Tracks {
    process: TrackId,
    threads: HashMap<u64, TrackId>,
    /// Threads that told spans and were not seen by the sampler yet.
    unseen: HashSet<u64>,
    tasks: FxHashMap<(TrackId, u64), (TrackId, Box<str>)>,
    tasks_made: usize,
    more_tasks: FxHashMap<TrackId, TrackId>,
    given: HashMap<u64, String>,
    devices: HashMap<u64, TrackId>,
    streams: HashMap<(TrackId, u64), TrackId>,
}

impl Tracks {
    /// One process called `name`.
    pub(crate) fn new(tables: &mut Interner, name: &str) -> Self {
        Self::of_process(tables, name, crate::sys::threads::process_id())
    }

    /// One process called `name` with this id.
    pub(crate) fn of_process(tables: &mut Interner, name: &str, pid: i32) -> Self {
        let pid = u64::try_from(pid).unwrap_or(0);
        let process = tables.track(TrackKind::Process, None, pid, name, Time(0));
        Self {
            process,
            threads: HashMap::new(),
            unseen: HashSet::new(),
            tasks: FxHashMap::default(),
            tasks_made: 0,
            more_tasks: FxHashMap::default(),
            given: HashMap::new(),
            devices: HashMap::new(),
            streams: HashMap::new(),
        }
    }

    /// The process.
    pub(crate) fn process(&self) -> TrackId {
        self.process
    }

    /// A track for the whole machine, around nothing: devices and the process
    /// stand beside it.
    pub(crate) fn machine(&self, tables: &mut Interner) -> TrackId {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        tables.track(TrackKind::Machine, None, 0, name.trim(), Time(0))
    }

    /// The track of the device at place `index` in the list of all devices.
    pub(crate) fn device(
        &mut self,
        tables: &mut Interner,
        index: u64,
        name: &str,
        now: Time,
    ) -> TrackId {
        let track = self.devices.entry(index);
        *track.or_insert_with(|| tables.track(TrackKind::Device, None, index, name, now))
    }

    /// The track of a stream of `device`; 0 is the default stream. Streams are
    /// numbered in the order in which they had work.
    pub(crate) fn stream(
        &mut self,
        tables: &mut Interner,
        device: TrackId,
        stream: u64,
        now: Time,
    ) -> TrackId {
        let place = self.streams.keys().filter(|(of, _)| *of == device).count();
        let name = match stream {
            0 => "default stream".to_owned(),
            _ => format!("stream {place}"),
        };
        let track = self.streams.entry((device, stream));
        *track.or_insert_with(|| tables.track(TrackKind::Stream, Some(device), stream, &name, now))
    }

    /// The track for a thread that the sampler found; named at once when Python
    /// told us its name.
    pub(crate) fn thread(
        &mut self,
        tables: &mut Interner,
        thread: &Arc<Watched>,
        start: Time,
    ) -> (TrackId, bool) {
        let tid = u64::try_from(thread.tid).unwrap_or(0);
        let given = self.given.remove(&tid);
        if self.unseen.remove(&tid)
            && let Some(track) = self.threads.get(&tid)
        {
            // It told spans first, and has been there since.
            let row = tables.tables_mut().tracks.get_mut(track.index());
            let is_named = row.is_some_and(|row| {
                row.start = row.start.min(start);
                row.name.index() != 0
            });
            return (*track, is_named);
        }
        let name = given.as_deref().unwrap_or("");
        let track = tables.track(TrackKind::Thread, Some(self.process), tid, name, start);
        self.threads.insert(tid, track);
        (track, given.is_some())
    }

    /// The track of a thread that tells spans at `now`. The sampler may not have
    /// seen it, or may not run at all.
    pub(crate) fn thread_with_spans(
        &mut self,
        tables: &mut Interner,
        tid: u64,
        now: Time,
    ) -> TrackId {
        if let Some(track) = self.threads.get(&tid) {
            let row = tables.tables_mut().tracks.get_mut(track.index());
            // Its end is when it was last seen; it may have told more since.
            let lives = row.is_none_or(|row| {
                let lives = row.end.is_none_or(|end| now.0 < end.0 + SAME_THREAD_NS);
                row.end = row.end.map(|end| if lives { end.max(now) } else { end });
                lives
            });
            if lives {
                return *track;
            }
        }
        let given = self.given.remove(&tid);
        let name = given.unwrap_or_default();
        let track = tables.track(TrackKind::Thread, Some(self.process), tid, &name, now);
        self.threads.insert(tid, track);
        self.unseen.insert(tid);
        track
    }

    /// The sampler ended. If another one begins, it finds all threads anew.
    pub(crate) fn forget_threads(&mut self) {
        self.threads.clear();
        self.unseen.clear();
    }

    /// Names that Python knows now, by OS thread id. A name for a thread that
    /// is not there yet waits for it.
    pub(crate) fn name_threads(&mut self, tables: &mut Interner, names: &[(u64, String)]) {
        for (tid, name) in names {
            match self.threads.get(tid) {
                Some(track) => rename(tables, *track, name),
                None => {
                    self.given.insert(*tid, name.clone());
                }
            }
        }
    }

    /// The track of a task that runs on `thread`; after too many tasks, one for
    /// all that are new.
    pub(crate) fn task(
        &mut self,
        tables: &mut Interner,
        thread: TrackId,
        task: &TaskRef,
        now: Time,
    ) -> TrackId {
        self.task_called(tables, thread, task.task, &task_name(&task.name), now)
    }

    /// The same for the task at `address` that is called `name`.
    pub(crate) fn task_called(
        &mut self,
        tables: &mut Interner,
        thread: TrackId,
        address: u64,
        name: &str,
        now: Time,
    ) -> TrackId {
        // As much of it as the sampler reads, so that both mean the same track.
        let name = name.get(..name.floor_char_boundary(NAME_BYTES)).unwrap_or_default();
        if let Some((track, known)) = self.tasks.get(&(thread, address))
            && **known == *name
        {
            return *track;
        }
        if self.tasks_made == TASK_LIMIT {
            let more = self.more_tasks.entry(thread);
            return *more.or_insert_with(|| {
                tables.track(TrackKind::Task, Some(thread), 0, MORE_TASKS, now)
            });
        }
        self.tasks_made += 1;
        let track = tables.track(TrackKind::Task, Some(thread), address, name, now);
        self.tasks.insert((thread, address), (track, name.into()));
        track
    }
}

/// Gives `track` the name `name`.
pub(crate) fn rename(tables: &mut Interner, track: TrackId, name: &str) {
    let name = tables.string(name);
    if let Some(track) = tables.tables_mut().tracks.get_mut(track.index()) {
        track.name = name;
    }
}

/// A name as text; bytes that are not UTF-8 are replaced.
pub(crate) fn text(name: &NameBuf) -> String {
    let bytes = name.bytes.get(..name.length).unwrap_or_default();
    // A long name is cut at a byte, perhaps inside a character.
    String::from_utf8_lossy(bytes).trim_end_matches('\u{fffd}').to_owned()
}

/// What a task is called.
pub(crate) fn task_name(name: &TaskName) -> Box<str> {
    match name {
        TaskName::Text(name) => text(name).into(),
        TaskName::Number(number) => format!("Task-{number}").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_without_end_do_not_fill_memory() {
        let mut tables = Interner::default();
        let mut tracks = Tracks::new(&mut tables, "server");
        let thread = tracks.process();
        let mut track = |number| {
            let task = TaskRef { task: number, name: TaskName::Number(number) };
            tracks.task(&mut tables, thread, &task, Time(number))
        };
        let first = track(1);
        for number in 2..=TASK_LIMIT as u64 + 100 {
            track(number);
        }

        assert_eq!(track(1), first);
        assert_eq!(track(u64::MAX), track(u64::MAX - 1));
        assert_eq!(tables.tables().tracks.len(), 1 + TASK_LIMIT + 1);
    }
}
