//! Reads a waiting thread from outside, for wall mode.
//!
//! A signal would cut its wait short. Its CPU clock says that it did not run
//! between the first and the last read, so what was read is one moment's stack.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustc_hash::FxHashSet;
use tachograph_probe::layout::Layout;
use tachograph_probe::memory::ReadMemory;
use tachograph_probe::names::{NameBuf, thread_name};
use tachograph_probe::walk::{RawFrame, WalkState, walk};
use tachograph_profile::ThreadState;

use super::pages::Pages;
use super::watched::{IdleLook, Watched};
use crate::python::{CodeInfo, Interpreter, thread_states};
use crate::sys::threads::ThreadFiles;
use crate::sys::{clock, dynamic};

/// Where a thread waits, until its CPU clock moves.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Its CPU clock while it waits.
    pub(crate) cpu: u64,
    stack: Arc<[RawFrame]>,
    thread_name: Option<NameBuf>,
    state: ThreadState,
    truncated: bool,
    codes: Vec<(RawFrame, Arc<CodeInfo>)>,
}

impl Place {
    /// A look at the thread at `time`. The first one tells what its code is called.
    pub(crate) fn look(&mut self, time: u64) -> IdleLook {
        IdleLook {
            time,
            stack: Arc::clone(&self.stack),
            thread_name: self.thread_name,
            state: self.state,
            truncated: self.truncated,
            codes: std::mem::take(&mut self.codes),
        }
    }
}

/// Code objects after which the set of those that were told starts over.
const MOST_TOLD: usize = 1 << 15;

/// Reads waiting threads.
#[derive(Debug)]
pub(crate) struct IdleReader {
    python: Option<Interpreter>,
    /// Addresses of the runtime's own variables; the interpreter lock is among them.
    runtime: Range<u64>,
    states: HashMap<i32, Vec<u64>>,
    refreshed_at: u64,
    now: u64,
    room: Vec<RawFrame>,
    /// Code objects that looks have named, by address and fingerprint.
    told: FxHashSet<(u64, u32)>,
}

impl IdleReader {
    /// Keeps at most `max_depth` frames per stack.
    pub(crate) fn new(max_depth: usize) -> Self {
        Self {
            python: Interpreter::find().ok(),
            runtime: dynamic::symbol_range(c"_PyRuntime").unwrap_or(0..0),
            states: HashMap::new(),
            refreshed_at: 0,
            now: 0,
            room: vec![RawFrame::default(); max_depth],
            told: FxHashSet::default(),
        }
    }

    /// A new tick begins.
    pub(crate) fn begin(&mut self, now: u64) {
        self.now = now;
    }

    /// Where `thread` waits; `None` when it ran meanwhile, or could not be read,
    /// which is counted.
    pub(crate) fn read(
        &mut self,
        thread: &Watched,
        files: &ThreadFiles,
        cpu: u64,
    ) -> Option<Place> {
        let state = self.waits_for(files);
        let mut place = Place {
            cpu,
            stack: Arc::new([]),
            thread_name: None,
            state,
            truncated: false,
            codes: Vec::new(),
        };
        if let Some(python) = self.python {
            let memory = Pages::new();
            for address in self.states_of(&python, &memory, thread.tid) {
                let seen = walk(&memory, &python.layout, address, false, &mut self.room);
                match seen.state {
                    WalkState::Complete => {
                        place.stack = self.room.get(..seen.depth).unwrap_or_default().into();
                        place.truncated = seen.truncated;
                        place.codes = self.new_codes(&memory, &python.layout, &place.stack);
                        if seen.thread_object != 0 && !thread.named.load(Ordering::Relaxed) {
                            let object = seen.thread_object;
                            place.thread_name = thread_name(&memory, &python.layout, object);
                        }
                        break;
                    }
                    WalkState::Empty => {}
                    WalkState::Unreadable => {
                        if clock::thread_cpu(thread.tid) == Some(cpu) {
                            thread.slot.unreadable.fetch_add(1, Ordering::Relaxed);
                        }
                        return None;
                    }
                }
            }
        }
        if clock::thread_cpu(thread.tid) != Some(cpu) {
            return None;
        }
        if self.told.len() > MOST_TOLD {
            self.told.clear();
        }
        self.told.extend(place.codes.iter().map(|(entry, _)| key(entry)));
        Some(place)
    }

    /// What names the code on `stack` that no look has named yet. The thread
    /// waits, so its code is there; a moment later it may be gone.
    fn new_codes(
        &self,
        memory: &Pages,
        layout: &Layout,
        stack: &[RawFrame],
    ) -> Vec<(RawFrame, Arc<CodeInfo>)> {
        let new = stack.iter().filter(|entry| !self.told.contains(&key(entry)));
        new.filter_map(|entry| {
            let (code, print) = key(entry);
            Some((*entry, Arc::new(CodeInfo::read(memory, layout, code, print)?)))
        })
        .collect()
    }

    /// The interpreter's states of thread `tid`; the list is read anew at most
    /// once a tick, when a thread is not in it or no longer belongs to it.
    fn states_of(&mut self, python: &Interpreter, memory: &Pages, tid: i32) -> Vec<u64> {
        let belongs = |address: &u64| {
            let at = address.wrapping_add(u64::from(python.layout.thread_native_id));
            memory.word(at) == u64::try_from(tid).ok()
        };
        let known = self.states.get(&tid).filter(|states| states.iter().all(belongs));
        if let Some(known) = known {
            return known.clone();
        }
        if self.refreshed_at != self.now {
            self.refreshed_at = self.now;
            self.states.clear();
            for state in thread_states(memory, &python.layout, python.runtime) {
                self.states.entry(state.native_id).or_default().push(state.address);
            }
        }
        self.states.get(&tid).cloned().unwrap_or_default()
    }

    /// A thread that waits for the interpreter lock sleeps on a futex inside
    /// the runtime's own variables; one that waits for anything else does not.
    fn waits_for(&self, files: &ThreadFiles) -> ThreadState {
        match files.system_call() {
            Some((libc::SYS_futex, address)) if self.runtime.contains(&address) => {
                ThreadState::WaitingForGil
            }
            _ => ThreadState::Idle,
        }
    }
}

/// What tells a code object from all others.
fn key(entry: &RawFrame) -> (u64, u32) {
    (entry.code_address(), entry.fingerprint())
}
