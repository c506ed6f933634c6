//! A dump for programs.

use serde_json::{Value, json};

use tachograph_capture::attach::{Dump, FrameDump, Task, ThreadDump};
use tachograph_profile::ThreadState;

/// `dump` as JSON.
pub(super) fn of(dump: &Dump) -> Value {
    json!({
        "pid": dump.pid,
        "program": dump.title,
        "python": dump.version,
        "free_threaded": dump.free_threaded,
        "threads": dump.threads.iter().map(thread).collect::<Vec<_>>(),
        "tasks": dump.tasks.iter().map(task).collect::<Vec<_>>(),
    })
}

fn thread(thread: &ThreadDump) -> Value {
    let state = match thread.state {
        ThreadState::Running | ThreadState::RunningWithGil => "running",
        ThreadState::WaitingForGil => "waiting for the GIL",
        ThreadState::Idle => "waiting",
        ThreadState::Unknown => "unknown",
    };
    json!({
        "id": thread.tid,
        "name": thread.name,
        "state": state,
        "holds_gil": thread.holds_gil,
        "waits_in": thread.waits_in,
        "task": thread.task,
        "problem": thread.problem,
        "frames": thread.frames.iter().map(frame).collect::<Vec<_>>(),
    })
}

fn frame(frame: &FrameDump) -> Value {
    let locals: serde_json::Map<String, Value> =
        frame.locals.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({
        "function": frame.function,
        "file": frame.file,
        "line": frame.line,
        "native": frame.is_native,
        "locals": locals,
    })
}

fn task(task: &Task) -> Value {
    let step = |step: &tachograph_capture::attach::Await| json!({"function": step.function, "file": step.file, "line": step.line});
    json!({
        "name": task.name,
        "waits_for": task.waits_for,
        "awaits": task.awaits.iter().map(step).collect::<Vec<_>>(),
    })
}
