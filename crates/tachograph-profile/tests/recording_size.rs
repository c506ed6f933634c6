//! How much room a recording takes, and how long it takes to open.
//!
//! The program is made up but varied: 400 stacks of 5 to 40 frames that are
//! taken in phases, a few often and most seldom, on three threads, with the
//! jittered gaps of the default trigger.
#![allow(clippy::print_stdout, reason = "the figures are the point of these tests")]

use std::time::Duration;

use tachograph_profile::file::{Writer, read};
use tachograph_profile::{
    Batch, Interner, Meta, Sample, StackId, Tables, ThreadState, Time, TrackId, TrackKind,
};

/// A small generator with a long period; the figures below repeat exactly.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `sides`.
    fn below(&mut self, sides: u64) -> u64 {
        (self.roll() >> 16) % sides
    }

    /// A rank below 400: rank r comes with a share of 1 / (r + 1).
    fn rank(&mut self) -> usize {
        let share = self.below(1 << 30) as f64 / f64::from(1 << 30);
        (401_f64.powf(share) - 1.0) as usize
    }
}

struct Program {
    dice: Dice,
    tables: Tables,
    threads: Vec<TrackId>,
    stacks: Vec<StackId>,
}

impl Program {
    fn varied() -> Self {
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
        let mut tables = Interner::default();
        let process = tables.track(TrackKind::Process, None, 4242, "train.py", Time(0));
        let threads = ["MainThread", "loader-1", "loader-2"]
            .map(|name| tables.track(TrackKind::Thread, Some(process), 4242, name, Time(0)));
        let mut nodes: Vec<StackId> = Vec::new();
        let mut stacks = Vec::new();
        while stacks.len() < 400 {
            // Half of the stacks grow out of another one, as callees do.
            let mut caller = match nodes.len() as u64 {
                len if len > 0 && dice.below(2) == 0 => {
                    nodes.get(dice.below(len) as usize).copied()
                }
                _ => None,
            };
            for _ in 0..5 + dice.below(20) {
                let function = dice.below(900);
                let file = format!(
                    "/home/user/project/package_{}/module_{}.py",
                    function % 7,
                    function % 60
                );
                let first_line = 10 + (function * 37 % 800) as u32;
                let line = first_line + dice.below(30) as u32;
                let name = format!("Component{}.method_{function}", function % 45);
                let frame = tables.python_frame(&name, &file, line, first_line);
                let node = tables.stack(caller, frame);
                nodes.push(node);
                caller = Some(node);
            }
            stacks.extend(caller);
        }
        Self { dice, tables: tables.into_tables(), threads: threads.to_vec(), stacks }
    }

    /// The samples of one second that starts at `from`, at `hz` per second
    /// of CPU time; the main thread is busy, the others share one more core.
    fn second(&mut self, from: u64, hz: u64) -> Batch {
        let mut batch = Batch { until: Time(from + 1_000_000_000), ..Batch::default() };
        let period = 1_000_000_000 / hz;
        let phase = (from / 10_000_000_000 * 97) as usize;
        let mut at = from;
        let mut thread = 0;
        loop {
            at += period / 2 + self.dice.below(period);
            if at >= from + 1_000_000_000 {
                break;
            }
            if self.dice.below(20) == 0 {
                thread = self.dice.below(3) as usize;
            }
            let rank = self.dice.rank();
            batch.samples.push(Sample {
                time: Time(at),
                track: self.threads[thread],
                task: None,
                stack: self.stacks[(rank + phase) % self.stacks.len()],
                wall_ns: 0,
                cpu_ns: 0,
                state: [ThreadState::RunningWithGil, ThreadState::Running]
                    [usize::from(rank.is_multiple_of(7))],
            });
        }
        // As the recorder does it: each thread's CPU time of the window goes
        // to its samples in equal parts, the rest of the division to the first.
        for track in &self.threads {
            let clock = self.dice.below(1_000_000);
            let mut own: Vec<_> = batch.samples.iter_mut().filter(|s| s.track == *track).collect();
            let count = own.len() as u64;
            let total = count * period + clock;
            for (i, sample) in own.iter_mut().enumerate() {
                sample.cpu_ns = total / count + u64::from((i as u64) < total % count);
            }
        }
        batch
    }
}

/// Records `seconds` and gives the file and the number of samples.
fn record(seconds: u64, hz: u64) -> (Vec<u8>, usize) {
    let mut program = Program::varied();
    let mut writer = Writer::new(Vec::new(), &Meta::default()).unwrap();
    let mut count = 0;
    for second in 0..seconds {
        let batch = program.second(second * 1_000_000_000, hz);
        count += batch.samples.len();
        writer.append(&program.tables, &batch).unwrap();
    }
    let duration_ns = seconds * 1_000_000_000;
    let meta = Meta { duration_ns, ..Meta::default() };
    writer.finish(&program.tables, &meta, &Default::default()).unwrap();
    (writer.into_inner(), count)
}

#[test]
fn a_minute_at_1_khz_takes_at_most_300_kb() {
    let (bytes, samples) = record(60, 1000);

    assert!(samples > 59_000, "{samples} samples are not 60 s at 1 kHz");
    assert!(bytes.len() <= 300_000, "{} bytes", bytes.len());
    println!(
        "60 s at 1 kHz: {} bytes, {:.2} per sample",
        bytes.len(),
        bytes.len() as f64 / samples as f64
    );
}

#[test]
fn a_day_at_100_hz_takes_at_most_100_mb() {
    let seconds = 1000;
    let (bytes, samples) = record(seconds, 100);
    let (head, _) = record(1, 100);

    // The tables are written once; only what follows them grows with time.
    let per_second = (bytes.len() - head.len()) as f64 / (seconds - 1) as f64;
    let day = head.len() as f64 + per_second * 86_400.0;

    assert!(samples > 99_000, "{samples} samples are not 1000 s at 100 Hz");
    assert!(day <= 100e6, "a day would take {:.1} MB", day / 1e6);
    println!("a day at 100 Hz: {:.1} MB", day / 1e6);
}

/// CPU time of this thread: on a busy machine elapsed time says little. The
/// kernel brings it up to date at its tick, so it is 4 ms off at times.
fn cpu_time() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let ns = told.split(' ').next().and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ns.unwrap())
}

#[test]
fn a_minute_opens_in_a_moment() {
    let (bytes, samples) = record(60, 1000);
    let open = || {
        let start = cpu_time();
        let profile = read(&bytes, "minute.tacho").unwrap();
        assert_eq!((profile.samples.len(), profile.notes.len()), (samples, 0));
        cpu_time() - start
    };

    let took = (0..5).map(|_| open()).min().unwrap();

    // A release build takes 5 ms of CPU. This may be a debug build; the test notices a
    // change of order.
    assert!(took.as_millis() < 1000, "{took:?}");
    println!("60 s at 1 kHz: opened in {took:?}");
}
