//! What the kernel says of the whole machine.

use std::collections::BTreeMap;

use super::Places;
use super::kept::Kept;
use super::words::{kilobytes, lines, named, number, words};
use crate::sys::usage;

/// Sectors of `diskstats` have this many bytes, whatever the disk.
const SECTOR_BYTES: u64 = 512;

/// Disks that are watched; a machine with more shows the first.
const MOST_DISKS: usize = 32;

/// So many disks are read one by one: that takes 2 µs each, the list of all 8 µs and more.
const FEW_DISKS: usize = 3;

/// How often few disks are read before they are listed again, to see new ones: five
/// seconds at ten readings a second.
const READINGS_PER_LIST: u32 = 50;

/// One reading of the machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineFigures {
    /// Time its processors worked so far, all together, in nanoseconds.
    pub busy_ns: u64,
    /// Time its processors had so far, all together, in nanoseconds.
    pub cpu_ns: u64,
    /// Time they waited for a disk.
    pub io_wait_ns: u64,
    /// Time a hypervisor took away.
    pub stolen_ns: u64,
    /// Memory of the machine, in bytes.
    pub memory_bytes: u64,
    /// Memory a program could still get.
    pub available_bytes: u64,
    /// Swap space.
    pub swap_bytes: u64,
    /// Swap space in use.
    pub swap_used_bytes: u64,
    /// Bytes that came in over all interfaces, the machine's talk with itself
    /// (loopback) included.
    pub received_bytes: u64,
    /// Bytes that went out.
    pub sent_bytes: u64,
    /// The disks.
    pub disks: Vec<Disk>,
}

/// One disk so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    /// The kernel's name of it.
    pub name: Box<str>,
    /// Bytes read from it.
    pub read_bytes: u64,
    /// Bytes written to it.
    pub written_bytes: u64,
    /// How long it had something to do, in nanoseconds.
    pub busy_ns: u64,
}

impl MachineFigures {
    /// Memory that is in use, as most tools count it.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.memory_bytes.saturating_sub(self.available_bytes)
    }

    /// The share of the memory that is in use, 0 to 1.
    #[must_use]
    pub fn memory_share(&self) -> f64 {
        self.used_bytes() as f64 / self.memory_bytes.max(1) as f64
    }
}

/// The machine's files, kept open.
#[derive(Debug)]
pub(super) struct MachineReader {
    stat: Kept,
    memory: Kept,
    network: Kept,
    disks: Kept,
    sys: std::path::PathBuf,
    /// Whether a name in `diskstats` is a whole disk with hardware behind it.
    known: BTreeMap<Box<str>, bool>,
    /// The disks that count, each with its own file.
    whole: Vec<(Box<str>, Kept)>,
    /// Readings since the disks were listed.
    listed_ago: u32,
    room: Vec<u8>,
    tick_ns: u64,
}

impl MachineReader {
    /// The files under `places`.
    pub(super) fn new(places: &Places) -> Self {
        Self {
            stat: Kept::new(places.proc.join("stat")),
            memory: Kept::new(places.proc.join("meminfo")),
            network: Kept::new(places.proc.join("net/dev")),
            disks: Kept::new(places.proc.join("diskstats")),
            sys: places.sys.clone(),
            known: BTreeMap::new(),
            whole: Vec::new(),
            listed_ago: 0,
            room: Vec::new(),
            tick_ns: 1_000_000_000 / usage::ticks_per_second(),
        }
    }

    /// All of it; what cannot be read is zero.
    pub(super) fn figures(&mut self) -> MachineFigures {
        let mut figures = MachineFigures::default();
        if let Some(times) = self.stat.read::<512, _>(processor_times) {
            let ns = |ticks: u64| ticks.saturating_mul(self.tick_ns);
            figures.busy_ns = ns(times.busy);
            figures.cpu_ns = ns(times.busy + times.idle + times.io_wait);
            figures.io_wait_ns = ns(times.io_wait);
            figures.stolen_ns = ns(times.stolen);
        }
        if let Some([total, available, swap, swap_free]) = self.memory.read::<4096, _>(memory) {
            figures.memory_bytes = total;
            figures.available_bytes = available;
            figures.swap_bytes = swap;
            figures.swap_used_bytes = swap.saturating_sub(swap_free);
        }
        if let Some((received, sent)) = self.network.read_whole(&mut self.room, network) {
            (figures.received_bytes, figures.sent_bytes) = (received, sent);
        }
        figures.disks = self.disks();
        figures
    }

