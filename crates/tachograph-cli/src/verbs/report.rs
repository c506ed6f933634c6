//! `report FILE`: one screen that answers where the time went.

use std::path::PathBuf;

use clap::Args;

use tachograph_profile::{Measure, file};

use crate::console::{Console, Stream};
use crate::end::End;
use crate::failure::Failure;
use crate::part::Part;
use crate::{remedies, tables, words};

const EXAMPLES: &str = "\
examples:
  tachograph report train.tacho                          where its time went
  tachograph report train.tacho --within epoch/forward   inside the spans of one name only
  tachograph report train.tacho --between 2 3.5          from second 2 to second 3.5
  tachograph report train.tacho --json | jq '.functions[0]'

exit status:
  0  done     2  wrong usage     3  the recording could not be read";

/// Show where a recorded program spent its time
///
/// Prints one screen to standard output: threads, functions, spans, lines, and
/// how far the numbers can be trusted.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Report {
    /// The recording
    file: PathBuf,
    #[command(flatten)]
    part: Part,
    /// Columns to fill [default: those of the terminal]
    #[arg(long, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(1..))]
    width: Option<u16>,
    /// Print the tables as JSON, weights in ns, bytes or counts
    #[arg(long)]
    json: bool,
    /// What the JSON tables weigh: cpu, wall, samples, … [default: what was sampled]
    #[arg(long, value_parser = words::measure, requires = "json")]
    measure: Option<Measure>,
}

impl Report {
    pub(crate) fn run(self, console: &Console) -> Result<End, Failure> {
        let profile = self.part.of(file::open(&self.file)?)?;
        if self.json {
            let mut text = tables::of(&profile, self.measure).to_string();
            text.push('\n');
            console.result(text.as_bytes())?;
            return Ok(End::DONE);
        }
        let mut style = console.style(Stream::Output);
        if let Some(width) = self.width {
            style.width = usize::from(width);
        }
        console.result(format!("{}\n", remedies::summary(&profile, &style, &[])).as_bytes())?;
        Ok(End::DONE)
    }
}
