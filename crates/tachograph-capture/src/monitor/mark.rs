//! The kernel's high-water mark of this process's memory, shared by all windows.
//!
//! The kernel remembers the most memory the process held, so no peak is too
//! short to be seen. The mark is one number for the whole process and can only
//! be put back to what is held now. So before it is put back, it is folded into
//! every open window; and only this file puts it back, only for a window that
//! asks for its peak, and only when it stands above what is held.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

/// Windows that want to know their peak.
#[derive(Debug)]
pub(super) struct Marks {
    open: Vec<Option<Place>>,
    reset: PathBuf,
    can_reset: bool,
    /// The kernel's usage figure never goes below this: it remembers what the
    /// process held before it became this program.
    floor: u64,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    /// The peak up to the last time the mark was put back.
    peak: u64,
    /// Where the mark stood when the window was opened and could not be put back.
    stuck_at: u64,
}

/// The peak of one window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Peak {
    /// The most memory held, in bytes.
    pub(super) bytes: u64,
    /// The kernel saw every moment; otherwise it is the most that was read.
    pub(super) exact: bool,
}

/// How the process stands: read by whoever calls, because it costs a call.
pub(super) trait Held {
    /// The usage figure of the kernel.
    fn usage_mark(&mut self) -> u64;
    /// The mark by its name; slower.
    fn named_mark(&mut self) -> Option<u64>;
    /// Memory held now.
    fn now(&mut self) -> u64;
}

impl Marks {
    /// No window yet; the mark is put back through the file `reset`.
    pub(super) fn new(reset: PathBuf, held: &mut impl Held) -> Self {
        let usage = held.usage_mark();
        // Both are the same number unless another program's is mixed in.
        let floor = held.named_mark().filter(|named| *named < usage).map_or(0, |_| usage);
        Self { open: Vec::new(), reset, can_reset: true, floor }
    }

    /// The mark now.
    pub(super) fn read(&self, held: &mut impl Held) -> u64 {
        let usage = held.usage_mark();
        if usage > self.floor {
            return usage;
        }
        held.named_mark().unwrap_or(usage)
    }

    /// A window opens while `now` bytes are held; says which place it has.
    pub(super) fn open(&mut self, now: u64, held: &mut impl Held) -> usize {
        let mark = self.read(held);
        let mut stuck_at = 0;
        if mark > now {
            self.fold(mark);
            if !self.put_back(now, held) {
                stuck_at = mark;
            }
        }
        let place = Some(Place { peak: now, stuck_at });
        match self.open.iter().position(Option::is_none) {
            Some(free) => {
                self.open[free] = place;
                free
            }
            None => {
                self.open.push(place);
                self.open.len() - 1
            }
        }
    }

    /// The peak so far of the window at `place`.
    pub(super) fn peak(&self, place: usize, held: &mut impl Held) -> Peak {
        let mark = self.read(held);
        let now = held.now();
        let Some(Some(window)) = self.open.get(place) else {
            return Peak { bytes: now, exact: false };
        };
        // A mark that could not be put back tells of the window only once it rose.
        let exact = window.stuck_at == 0 || mark > window.stuck_at;
        let bytes = if exact { window.peak.max(mark) } else { window.peak };
        Peak { bytes: bytes.max(now), exact }
    }

    /// The window at `place` closes.
    pub(super) fn close(&mut self, place: usize) {
        if let Some(place) = self.open.get_mut(place) {
            *place = None;
        }
        while self.open.last().is_some_and(Option::is_none) {
            self.open.pop();
        }
    }

    /// The peak since the last call, for a series of peaks: folds the mark into
    /// every window and puts it back.
    pub(super) fn take(&mut self, held: &mut impl Held) -> u64 {
        let (mark, now) = (self.read(held), held.now());
        if mark > now {
            self.fold(mark);
            self.put_back(now, held);
        }
        mark.max(now)
    }

    fn fold(&mut self, mark: u64) {
        for window in self.open.iter_mut().flatten() {
            if mark > window.stuck_at {
                window.peak = window.peak.max(mark);
                // From here on the mark is all the window's own.
                window.stuck_at = 0;
            }
        }
    }

