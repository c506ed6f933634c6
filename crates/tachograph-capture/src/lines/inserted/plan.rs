//! Where the calls go.

use super::decode::{Handler, Instruction, ends, op};
use super::{Call, Position};

/// A place that jumps and handlers refer to.
pub(super) type Label = usize;

/// The code to be, item by item.
pub(super) struct Plan {
    pub(super) items: Vec<Item>,
    /// Which item each label stands before.
    pub(super) labels: Vec<usize>,
    pub(super) calls: Vec<Call>,
}

/// One instruction to be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) op: u8,
    pub(super) arg: Arg,
    pub(super) position: Position,
    pub(super) handler: Option<To>,
}

/// An instruction's argument.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arg {
    Value(u32),
    Forward(Label),
    Backward(Label),
    /// How far a label is from the next item: what the interpreter reads when
    /// an exception is thrown into something that is awaited.
    FromNext(Label),
}

/// Where an exception goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct To {
    pub(super) label: Label,
    pub(super) depth: u32,
    pub(super) tells_where: bool,
}

/// Decides where the calls go; they are the constants from `constants` on.
pub(super) fn plan(code: &[Instruction], constants: usize) -> Result<Plan, &'static str> {
    let entry = code.iter().position(|one| one.op == op::RESUME).ok_or("it has no beginning")?;
    let mut planner = Planner::new(code, entry, constants);
    for at in 0..code.len() {
        planner.instruction(at);
    }
    planner.thrown_into();
    planner.left_by_exception();
    Ok(planner.plan)
}

struct Planner<'a> {
    code: &'a [Instruction],
    /// The instruction where the function begins.
    entry: usize,
    constants: usize,
    /// Whether a jump or an exception that needs a call goes to an instruction.
    is_hooked: Vec<bool>,
    /// Suspended places with a handler: its label, the line, the handler.
    suspended: Vec<(Label, u32, To)>,
    plan: Plan,
}

impl<'a> Planner<'a> {
    fn new(code: &'a [Instruction], entry: usize, constants: usize) -> Self {
        let plan =
            Plan { items: Vec::new(), labels: vec![0; 2 * code.len() + 1], calls: Vec::new() };
        let is_hooked = vec![false; code.len()];
        let mut planner = Self { code, entry, constants, is_hooked, suspended: Vec::new(), plan };
        for (at, one) in code.iter().enumerate() {
            if let Some(target) = one.target.filter(|target| planner.jump_tells(at, *target)) {
                planner.is_hooked[target] = true;
            }
            if let Some(handler) = one.handler.filter(|handler| planner.is_traced(handler.target)) {
                planner.is_hooked[handler.target] = true;
            }
        }
        planner
    }

    /// Before the instruction itself.
    fn plain(at: usize) -> Label {
        2 * at
    }

    /// Before the call that tells of its line, if there is one.
    fn hooked(at: usize) -> Label {
        2 * at + 1
    }

    /// Where exceptions go that leave the function.
    fn outermost(&self) -> To {
        To { label: 2 * self.code.len(), depth: 0, tells_where: true }
    }

    /// Whether the interpreter's tracing looks at an instruction.
    fn is_traced(&self, at: usize) -> bool {
        at > self.entry && self.code[at].position.line != 0 && self.code[at].op != op::RESUME
    }

