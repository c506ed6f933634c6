//! `run PROGRAM`: starts a program with the recorder inside, watches over it,
//! and tells what came of it.
//!
//! The program runs as if it had been started without us: same terminal, same
//! standard streams, same signals. We are its parent, so that a summary comes
//! and a family of processes is joined however it ends.

mod family;
mod place;
mod preload;
mod program;
mod progress;
mod show;
mod start;
mod watch;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::console::Console;
use crate::end::{End, Installation};
use crate::failure::Failure;
use crate::rate::{self, Rate};

const EXAMPLES: &str = "\
PROGRAM is a script, or -m MODULE, -c CODE or -- COMMAND, each with its arguments.

examples:
  tachograph run train.py --epochs 3              options after the script are the script's
  tachograph run -o slow.tacho -r 1000 train.py   a sample every millisecond
  tachograph run --mode wall -m http.server       waiting counts too
  tachograph run --subprocesses train.py          with its child processes
  tachograph run -- gunicorn app:app              any command that starts Python
  tachograph run -- ./simulate                    a program without Python, its native code

exit status:
  that of the program, or the signal it died of
  2  wrong usage     3  nothing could be recorded";

/// Record a program and show where its time went
///
/// The program's output, input, arguments, signals and exit status are its
/// own. Ctrl-C and SIGTERM keep the recording; a program that is killed leaves
/// all but its last second.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, override_usage = "tachograph run [OPTIONS] PROGRAM [ARGUMENTS]...")]
pub(crate) struct Run {
    /// The recording to write [default: the program's name, numbered if it exists]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace a recording that exists
    #[arg(long)]
    force: bool,
    /// Samples per second of a running thread, 1 to 1000; 1khz is 1000
    #[arg(short, long, value_name = "HZ", default_value = "100", value_parser = rate::parse)]
    rate: Rate,
    /// Time between two looks at a running thread, in milliseconds; instead of --rate
    #[arg(long, value_name = "MS", conflicts_with = "rate", value_parser = rate::interval)]
    interval: Option<Rate>,
    /// cpu: time on a processor; wall: elapsed time, waiting included
    #[arg(long, default_value = "cpu", hide_possible_values = true)]
    mode: Mode,
    /// What makes the sampler look: auto, tick, perf or cpu-timer
    #[arg(long, default_value = "auto", hide_possible_values = true)]
    trigger: Trigger,
    /// Do not sample allocations of memory
    #[arg(long)]
    no_heap: bool,
    /// Kilobytes between two samples of allocated memory, on average
    #[arg(long, value_name = "KB", default_value = "512", conflicts_with = "no_heap")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_073_741_824))]
    heap_rate: u32,
    /// Do not read memory, processors, network, disks, energy and GPUs ten times a second
    #[arg(long)]
    no_machine: bool,
    /// Leave out frames of C, C++ and Rust code
    #[arg(long)]
    no_native: bool,
    /// Leave out the text of the program's source files
    #[arg(long)]
    no_source: bool,
    /// Frames kept per stack; deeper stacks lose their outermost
    #[arg(long, value_name = "FRAMES", default_value = "512")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=2048))]
    max_depth: u32,
    /// Room for samples in the program's memory, in megabytes
    #[arg(long, value_name = "MB", default_value = "100")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    memory_limit: u32,
    /// Record child processes too (fork, spawn, multiprocessing) and join them into one view
    #[arg(long)]
    subprocesses: bool,
    /// The interpreter to run [default: the one tachograph is installed in, or python3]
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
    /// Show the flame graph in a browser at the end
    #[arg(long)]
    open: bool,
    /// The program and its arguments
    #[arg(last = true, required = true, hide = true)]
    program: Vec<OsString>,
}

/// Which time is sampled.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Mode {
    Cpu,
    Wall,
}

/// What makes the sampler look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Trigger {
    Auto,
    Tick,
    Perf,
    CpuTimer,
}

impl Run {
    pub(crate) fn run(
        self,
        console: &Console,
        installation: Option<&Installation>,
    ) -> Result<End, Failure> {
        if matches!(self.mode, Mode::Wall)
            && matches!(self.trigger, Trigger::Perf | Trigger::CpuTimer)
        {
            return Err(Failure::usage(
                "this --trigger follows CPU time, which a waiting thread does not use",
                "leave --trigger out with --mode wall",
            ));
        }
        let program = program::Program::from_words(&self.program)?;
        let signals = watch::listen();
        let started = start::start(&self, &program, installation)?;
        let (output, child) = (started.output, started.child);
        let ended = watch::until_the_end(signals, child, &program.name, &output.watched, console)?;
        let recorded = family::collect(&output, console)?;
        show::show(&recorded, ended, &self, output.obstacle.as_deref(), console)
    }
}
