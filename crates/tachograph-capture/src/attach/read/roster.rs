//! The threads of another process, and what its interpreter keeps of each.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::os::unix::fs::MetadataExt;

use tachograph_probe::memory::ReadMemory;

use crate::attach::find::target::Target;
use crate::attach::read::thread::Thread;
use crate::python::{ThreadState, thread_states};

/// The thread library keeps a thread's id within this many bytes of its record.
const LARGEST_RECORD: u64 = 2304;

/// Where the kernel lists the threads of process `pid`.
fn path(pid: i32) -> String {
    format!("/proc/{pid}/task")
}

/// The threads of a target, kept current.
#[derive(Debug, Default)]
pub(crate) struct Roster {
    /// Those that live, by id.
    pub(crate) threads: Vec<Thread>,
    /// The kernel's list of threads, kept open: how many there are costs one `fstat`.
    directory: Option<File>,
    links: u64,
    /// Before 3.11: where the thread library keeps a thread's id.
    id_offset: Option<u64>,
}

impl Roster {
    /// Looks for threads that came and went; true when any did.
    pub(crate) fn refresh(&mut self, pid: i32) -> bool {
        if self.directory.is_none() {
            self.directory = File::open(path(pid)).ok();
        }
        // The directory has a link for every thread.
        let facts = self.directory.as_ref().and_then(|directory| directory.metadata().ok());
        let links = facts.map_or(0, |found| found.nlink());
        if links == self.links && links != 0 {
            return false;
        }
        self.links = links;
        let entries = std::fs::read_dir(path(pid)).into_iter().flatten().flatten();
        let ids: HashSet<i32> =
            entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        self.threads.retain(|thread| ids.contains(&thread.tid));
        for tid in ids {
            if !self.threads.iter().any(|thread| thread.tid == tid) {
                self.threads.extend(Thread::open(pid, tid));
            }
        }
        self.threads.sort_unstable_by_key(|thread| thread.tid);
        true
    }

    /// Forgets a thread that has ended.
    pub(crate) fn forget(&mut self, tid: i32) {
        self.threads.retain(|thread| thread.tid != tid);
        self.links = 0;
    }

    /// Finds the interpreter's states of all threads anew.
    pub(crate) fn find_states<M: ReadMemory>(&mut self, memory: &M, target: &Target) {
        let layout = &target.interpreter.layout;
        let found = thread_states(memory, layout, target.interpreter.runtime);
        let mut states: HashMap<i32, Vec<u64>> = HashMap::new();
        for state in &found {
            let inner = match state.native_id {
                0 => self.id_before_3_11(memory, &found, state),
                id => Some(id),
            };
            states.entry(inner.unwrap_or(0)).or_default().push(state.address);
        }
        for thread in &mut self.threads {
            thread.states = states.remove(&thread.inner).unwrap_or_default();
        }
    }

    /// The kernel's id of a thread that the interpreter knows by its `pthread_t`.
    fn id_before_3_11<M: ReadMemory>(
        &mut self,
        memory: &M,
        all: &[ThreadState],
        state: &ThreadState,
    ) -> Option<i32> {
        if self.id_offset.is_none() {
            self.id_offset = self.learn_id_offset(memory, all);
        }
        memory.signed_half(state.pthread.wrapping_add(self.id_offset?))
    }

    /// Where in its record the thread library keeps a thread's id: the one place
    /// that holds the id of a thread in every record, another one in each.
    fn learn_id_offset<M: ReadMemory>(&self, memory: &M, all: &[ThreadState]) -> Option<u64> {
        let ids: HashSet<i32> = self.threads.iter().map(|thread| thread.inner).collect();
        (0..LARGEST_RECORD).step_by(4).find(|offset| {
            let mut seen = HashSet::new();
            let mut fits = |state: &ThreadState| {
                let id = memory.signed_half(state.pthread.wrapping_add(*offset));
                id.is_some_and(|id| ids.contains(&id) && seen.insert(id))
            };
            let mut distinct: Vec<&ThreadState> = all.iter().collect();
            distinct.dedup_by_key(|state| state.pthread);
            !distinct.is_empty() && distinct.into_iter().all(&mut fits)
        })
    }
}
