//! One thread of another process: what the kernel says of it.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::attach::read::snapshot::Habit;

/// What a thread does at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// It is on a processor, or could be.
    Running,
    /// It waits, and stands still as long as its CPU clock does.
    Waiting(Wait),
    /// It is no more.
    Ended,
}

/// Where a thread waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wait {
    /// The system call; -1 outside of one.
    pub(crate) call: i64,
    /// Its first argument.
    pub(crate) argument: u64,
    /// Stack and instruction pointer; 0 when not known.
    pub(crate) sp: u64,
    pub(crate) ip: u64,
}

/// One thread; its files are kept open while it lives.
#[derive(Debug)]
pub(crate) struct Thread {
    /// The kernel's id.
    pub(crate) tid: i32,
    /// The id the thread itself sees, in its own namespace.
    pub(crate) inner: i32,
    /// What the interpreter keeps of it: one state per interpreter it works for.
    pub(crate) states: Vec<u64>,
    /// What reading it touches.
    pub(crate) habit: Habit,
    call: Option<File>,
    clock: Option<File>,
    stat: Option<File>,
}

impl Thread {
    /// Thread `tid` of process `pid`; `None` when it has ended.
    pub(crate) fn open(pid: i32, tid: i32) -> Option<Self> {
        let open = |name: &str| File::open(format!("/proc/{pid}/task/{tid}/{name}")).ok();
        let (call, clock) = (open("syscall"), open("schedstat"));
        let stat = if call.is_none() || clock.is_none() { Some(open("stat")?) } else { None };
        let inner = inner_id(pid, tid).unwrap_or(tid);
        let (states, habit) = (Vec::new(), Habit::default());
        Some(Self { tid, inner, states, habit, call, clock, stat })
    }

    /// What it does now.
    pub(crate) fn doing(&self) -> Doing {
        let mut text = [0; 256];
        let Some(file) = &self.call else {
            return self.by_letter();
        };
        let Ok(length @ 1..) = file.read_at(&mut text, 0) else {
            return Doing::Ended;
        };
        let text = String::from_utf8_lossy(text.get(..length).unwrap_or_default());
        if text.starts_with("running") {
            return Doing::Running;
        }
        let wait = wait(&text).unwrap_or_default();
        // A thread that has ended and was not waited for has no stack.
        if wait.sp == 0 { Doing::Ended } else { Doing::Waiting(wait) }
    }

    fn by_letter(&self) -> Doing {
        let mut text = [0; 256];
        let length = self.stat.as_ref().and_then(|file| file.read_at(&mut text, 0).ok());
        let text = text.get(..length.unwrap_or(0)).unwrap_or_default();
        let end = text.iter().rposition(|byte| *byte == b')').unwrap_or(text.len());
        match text.get(end + 2) {
            None | Some(b'Z' | b'X') => Doing::Ended,
            Some(b'R') => Doing::Running,
            Some(_) => Doing::Waiting(Wait { call: -1, ..Wait::default() }),
        }
    }

    /// Its CPU time in nanoseconds. Exact while it does not run, else a few
    /// milliseconds behind; `None` when it has ended.
    pub(crate) fn cpu_ns(&self) -> Option<u64> {
        let mut text = [0; 512];
        if let Some(clock) = &self.clock {
            let length = clock.read_at(&mut text, 0).ok().filter(|length| *length > 0)?;
            let digits = text.get(..length)?.split(|byte| *byte == b' ').next()?;
            return std::str::from_utf8(digits).ok()?.parse().ok();
        }
        let length = self.stat.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = String::from_utf8_lossy(text.get(..length)?);
        let mut fields = text.rsplit_once(") ")?.1.split(' ').skip(11);
        let ticks = |text: Option<&str>| text?.parse::<u64>().ok();
        // The kernel shows times to user programs in hundredths of a second.
        Some((ticks(fields.next())? + ticks(fields.next())?) * 10_000_000)
    }

    /// The name the kernel keeps; at most 15 bytes.
    pub(crate) fn name(&self, pid: i32) -> String {
        let text = std::fs::read_to_string(format!("/proc/{pid}/task/{}/comm", self.tid));
        text.map(|text| text.trim_end().to_owned()).unwrap_or_default()
    }
}

fn wait(text: &str) -> Option<Wait> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let call = words.first()?.parse().ok()?;
    let hex = |word: &&str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let (ip, sp) = (hex(words.last()?)?, hex(words.get(words.len().checked_sub(2)?)?)?);
    let argument = if words.len() > 3 { hex(words.get(1)?)? } else { 0 };
    Some(Wait { call, argument, sp, ip })
}

/// The id that thread `tid` sees itself, in the innermost namespace.
fn inner_id(pid: i32, tid: i32) -> Option<i32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_whitespace().next_back()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_read_with_and_without_a_system_call() {
        let futex = "202 0x7f01 0x189 0x0 0x0 0x0 0xffffffff 0x7ffd10 0x7f99\n";
        let expected = Wait { call: 202, argument: 0x7f01, sp: 0x7f_fd10, ip: 0x7f99 };
        assert_eq!(wait(futex), Some(expected));
        let outside = Wait { call: -1, argument: 0, sp: 0x10, ip: 0x20 };
        assert_eq!(wait("-1 0x10 0x20"), Some(outside));
        assert_eq!(wait(""), None);
    }

    #[test]
    fn a_thread_that_works_runs_and_one_that_sleeps_waits() {
        let pid = crate::sys::threads::process_id();
        let (send, receive) = std::sync::mpsc::channel();
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let spins = std::thread::spawn({
            let send = send.clone();
            move || {
                send.send(crate::sys::threads::own_id()).unwrap();
                while wait.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {}
            }
        });
        let busy = Thread::open(pid, receive.recv().unwrap()).unwrap();
        assert_eq!(busy.doing(), Doing::Running);
        drop(done);
        spins.join().unwrap();

        // A thread is joined a moment before the kernel is done with it.
        while busy.doing() == Doing::Running {
            std::thread::yield_now();
        }
        assert_eq!(busy.doing(), Doing::Ended);
        assert!(Thread::open(pid, 1 << 22).is_none());
    }
}
