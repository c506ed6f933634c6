//! `doctor`: what this machine allows, what follows from it, what improves it.
//!
//! Every check reads files below a root that tests replace by a tree of their
//! own, and answers with one [`Finding`].

mod energy;
mod finding;
mod gpu;
mod interpreter;
mod kernel;
mod limits;
mod machine;

use clap::Args;

use finding::{Finding, table};
use machine::Machine;

use crate::console::{Console, Stream};
use crate::end::{End, Installation};
use crate::failure::Failure;

const EXAMPLES: &str = "\
examples:
  tachograph doctor
  tachograph doctor --json | jq '.[] | select(.verdict != \"good\")'

exit status:
  0  done     2  wrong usage";

/// See what this machine allows, and what to do about the rest
///
/// Nothing is changed. Where something is missing, the one command that
/// improves it stands below.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Doctor {
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

impl Doctor {
    pub(crate) fn run(
        self,
        console: &Console,
        installation: Option<&Installation>,
    ) -> Result<End, Failure> {
        let machine = Machine::this();
        let mut findings = vec![interpreter::interpreter(installation)];
        findings.extend(examine(&machine));
        let text = if self.json {
            let rows: Vec<_> = findings.iter().map(Finding::as_json).collect();
            format!("{}\n", serde_json::Value::Array(rows))
        } else {
            table(&findings, &console.style(Stream::Output))
        };
        console.result(text.as_bytes())?;
        Ok(End::DONE)
    }
}

/// Everything that files tell about `machine`.
fn examine(machine: &Machine) -> Vec<Finding> {
    vec![
        kernel::ptrace(machine),
        kernel::perf(machine),
        kernel::clock(machine),
        energy::rapl(machine),
        gpu::nvidia(machine),
        gpu::amd(machine),
        limits::limits(machine),
    ]
}
