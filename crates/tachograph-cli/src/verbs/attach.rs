//! `attach PID`: record a program that is already running.

mod inside;
mod script;

use std::fs::File;
use std::path::{Path, PathBuf, absolute};
use std::time::{Duration, Instant};

use clap::Args;

use tachograph_capture::attach::{AttachOptions, Recorder, Target};
use tachograph_profile::{Mode, file};

use self::inside::Inside;

use crate::console::{Console, Stream};
use crate::end::{End, Installation};
use crate::failure::Failure;
use crate::outside::{Interrupt, ProgressLine, mode, pid, rate_hz, seconds};
use crate::words::refuse_to_replace;
use crate::{remedies, words};

/// What the recorder inside of a program can do at most.
const MOST_INSIDE: f64 = 1000.0;
const DEEPEST_INSIDE: u32 = 2048;

/// Between two looks at the recorder inside: Ctrl-C is served as quickly.
const SLICE: Duration = Duration::from_millis(100);

const EXAMPLES: &str = "\
examples:
  tachograph attach 4242                       record until Ctrl-C
  tachograph attach 4242 -d 30 -o slow.tacho   record for 30 seconds
  tachograph attach 4242 -r 1khz --mode wall   1000 looks a second, waiting threads too
  tachograph attach 4242 --no-native           Python frames only, least overhead
  tachograph attach 4242 --heap -d 60          memory and spans too, from inside (3.14 or newer)

exit status:
  0  the recording was written     2  wrong usage
  3  the program could not be read, ended, or replaced itself; what was recorded is kept";

/// Record a Python program that is already running
///
/// The program is not restarted and not changed: tachograph reads its memory
/// from outside, and stops a thread that runs for some 50 µs while it reads it.
/// Stop with Ctrl-C; the recording is complete up to that moment. Works on
/// CPython 3.9 to 3.15, in containers by the pid of the host. With --heap the
/// interpreter loads the recorder instead, as it would load a debugger.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Attach {
    /// Process to record
    #[arg(value_name = "PID", value_parser = pid)]
    pid: i32,
    /// Stop after SECONDS [default: Ctrl-C]
    #[arg(short, long, value_name = "SECONDS", value_parser = seconds)]
    duration: Option<Duration>,
    /// Recording to write [default: PID.tacho]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Looks per second, such as 100 or 1khz
    #[arg(short, long, value_name = "HZ", default_value = "100", value_parser = rate_hz)]
    rate: f64,
    /// Which time is sampled: cpu, or wall with waiting threads too
    #[arg(long, value_name = "MODE", default_value = "cpu", value_parser = mode)]
    mode: Mode,
    /// Leave out C and C++ frames
    #[arg(long)]
    no_native: bool,
    /// Frames kept per stack
    #[arg(long, value_name = "FRAMES", default_value_t = 512,
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    max_depth: u32,
    /// Leave the text of source files out of the recording
    #[arg(long)]
    no_source: bool,
    /// Load the recorder into the program: memory, spans and the machine too (CPython 3.14+)
    #[arg(long)]
    heap: bool,
    /// Kilobytes between two samples of allocated memory, on average
    #[arg(long, value_name = "KB", default_value = "512", requires = "heap")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_073_741_824))]
    heap_rate: u32,
    /// Replace FILE if it exists
    #[arg(long)]
    force: bool,
}

impl Attach {
    pub(crate) fn run(
        self,
        console: &Console,
        installation: Option<&Installation>,
    ) -> Result<End, Failure> {
        let path = self.output.clone().unwrap_or_else(|| format!("{}.tacho", self.pid).into());
        refuse_to_replace(&path, self.force)?;
        if self.heap {
            return self.run_inside(&path, console, installation);
        }
        let interrupt = Interrupt::watch()?;
        let target = Target::find(self.pid).map_err(|error| Failure::from_error(&error))?;
        let sink = create(&path)?;
        let options = AttachOptions {
            interval_ns: (1e9 / self.rate).round() as u64,
            mode: self.mode,
            native: !self.no_native,
            max_depth: self.max_depth,
            source: !self.no_source,
        };
        let mut recorder = Recorder::begin(target, options, sink).map_err(|error| {
            let _ = std::fs::remove_file(&path);
            Failure::from_error(&error)
        })?;
        let early = self.record(&mut recorder, &interrupt, console);
        let samples = recorder.progress().samples;
        recorder.finish().map_err(|error| Failure::from_error(&error))?;
        let early = early.map(|error| Failure::from_error(&error));
        if samples == 0
            && let Some(failure) = early
        {
            let _ = std::fs::remove_file(&path);
            let kept = "what was recorded until then is kept, ";
            let remedy = failure.remedy.map(|remedy| remedy.replace(kept, ""));
            return Err(Failure { remedy, ..failure });
        }
        self.tell(&path, console)?;
        early.map_or(Ok(End::DONE), Err)
    }

