//! `merge FILE… -o PATH`: the processes of one program in one recording.

use std::path::PathBuf;

use clap::Args;

use tachograph_profile::{Profile, file};

use crate::console::Console;
use crate::end::End;
use crate::failure::Failure;
use crate::words;

const EXAMPLES: &str = "\
examples:
  tachograph merge train.*.tacho -o train.tacho      one view of a program and its children

exit status:
  0  done     2  wrong usage     3  a recording could not be read, or the result not written";

/// Join the recordings of several processes
///
/// They are put on one clock by the time of day they started. The result holds
/// every thread and every event of all of them; what is lost is added up.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Merge {
    /// The recordings, in any order
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The recording to write; - is standard output
    #[arg(short, long, value_name = "PATH", required = true)]
    output: PathBuf,
    /// Replace a file that exists
    #[arg(long)]
    force: bool,
}

impl Merge {
    pub(crate) fn run(self, console: &Console) -> Result<End, Failure> {
        let to_stdout = words::is_stdout(&self.output);
        if !to_stdout {
            words::refuse_to_replace(&self.output, self.force)?;
        }
        let opened: Result<Vec<_>, _> = self.files.iter().map(|path| file::open(path)).collect();
        let merged = Profile::merge(&opened?);
        if to_stdout {
            console.result(&file::encode(&merged))?;
        } else {
            file::write(&self.output, &merged)?;
            console.note(&self.output.display().to_string());
        }
        Ok(End::DONE)
    }
}
