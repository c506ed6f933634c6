//! Tracks: the process, its threads and its tasks, with the names people know.

use std::collections::HashMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use tachograph_probe::names::{NameBuf, TaskName, TaskRef};
use tachograph_profile::{Interner, Time, TrackId, TrackKind};

use crate::cpu::Watched;

/// Tasks after which the index starts over.
const TASK_LIMIT: usize = 1 << 16;

/// The tracks of one session.
#[derive(Debug)]
pub(crate) struct Tracks {
    process: TrackId,
    threads: HashMap<u64, TrackId>,
    tasks: FxHashMap<(TrackId, u64), (TrackId, Box<str>)>,
    given: HashMap<u64, String>,
}

impl Tracks {
    /// One process called `name`.
    pub(crate) fn new(tables: &mut Interner, name: &str) -> Self {
        let pid = u64::try_from(crate::sys::threads::process_id()).unwrap_or(0);
        let process = tables.track(TrackKind::Process, None, pid, name, Time(0));
        Self {
            process,
            threads: HashMap::new(),
            tasks: FxHashMap::default(),
            given: HashMap::new(),
        }
    }

    /// The process.
    pub(crate) fn process(&self) -> TrackId {
        self.process
    }

    /// A new track for a thread; named at once when Python told us its name.
    pub(crate) fn thread(
        &mut self,
        tables: &mut Interner,
        thread: &Arc<Watched>,
        start: Time,
    ) -> (TrackId, bool) {
        let tid = u64::try_from(thread.tid).unwrap_or(0);
        let given = self.given.remove(&tid);
        let name = given.as_deref().unwrap_or("");
        let track = tables.track(TrackKind::Thread, Some(self.process), tid, name, start);
        self.threads.insert(tid, track);
        (track, given.is_some())
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

    /// The track of a task that runs on `thread`.
    pub(crate) fn task(
        &mut self,
        tables: &mut Interner,
        thread: TrackId,
        task: &TaskRef,
        now: Time,
    ) -> TrackId {
        let name = task_name(&task.name);
        if let Some((track, known)) = self.tasks.get(&(thread, task.task))
            && **known == *name
        {
            return *track;
        }
        if self.tasks.len() >= TASK_LIMIT {
            self.tasks.clear();
        }
        let track = tables.track(TrackKind::Task, Some(thread), task.task, &name, now);
        self.tasks.insert((thread, task.task), (track, name));
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

fn task_name(name: &TaskName) -> Box<str> {
    match name {
        TaskName::Text(name) => text(name).into(),
        TaskName::Number(number) => format!("Task-{number}").into(),
    }
}