    /// Records with the recorder inside of the process.
    fn run_inside(
        &self,
        path: &Path,
        console: &Console,
        installation: Option<&Installation>,
    ) -> Result<End, Failure> {
        if self.rate > MOST_INSIDE || self.max_depth > DEEPEST_INSIDE {
            return Err(Failure::usage(
                format!(
                    "with --heap a program is looked at {MOST_INSIDE} times a second and \
                     {DEEPEST_INSIDE} frames deep at most"
                ),
                "lower --rate or --max-depth",
            ));
        }
        let interrupt = Interrupt::watch()?;
        let target = Target::find(self.pid).map_err(|error| Failure::from_error(&error))?;
        let output = absolute(path).unwrap_or_else(|_| path.to_owned());
        let home = installation.and_then(|here| here.package.parent());
        let inside = Inside::start(target, &self.wishes(), &output, home, &interrupt)?;
        let mut line = ProgressLine::new(self.pid, console);
        let begun = Instant::now();
        let early = loop {
            let passed = begun.elapsed();
            let is_over = self.duration.is_some_and(|length| passed >= length);
            if is_over || interrupt.came() {
                break None;
            }
            if let Some(failure) = inside.absence() {
                break Some(failure);
            }
            line.draw_inside(passed, path);
            let left = self.duration.map_or(SLICE, |length| length.saturating_sub(passed));
            std::thread::sleep(left.min(SLICE));
        };
        drop(line);
        let ended = if early.is_some() { Ok(()) } else { inside.finish() };
        let early = early.or(ended.err());
        match self.tell(path, console) {
            Err(_) if early.is_some() => {}
            told => told?,
        }
        early.map_or(Ok(End::DONE), Err)
    }

    /// What the recorder inside has to know.
    fn wishes(&self) -> Vec<(&'static str, String)> {
        let flag = |is_on: bool| u8::from(is_on).to_string();
        vec![
            ("interval_ns", ((1e9 / self.rate).round() as u64).to_string()),
            ("mode", if self.mode == Mode::Wall { "wall" } else { "cpu" }.to_owned()),
            ("trigger", "auto".to_owned()),
            ("native", flag(!self.no_native)),
            ("source", flag(!self.no_source)),
            ("heap", flag(true)),
            ("heap_rate_kb", self.heap_rate.to_string()),
            ("machine", flag(true)),
            ("max_depth", self.max_depth.to_string()),
            ("memory_limit_mb", "100".to_owned()),
        ]
    }

    /// Records until the time is up, Ctrl-C, or the end of the program.
    fn record(
        &self,
        recorder: &mut Recorder<File>,
        interrupt: &Interrupt,
        console: &Console,
    ) -> Option<tachograph_capture::Error> {
        let mut line = ProgressLine::new(self.pid, console);
        let slice = Duration::from_millis(500);
        let mut left = self.duration.unwrap_or(Duration::MAX);
        while !left.is_zero() && !interrupt.came() {
            let now = left.min(slice);
            if let Err(error) = recorder.run(now, &|| interrupt.came()) {
                return Some(error);
            }
            left = left.saturating_sub(now);
            line.draw(&recorder.progress());
        }
        None
    }

    fn tell(&self, path: &Path, console: &Console) -> Result<(), Failure> {
        if console.quiet {
            return Ok(());
        }
        let profile = file::open(path)?;
        let style = console.style(Stream::Error);
        let text = remedies::summary(&profile, &style, &[]);
        console.note(&format!("{text}\n\n{}", words::next_commands(path, &style)));
        Ok(())
    }
}

fn create(path: &Path) -> Result<File, Failure> {
    File::create(path).map_err(|error| {
        Failure::failed(
            format!(
                "cannot write to {}: {}",
                path.display(),
                crate::failure::without_number(&error.to_string())
            ),
            "choose a directory that exists and is writable",
        )
    })
}
