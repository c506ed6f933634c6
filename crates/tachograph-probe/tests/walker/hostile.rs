//! Memory that holds anything: no panic, no endless loop, no lie about depth.

use proptest::prelude::*;
use tachograph_probe::code::fingerprint;
use tachograph_probe::introduce::{TEXT_BYTES, introduce};
use tachograph_probe::known::Known;
use tachograph_probe::memory::ReadMemory;
use tachograph_probe::names::{task_of_handle, thread_name};
use tachograph_probe::record::{Message, next};
use tachograph_probe::ring::Ring;
use tachograph_probe::strings::Text;
use tachograph_probe::walk::{RawFrame, WalkState, walk};

use crate::fake::{START, Words, layouts};

const WORDS: u64 = 512;

/// A walk may take about 1,100 steps of about 15 reads each, and search the
/// bytecode copies and the data stack.
const MOST_READS: usize = 400_000;

/// A word as it may stand in memory: mostly addresses of other words.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        6 => (0..WORDS).prop_map(|index| START + index * 8),
        2 => 0..16_u64,
        1 => (0..WORDS * 8).prop_map(|byte| START + byte),
        1 => any::<u64>(),
        1 => Just(0),
        1 => any::<[u8; 8]>().prop_map(|bytes| u64::from_le_bytes(bytes.map(|byte| byte & 3))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_walk_ends_and_keeps_within_its_room(
        words in prop::collection::vec(word(), WORDS as usize),
        start in 0..WORDS,
        room in 0..40_usize,
        boundaries: bool,
    ) {
        for layout in layouts() {
            let memory = Words::new(words.clone());
            let mut out = vec![RawFrame::default(); room];

            let walk = walk(&memory, &layout, START + start * 8, boundaries, &mut out);

            prop_assert!(walk.depth <= room);
            prop_assert!(walk.state != WalkState::Unreadable || walk.depth == 0);
            prop_assert!(memory.reads.get() < MOST_READS, "{} reads", memory.reads.get());
        }
    }

    #[test]
    fn introductions_of_anything_end_and_are_read_back(
        words in prop::collection::vec(word(), WORDS as usize),
        codes in prop::collection::vec((0..WORDS, -4..9000_i32), 1..40),
    ) {
        for layout in layouts() {
            let memory = Words::new(words.clone());
            let entries: Vec<RawFrame> = codes
                .iter()
                .filter_map(|&(code, offset)| {
                    let code = START + code * 8;
                    Some(RawFrame::python(code, offset, fingerprint(&memory, &layout, code)?))
                })
                .collect();
            let (ring, mut known, mut text) = (Ring::<2048>::new(), Known::new(), [0; TEXT_BYTES]);

            introduce(&memory, &layout, &ring, &mut known, &mut text, &entries);

            prop_assert!(memory.reads.get() < MOST_READS, "{} reads", memory.reads.get());
            let mut words = Vec::new();
            ring.drain(|word| words.push(word));
            let mut rest = words.as_slice();
            while let Some(message) = next(&mut rest) {
                let Message::Code(told) = message else { panic!("no sample was sent") };
                prop_assert!(entries.contains(&told.entry));
                if let Some(names) = told.names {
                    prop_assert!(String::from_utf8(names.qualname().collect()).is_ok());
                    prop_assert!(String::from_utf8(names.filename().collect()).is_ok());
                }
            }
            prop_assert!(rest.is_empty());
        }
    }

    #[test]
    fn any_words_are_read_without_a_panic(words in prop::collection::vec(any::<u64>(), 0..64)) {
        for kind in [1_u64, 2, 3, 4] {
            let mut words = words.clone();
            if let Some(head) = words.first_mut() {
                *head = *head & !0xff | kind;
            }
            let mut rest = words.as_slice();
            while let Some(message) = next(&mut rest) {
                if let Message::Code(told) = message {
                    let _ = told.names.map(|names| names.filename().count());
                }
            }
        }
    }

    #[test]
    fn names_of_anything_are_text_or_nothing(
        words in prop::collection::vec(word(), WORDS as usize),
        object in 0..WORDS,
    ) {
        for layout in layouts() {
            let memory = Words::new(words.clone());
            let object = START + object * 8;

            let _ = task_of_handle(&memory, &layout, object);
            let _ = thread_name(&memory, &layout, object);
            if let Some(text) = Text::at(&memory, &layout, object) {
                let mut out = [0; 64];
                if let Some(length) = text.copy_utf8(&memory, &mut out) {
                    prop_assert!(std::str::from_utf8(&out[..length]).is_ok());
                }
            }
            prop_assert!(memory.reads.get() < MOST_READS);
        }
    }
}

#[test]
fn memory_that_cannot_be_read_at_all_is_unreadable() {
    struct Nothing;
    impl ReadMemory for Nothing {
        fn word(&self, _address: u64) -> Option<u64> {
            None
        }
        fn bytes(&self, _address: u64, _out: &mut [u8]) -> bool {
            false
        }
    }

    for layout in layouts() {
        let walk = walk(&Nothing, &layout, START, true, &mut [RawFrame::default(); 4]);
        assert_eq!((walk.state, walk.depth), (WalkState::Unreadable, 0));
    }
}
