//! What the kernel says of this process.

use std::os::unix::fs::MetadataExt;

use super::Places;
use super::kept::Kept;
use super::words::{kilobytes, named, number, words};
use crate::sys::{clock, usage};

/// One reading of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessFigures {
    /// CPU time of all its threads so far, in nanoseconds.
    pub cpu_ns: u64,
    /// The part of it in the program.
    pub user_ns: u64,
    /// The part of it in the kernel.
    pub system_ns: u64,
    /// Physical memory it holds, in bytes.
    pub resident_bytes: u64,
    /// Address space it uses, in bytes.
    pub virtual_bytes: u64,
    /// The part of its physical memory that files or other processes share.
    pub shared_bytes: u64,
    /// Threads, ours included.
    pub threads: u64,
    /// Open descriptors, ours included; 0 where the kernel tells only by a
    /// list (before Linux 6.2).
    pub descriptors: u64,
    /// Bytes it asked to read, from whatever.
    pub read_bytes: u64,
    /// Bytes it asked to write.
    pub written_bytes: u64,
    /// Bytes that really came from a disk.
    pub disk_read_bytes: u64,
    /// Bytes that will really go to a disk.
    pub disk_written_bytes: u64,
    /// Pages that came without reading a disk.
    pub minor_faults: u64,
    /// Pages that had to be read.
    pub major_faults: u64,
    /// Context switches because it waited.
    pub voluntary_switches: u64,
    /// Context switches because its turn was over.
    pub involuntary_switches: u64,
}

/// What one `io` file says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Io {
    /// Bytes the process asked to read, from whatever.
    pub read_bytes: u64,
    /// Bytes it asked to write.
    pub written_bytes: u64,
    /// Bytes that really came from a disk.
    pub disk_read_bytes: u64,
    /// Bytes that will really go to a disk.
    pub disk_written_bytes: u64,
}

/// Pages of a `statm` file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pages {
    total: u64,
    resident: u64,
    shared: u64,
}

/// The files of this process, kept open.
#[derive(Debug)]
pub(super) struct ProcessReader {
    stat: Kept,
    statm: Kept,
    io: Kept,
    status: Kept,
    descriptors: std::path::PathBuf,
    tasks: std::path::PathBuf,
    page_bytes: u64,
}

impl ProcessReader {
    /// The files under `places`.
    pub(super) fn new(places: &Places) -> Self {
        let own = places.proc.join("self");
        Self {
            stat: Kept::new(own.join("stat")),
            statm: Kept::new(own.join("statm")),
            io: Kept::new(own.join("io")),
            status: Kept::new(own.join("status")),
            descriptors: own.join("fd"),
            tasks: own.join("task"),
            page_bytes: usage::page_bytes(),
        }
    }

    /// Everything but the open files, whose list is as long as they are many.
    pub(super) fn figures(&mut self) -> ProcessFigures {
        let usage = usage::read();
        let pages = self.statm.read::<128, _>(pages).unwrap_or_default();
        let io = self.io();
        let bytes = |pages: u64| pages.saturating_mul(self.page_bytes);
        ProcessFigures {
            cpu_ns: clock::process_cpu(),
            user_ns: usage.user_ns,
            system_ns: usage.system_ns,
            resident_bytes: bytes(pages.resident),
            virtual_bytes: bytes(pages.total),
            shared_bytes: bytes(pages.shared),
            threads: self.threads(),
            descriptors: self.told_descriptors(),
            read_bytes: io.read_bytes,
            written_bytes: io.written_bytes,
            disk_read_bytes: io.disk_read_bytes,
            disk_written_bytes: io.disk_written_bytes,
            minor_faults: usage.minor_faults,
            major_faults: usage.major_faults,
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
        }
    }

    /// Physical memory held now, in bytes.
    pub(super) fn resident_bytes(&mut self) -> u64 {
        let pages = self.statm.read::<128, _>(pages).unwrap_or_default();
        pages.resident.saturating_mul(self.page_bytes)
    }

    /// Physical memory held and address space used now, in bytes.
    pub(super) fn memory(&mut self) -> (u64, u64) {
        let pages = self.statm.read::<128, _>(pages).unwrap_or_default();
        let bytes = |pages: u64| pages.saturating_mul(self.page_bytes);
        (bytes(pages.resident), bytes(pages.total))
    }

    /// Bytes read and written so far.
    pub(super) fn io(&mut self) -> Io {
        self.io.read::<512, _>(io).unwrap_or_default()
    }

