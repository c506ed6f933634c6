//! What has to be said about a heap that is sampled: where something cannot be seen,
//! or is seen less well.

use crate::sys::{clock, heap, linker};

/// An object that is not ready for this long will not be by itself, in nanoseconds.
const PATIENCE_NS: u64 = 3_000_000_000;

/// Sentences for recordings and snapshots.
#[derive(Default)]
pub(crate) struct HeapNotes {
    /// All that were said since sampling began.
    said: Vec<String>,
    /// Those that are not in recordings yet.
    new: Vec<String>,
    /// Since when some objects are pending, and whether a note says so.
    pending: (u64, bool),
    has_astray: bool,
    has_room: bool,
}

impl HeapNotes {
    /// Sentences since the last call.
    pub(crate) fn take_new(&mut self) -> Vec<String> {
        std::mem::take(&mut self.new)
    }

    /// All sentences.
    pub(crate) fn all(&self) -> Vec<String> {
        self.said.clone()
    }

    /// Nothing was said yet.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Says why small objects are not seen one by one.
    pub(crate) fn refused(&mut self, reason: &str) {
        let text = format!(
            "small Python objects are not sampled: {reason}; blocks of malloc and mappings are"
        );
        // A door that opens later has to hear it as well.
        self.said.retain(|said| *said != text);
        self.say(text);
    }

    /// Looks for what has to be said now.
    pub(crate) fn look(&mut self) {
        if !heap::is_hooked() {
            self.say(
                "memory is not sampled: the allocator in use was put in the place of the C \
                 library's without a malloc_usable_size or memalign of its own"
                    .to_owned(),
            );
        }
        self.mind_pending();
        self.mind_objects();
        self.mind_room();
    }

    fn say(&mut self, text: String) {
        if !self.said.contains(&text) {
            self.said.push(text.clone());
            self.new.push(text);
        }
    }

    /// Says which libraries cannot be hooked, once it is clear that they stay so.
    fn mind_pending(&mut self) {
        let report = linker::report();
        let now = clock::monotonic();
        if report.pending == 0 || self.pending.0 == 0 {
            self.pending.0 = now;
        } else if !self.pending.1 && now.saturating_sub(self.pending.0) > PATIENCE_NS {
            self.pending.1 = true;
            self.say(format!(
                "what {} allocates itself is not seen: another tool left memory writable there \
                 that the loader protects, so it is not changed",
                report.pending_names.join(", ")
            ));
        }
    }

    /// Says that objects go elsewhere than they did when they were hooked.
    fn mind_objects(&mut self) {
        if heap::objects::take_lost() {
            self.say(
                "small Python objects are missing from some moment on: the interpreter's allocator \
                 was put back, as tracemalloc.stop() does if it was started before; start it after \
                 tachograph, or record again"
                    .to_owned(),
            );
        }
        let astray = heap::objects::astray();
        if astray > 0 && !std::mem::replace(&mut self.has_astray, true) {
            self.say(format!(
                "{astray} Python objects that were due did not arrive at malloc and are not sampled: \
                 another tool changed the interpreter's allocator"
            ));
        }
    }

    /// Says that the table of live samples filled up.
    fn mind_room(&mut self) {
        if heap::counts().longest_period > 0 && !std::mem::replace(&mut self.has_room, true) {
            self.say(
                "so many sampled blocks were live at once that blocks were sampled less often from \
                 some moment on: sums stay right, small sites are told more roughly; raise \
                 heap_rate_kb"
                    .to_owned(),
            );
        }
    }
}