    /// Whether going on from one instruction to the next begins a line.
    fn fall_tells(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1) else { return false };
        let previous = &self.code[before];
        // The interpreter wants these instructions next to each other.
        let glued = matches!(previous.op, op::KW_NAMES | op::PRECALL | op::SEND);
        self.is_traced(at)
            && !glued
            && (before <= self.entry || previous.position.line != self.code[at].position.line)
    }

    /// Whether a jump begins a line: another one, or the same again.
    fn jump_tells(&self, from: usize, to: usize) -> bool {
        let other_line = self.code[from].position.line != self.code[to].position.line;
        self.is_traced(to) && (other_line || (to <= from && self.code[to].op != op::SEND))
    }

    fn own_handler(&self, at: usize) -> Option<To> {
        self.code[at].handler.map(|Handler { target, depth, tells_where }| To {
            label: Self::hooked(target),
            depth,
            tells_where,
        })
    }

    fn handler(&self, at: usize) -> Option<To> {
        self.own_handler(at).or_else(|| (at > self.entry).then(|| self.outermost()))
    }

    fn put(&mut self, op: u8, arg: Arg, position: Position, handler: Option<To>) {
        self.plan.items.push(Item { op, arg, position, handler });
    }

    fn label(&mut self, label: Label) {
        self.plan.labels[label] = self.plan.items.len();
    }

    fn call(&mut self, call: Call, line: u32, handler: Option<To>) {
        let known = self.plan.calls.iter().position(|known| *known == call);
        let place = known.unwrap_or_else(|| {
            self.plan.calls.push(call);
            self.plan.calls.len() - 1
        });
        let constant = (self.constants + place) as u32;
        let position = Position { line, end_line: line, columns: None };
        let steps = [
            (op::PUSH_NULL, 0),
            (op::LOAD_CONST, constant),
            (op::PRECALL, 0),
            (op::CALL, 0),
            (op::POP_TOP, 0),
        ];
        for (op, arg) in steps {
            self.put(op, Arg::Value(arg), position, handler);
        }
    }

    fn instruction(&mut self, at: usize) {
        let one = self.code[at];
        let line = one.position.line;
        let falls = at > 0 && !ends(self.code[at - 1].op);
        let fall_tells = falls && self.fall_tells(at);
        if falls && !fall_tells && self.is_hooked[at] {
            let over = Arg::Forward(Self::plain(at));
            self.put(op::JUMP_FORWARD, over, one.position, self.handler(at));
        }
        self.label(Self::hooked(at));
        if fall_tells || self.is_hooked[at] {
            self.call(Call::Line(line), line, self.handler(at));
        }
        self.label(Self::plain(at));
        match one.op {
            op::RETURN_VALUE => self.call(Call::Stop, line, self.own_handler(at)),
            op::YIELD_VALUE => self.suspend(at),
            _ => {}
        }
        let arg = match one.target {
            Some(to) => {
                let label =
                    if self.jump_tells(at, to) { Self::hooked(to) } else { Self::plain(to) };
                if to > at { Arg::Forward(label) } else { Arg::Backward(label) }
            }
            None => Arg::Value(one.arg),
        };
        let handler = self.handler_of_itself(at);
        self.put(one.op, arg, one.position, handler);
        if one.op == op::RESUME && at == self.entry {
            self.call(Call::Start, line, Some(self.outermost()));
        } else if one.op == op::RESUME {
            self.call(Call::Resume(line), line, self.handler(at));
        }
    }

    /// The call before a place where the function is suspended.
    fn suspend(&mut self, at: usize) {
        let line = self.code[at].position.line;
        let handler = self.own_handler(at);
        self.call(Call::Stop, line, handler);
        let Some(before) = at.checked_sub(1).filter(|before| self.code[*before].op == op::SEND)
        else {
            return;
        };
        // Here stood the instruction whose argument the interpreter looks at.
        if let Some(to) = self.code[before].target {
            let label =
                if self.jump_tells(before, to) { Self::hooked(to) } else { Self::plain(to) };
            self.put(op::NOP, Arg::FromNext(label), self.code[at].position, handler);
        }
    }

    /// While suspended nothing runs that could be left; what is thrown in there
    /// goes on in the function's own handler.
    fn handler_of_itself(&mut self, at: usize) -> Option<To> {
        let one = self.code[at];
        let yields = match one.op {
            op::YIELD_VALUE => at,
            op::RESUME if at > self.entry => at - 1,
            op::RETURN_VALUE => return self.own_handler(at),
            _ => return self.handler(at),
        };
        let to = self.own_handler(yields)?;
        if at == yields {
            let label = self.plan.labels.len();
            self.plan.labels.push(0);
            self.suspended.push((label, one.position.line, to));
        }
        let label = self.suspended.last().map(|(label, ..)| *label)?;
        Some(To { label, depth: to.depth, tells_where: true })
    }

    /// Where exceptions arrive that are thrown into a suspended function.
    fn thrown_into(&mut self) {
        for (label, line, to) in std::mem::take(&mut self.suspended) {
            self.label(label);
            self.call(Call::Resume(line), line, Some(to));
            let position = Position { line, end_line: line, columns: None };
            self.put(op::RERAISE, Arg::Value(1), position, Some(to));
        }
    }

    /// Where exceptions arrive that leave the function.
    fn left_by_exception(&mut self) {
        self.label(self.outermost().label);
        self.call(Call::Stop, 0, None);
        self.put(op::RERAISE, Arg::Value(1), Position::default(), None);
    }
}
