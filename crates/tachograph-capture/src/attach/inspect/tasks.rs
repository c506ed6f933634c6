//! Tasks of asyncio in another process, and what each waits for.

use std::fs::File;

use tachograph_probe::code::{fingerprint, position};
use tachograph_probe::layout::Layout;
use tachograph_probe::memory::ReadMemory;
use tachograph_probe::names::{attribute, dict_item, is_kind_of, name_of_task, type_of};

use crate::attach::find::image::Image;
use crate::attach::find::maps::mapped;
use crate::attach::find::sections;
use crate::attach::find::target::{Target, file_of};
use crate::attach::inspect::values::type_name;
use crate::collect::task_name;
use crate::python::{CodeInfo, thread_states};

/// Tasks that are listed.
const MOST_TASKS: usize = 10_000;
/// Coroutines of one chain that are followed.
const LONGEST_CHAIN: usize = 64;
/// More slots than a set of tasks has.
const MOST_SLOTS: u64 = 1 << 20;

/// Slots of a suspended frame's stack above what it waits for, and that one.
const MOST_ON_TOP: u64 = 3;
/// No object lies below this address.
const LOWEST_OBJECT: u64 = 4096;

/// One coroutine of a chain of awaits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Await {
    /// Its qualified name.
    pub function: String,
    /// Its file.
    pub file: String,
    /// The line it stands on.
    pub line: u32,
}

/// A task that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// What it is called.
    pub name: String,
    /// Its coroutine and the ones that coroutine waits for, outermost first.
    pub awaits: Vec<Await>,
    /// What the innermost one waits for, such as `Future` or the name of a task;
    /// empty while the task runs.
    pub waits_for: String,
}

struct Place<'a, M> {
    memory: &'a M,
    layout: &'a Layout,
}

/// The tasks of all event loops of `target`, in name order.
pub(crate) fn tasks<M: ReadMemory>(memory: &M, target: &Target) -> Vec<Task> {
    let layout = &target.interpreter.layout;
    let place = Place { memory, layout };
    if layout.task_coroutine == 0 {
        return Vec::new();
    }
    let found =
        if layout.minor >= 14 { place.linked_tasks(target) } else { place.weak_tasks(target) };
    let mut tasks: Vec<Task> =
        found.unwrap_or_default().into_iter().filter_map(|task| place.task(task)).collect();
    tasks.sort_by_key(|task| natural(&task.name));
    tasks
}

/// `Task-10` comes after `Task-9`.
fn natural(name: &str) -> (String, u64) {
    let digits = name.chars().rev().take_while(char::is_ascii_digit).count();
    let (text, number) = name.split_at(name.len() - digits);
    (text.to_owned(), number.parse().unwrap_or(0))
}

