//! Records a running program from outside.

use std::collections::HashMap;
use std::io::Write;
use std::time::Duration;

use tachograph_profile::{
    Batch, Interner, Loss, Meta, Mode, Sample, ThreadState, Time, TrackKind, file,
};

use crate::Error;
use crate::attach::find::process;
use crate::attach::find::target::Target;
use crate::attach::log::{Log, Place};
use crate::attach::options::{AttachOptions, Progress, meta_of};
use crate::attach::pace::Pace;
use crate::attach::read::reader::{Blind, Reader, Seen, Wish};
use crate::attach::read::roster::Roster;
use crate::attach::read::thread::Doing;
use crate::collect::{Tracks, own_sources_below};
use crate::sys::ptrace::NoPause;
use crate::sys::{clock, threads};

/// A thread in a system call that ran less than this since it was last seen
/// stands in a wait that is over, and has not come back from it yet.
const BARELY_RAN_NS: u64 = 200_000;

/// What reading one sample costs the program's thread, measured: it stands still
/// while it is stopped and read.
const STOP_COST_NS: u64 = 50_000;

/// How long the interpreter's states of a thread that has none are not looked for.
const STATES_NS: u64 = 50_000_000;

/// How often what was seen is written.
const FLUSH_NS: u64 = 1_000_000_000;

/// A recording of a running program.
///
/// Everything happens on the thread that calls: the kernel lets only the thread
/// that stopped another one let it go. If that thread dies, so does its hold.
pub struct Recorder<W: Write> {
    target: Target,
    options: AttachOptions,
    roster: Roster,
    reader: Reader,
    tables: Interner,
    tracks: Tracks,
    logs: HashMap<i32, Log>,
    writer: file::Writer<W>,
    meta: Meta,
    pace: Pace,
    loss: Loss,
    start: u64,
    cpu_at_start: u64,
    own_cpu_at_start: u64,
    states_at: u64,
    flushed_at: u64,
    ended_cpu_ns: u64,
    stops: u64,
    samples: u64,
    /// Samples of the last flush.
    fresh: Vec<Sample>,
    /// Samples to go out with the next flush.
    waiting: Vec<Sample>,
}

impl<W: Write> std::fmt::Debug for Recorder<W> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Recorder").field("pid", &self.target.pid).finish_non_exhaustive()
    }
}

impl<W: Write> Recorder<W> {
    /// Begins to record `target` into `sink`.
    ///
    /// # Errors
    ///
    /// The sink refuses the head of the recording, or the program has ended.
    pub fn begin(target: Target, options: AttachOptions, sink: W) -> Result<Self, Error> {
        threads::wake_on_time();
        let pid = target.pid;
        let (start, mut tables) = (clock::monotonic(), Interner::default());
        let meta = meta_of(&target, &options);
        let refused = |error: std::io::Error| Error::Internal { reason: error.to_string() };
        let writer = file::Writer::new(sink, &meta).map_err(refused)?;
        let tracks = Tracks::of_process(&mut tables, &process::title(pid), pid);
        let reader = Reader::new(&target, options.native, options.max_depth as usize);
        let mut recorder = Self {
            options,
            roster: Roster::default(),
            reader,
            tables,
            tracks,
            logs: HashMap::new(),
            writer,
            meta,
            pace: Pace::new(options.interval_ns, start),
            loss: Loss::default(),
            start,
            cpu_at_start: clock::cpu_of_process(pid).unwrap_or(0),
            own_cpu_at_start: clock::own_thread_cpu(),
            states_at: 0,
            flushed_at: start,
            ended_cpu_ns: 0,
            stops: 0,
            samples: 0,
            fresh: Vec::new(),
            waiting: Vec::new(),
            target,
        };
        recorder.find_threads(start);
        recorder.check_presence()?;
        Ok(recorder)
    }

    /// Looks until `elapsed` has passed since the last call or since the
    /// beginning, or until `stop` says so, and then writes what was seen if a
    /// second's worth has come together.
    ///
    /// # Errors
    ///
    /// The program has ended or was replaced, or may no longer be read. What was
    /// seen until then is kept for [`finish`](Self::finish).
    pub fn run(&mut self, elapsed: Duration, stop: &dyn Fn() -> bool) -> Result<(), Error> {
        let elapsed = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        let until = clock::monotonic().saturating_add(elapsed);
        while !stop() {
            let (now, late) = self.pace.sleep(until);
            self.loss.late_ticks += late;
            {
                let _no_pause = NoPause::begin();
                self.tick(now)?;
            }
            if now.saturating_sub(self.flushed_at) >= FLUSH_NS {
                self.flush(now);
                // Looks may miss that the program was replaced: its threads go before its
                // memory does, and a new program that waits is not looked at.
                self.check_presence()?;
            }
            if now >= until {
                break;
            }
        }
        Ok(())
    }

