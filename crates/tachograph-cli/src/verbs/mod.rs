//! The verbs, one file each. To add one: its file, its `mod`, its line in
//! [`Verb`] and its arm in [`Verb::run`].

mod attach;
mod completions;
mod doctor;
mod dump;
mod export;
mod info;
mod merge;
mod report;
mod run;
mod top;

use clap::Subcommand;

use crate::console::Console;
use crate::end::{End, Installation};
use crate::failure::Failure;

/// Every verb with its options.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Run(run::Run),
    Attach(attach::Attach),
    Top(top::Top),
    Dump(dump::Dump),
    Report(report::Report),
    Info(info::Info),
    Export(export::Export),
    Merge(merge::Merge),
    Doctor(doctor::Doctor),
    Completions(completions::Completions),
}

impl Verb {
    /// Does it.
    ///
    /// # Errors
    ///
    /// What could not be done, and what to do about it.
    pub(crate) fn run(
        self,
        console: &Console,
        installation: Option<&Installation>,
    ) -> Result<End, Failure> {
        match self {
            Self::Run(verb) => verb.run(console, installation),
            Self::Attach(verb) => verb.run(console, installation),
            Self::Top(verb) => verb.run(console),
            Self::Dump(verb) => verb.run(console),
            Self::Report(verb) => verb.run(console),
            Self::Info(verb) => verb.run(console),
            Self::Export(verb) => verb.run(console),
            Self::Merge(verb) => verb.run(console),
            Self::Doctor(verb) => verb.run(console, installation),
            Self::Completions(verb) => verb.run(console),
        }
    }
}
