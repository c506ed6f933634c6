//! The clocks a door can choose.

use pyo3::PyResult;

use tachograph_capture::spans;

use crate::errors::unknown_word;

/// What time is measured by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// Time that passes.
    Wall,
    /// CPU time of the whole process.
    Process,
    /// CPU time of the calling thread.
    Thread,
}

impl Clock {
    /// The clock called `word`.
    pub(super) fn named(word: &str) -> PyResult<Self> {
        match word {
            "wall" | "perf" => Ok(Self::Wall),
            "process" => Ok(Self::Process),
            "thread" => Ok(Self::Thread),
            _ => Err(unknown_word("clock", word, "'wall', 'perf', 'process' or 'thread'")),
        }
    }

    /// The reading now, for clocks that a span does not read anyway.
    #[inline]
    pub(super) fn reading(self) -> u64 {
        match self {
            Self::Wall => 0,
            Self::Process => spans::process_cpu_ns(),
            Self::Thread => spans::thread_cpu_ns(),
        }
    }

    /// What passed since `begin`; `None` when that is the wall time.
    #[inline]
    pub(super) fn since(self, begin: u64) -> Option<u64> {
        (self != Self::Wall).then(|| self.reading().saturating_sub(begin))
    }
}
