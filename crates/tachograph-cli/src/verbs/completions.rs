//! `completions SHELL`: what makes the tab key know the verbs and options.

use clap::Args;
use clap_complete::Shell;

use crate::console::Console;
use crate::end::End;
use crate::failure::Failure;

const EXAMPLES: &str = "\
examples:
  eval \"$(tachograph completions bash)\"                  a line for ~/.bashrc
  tachograph completions zsh > ~/.zfunc/_tachograph      ~/.zfunc must be in $fpath
  tachograph completions fish > ~/.config/fish/completions/tachograph.fish

exit status:
  0  done     2  wrong usage";

/// Print what makes a shell complete verbs and options
///
/// Write it to the file your shell reads, then start a new shell.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Completions {
    /// The shell that will read it
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, console: &Console) -> Result<End, Failure> {
        let mut script = Vec::new();
        let mut command = crate::command();
        clap_complete::generate(self.shell, &mut command, "tachograph", &mut script);
        console.result(&script)?;
        Ok(End::DONE)
    }
}