impl<M: ReadMemory> Place<'_, M> {
    fn word(&self, address: u64, offset: u32) -> Option<u64> {
        self.memory.word(address.wrapping_add(u64::from(offset)))
    }

    /// Up to 3.13 asyncio keeps its tasks in a weak set.
    fn weak_tasks(&self, target: &Target) -> Option<Vec<u64>> {
        let layout = self.layout;
        let interpreter = self.word(target.interpreter.runtime, layout.runtime_interpreters)?;
        let modules = self.word(interpreter, layout.interpreter_modules)?;
        let module = dict_item(self.memory, layout, modules, b"asyncio.tasks")?;
        let names = self.word(module, layout.module_dict)?;
        let set: &[u8] = if layout.minor < 12 { b"_all_tasks" } else { b"_scheduled_tasks" };
        let set = dict_item(self.memory, layout, names, set)?;
        let members = attribute(self.memory, layout, set, b"data")?;
        let (slots, table) =
            (self.word(members, layout.set_mask)?, self.word(members, layout.set_table)?);
        let mut tasks = Vec::new();
        for slot in 0..=slots.min(MOST_SLOTS) {
            let reference = self.memory.word(table.wrapping_add(slot * 16))?;
            if self.is_reference(reference)
                && let Some(task) = self.word(reference, layout.weakref_object)
                && tasks.len() < MOST_TASKS
            {
                tasks.push(task);
            }
        }
        Some(tasks)
    }

    fn is_reference(&self, object: u64) -> bool {
        let is_called = |name| is_kind_of(self.memory, self.layout, object, name) == Some(true);
        object != 0 && (is_called(b"weakref") || is_called(b"weakref.ReferenceType"))
    }

    /// From 3.14 on every thread has a list of its tasks, and `_asyncio` says where.
    fn linked_tasks(&self, target: &Target) -> Option<Vec<u64>> {
        let maps = mapped(target.pid).ok()?;
        let has_tasks = |name: &str| name.starts_with("_asyncio.") || name.contains("python3");
        let objects = maps.iter().filter(|object| has_tasks(object.file_name()));
        let section = objects.filter_map(|object| {
            let image = Image::at(self.memory, object.start)?;
            let file = File::open(file_of(target.pid, object)).ok()?;
            sections::section(&file, image.bias, b".AsyncioDebug")
        });
        let said = section.map(|section| section.start).next()?;
        let offset = |index: u64| self.memory.word(said.wrapping_add(8 * index));
        let (node, head) = (offset(6)?, offset(12)?);
        let mut tasks = Vec::new();
        let runtime = target.interpreter.runtime;
        for state in thread_states(self.memory, self.layout, runtime) {
            let head = state.address.wrapping_add(head);
            let mut next = self.memory.word(head)?;
            while next != head && next != 0 && tasks.len() < MOST_TASKS {
                tasks.push(next.wrapping_sub(node));
                next = self.memory.word(next)?;
            }
        }
        Some(tasks)
    }

    fn task(&self, task: u64) -> Option<Task> {
        let name = task_name(&name_of_task(self.memory, self.layout, task)?).into();
        let mut coroutine = self.word(task, self.layout.task_coroutine)?;
        let (mut awaits, mut waits_for) = (Vec::new(), String::new());
        for _ in 0..LONGEST_CHAIN {
            let Some((step, next)) = self.coroutine(coroutine) else { break };
            awaits.push(step);
            let Some(next) = next else { break };
            match self.kind(next).as_str() {
                "coroutine" | "generator" => coroutine = next,
                "coroutine_wrapper" => {
                    let Some(wrapped) = self.field(next) else { break };
                    coroutine = wrapped;
                }
                _ => {
                    waits_for = self.awaited(next);
                    break;
                }
            }
        }
        // A task that is done has no coroutine any more.
        (!awaits.is_empty()).then_some(Task { name, awaits, waits_for })
    }

    /// Where a coroutine stands, and what it waits for.
    fn coroutine(&self, coroutine: u64) -> Option<(Await, Option<u64>)> {
        let layout = self.layout;
        let kind = self.kind(coroutine);
        if !matches!(kind.as_str(), "coroutine" | "generator") {
            return None;
        }
        let frame = coroutine.wrapping_add(u64::from(layout.generator_frame));
        let frame = if layout.has_frame_objects() { self.memory.word(frame)? } else { frame };
        let code = layout.untag(self.word(frame, layout.frame_code)?);
        let print = fingerprint(self.memory, layout, code)?;
        let info = CodeInfo::read(self.memory, layout, code, print)?;
        let line = info.line(self.position(frame, code)?);
        let step = Await { function: info.qualname, file: info.filename, line };
        let awaited =
            if self.is_suspended(coroutine)? { self.top_of_stack(frame, code) } else { None };
        Some((step, awaited))
    }

    /// Whether a coroutine waits. The stack of one that runs may hold anything.
    fn is_suspended(&self, coroutine: u64) -> Option<bool> {
        let layout = self.layout;
        if layout.has_frame_objects() {
            // A frame that runs has no top of its stack.
            return Some(true);
        }
        // The last of four bytes that stand, with padding behind them, before the frame.
        let flags = coroutine.wrapping_add(u64::from(layout.generator_frame)).wrapping_sub(8);
        let state = self.memory.half(flags)?.to_le_bytes()[3].cast_signed();
        Some(match layout.minor {
            ..=12 => state == -1,
            13 | 14 => matches!(state, -2 | -1),
            _ => matches!(state, 1..=3),
        })
    }

    /// How many bytes into its bytecode a frame stands.
    fn position(&self, frame: u64, code: u64) -> Option<i32> {
        let layout = self.layout;
        let at = frame.wrapping_add(u64::from(layout.frame_instruction));
        if layout.has_frame_objects() {
            let last = self.memory.signed_half(at)?;
            return Some(if layout.minor == 10 { last.saturating_mul(2) } else { last });
        }
        position(self.memory, layout, frame, code, self.memory.word(at)?)
    }

    /// The innermost value of a suspended frame: what it waits for.
    fn top_of_stack(&self, frame: u64, code: u64) -> Option<u64> {
        let layout = self.layout;
        let at = frame.wrapping_add(u64::from(layout.frame_stack_top));
        let end = match layout.minor {
            9 | 14.. => self.memory.word(at)?,
            10 => {
                let depth = self.memory.signed_half(at)?;
                let values = self.word(frame, layout.frame_values)?;
                values.wrapping_add(8 * u64::try_from(depth).ok()?)
            }
            _ => {
                let depth = u64::try_from(self.memory.signed_half(at)?).ok()?;
                let locals = self.memory.half(code.wrapping_add(u64::from(layout.code_locals)))?;
                if depth <= u64::from(locals) {
                    return None;
                }
                frame.wrapping_add(u64::from(layout.frame_locals)).wrapping_add(8 * depth)
            }
        };
        // 3.15 keeps a number on top of what is waited for.
        (1..=MOST_ON_TOP).find_map(|depth| {
            let slot = self.memory.word(end.checked_sub(8 * depth)?)?;
            let value = layout.untag(slot);
            (value > LOWEST_OBJECT && !self.kind(value).is_empty()).then_some(value)
        })
    }

    /// What an object that is awaited is called.
    fn awaited(&self, object: u64) -> String {
        let kind = self.kind(object);
        if !kind.ends_with("FutureIter") {
            return kind;
        }
        let future = self.field(object).unwrap_or(0);
        let is_task = is_kind_of(self.memory, self.layout, future, b"_asyncio.Task") == Some(true);
        if is_task && let Some(name) = name_of_task(self.memory, self.layout, future) {
            return format!("task {}", task_name(&name));
        }
        let kind = self.kind(future);
        kind.rsplit('.').next().unwrap_or_default().to_owned()
    }

    /// The field right behind an object's head.
    fn field(&self, object: u64) -> Option<u64> {
        self.word(object, self.layout.module_dict).filter(|field| *field != 0)
    }

    fn kind(&self, object: u64) -> String {
        let kind = type_of(self.memory, self.layout, object);
        kind.map(|kind| type_name(self.memory, self.layout, kind)).unwrap_or_default()
    }
}
