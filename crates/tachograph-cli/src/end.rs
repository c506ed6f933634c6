//! How the command ends, and where it is installed.

use std::path::PathBuf;
use std::process;

use rustix::process::{Resource, Rlimit, setrlimit};

/// How the command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With this exit status: 0 done, 1 the gate found a regression, 2 wrong
    /// usage, 3 tachograph could not do it, or that of the program `run` started.
    Status(u8),
    /// By this signal, as the program that `run` started.
    Signal(i32),
}

impl End {
    /// It was done.
    pub const DONE: Self = Self::Status(0);
    /// The words made no sense.
    pub const WRONG_USAGE: Self = Self::Status(2);
    /// We could not do it.
    pub const FAILED: Self = Self::Status(3);

    /// Ends this process.
    ///
    /// By a signal it dies the way the program did, so a shell or a supervisor
    /// sees the same; without a second core file.
    pub fn leave(self) -> ! {
        match self {
            Self::Status(status) => process::exit(i32::from(status)),
            Self::Signal(signal) => {
                let none = Rlimit { current: Some(0), maximum: Some(0) };
                let _ = setrlimit(Resource::Core, none);
                let _ = signal_hook::low_level::emulate_default_handler(signal);
                // Only a signal that does not kill gets here.
                process::exit(128 + (signal & 0x7f))
            }
        }
    }
}

/// The interpreter and the package this command was installed with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// The interpreter.
    pub python: PathBuf,
    /// The folder of the package `tachograph`.
    pub package: PathBuf,
}
