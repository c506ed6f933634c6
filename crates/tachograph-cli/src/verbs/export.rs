//! `export FILE -f FORMAT -o PATH`: a recording in the format of another tool.

use std::path::PathBuf;

use clap::Args;

use tachograph_profile::export::{self, Format};
use tachograph_profile::{Measure, file};

use crate::console::Console;
use crate::end::End;
use crate::failure::Failure;
use crate::part::Part;
use crate::words;

const EXAMPLES: &str = "\
formats:
  svg         a flame graph in one file, for any browser
  speedscope  JSON for https://www.speedscope.app
  collapsed   one line per stack, for flame graph scripts
  tacho       the recording itself, for --within and --between

examples:
  tachograph export train.tacho -f speedscope            writes train.speedscope.json
  tachograph export train.tacho -o train.svg             the ending says the format
  tachograph export train.tacho -f collapsed -o - | sort -t' ' -k2
  tachograph export train.tacho -o step.svg --within epoch/step

exit status:
  0  done     2  wrong usage     3  the recording could not be read, or the result not written";

/// Turn a recording into what other tools open
///
/// A file appears whole or not at all, and none is replaced without --force.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Export {
    /// The recording
    file: PathBuf,
    /// The format [default: what the ending of PATH says]
    #[arg(short, long, value_parser = words::format)]
    format: Option<Format>,
    /// Where to write; - is standard output [default: FILE with the format's ending]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// What to weigh: cpu, wall, samples, allocated, live, blocks [default: the time that
    /// was sampled; samples for collapsed]
    #[arg(long, value_parser = words::measure)]
    measure: Option<Measure>,
    #[command(flatten)]
    part: Part,
    /// Replace a file that exists
    #[arg(long)]
    force: bool,
}

impl Export {
    pub(crate) fn run(self, console: &Console) -> Result<End, Failure> {
        let (format, path) = self.destination()?;
        if !words::is_stdout(&path) {
            words::refuse_to_replace(&path, self.force)?;
        }
        let profile = self.part.of(file::open(&self.file)?)?;
        if words::is_stdout(&path) {
            console.result(&export::export(&profile, format, self.measure)?)?;
            return Ok(End::DONE);
        }
        export::save(&profile, &path, Some(format), self.measure).map_err(|error| {
            // The recording is not in memory but where it always was.
            let failure = Failure::from(error);
            let remedy =
                failure.remedy.map(|text| text.replace(", the profile is still in memory", ""));
            Failure { remedy, ..failure }
        })?;
        console.note(&path.display().to_string());
        Ok(End::DONE)
    }

    /// The format and the path, from what was said about either.
    fn destination(&self) -> Result<(Format, PathBuf), Failure> {
        let from_path = self.output.as_deref().and_then(Format::from_path);
        match (self.format.or(from_path), &self.output) {
            (Some(format), Some(path)) => Ok((format, path.clone())),
            (Some(format), None) => Ok((format, words::with_ending(&self.file, format))),
            (None, _) => Err(Failure::usage(
                "the format is not known",
                format!("name one with -f: {}", words::format_names()),
            )),
        }
    }
}
