//! Calls inserted into the bytecode of CPython 3.11, which has no other way to
//! tell of lines without slowing everything down.
//!
//! A call goes in wherever the interpreter's own tracing would tell of a line,
//! at the beginning and end of every call, and around every place where a
//! generator or coroutine is suspended. What the code does, its line numbers and
//! its handlers stay the same. This is pure: bytes in, bytes out.

mod decode;
mod emit;
mod plan;
mod tables;

/// A code object's parts.
#[derive(Clone, Debug, Default)]
pub struct Original {
    /// `co_code`.
    pub code: Vec<u8>,
    /// `co_positions()`, one for every two bytes of code.
    pub positions: Vec<Position>,
    /// `co_exceptiontable`.
    pub exceptions: Vec<u8>,
    /// `co_firstlineno`.
    pub first_line: u32,
    /// How many constants it has.
    pub constants: usize,
}

/// Where an instruction comes from; a line of 0 stands for nowhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Its line.
    pub line: u32,
    /// Its last line.
    pub end_line: u32,
    /// Its columns, if they are known.
    pub columns: Option<(u32, u32)>,
}

/// What an inserted call tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// The function begins.
    Start,
    /// A line begins.
    Line(u32),
    /// A suspended function goes on in a line.
    Resume(u32),
    /// The function ends or is suspended.
    Stop,
}

/// A code object's parts with the calls in.
#[derive(Clone, Debug, Default)]
pub struct Rewritten {
    /// `co_code`.
    pub code: Vec<u8>,
    /// `co_linetable`.
    pub lines: Vec<u8>,
    /// `co_exceptiontable`.
    pub exceptions: Vec<u8>,
    /// What to call: further constants, in this order.
    pub calls: Vec<Call>,
    /// How much deeper its stack becomes.
    pub more_stack: u32,
}

/// Inserts the calls.
///
/// # Errors
///
/// Half a sentence, when the code is not as the compiler of 3.11 makes it.
pub fn insert_calls(original: &Original) -> Result<Rewritten, &'static str> {
    let instructions = decode::decode(original)?;
    let plan = plan::plan(&instructions, original.constants)?;
    emit::emit(&plan, original.first_line)
}
