//! A dump for people.

use tachograph_capture::attach::{Dump, FrameDump, Task, ThreadDump};
use tachograph_profile::ThreadState;
use tachograph_profile::export::Style;

use super::lines::Lines;

/// Columns of a function's name, and of its place.
const FUNCTION: usize = 22;
const PLACE: usize = 22;

/// `dump` as text.
pub(super) fn of(dump: &Dump, style: &Style) -> String {
    let mut page = Page { style, lines: Lines::of(dump.pid), text: String::new() };
    page.head(dump);
    for thread in &dump.threads {
        page.thread(thread);
    }
    if !dump.tasks.is_empty() {
        page.tasks(&dump.tasks);
    }
    page.text.truncate(page.text.trim_end().len());
    page.text
}

struct Page<'a> {
    style: &'a Style,
    lines: Lines,
    text: String,
}

impl Page<'_> {
    fn line(&mut self, text: &str) {
        let shown = |letter: char| if letter.is_control() { '\u{fffd}' } else { letter };
        let mut text: String = text.trim_end().chars().map(shown).collect();
        if text.chars().count() > self.style.width {
            let keep = self.style.width.saturating_sub(1).max(20);
            text = text.chars().take(keep).collect();
            text.push(if self.style.unicode { '…' } else { '~' });
        }
        self.text.push_str(&text);
        self.text.push('\n');
    }

    /// A line that stands out on a terminal.
    fn title(&mut self, name: &str, rest: &str) {
        let before = self.text.len();
        self.line(&format!("{name}{rest}"));
        if self.style.color && self.text.get(before..).is_some_and(|line| line.starts_with(name)) {
            self.text.insert_str(before + name.len(), "\x1b[0m");
            self.text.insert_str(before, "\x1b[1m");
        }
    }

    fn head(&mut self, dump: &Dump) {
        let holder = dump.threads.iter().find(|thread| thread.holds_gil);
        let lock = match (dump.free_threaded, holder) {
            (true, _) => "no GIL in this build".to_owned(),
            (false, Some(holder)) => format!("GIL held by {}", holder.name),
            (false, None) => "GIL free".to_owned(),
        };
        let count = dump.threads.len();
        let threads = if count == 1 { "1 thread".to_owned() } else { format!("{count} threads") };
        let rest = format!(" ({}) CPython {}, {threads}, {lock}", dump.pid, dump.version);
        self.title(&dump.title, &rest);
        self.text.push('\n');
    }

    fn thread(&mut self, thread: &ThreadDump) {
        let mut doing = match thread.state {
            ThreadState::Running | ThreadState::RunningWithGil => "on CPU".to_owned(),
            ThreadState::WaitingForGil => "waiting for the GIL".to_owned(),
            ThreadState::Idle if thread.waits_in.is_empty() => "waiting".to_owned(),
            ThreadState::Idle => format!("waiting in {}", thread.waits_in),
            ThreadState::Unknown => thread.problem.to_owned(),
        };
        if thread.holds_gil {
            doing.push_str(", holds the GIL");
        }
        if let Some(task) = &thread.task {
            doing.push_str(&format!(", runs task {task}"));
        }
        self.title(&thread.name, &format!(" ({}) {doing}", thread.tid));
        for frame in &thread.frames {
            self.frame(frame);
        }
        self.text.push('\n');
    }

    fn frame(&mut self, frame: &FrameDump) {
        let mark = match (frame.is_native, self.style.unicode) {
            (true, true) => "▪ ",
            (true, false) => "* ",
            (false, _) => "",
        };
        let function = format!("{mark}{}", frame.function);
        let place = place(&frame.file, frame.line);
        let source = self.lines.line(&frame.file, frame.line);
        let source = source.unwrap_or_default();
        self.line(&format!("    {function:FUNCTION$}  {place:PLACE$}  {source}"));
        for (name, value) in &frame.locals {
            self.line(&format!("        {name} = {value}"));
        }
    }

    fn tasks(&mut self, tasks: &[Task]) {
        self.title("tasks", "");
        let arrow = if self.style.unicode { "  ←  " } else { "  <-  " };
        for task in tasks {
            let steps = task.awaits.iter().rev();
            let steps =
                steps.map(|step| format!("{} {}", step.function, place(&step.file, step.line)));
            let chain = steps.collect::<Vec<_>>().join(arrow);
            let waits = match task.waits_for.as_str() {
                "" => "in  ".to_owned(),
                awaited => format!("waiting for {awaited} in  "),
            };
            self.line(&format!("    {}  {waits}{chain}", task.name));
        }
    }
}

/// `ops.py:44`, or `libc.so.6` for a native frame.
fn place(file: &str, line: u32) -> String {
    let name = file.rsplit('/').next().unwrap_or_default();
    if line == 0 { name.to_owned() } else { format!("{name}:{line}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tachograph_capture::attach::Await;

    fn frame(function: &str, file: &str, line: u32) -> FrameDump {
        let is_native = line == 0;
        let locals = Vec::new();
        FrameDump { function: function.into(), file: file.into(), line, is_native, locals }
    }

    #[test]
    fn a_dump_says_who_does_what_and_who_holds_the_lock() {
        let thread = |name: &str, tid, state, holds_gil, frames| ThreadDump {
            tid,
            name: name.into(),
            state,
            waits_in: "futex".into(),
            holds_gil,
            task: None,
            frames,
            problem: "",
        };
        let await_step =
            Await { function: "download".into(), file: "/app/data.py".into(), line: 120 };
        let dump = Dump {
            pid: 1 << 22,
            title: "train.py".into(),
            version: "3.12.1".into(),
            free_threaded: false,
            threads: vec![
                thread(
                    "MainThread",
                    1,
                    ThreadState::RunningWithGil,
                    true,
                    vec![frame("matmul", "/app/ops.py", 44)],
                ),
                thread(
                    "loader-1",
                    2,
                    ThreadState::Idle,
                    false,
                    vec![frame("pthread_cond_wait", "/lib/libc.so.6", 0)],
                ),
            ],
            tasks: vec![Task {
                name: "fetch-3".into(),
                awaits: vec![await_step],
                waits_for: "Future".into(),
            }],
        };

        let text = of(&dump, &Style { color: false, width: 110, unicode: true });

        assert_eq!(
            text,
            "train.py (4194304) CPython 3.12.1, 2 threads, GIL held by MainThread\n\n\
             MainThread (1) on CPU, holds the GIL\n    matmul                  ops.py:44\n\n\
             loader-1 (2) waiting in futex\n    ▪ pthread_cond_wait     libc.so.6\n\n\
             tasks\n    fetch-3  waiting for Future in  download data.py:120"
        );
    }
}