    /// Few disks are read one by one; the list has every partition and loop device too.
    fn disks(&mut self) -> Vec<Disk> {
        if self.listed_ago < READINGS_PER_LIST && (1..=FEW_DISKS).contains(&self.whole.len()) {
            self.listed_ago += 1;
            let one = |(name, file): &mut (Box<str>, Kept)| {
                file.read::<512, _>(|text| disk(name, words(text)))
            };
            if let Some(disks) = self.whole.iter_mut().map(one).collect() {
                return disks;
            }
        }
        self.listed_ago = 0;
        self.listed_disks()
    }

    fn listed_disks(&mut self) -> Vec<Disk> {
        let found = self.disks.read_whole(&mut self.room, |text| Some(disk_lines(text)));
        let mut disks = found.unwrap_or_default();
        disks.retain(|disk| self.is_whole(&disk.name));
        disks.truncate(MOST_DISKS);
        let names = disks.iter().map(|disk| &disk.name);
        if !names.clone().eq(self.whole.iter().map(|(name, _)| name)) {
            let folder = self.sys.join("block");
            let file = |name: &str| Kept::new(folder.join(name).join("stat"));
            let whole = names.map(|name| (name.clone(), file(name))).collect();
            let gone = std::mem::replace(&mut self.whole, whole);
            gone.into_iter().for_each(|(_, file)| file.leave_open());
        }
        disks
    }

    /// A whole disk with hardware behind it: a partition would count twice,
    /// and so would a mapping onto one.
    fn is_whole(&mut self, name: &str) -> bool {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let whole = self.sys.join("block").join(name);
        let is_whole = whole.join("device").exists();
        self.known.insert(name.into(), is_whole);
        is_whole
    }
}

/// Ticks of all processors.
#[derive(Debug, PartialEq)]
struct Times {
    busy: u64,
    idle: u64,
    io_wait: u64,
    stolen: u64,
}

/// `cpu user nice system idle iowait irq softirq steal guest guest_nice`; the
/// guests are in user and nice already.
fn processor_times(text: &[u8]) -> Option<Times> {
    let line = lines(text).next()?.strip_prefix(b"cpu ")?;
    let mut words = words(line);
    let mut next = || words.next().and_then(number);
    let (user, nice, system, idle) = (next()?, next()?, next()?, next()?);
    let io_wait = next().unwrap_or(0);
    let (irq, softirq) = (next().unwrap_or(0), next().unwrap_or(0));
    let stolen = next().unwrap_or(0);
    let busy =
        [nice, system, irq, softirq].iter().try_fold(user, |sum, part| sum.checked_add(*part))?;
    idle.checked_add(busy)?.checked_add(io_wait)?;
    Some(Times { busy, idle, io_wait, stolen })
}

/// Total, available, swap and free swap, in bytes.
fn memory(text: &[u8]) -> Option<[u64; 4]> {
    let bytes = |name: &[u8]| named(text, name).and_then(kilobytes);
    let free = bytes(b"MemFree:");
    let available = bytes(b"MemAvailable:").or(free)?;
    let swap = bytes(b"SwapTotal:").unwrap_or(0);
    Some([bytes(b"MemTotal:")?, available, swap, bytes(b"SwapFree:").unwrap_or(0)])
}

/// Bytes received and sent by all interfaces together.
fn network(text: &[u8]) -> Option<(u64, u64)> {
    let mut sums = (0_u64, 0_u64);
    let mut rows = lines(text).skip(2).peekable();
    rows.peek()?;
    for line in rows {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let mut words = words(line.get(colon + 1..)?);
        let received = words.next().and_then(number)?;
        let sent = words.nth(7).and_then(number)?;
        sums = (sums.0.saturating_add(received), sums.1.saturating_add(sent));
    }
    Some(sums)
}