    /// How it goes so far.
    pub fn progress(&self) -> Progress {
        let program = clock::cpu_of_process(self.target.pid).unwrap_or(self.cpu_at_start);
        Progress {
            elapsed_ns: clock::monotonic().saturating_sub(self.start),
            samples: self.samples,
            program_cpu_ns: program.saturating_sub(self.cpu_at_start),
            unreadable: self.loss.unreadable_stacks,
        }
    }

    /// What is recorded.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The tables that samples point into.
    pub fn tables(&self) -> &tachograph_profile::Tables {
        self.tables.tables()
    }

    /// Writes what was seen and gives the samples of the time since the last call.
    pub fn take_samples(&mut self) -> Vec<Sample> {
        self.flush(clock::monotonic());
        std::mem::take(&mut self.fresh)
    }

    /// One look at every thread.
    fn tick(&mut self, now: u64) -> Result<(), Error> {
        self.find_threads(now);
        let unreadable_before = self.loss.unreadable_stacks;
        let mut roster = std::mem::take(&mut self.roster);
        let mut ended = Vec::new();
        for thread in &mut roster.threads {
            let doing = thread.doing();
            let wants = doing == Doing::Running || self.options.mode == Mode::Wall;
            let outcome = if doing == Doing::Ended {
                Err(Blind::Ended)
            } else if wants {
                self.look(thread, doing)
            } else {
                self.loiter(thread.tid);
                Ok(())
            };
            match outcome {
                Ok(()) => {}
                Err(Blind::Ended) => ended.push(thread.tid),
                Err(Blind::Denied) => {
                    self.roster = roster;
                    let pid = self.target.pid;
                    self.check_presence()?;
                    let reason = process::why_denied(pid);
                    return Err(Error::AttachDenied { pid, reason });
                }
                Err(Blind::Moved) => {}
                Err(Blind::Unreadable) => {
                    // Its state may be gone: all are found anew before the next look.
                    thread.states.clear();
                    self.states_at = 0;
                    if doing == Doing::Running {
                        self.loss.unreadable_stacks += 1;
                    }
                }
            }
        }
        let is_blind = roster.threads.is_empty() || !ended.is_empty();
        for tid in ended {
            roster.forget(tid);
            self.end_thread(tid, now);
        }
        self.roster = roster;
        let is_lost = self.loss.unreadable_stacks > unreadable_before;
        if is_blind || is_lost || self.has_no_states() {
            self.check_presence()?;
        }
        Ok(())
    }

    /// Nothing of the interpreter is to be found where it was.
    fn has_no_states(&self) -> bool {
        self.roster.threads.iter().all(|thread| thread.states.is_empty())
    }

    fn check_presence(&self) -> Result<(), Error> {
        self.target.absence().map_or(Ok(()), Err)
    }

    /// A thread that waits, where waits are of no interest.
    fn loiter(&mut self, tid: i32) {
        if let Some(log) = self.logs.get_mut(&tid) {
            log.place = None;
        }
    }

    /// Looks at one thread and notes what it found.
    fn look(
        &mut self,
        thread: &mut crate::attach::read::thread::Thread,
        doing: Doing,
    ) -> Result<(), Blind> {
        let tid = thread.tid;
        let time = Time(clock::monotonic().saturating_sub(self.start));
        if doing != Doing::Running
            && let Some(log) = self.logs.get_mut(&tid)
            && let Some(place) = log.place
            && thread.cpu_ns() == Some(place.cpu_ns)
        {
            // It has not moved since it was read.
            log.add(time, place.stack, place.state, place.task);
            self.samples += 1;
            return Ok(());
        }
        let wish = Wish { name: self.logs.get(&tid).is_some_and(|log| !log.is_named), doing };
        let seen = self.reader.look(&self.target, &mut self.tables, thread, wish, |_, _| {})?;
        self.stops += u64::from(doing == Doing::Running);
        let cpu_ns = thread.cpu_ns().ok_or(Blind::Ended)?;
        self.note(tid, time, doing, cpu_ns, &seen);
        Ok(())
    }

    fn note(&mut self, tid: i32, time: Time, doing: Doing, cpu_ns: u64, seen: &Seen) {
        let Some(log) = self.logs.get_mut(&tid) else { return };
        if let Some(name) = &seen.name
            && !log.is_named
        {
            log.is_named = true;
            let name = self.tables.string(name);
            if let Some(track) = self.tables.tables_mut().tracks.get_mut(log.track.index()) {
                track.name = name;
            }
        }
        self.loss.truncated_stacks += u64::from(seen.truncated);
        self.loss.partial_native_stacks += u64::from(seen.partial && doing == Doing::Running);
        let ran = cpu_ns.saturating_sub(log.cpu_ns);
        log.cpu_ns = cpu_ns;
        let waits = matches!(seen.state, ThreadState::Idle | ThreadState::WaitingForGil);
        if !waits && seen.in_system_call && ran < BARELY_RAN_NS && self.options.mode == Mode::Cpu {
            if let Some(cpu) = &mut self.meta.settings.cpu {
                cpu.report.waiting_samples += 1;
            }
            return;
        }
        let (tables, tracks) = (&mut self.tables, &mut self.tracks);
        let task = seen.task.map(|task| tracks.task(tables, log.track, &task, time));
        log.place = waits.then_some(Place { cpu_ns, stack: seen.stack, state: seen.state, task });
        log.add(time, seen.stack, seen.state, task);
        self.samples += 1;
    }

