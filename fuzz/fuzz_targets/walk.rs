//! A thread's memory that holds anything: the walker and the readers of names
//! and code end soon, stay within their room and never panic.
//!
//! The input is made of words of two bytes, so that pointers to other words are
//! easy to find.
#![no_main]

use std::cell::Cell;

use libfuzzer_sys::fuzz_target;
use tachograph_probe::introduce::{TEXT_BYTES, introduce};
use tachograph_probe::known::Known;
use tachograph_probe::layout::Layout;
use tachograph_probe::memory::ReadMemory;
use tachograph_probe::names::{task_of_handle, thread_name};
use tachograph_probe::record::{Message, next};
use tachograph_probe::ring::Ring;
use tachograph_probe::walk::{RawFrame, WalkState, walk};

/// Where the words begin in the address space.
const START: u64 = 0x7f00_0000_0000;

/// More reads than this for one walk is a loop that does not end.
const MOST_READS: usize = 400_000;

struct Words {
    words: Vec<u64>,
    reads: Cell<usize>,
}

impl ReadMemory for Words {
    fn word(&self, address: u64) -> Option<u64> {
        self.reads.set(self.reads.get() + 1);
        let index = usize::try_from(address.checked_sub(START)? / 8).ok()?;
        self.words.get(index).copied()
    }

    fn bytes(&self, address: u64, out: &mut [u8]) -> bool {
        if address.checked_add(out.len() as u64).is_none() {
            return false;
        }
        for (at, byte) in (address..).zip(out) {
            let Some(word) = self.word(at) else {
                return false;
            };
            *byte = word.to_le_bytes()[(at % 8) as usize];
        }
        true
    }
}

/// Three of four are addresses; the others small numbers or bytes all over.
fn word(unit: [u8; 2]) -> u64 {
    let unit = u64::from(u16::from_le_bytes(unit));
    let value = unit >> 2;
    match unit & 3 {
        0 | 1 => START + value * 8,
        2 => value,
        _ => value.wrapping_mul(0x0101_0101_0101_0101),
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((&[kind, room], units)) = input.split_first_chunk() else {
        return;
    };
    let Some(layout) = Layout::of_table(11 + kind % 5, kind & 128 != 0) else {
        return;
    };
    let words = units.as_chunks().0.iter().copied().map(word).collect();
    let memory = Words { words, reads: Cell::new(0) };

    let mut out = vec![RawFrame::default(); usize::from(room)];
    let found = walk(&memory, &layout, START, kind & 64 != 0, &mut out);
    assert!(found.depth <= out.len());
    assert!(found.state != WalkState::Unreadable || found.depth == 0);
    let ring = Ring::<4096>::new();
    introduce(
        &memory,
        &layout,
        &ring,
        &mut Known::new(),
        &mut [0; TEXT_BYTES],
        &out[..found.depth],
    );
    let mut sent = Vec::new();
    ring.drain(|word| sent.push(word));
    let mut rest = sent.as_slice();
    while let Some(message) = next(&mut rest) {
        assert!(matches!(message, Message::Code(_)));
    }
    assert!(rest.is_empty());
    task_of_handle(&memory, &layout, START);
    thread_name(&memory, &layout, START);
    assert!(memory.reads.get() < MOST_READS, "{} reads", memory.reads.get());
});
