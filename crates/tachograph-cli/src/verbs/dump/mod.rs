//! `dump PID`: what every thread of a running program does at this moment.

mod json;
mod lines;
mod text;

use clap::Args;

use tachograph_capture::attach::{DumpOptions, Target, dump};

use crate::console::{Console, Stream};
use crate::end::End;
use crate::failure::Failure;
use crate::outside::pid;

const EXAMPLES: &str = "\
examples:
  tachograph dump 4242                          every thread, every task
  tachograph dump 4242 --locals                 with local variables
  tachograph dump 4242 --json | jq '.threads[].name'

exit status:
  0  done     2  wrong usage     3  the program could not be read";

/// Show what every thread of a running Python program is doing
///
/// Prints each thread's Python and native stack, who holds the interpreter lock,
/// and what asyncio's tasks wait for. The program runs no code of ours; a thread
/// that runs is stopped for some 50 µs while it is read, one that waits is not.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Dump {
    /// Process to look at
    #[arg(value_name = "PID", value_parser = pid)]
    pid: i32,
    /// Show local variables: numbers and texts as they are, containers by their length
    #[arg(long)]
    locals: bool,
    /// Leave out C and C++ frames
    #[arg(long)]
    no_native: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Dump {
    pub(crate) fn run(self, console: &Console) -> Result<End, Failure> {
        let options = DumpOptions { native: !self.no_native, locals: self.locals };
        let failed = |error| Failure::from_error(&error);
        let target = Target::find(self.pid).map_err(failed)?;
        let seen = dump(&target, options).map_err(failed)?;
        let mut text = if self.json {
            json::of(&seen).to_string()
        } else {
            let mut style = console.style(Stream::Output);
            if !Stream::Output.is_terminal() {
                // Whoever reads a file or a pipe wants whole lines.
                style.width = usize::MAX;
            }
            text::of(&seen, &style)
        };
        text.push('\n');
        console.result(text.as_bytes())?;
        Ok(End::DONE)
    }
}
