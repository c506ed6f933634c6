//! How one sample travels from a handler to the collector, as words.
//! Introductions of code (`introduce.rs`) travel between them.
//!
//! Most of a stack is as it was a moment ago, so a record holds only what is
//! new at the inner end and how many outer entries stay. A record that finds
//! no room was never written, and the next one is relative to the last that
//! was.
//!
//! ```text
//! word 0   kind 8 | flags 8 | new entries 16 | kept entries 16 | native frames 16
//! word 1   time, nanoseconds on the monotonic clock
//! TASK     address, then a name
//! THREAD   a name
//! new      two words an entry, outermost first
//! native   one word a frame, innermost first
//! ```
//!
//! A name is its length and its text, 8 bytes a word, 9 words in all. Names are
//! copied in the handler: the task or thread may be gone a moment later.

use crate::introduce::{self, Introduced};
use crate::names::{NAME_BYTES, NameBuf, TaskName, TaskRef};
use crate::ring::{Record, Ring};
use crate::walk::RawFrame;

/// What made the thread look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// The sampler's tick.
    #[default]
    Tick,
    /// A timer on the thread's CPU clock.
    Timer,
    /// A performance event.
    Perf,
}

/// What one sample says besides its stack.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// What made the thread look.
    pub kind: Kind,
    /// When, in nanoseconds on the monotonic clock.
    pub time: u64,
    /// The thread held the interpreter lock.
    pub has_gil: bool,
    /// The thread stood just after a system call.
    pub at_system_call: bool,
    /// It stood there so soon after it was asked that it may have come there since.
    pub doubtful: bool,
    /// The stack was deeper than the limit.
    pub truncated: bool,
    /// The native stack ended early.
    pub partial_native: bool,
    /// The running task is another one than in the record before.
    pub task_changed: bool,
    /// The task, when it changed and there is one.
    pub task: Option<TaskRef>,
    /// What Python calls the thread, the first time it is seen.
    pub thread_name: Option<NameBuf>,
}

const HAS_GIL: u64 = 1;
const TRUNCATED: u64 = 2;
const PARTIAL_NATIVE: u64 = 4;
const AT_SYSTEM_CALL: u64 = 8;
const TASK: u64 = 16;
const NO_TASK: u64 = 32;
const THREAD: u64 = 64;
const DOUBTFUL: u64 = 128;

const NAME_WORDS: usize = NAME_BYTES / 8;
/// A name that is a number: the length says so.
const NUMBERED: u64 = 1 << 32;

/// How many outer entries of `stack` are those of the stack `before`.
///
/// Context: signal handler.
#[must_use]
pub fn kept(before: &[RawFrame], stack: &[RawFrame]) -> usize {
    let pairs = stack.iter().rev().zip(before.iter().rev());
    pairs.take_while(|(new, old)| new == old).count()
}

