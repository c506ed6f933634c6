//! What the handler tells of code: names once, lines for every place, and no
//! more than it has time and room for.

use tachograph_probe::code::fingerprint;
use tachograph_probe::introduce::{TEXT_BYTES, introduce};
use tachograph_probe::known::Known;
use tachograph_probe::record::{Message, next};
use tachograph_probe::ring::Ring;
use tachograph_probe::walk::RawFrame;

use crate::fake::{Thread, layouts};

/// Two units on the first line, two units three lines further down.
const TABLE: [u8; 5] = [0x81, 0x12, 0x80 | (13 << 3) | 1, 6, 0];

/// One handler's memory.
struct Handler {
    thread: Thread,
    known: Known,
    ring: Ring<4096>,
}

/// What came out: entry, line, first line, names.
type Told = (RawFrame, u32, u32, Option<(String, String)>);

impl Handler {
    fn new(thread: Thread) -> Self {
        Self { thread, known: Known::new(), ring: Ring::new() }
    }

    /// A code object with a name, a file and a table, and its entry at `offset`.
    fn entry(&mut self, name: &str, file: &str, offset: i32) -> RawFrame {
        let layout = self.thread.layout;
        let code = self.thread.code(0, 0);
        let (name, file) = (self.thread.text(name), self.thread.text(file));
        let table = self.thread.bytes(&TABLE);
        let memory = &mut self.thread.memory;
        memory.set(code, layout.code_qualname, name);
        memory.set(code, layout.code_filename, file);
        memory.set(code, layout.code_linetable, table);
        memory.set_bytes(code, layout.code_first_line, &10_u32.to_le_bytes());
        self.at(code, offset)
    }

    fn at(&self, code: u64, offset: i32) -> RawFrame {
        let print = fingerprint(&self.thread.memory, &self.thread.layout, code).unwrap();
        RawFrame::python(code, offset, print)
    }

    fn tell(&mut self, entries: &[RawFrame]) -> (bool, Vec<Told>) {
        let (memory, layout) = (&self.thread.memory, &self.thread.layout);
        let mut text = [0; TEXT_BYTES];
        let all = introduce(memory, layout, &self.ring, &mut self.known, &mut text, entries);
        (all, self.drain())
    }

    fn drain(&self) -> Vec<Told> {
        let mut words = Vec::new();
        self.ring.drain(|word| words.push(word));
        let (mut rest, mut told) = (words.as_slice(), Vec::new());
        while let Some(message) = next(&mut rest) {
            let Message::Code(code) = message else { panic!("only introductions were sent") };
            let string = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
            let names = code.names.map(|names| {
                (string(names.qualname().collect()), string(names.filename().collect()))
            });
            told.push((code.entry, code.line, code.first_line, names));
        }
        assert!(rest.is_empty());
        told
    }
}

fn handlers() -> impl Iterator<Item = Handler> {
    layouts().into_iter().map(|layout| Handler::new(Thread::new(layout)))
}

#[test]
fn names_come_once_and_lines_with_every_new_place() {
    for mut handler in handlers() {
        let first = handler.entry("Model.fit", "train.py", 0);
        let later = handler.at(first.code_address(), 4);

        let names = Some(("Model.fit".to_owned(), "train.py".to_owned()));
        assert_eq!(handler.tell(&[first]), (true, vec![(first, 10, 10, names)]));
        assert_eq!(handler.tell(&[later, first]), (true, vec![(later, 13, 10, None)]));
        assert_eq!(handler.tell(&[later, first]), (true, vec![]));
    }
}

#[test]
fn names_in_any_alphabet_arrive_whole() {
    for mut handler in handlers() {
        let entry = handler.entry("naïve", "/données/本.py", 0);

        let (_, told) = handler.tell(&[entry]);

        assert_eq!(told[0].3, Some(("naïve".to_owned(), "/données/本.py".to_owned())));
    }
}

#[test]
fn a_name_that_may_not_fit_is_left_to_the_collector() {
    for mut handler in handlers() {
        let entry = handler.entry("f", &"/long".repeat(TEXT_BYTES / 4), 0);
        let other = handler.entry("g", "short.py", 0);

        let (all, told) = handler.tell(&[entry, other]);

        assert!(all);
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].0, other);
    }
}

#[test]
fn code_that_is_no_longer_what_it_was_is_not_named() {
    for mut handler in handlers() {
        let entry = handler.entry("old", "old.py", 0);
        let (code, layout) = (entry.code_address(), handler.thread.layout);
        let name = handler.thread.text("new");
        handler.thread.memory.set(code, layout.code_qualname, name);

        assert_eq!(handler.tell(&[entry]), (true, vec![]));
    }
}

#[test]
fn a_later_code_object_at_the_same_addresses_has_another_fingerprint() {
    for mut handler in handlers() {
        let layout = handler.thread.layout;
        let entry = handler.entry("<module>", "<text 10>", 0);
        let code = entry.code_address();

        if layout.code_version == 0 {
            let file = handler.thread.memory.word_at(code, layout.code_filename);
            handler.thread.memory.set_bytes(file, layout.text_ascii_data, b"<text 11>");
        } else {
            handler.thread.memory.set_bytes(code, layout.code_version, &[77]);
        }

        assert_ne!(handler.at(code, 0).fingerprint(), entry.fingerprint());
    }
}

#[test]
fn one_sample_names_a_few_and_the_next_ones_the_rest() {
    for mut handler in handlers() {
        let entries: Vec<RawFrame> =
            (0..40).map(|number| handler.entry(&format!("f{number}"), "many.py", 0)).collect();

        let (mut all, mut told) = (false, Vec::new());
        let mut samples = 0;
        while !all {
            let (finished, new) = handler.tell(&entries);
            assert!(new.len() <= 16);
            (all, samples) = (finished, samples + 1);
            told.extend(new);
        }

        assert_eq!(samples, 3);
        assert_eq!(told.iter().map(|told| told.0).collect::<Vec<_>>(), entries);
    }
}

#[test]
fn a_ring_without_room_for_names_keeps_room_for_samples() {
    let mut handler = handlers().next().unwrap();
    let entry = handler.entry("f", "f.py", 0);
    handler.ring.begin(3070).unwrap().commit();
    let mut text = [0; TEXT_BYTES];
    let (memory, layout) = (&handler.thread.memory, &handler.thread.layout);

    let all = introduce(memory, layout, &handler.ring, &mut handler.known, &mut text, &[entry]);

    assert!(!all && !handler.known.has(&entry));
    assert_eq!((handler.ring.len(), handler.ring.dropped()), (3070, 0));
}