    /// Puts the mark back to what is held now; false when the kernel refuses.
    fn put_back(&mut self, now: u64, held: &mut impl Held) -> bool {
        if !self.can_reset {
            return false;
        }
        let file = OpenOptions::new().write(true).open(&self.reset);
        self.can_reset = file.is_ok_and(|mut file| file.write_all(b"5").is_ok());
        if self.can_reset {
            let usage = held.usage_mark();
            if usage > now.max(held.now()) {
                self.floor = self.floor.max(usage);
            }
        }
        self.can_reset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process whose memory the test decides. The mark is put back when the
    /// file was written.
    struct Acted {
        mark: u64,
        now: u64,
        before_exec: u64,
        file: PathBuf,
    }

    impl Acted {
        fn new(name: &str) -> Self {
            let file =
                std::env::temp_dir().join(format!("tachograph-{name}-{}", std::process::id()));
            std::fs::write(&file, "").unwrap();
            Self { mark: 100, now: 100, before_exec: 0, file }
        }

        fn hold(&mut self, bytes: u64) {
            self.now = bytes;
            self.mark = self.current().max(bytes);
        }

        fn current(&mut self) -> u64 {
            if std::fs::read(&self.file).is_ok_and(|text| text == b"5") {
                std::fs::write(&self.file, "").unwrap();
                self.mark = self.now;
            }
            self.mark
        }
    }

    impl Held for Acted {
        fn usage_mark(&mut self) -> u64 {
            self.current().max(self.before_exec)
        }
        fn named_mark(&mut self) -> Option<u64> {
            Some(self.current())
        }
        fn now(&mut self) -> u64 {
            self.now
        }
    }

    impl Drop for Acted {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.file);
        }
    }

    #[test]
    fn a_peak_before_the_window_is_not_its_own() {
        let mut process = Acted::new("before");
        process.hold(900);
        process.hold(100);
        let mut marks = Marks::new(process.file.clone(), &mut process);

        let window = marks.open(100, &mut process);
        process.hold(300);
        process.hold(120);

        assert_eq!(marks.peak(window, &mut process), Peak { bytes: 300, exact: true });
    }

    #[test]
    fn an_inner_window_does_not_take_the_outer_ones_peak_away() {
        let mut process = Acted::new("nested");
        let mut marks = Marks::new(process.file.clone(), &mut process);
        let outer = marks.open(100, &mut process);
        process.hold(500);
        process.hold(110);
        let inner = marks.open(110, &mut process);
        process.hold(200);
        process.hold(100);

        assert_eq!(marks.peak(inner, &mut process), Peak { bytes: 200, exact: true });
        marks.close(inner);
        assert_eq!(marks.peak(outer, &mut process), Peak { bytes: 500, exact: true });
    }

    #[test]
    fn what_the_process_held_before_it_became_this_program_does_not_count() {
        let mut process = Acted::new("exec");
        process.before_exec = 5_000;
        let mut marks = Marks::new(process.file.clone(), &mut process);
        let window = marks.open(100, &mut process);
        process.hold(300);
        process.hold(100);

        assert_eq!(marks.peak(window, &mut process).bytes, 300);
    }

    #[test]
    fn where_the_mark_cannot_be_put_back_only_a_higher_one_counts() {
        let mut process = Acted::new("stuck");
        process.hold(900);
        process.hold(100);
        let mut marks = Marks::new("/no/such/file".into(), &mut process);
        let window = marks.open(100, &mut process);
        process.hold(300);
        process.hold(150);

        assert_eq!(marks.peak(window, &mut process), Peak { bytes: 150, exact: false });
        process.hold(1_000);
        process.hold(100);
        assert_eq!(marks.peak(window, &mut process), Peak { bytes: 1_000, exact: true });
    }

    #[test]
    fn a_series_of_peaks_takes_none_from_a_window() {
        let mut process = Acted::new("series");
        let mut marks = Marks::new(process.file.clone(), &mut process);
        let window = marks.open(100, &mut process);
        process.hold(400);
        process.hold(100);

        assert_eq!(marks.take(&mut process), 400);
        assert_eq!(marks.take(&mut process), 100);
        assert_eq!(marks.peak(window, &mut process).bytes, 400);
    }
}
