//! The resident size of this process by kind of memory: what the kernel and
//! the allocator say. What that means is `tachograph_profile::analyze::heap`.

use std::fs;

use tachograph_profile::Allocation;
use tachograph_profile::analyze::heap::MemoryFacts;

use crate::sys::allocator::{malloc_facts, resident_bytes};

/// Heaps of the allocator other than the first begin and end at such addresses.
const ARENA: u64 = 64 << 20;
/// Pages below a thread's stack that nobody may touch are at most so many bytes.
const LARGEST_GUARD: u64 = 64 << 10;
/// Smaller blocks are taken to be resident.
const SMALLEST_CHECKED: u64 = 64 << 10;

/// What the kernel and the allocator say about this process now; `None` where
/// the kernel does not tell. Takes a few milliseconds and allocates: not for
/// hooks or handlers.
#[must_use]
pub fn memory_facts() -> Option<MemoryFacts> {
    let text = fs::read_to_string("/proc/self/smaps").ok()?;
    let mut facts = facts_of(&text);
    if let Some(malloc) = malloc_facts() {
        // Another allocator, such as mimalloc in Python, may begin at round addresses too.
        let others = facts.heap_bytes.saturating_sub(malloc.heap_bytes);
        facts.heap_bytes -= others;
        facts.other_bytes += others;
        facts.malloc_used_bytes = malloc.used_bytes;
        facts.malloc_mapped_bytes = malloc.mapped_bytes;
    }
    Some(facts)
}

/// Which share of a live block is resident, 0 to 1.
#[must_use]
pub fn resident_share(block: &Allocation) -> f64 {
    if block.address == 0 || block.size_bytes < SMALLEST_CHECKED {
        return 1.0;
    }
    let resident = resident_bytes(block.address, block.size_bytes);
    resident.map_or(1.0, |resident| resident as f64 / block.size_bytes as f64)
}

/// One mapping of the process.
#[derive(Clone, Copy, Default)]
struct Region<'a> {
    start: u64,
    end: u64,
    /// Nobody may touch it.
    closed: bool,
    name: &'a str,
    resident: u64,
}

/// Adds up the text of a `smaps` file.
fn facts_of(text: &str) -> MemoryFacts {
    let regions = regions(text);
    let mut facts = MemoryFacts::default();
    for (i, region) in regions.iter().enumerate() {
        let before = i.checked_sub(1).and_then(|i| regions.get(i)).copied().unwrap_or_default();
        let after = regions.get(i + 1).copied().unwrap_or_default();
        let sum = match region.name {
            "[heap]" => &mut facts.heap_bytes,
            name if name.starts_with("[stack") => &mut facts.stack_bytes,
            name if name.is_empty() || name.starts_with("[anon:") => {
                if is_arena(region, &after) {
                    &mut facts.heap_bytes
                } else if is_stack(region, &before) {
                    &mut facts.stack_bytes
                } else {
                    &mut facts.other_bytes
                }
            }
            _ => &mut facts.file_bytes,
        };
        *sum += region.resident;
        facts.resident_bytes += region.resident;
    }
    facts
}

/// A further heap of the allocator begins at a round address, and the rest up
/// to the next one is kept closed until it is needed.
fn is_arena(region: &Region<'_>, after: &Region<'_>) -> bool {
    let is_round = |address: u64| address.is_multiple_of(ARENA);
    let rest = after.closed && after.start == region.end && is_round(after.end);
    is_round(region.start) && !region.closed && (rest || is_round(region.end))
}

/// A thread's stack has a closed page below it.
fn is_stack(region: &Region<'_>, before: &Region<'_>) -> bool {
    let is_guard = before.closed && before.end == region.start && before.name.is_empty();
    is_guard && !region.closed && before.end - before.start <= LARGEST_GUARD
}

fn regions(text: &str) -> Vec<Region<'_>> {
    let mut regions: Vec<Region<'_>> = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("Rss:") {
            let kilobytes = rest.trim().strip_suffix("kB").map(str::trim);
            let kilobytes: u64 = kilobytes.and_then(|n| n.parse().ok()).unwrap_or(0);
            if let Some(region) = regions.last_mut() {
                region.resident = kilobytes.saturating_mul(1024);
            }
        } else if let Some(region) = header(line) {
            regions.push(region);
        }
    }
    regions
}

/// `7f00-7f10 rw-p 00000000 00:00 0    [heap]`
fn header(line: &str) -> Option<Region<'_>> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let start = u64::from_str_radix(start, 16).ok()?;
    let end = u64::from_str_radix(end, 16).ok()?;
    let mut words = rest.splitn(5, ' ');
    let closed = words.next()?.starts_with("---");
    let name = words.nth(3).unwrap_or("").trim();
    Some(Region { start, end, closed, name, resident: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
55d0c8000000-55d0c8100000 r-xp 00000000 08:01 42 /usr/bin/python3.12
Size:               1024 kB
Rss:                 700 kB
VmFlags: rd ex mr mw me
55d0c9000000-55d0c9800000 rw-p 00000000 00:00 0                          [heap]
Rss:                8000 kB
7f1100000000-7f1100800000 rw-p 00000000 00:00 0 
Rss:                3000 kB
7f1100800000-7f1104000000 ---p 00000000 00:00 0 
Rss:                   0 kB
7f1200000000-7f1200001000 ---p 00000000 00:00 0 
Rss:                   0 kB
7f1200001000-7f1200801000 rw-p 00000000 00:00 0 
Rss:                  40 kB
7f1300000000-7f1300100000 rw-p 00000000 00:00 0 
Rss:                1024 kB
7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                          [stack]
Rss:                  60 kB
";

    #[test]
    fn every_page_has_its_kind() {
        let facts = facts_of(SMAPS);

        assert_eq!(facts.file_bytes, 700 << 10);
        assert_eq!(facts.heap_bytes, 11_000 << 10);
        assert_eq!(facts.stack_bytes, 100 << 10);
        assert_eq!(facts.other_bytes, 1024 << 10);
        assert_eq!(facts.resident_bytes, (700 + 11_000 + 100 + 1024) << 10);
    }

    #[test]
    fn kinds_add_up_to_what_the_kernel_says_is_resident() {
        let facts = memory_facts().unwrap();
        let statm = fs::read_to_string("/proc/self/statm").unwrap();
        let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();

        let kinds = facts.file_bytes + facts.stack_bytes + facts.heap_bytes + facts.other_bytes;
        assert_eq!(kinds, facts.resident_bytes);
        // The kernel counts pages per thread and adds them up late.
        let apart = facts.resident_bytes.abs_diff(pages * 4096) as f64;
        assert!(apart <= 0.1 * facts.resident_bytes as f64 + 2e6, "{apart} {facts:?}");
    }

    #[test]
    fn stacks_of_threads_are_seen() {
        let before = memory_facts().unwrap();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new().stack_size(16 << 20).spawn(move || {
            let room = [1_u8; 8 << 20];
            ready.send(std::hint::black_box(&room)[1 << 20]).unwrap();
            let _ = wait.recv();
        });
        is_ready.recv().unwrap();
        let during = memory_facts().unwrap();
        drop(go);
        thread.unwrap().join().unwrap();

        let grown = during.stack_bytes.saturating_sub(before.stack_bytes);
        assert!(grown >= 7 << 20, "{grown}");
    }
}