    /// Brings the list of threads up to date.
    fn find_threads(&mut self, now: u64) {
        let pid = self.target.pid;
        let changed = self.roster.refresh(pid);
        let mut lacks = changed;
        for thread in &self.roster.threads {
            lacks |= thread.states.is_empty();
            if self.logs.contains_key(&thread.tid) {
                continue;
            }
            let is_main = thread.tid == pid;
            let name = if is_main { "MainThread".to_owned() } else { thread.name(pid) };
            let (process, tid) = (self.tracks.process(), u64::try_from(thread.tid).unwrap_or(0));
            let time = Time(now.saturating_sub(self.start));
            let track = self.tables.track(TrackKind::Thread, Some(process), tid, &name, time);
            let mut log = Log::new(track, thread.cpu_ns().unwrap_or(0), now);
            log.is_named = is_main;
            self.logs.insert(thread.tid, log);
        }
        if lacks && (changed || now.saturating_sub(self.states_at) >= STATES_NS) {
            self.states_at = now;
            self.reader.memory.begin(None);
            self.roster.find_states(&self.reader.memory, &self.target);
        }
        if changed {
            let lives: Vec<i32> = self.roster.threads.iter().map(|thread| thread.tid).collect();
            let gone = self.logs.keys().filter(|tid| !lives.contains(tid));
            for tid in gone.copied().collect::<Vec<_>>() {
                self.end_thread(tid, now);
            }
        }
    }

    fn end_thread(&mut self, tid: i32, now: u64) {
        let Some(mut log) = self.logs.remove(&tid) else { return };
        let end = Time(now.saturating_sub(self.start));
        log.close(now, self.options.mode == Mode::Wall, &mut self.waiting);
        self.waiting.extend(log.never_looked_at(end, &mut self.tables));
        self.ended_cpu_ns += log.watched_cpu_ns();
        if let Some(track) = self.tables.tables_mut().tracks.get_mut(log.track.index()) {
            track.end = Some(end);
        }
    }

    /// Shares out the time since the last flush and writes it.
    fn flush(&mut self, now: u64) {
        self.flushed_at = now;
        let with_wall = self.options.mode == Mode::Wall;
        for thread in &self.roster.threads {
            if let (Some(log), Some(cpu)) = (self.logs.get_mut(&thread.tid), thread.cpu_ns()) {
                log.cpu_ns = log.cpu_ns.max(cpu);
            }
        }
        for log in self.logs.values_mut() {
            log.close(now, with_wall, &mut self.waiting);
        }
        self.fresh = std::mem::take(&mut self.waiting);
        self.fresh.sort_by_key(|sample| sample.time);
        self.loss.unnamed_frames = self.reader.naming.unnamed;
        let batch = Batch {
            samples: self.fresh.clone(),
            loss: self.loss,
            until: Time(now.saturating_sub(self.start)),
            ..Batch::default()
        };
        // A full disk shows at the end; until then the bytes are kept and tried again.
        let _ = self.writer.append(self.tables.tables(), &batch);
    }

    /// Ends the recording and gives the sink back.
    ///
    /// # Errors
    ///
    /// The sink refused bytes; the recording is readable up to there.
    pub fn finish(mut self) -> Result<W, Error> {
        let now = clock::monotonic();
        self.flush(now);
        let left: u64 = self.logs.values().map(Log::watched_cpu_ns).sum();
        let progress = self.progress();
        self.meta.duration_ns = now.saturating_sub(self.start);
        self.meta.process_cpu_ns = progress.program_cpu_ns.max(self.ended_cpu_ns + left);
        let own = clock::own_thread_cpu().saturating_sub(self.own_cpu_at_start);
        if let Some(cpu) = &mut self.meta.settings.cpu {
            cpu.report.samples = self.samples;
            cpu.report.watched_cpu_ns = self.ended_cpu_ns + left;
            cpu.report.ticks = self.pace.ticks;
            cpu.report.median_lateness_ns = self.pace.median_lateness_ns();
            cpu.report.own_cpu_ns = own;
            cpu.report.sampling_cpu_ns = self.stops * STOP_COST_NS;
        }
        if self.options.source {
            let root = format!("/proc/{}/root", self.target.pid);
            let sources = own_sources_below(&root, self.tables.tables(), &self.meta.roots);
            self.tables.tables_mut().sources = sources;
        }
        let refused = |error: std::io::Error| Error::Internal { reason: error.to_string() };
        self.writer.finish(self.tables.tables(), &self.meta, &self.loss).map_err(refused)?;
        Ok(self.writer.into_inner())
    }
}