/// `major minor name reads merged sectors ms writes merged sectors ms now busy_ms …`.
fn disk_lines(text: &[u8]) -> Vec<Disk> {
    lines(text).filter_map(disk_line).collect()
}

fn disk_line(line: &[u8]) -> Option<Disk> {
    let mut words = words(line).skip(2);
    let name = std::str::from_utf8(words.next()?).ok()?;
    disk(name, words)
}

/// `reads merged sectors ms writes merged sectors ms now busy_ms …`.
fn disk<'a>(name: &str, words: impl Iterator<Item = &'a [u8]>) -> Option<Disk> {
    let mut numbers = words.map_while(number);
    let sectors_read = numbers.nth(2)?;
    let sectors_written = numbers.nth(3)?;
    let busy_ms = numbers.nth(2)?;
    Some(Disk {
        name: name.into(),
        read_bytes: sectors_read.saturating_mul(SECTOR_BYTES),
        written_bytes: sectors_written.saturating_mul(SECTOR_BYTES),
        busy_ns: busy_ms.saturating_mul(1_000_000),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::fake_places;

    fn figures() -> MachineFigures {
        let mut reader = MachineReader::new(&fake_places());
        reader.tick_ns = 10_000_000;
        reader.figures()
    }

    #[test]
    fn waiting_for_a_disk_is_not_work_and_guests_count_once() {
        let figures = figures();

        // user 1000, nice 50, system 400, irq 10, softirq 40 of 9000 ticks.
        assert_eq!(figures.busy_ns, 1_500 * 10_000_000);
        assert_eq!(figures.cpu_ns, 9_000 * 10_000_000);
        assert_eq!((figures.io_wait_ns, figures.stolen_ns), (500 * 10_000_000, 30 * 10_000_000));
    }

    #[test]
    fn memory_in_use_is_what_is_not_available() {
        let figures = figures();

        assert_eq!(figures.memory_bytes, 16_000_000 * 1024);
        assert_eq!(figures.used_bytes(), 4_000_000 * 1024);
        assert!((figures.memory_share() - 0.25).abs() < 1e-12);
        assert_eq!(figures.swap_used_bytes, 500_000 * 1024);
    }

    #[test]
    fn the_network_is_all_interfaces_together() {
        let figures = figures();

        assert_eq!((figures.received_bytes, figures.sent_bytes), (3_900, 1_600));
    }

    #[test]
    fn only_whole_disks_with_hardware_count() {
        let figures = figures();

        let names: Vec<_> = figures.disks.iter().map(|disk| &*disk.name).collect();
        assert_eq!(names, ["nvme0n1", "sda"]);
        assert_eq!(figures.disks[1].read_bytes, 2_000 * 512);
        assert_eq!(figures.disks[1].written_bytes, 4_000 * 512);
        assert_eq!(figures.disks[1].busy_ns, 1_250_000_000);
    }

    #[test]
    fn few_disks_are_read_one_by_one_and_listed_again_in_a_while() {
        let mut reader = MachineReader::new(&fake_places());
        let mut sda = || reader.figures().disks[1].clone();

        let first = sda();
        let own = sda();
        let later: Vec<Disk> = (1..READINGS_PER_LIST).map(|_| sda()).collect();

        // Its own file stands for a later moment than the list.
        assert_eq!((&*first.name, first.read_bytes), ("sda", 2_000 * 512));
        assert_eq!((&*own.name, own.read_bytes), ("sda", 2_500 * 512));
        assert_eq!((own.written_bytes, own.busy_ns), (4_100 * 512, 1_300_000_000));
        assert!(later.iter().all(|disk| *disk == own));
        assert_eq!(sda(), first);
    }

    #[test]
    fn a_machine_without_files_reads_as_nothing() {
        let mut reader = MachineReader::new(&Places::at("/no/such/place"));

        assert_eq!(reader.figures(), MachineFigures::default());
    }

    #[test]
    fn this_machine_has_memory_and_time() {
        let figures = MachineReader::new(&Places::default()).figures();

        assert!(figures.memory_bytes > figures.available_bytes && figures.available_bytes > 0);
        assert!(figures.cpu_ns >= figures.busy_ns && figures.busy_ns > 0);
    }
}