/// Appends a sample whose stack is `stack` (innermost first), of which the
/// outer `kept` entries are as in the sample before. False when the ring had
/// no room.
///
/// Context: signal handler.
pub fn push<const WORDS: usize>(
    ring: &Ring<WORDS>,
    sample: &Sample,
    kept: usize,
    stack: &[RawFrame],
    native: impl ExactSizeIterator<Item = u64>,
) -> bool {
    let new = stack.len().saturating_sub(kept);
    let mut flags = 0;
    let mut length = 2 + 2 * new + native.len();
    for (set, flag) in [
        (sample.has_gil, HAS_GIL),
        (sample.truncated, TRUNCATED),
        (sample.partial_native, PARTIAL_NATIVE),
        (sample.at_system_call, AT_SYSTEM_CALL),
        (sample.doubtful, DOUBTFUL),
        (sample.task_changed && sample.task.is_some(), TASK),
        (sample.task_changed && sample.task.is_none(), NO_TASK),
        (sample.thread_name.is_some(), THREAD),
    ] {
        if set {
            flags |= flag;
        }
    }
    if flags & TASK != 0 {
        length += 2 + NAME_WORDS;
    }
    if flags & THREAD != 0 {
        length += 1 + NAME_WORDS;
    }
    let Some(mut record) = ring.begin(length) else {
        return false;
    };
    let kind = match sample.kind {
        Kind::Tick => 1,
        Kind::Timer => 2,
        Kind::Perf => 3,
    };
    record.put(
        kind | flags << 8 | (new as u64) << 16 | (kept as u64) << 32 | (native.len() as u64) << 48,
    );
    record.put(sample.time);
    if let (Some(task), true) = (&sample.task, flags & TASK != 0) {
        record.put(task.task);
        match &task.name {
            TaskName::Number(number) => {
                record.put(NUMBERED);
                record.put(*number);
                (1..NAME_WORDS).for_each(|_| record.put(0));
            }
            TaskName::Text(text) => put_name(&mut record, text),
        }
    }
    if let Some(name) = &sample.thread_name {
        put_name(&mut record, name);
    }
    for entry in stack.get(..new).unwrap_or_default().iter().rev() {
        record.put(entry.code);
        record.put(entry.place);
    }
    native.for_each(|word| record.put(word));
    record.commit();
    true
}

/// Appends a name: its length and its text.
fn put_name<const WORDS: usize>(record: &mut Record<'_, WORDS>, name: &NameBuf) {
    record.put(name.length as u64);
    for chunk in name.bytes.chunks(8) {
        let mut word = [0; 8];
        for (to, from) in word.iter_mut().zip(chunk) {
            *to = *from;
        }
        record.put(u64::from_le_bytes(word));
    }
}

/// What comes out of a ring.
#[derive(Clone, Debug)]
pub enum Message<'words> {
    /// A sample.
    Sample(Received<'words>),
    /// What an entry of the samples after it is called.
    Code(Introduced<'words>),
}

/// One sample as the collector reads it.
#[derive(Clone, Debug)]
pub struct Received<'words> {
    /// What the sample says.
    pub sample: Sample,
    /// How many outer entries of the stack before stay.
    pub kept: usize,
    /// New entries, outermost first, two words each.
    pub new: &'words [u64],
    /// Native frames, innermost first.
    pub native: &'words [u64],
}

/// Takes the first record off `words`; `None` at the end, or when the words
/// make no sense.
pub fn next<'words>(words: &mut &'words [u64]) -> Option<Message<'words>> {
    let [head] = *take(words, 1)? else { return None };
    if head & 0xff == introduce::KIND {
        return introduce::take(head, words).map(Message::Code);
    }
    sample(head, words).map(Message::Sample)
}

/// Takes the sample whose first word is `head` off `words`.
fn sample<'words>(head: u64, words: &mut &'words [u64]) -> Option<Received<'words>> {
    let [time] = *take(words, 1)? else { return None };
    let flags = head >> 8 & 0xff;
    let kind = match head & 0xff {
        1 => Kind::Tick,
        2 => Kind::Timer,
        3 => Kind::Perf,
        _ => return None,
    };
    let mut sample = Sample {
        kind,
        time,
        has_gil: flags & HAS_GIL != 0,
        at_system_call: flags & AT_SYSTEM_CALL != 0,
        doubtful: flags & DOUBTFUL != 0,
        truncated: flags & TRUNCATED != 0,
        partial_native: flags & PARTIAL_NATIVE != 0,
        task_changed: flags & (TASK | NO_TASK) != 0,
        task: None,
        thread_name: None,
    };
    if flags & TASK != 0 {
        let [task, length, name @ ..] = take(words, 2 + NAME_WORDS)? else {
            return None;
        };
        sample.task = Some(TaskRef { task: *task, name: task_name(*length, name) });
    }
    if flags & THREAD != 0 {
        let [length, name @ ..] = take(words, 1 + NAME_WORDS)? else { return None };
        sample.thread_name = Some(text(*length, name));
    }
    let new = take(words, 2 * (head >> 16 & 0xffff) as usize)?;
    let native = take(words, (head >> 48) as usize)?;
    Some(Received { sample, kept: (head >> 32 & 0xffff) as usize, new, native })
}

