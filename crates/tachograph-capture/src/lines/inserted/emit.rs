//! Items as bytes.

use super::decode::{caches, op};
use super::plan::{Arg, Plan};
use super::tables::{Row, write_handler, write_lines};
use super::{Position, Rewritten};

/// What a call needs on the stack, and an exception with its place.
const MORE_STACK: u32 = 4;

/// Writes the code and its tables.
pub(super) fn emit(plan: &Plan, first_line: u32) -> Result<Rewritten, &'static str> {
    let Settled { starts, widths, args } = settled(plan)?;
    let end = |at: usize| starts[at + 1];
    let mut code = Vec::new();
    for ((item, arg), width) in plan.items.iter().zip(&args).zip(&widths) {
        for prefix in (1..=*width).rev() {
            code.extend([op::EXTENDED_ARG, (arg >> (8 * prefix)) as u8]);
        }
        code.extend([item.op, *arg as u8]);
        code.resize(code.len() + 2 * caches(item.op), 0);
    }
    let runs = plan.items.iter().enumerate();
    let runs =
        runs.map(|(at, item)| -> (Position, usize) { (item.position, end(at) - starts[at]) });
    let lines = write_lines(runs, first_line);
    let mut exceptions = Vec::new();
    let mut at = 0;
    while let Some(item) = plan.items.get(at) {
        let begin = at;
        while plan.items.get(at).is_some_and(|other| other.handler == item.handler) {
            at += 1;
        }
        if let Some(to) = item.handler {
            let (start, target) = (starts[begin], starts[plan.labels[to.label]]);
            let size = starts[at] - start;
            let (depth, tells_where) = (to.depth, to.tells_where);
            write_handler(&mut exceptions, Row { start, size, target, depth, tells_where });
        }
    }
    Ok(Rewritten { code, lines, exceptions, calls: plan.calls.clone(), more_stack: MORE_STACK })
}

struct Settled {
    /// Where each item begins, in units; at the end, where the code ends.
    starts: Vec<usize>,
    /// How many prefixes each has.
    widths: Vec<usize>,
    args: Vec<u32>,
}

/// Finds every item's place and argument. A longer argument moves
/// what follows, so this is repeated until nothing moves any more.
fn settled(plan: &Plan) -> Result<Settled, &'static str> {
    let mut widths = vec![0; plan.items.len()];
    loop {
        let mut starts = vec![0];
        let mut next = 0;
        for (item, width) in plan.items.iter().zip(&widths) {
            next += width + 1 + caches(item.op);
            starts.push(next);
        }
        let place = |label: usize| starts[plan.labels[label]];
        let mut args = Vec::new();
        for (at, item) in plan.items.iter().enumerate() {
            let end = starts[at + 1];
            let arg = match item.arg {
                Arg::Value(value) => Some(value as usize),
                Arg::Forward(label) => place(label).checked_sub(end),
                Arg::Backward(label) => end.checked_sub(place(label)),
                Arg::FromNext(label) => place(label).checked_sub(end).filter(|far| *far < 256),
            };
            let arg = arg.and_then(|arg| u32::try_from(arg).ok());
            args.push(arg.ok_or("a jump in it is of no kind that is known")?);
        }
        let mut moved = false;
        for (width, arg) in widths.iter_mut().zip(&args) {
            let needed = prefixes(*arg);
            moved |= needed > *width;
            *width = needed.max(*width);
        }
        if !moved {
            return Ok(Settled { starts, widths, args });
        }
    }
}

/// Prefixes that an argument needs.
fn prefixes(arg: u32) -> usize {
    (u32::BITS - arg.leading_zeros()).div_ceil(8).saturating_sub(1) as usize
}
