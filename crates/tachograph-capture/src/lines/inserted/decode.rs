//! Bytes as instructions.

use super::tables::read_handlers;
use super::{Original, Position};

/// Opcodes of CPython 3.11 that matter here.
pub(super) mod op {
    pub(crate) const POP_TOP: u8 = 1;
    pub(crate) const PUSH_NULL: u8 = 2;
    pub(crate) const NOP: u8 = 9;
    pub(crate) const RETURN_VALUE: u8 = 83;
    pub(crate) const YIELD_VALUE: u8 = 86;
    pub(crate) const LOAD_CONST: u8 = 100;
    pub(crate) const JUMP_FORWARD: u8 = 110;
    pub(crate) const RERAISE: u8 = 119;
    pub(crate) const SEND: u8 = 123;
    pub(crate) const RAISE_VARARGS: u8 = 130;
    pub(crate) const JUMP_BACKWARD_NO_INTERRUPT: u8 = 134;
    pub(crate) const JUMP_BACKWARD: u8 = 140;
    pub(crate) const EXTENDED_ARG: u8 = 144;
    pub(crate) const RESUME: u8 = 151;
    pub(crate) const PRECALL: u8 = 166;
    pub(crate) const CALL: u8 = 171;
    pub(crate) const KW_NAMES: u8 = 172;
}

/// One instruction, its prefixes included.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    pub(super) op: u8,
    pub(super) arg: u32,
    pub(super) position: Position,
    /// The instruction it may jump to.
    pub(super) target: Option<usize>,
    pub(super) handler: Option<Handler>,
}

/// Where an exception goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handler {
    pub(super) target: usize,
    pub(super) depth: u32,
    /// The instruction that failed is put on the stack.
    pub(super) tells_where: bool,
}

/// Where a jump goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Forward,
    Backward,
}

/// Whether an instruction jumps, and which way.
pub(super) fn jumps(op: u8) -> Option<Way> {
    match op {
        93 | 110 | 111 | 112 | 114 | 115 | 123 | 128 | 129 => Some(Way::Forward),
        134 | 140 | 173..=176 => Some(Way::Backward),
        _ => None,
    }
}

/// Units of room that the interpreter wants behind an instruction.
pub(super) fn caches(op: u8) -> usize {
    match op {
        60 | 92 | 122 | 166 => 1,
        107 => 2,
        25 | 95 | 106 | 171 => 4,
        116 => 5,
        160 => 10,
        _ => 0,
    }
}

/// Whether control never goes on behind an instruction.
pub(super) fn ends(op: u8) -> bool {
    matches!(
        op,
        op::RETURN_VALUE
            | op::JUMP_FORWARD
            | op::JUMP_BACKWARD
            | op::JUMP_BACKWARD_NO_INTERRUPT
            | op::RAISE_VARARGS
            | op::RERAISE
    )
}

/// The instructions of `original`, jumps and handlers by their number.
pub(super) fn decode(original: &Original) -> Result<Vec<Instruction>, &'static str> {
    let units = original.code.len() / 2;
    // Which instruction begins at a unit, and which unit follows an instruction.
    let mut begins = vec![None; units + 1];
    let mut followed_by = Vec::new();
    let mut list: Vec<Instruction> = Vec::new();
    let (mut at, mut begin, mut prefix) = (0, 0, 0u32);
    while let Some(&[op, arg]) = original.code.get(2 * at..2 * at + 2) {
        let arg = (prefix << 8) | u32::from(arg);
        if op == op::EXTENDED_ARG {
            prefix = arg;
            at += 1;
            continue;
        }
        *begins.get_mut(begin).ok_or("its code is cut off")? = Some(list.len());
        let position = original.positions.get(at).copied().unwrap_or_default();
        list.push(Instruction { op, arg, position, target: None, handler: None });
        at += 1 + caches(op);
        followed_by.push(at);
        (begin, prefix) = (at, 0);
    }
    let found = |unit: usize| begins.get(unit).copied().flatten().ok_or("a jump goes nowhere");
    for (instruction, next) in list.iter_mut().zip(&followed_by) {
        let distance = instruction.arg as usize;
        instruction.target = match jumps(instruction.op) {
            Some(Way::Forward) => Some(found(next + distance)?),
            Some(Way::Backward) => {
                Some(found(next.checked_sub(distance).ok_or("a jump goes nowhere")?)?)
            }
            None => None,
        };
    }
    for row in read_handlers(&original.exceptions)? {
        let handler =
            Handler { target: found(row.target)?, depth: row.depth, tells_where: row.tells_where };
        for begin in row.start..(row.start + row.size).min(units) {
            if let Some(instruction) =
                begins.get(begin).copied().flatten().and_then(|at| list.get_mut(at))
            {
                instruction.handler = Some(handler);
            }
        }
    }
    Ok(list)
}