    /// Threads now: the folders in the list of them, which takes less than the text that
    /// has their number among others.
    pub(super) fn threads(&mut self) -> u64 {
        // A folder links to itself and is linked to once.
        const LINKS_OF_NONE: u64 = 2;
        match std::fs::metadata(&self.tasks).map_or(0, |folder| folder.nlink()) {
            ..=LINKS_OF_NONE => self.stat.read::<1024, _>(threads).unwrap_or(0),
            links => links - LINKS_OF_NONE,
        }
    }

    /// The high-water mark of the memory, from the text that names it; slower
    /// than asking for the process's usage, and never mixed with another's.
    pub(super) fn mark(&mut self) -> Option<u64> {
        self.status.read::<4096, _>(|text| named(text, b"VmHWM:").and_then(kilobytes))
    }

    /// Open descriptors as the size of their folder; 0 on older kernels.
    fn told_descriptors(&self) -> u64 {
        std::fs::metadata(&self.descriptors).map_or(0, |folder| folder.len())
    }

    /// Open descriptors. Takes longer the more there are, on older kernels.
    pub(super) fn open_descriptors(&self) -> u64 {
        let told = self.told_descriptors();
        if told > 0 {
            return told;
        }
        // One of them is the list's own.
        std::fs::read_dir(&self.descriptors).map_or(0, |list| list.count() as u64).saturating_sub(1)
    }
}

/// `size resident shared text lib data dt`, in pages.
fn pages(text: &[u8]) -> Option<Pages> {
    let mut words = words(text);
    let mut next = || words.next().and_then(number);
    Some(Pages { total: next()?, resident: next()?, shared: next()? })
}

/// The twentieth word; the name in the second one may hold spaces and brackets.
fn threads(text: &[u8]) -> Option<u64> {
    let name_end = text.iter().rposition(|byte| *byte == b')')?;
    words(text.get(name_end + 1..)?).nth(17).and_then(number)
}

fn io(text: &[u8]) -> Option<Io> {
    Some(Io {
        read_bytes: named(text, b"rchar:")?,
        written_bytes: named(text, b"wchar:")?,
        disk_read_bytes: named(text, b"read_bytes:")?,
        disk_written_bytes: named(text, b"write_bytes:")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::fake_places;

    #[test]
    fn a_name_with_spaces_and_brackets_does_not_move_the_words() {
        let mut reader = ProcessReader::new(&fake_places());

        assert_eq!(reader.threads(), 7);
    }

    #[test]
    fn memory_is_told_in_bytes() {
        let mut reader = ProcessReader::new(&fake_places());
        reader.page_bytes = 4096;

        let figures = reader.figures();

        assert_eq!(figures.resident_bytes, 25_000 * 4096);
        assert_eq!(figures.virtual_bytes, 100_000 * 4096);
        assert_eq!(figures.shared_bytes, 5_000 * 4096);
        assert_eq!(reader.mark(), Some(123_456 * 1024));
    }

    #[test]
    fn bytes_asked_for_and_bytes_of_disks_are_told_apart() {
        let io = ProcessReader::new(&fake_places()).io();

        assert_eq!((io.read_bytes, io.written_bytes), (4_000_000, 1_000_000));
        assert_eq!((io.disk_read_bytes, io.disk_written_bytes), (40_960, 8_192));
    }

    #[test]
    fn a_process_without_files_reads_as_nothing() {
        let mut reader = ProcessReader::new(&Places::at("/no/such/place"));

        assert_eq!((reader.resident_bytes(), reader.threads(), reader.mark()), (0, 0, None));
        assert_eq!(reader.io(), Io::default());
    }

    #[test]
    fn memory_and_files_of_the_real_process_move() {
        let mut reader = ProcessReader::new(&Places::default());
        let (before, io_before) = (reader.figures(), reader.io());
        let block = std::hint::black_box(vec![1_u8; 64 << 20]);
        let files: Vec<_> =
            (0..20).map(|_| std::fs::File::open("/proc/self/stat").unwrap()).collect();
        let many = reader.open_descriptors();
        std::fs::read("/proc/self/maps").unwrap();

        let after = reader.figures();

        assert!(after.resident_bytes >= before.resident_bytes + (60 << 20));
        assert!(after.read_bytes > io_before.read_bytes && after.threads >= 1);
        assert!(many >= 20);
        assert!(after.descriptors == 0 || after.descriptors.abs_diff(many) < 10);
        drop((block, files));
    }
}