fn task_name(length: u64, words: &[u64]) -> TaskName {
    if length == NUMBERED {
        return TaskName::Number(words.first().copied().unwrap_or(0));
    }
    TaskName::Text(text(length, words))
}

fn text(length: u64, words: &[u64]) -> NameBuf {
    let length = usize::try_from(length).unwrap_or(NAME_BYTES).min(NAME_BYTES);
    let mut name = NameBuf { length, ..NameBuf::default() };
    for (chunk, word) in name.bytes.chunks_mut(8).zip(words) {
        for (to, from) in chunk.iter_mut().zip(word.to_le_bytes()) {
            *to = from;
        }
    }
    name
}

fn take<'words>(words: &mut &'words [u64], length: usize) -> Option<&'words [u64]> {
    let (head, tail) = words.split_at_checked(length)?;
    *words = tail;
    Some(head)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    fn frame(number: u64) -> RawFrame {
        RawFrame { code: 0x1000 * number, place: number }
    }

    fn drained(ring: &Ring<256>) -> Vec<u64> {
        let mut words = Vec::new();
        ring.drain(|word| words.push(word));
        words
    }

    fn next_sample<'words>(words: &mut &'words [u64]) -> Received<'words> {
        let Some(Message::Sample(received)) = next(words) else { panic!("a sample was sent") };
        received
    }

    #[test]
    fn a_record_holds_only_what_is_new_at_the_inner_end() {
        let ring = Ring::<256>::new();
        let before = [frame(3), frame(2), frame(1)];
        let now = [frame(5), frame(4), frame(2), frame(1)];
        let sample = Sample { time: 77, has_gil: true, doubtful: true, ..Sample::default() };

        assert!(push(&ring, &sample, kept(&before, &now), &now, [9, 8].into_iter()));

        let words = drained(&ring);
        let mut rest = words.as_slice();
        let received = next_sample(&mut rest);
        assert_eq!((received.kept, received.sample.time, received.sample.has_gil), (2, 77, true));
        assert!(received.sample.doubtful && !received.sample.at_system_call);
        assert_eq!(received.new, [0x4000, 4, 0x5000, 5]);
        assert_eq!(received.native, [9, 8]);
        assert!(rest.is_empty() && next(&mut rest).is_none());
    }

    #[test]
    fn a_task_and_a_thread_travel_with_the_sample() {
        let ring = Ring::<256>::new();
        let mut name = NameBuf { length: 5, ..NameBuf::default() };
        name.bytes[..5].copy_from_slice(b"fetch");
        let task = TaskRef { task: 0xabc, name: TaskName::Text(name) };
        let numbered = TaskRef { task: 0xdef, name: TaskName::Number(12) };
        for task in [task, numbered] {
            let task = Some(task);
            let thread_name = Some(name);
            let sample = Sample { task, task_changed: true, thread_name, ..Sample::default() };
            assert!(push(&ring, &sample, 0, &[frame(1)], [].into_iter()));
        }

        let words = drained(&ring);
        let mut rest = words.as_slice();
        let (first, second) = (next_sample(&mut rest).sample, next_sample(&mut rest).sample);
        let TaskName::Text(name) = first.task.unwrap().name else { panic!("a text was sent") };
        assert_eq!((name.as_str(), first.thread_name.unwrap().as_str()), ("fetch", "fetch"));
        assert!(matches!(second.task.unwrap().name, TaskName::Number(12)));
    }

    #[test]
    fn words_that_make_no_sense_end_the_reading() {
        for words in [
            &[0_u64, 0][..],
            &[1][..],
            &[1 | 5 << 16, 0, 1][..],
            &[4 | 9 << 16, 0, 0, 0][..],
            &[u64::MAX; 8][..],
        ] {
            let mut rest = words;
            assert!(next(&mut rest).is_none());
        }
    }
}
