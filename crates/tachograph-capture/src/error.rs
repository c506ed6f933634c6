//! Why a capture could not start, or had to stop.

use std::io;
use std::path::PathBuf;

/// Why a capture could not start, or had to stop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The recording cannot be written where the user wants it.
    #[error("cannot write to {path:?}; choose a directory that exists and is writable")]
    OutputDenied {
        /// Where it should have gone.
        path: PathBuf,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// Two recordings of one process cannot share a file.
    #[error(
        "another recording of this process is being written to {path:?}; \
         choose another name, or finish that one first"
    )]
    OutputTaken {
        /// Where both should have gone.
        path: PathBuf,
    },
    /// The interpreter is one we cannot read.
    #[error(
        "cannot read the frames of {found}; CPython 3.11 to 3.15 are supported, upgrade tachograph"
    )]
    UnknownInterpreter {
        /// What was found instead.
        found: String,
    },
    /// The asked-for trigger is not to be had.
    #[error("trigger {trigger:?} is not available here: {reason}; use trigger=\"auto\"")]
    TriggerUnavailable {
        /// The trigger that was asked for.
        trigger: &'static str,
        /// Why it cannot be had.
        reason: String,
    },
    /// The asked-for trigger counts CPU time, and wall time was asked for.
    #[error(
        "trigger {trigger:?} counts CPU time, and mode=\"wall\" samples elapsed time; \
         use trigger=\"auto\", or mode=\"cpu\""
    )]
    TriggerForCpuOnly {
        /// The trigger that was asked for.
        trigger: &'static str,
    },
    /// A thread of ours could not be started.
    #[error("cannot start the sampler thread")]
    NoThread(#[source] io::Error),
    /// There is no process with this id.
    #[error("there is no process {pid}; `pgrep -af python` lists the ones that run Python")]
    NoProcess {
        /// The process that was asked for.
        pid: i32,
    },
    /// The kernel does not let us look at the process.
    #[error("cannot read the memory of process {pid}: {reason}")]
    AttachDenied {
        /// The process that was asked for.
        pid: i32,
        /// Why, and what to do.
        reason: String,
    },
    /// The process runs no CPython.
    #[error(
        "process {pid} ({program}) runs no CPython that can be found; \
         `pgrep -af python` lists the ones that do"
    )]
    NotPython {
        /// The process that was asked for.
        pid: i32,
        /// What it runs.
        program: String,
    },
    /// The process runs another program now.
    #[error(
        "process {pid} has replaced its program by another one (exec); \
         what was recorded until then is kept, start again to see the new program"
    )]
    ProgramReplaced {
        /// The process.
        pid: i32,
    },
    /// The interpreter cannot load anything while it runs.
    #[error(
        "process {pid} runs CPython {version}, and only 3.14 and newer let a recorder in while \
         they run; leave --heap out, or start the program with `tachograph run`"
    )]
    NoHook {
        /// The process.
        pid: i32,
        /// What it runs.
        version: String,
    },
    /// The interpreter was told to let nobody in.
    #[error(
        "process {pid} lets no debugger in: it was started with PYTHON_DISABLE_REMOTE_DEBUG or \
         -X disable-remote-debug; start it without, or leave --heap out"
    )]
    HookClosed {
        /// The process.
        pid: i32,
    },
    /// The process has ended.
    #[error(
        "process {pid} has ended; what was recorded until then is kept, \
         `tachograph run` records a program from its start to its end"
    )]
    ProgramEnded {
        /// The process.
        pid: i32,
    },
    /// A source is not implemented on this operating system.
    #[error("CPU sampling is implemented on Linux; spans, reports and exports work here")]
    UnsupportedPlatform,
    /// Our own side failed; the program goes on without the recording.
    #[error("the recorder stopped itself: {reason}; the program is not affected")]
    Internal {
        /// What happened.
        reason: String,
    },
}
