//! What the resident size of a process is made of.
//!
//! The kernel says which pages are resident and of what kind, the allocator
//! how much of its room is in use, the samples who asked for it. This file
//! adds them up and names what is left over; it reads nothing itself.

use crate::{Allocation, Allocator, Profile};

/// What the kernel and the allocator say about a process at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryFacts {
    /// Resident memory, all of it.
    pub resident_bytes: u64,
    /// Resident pages of mapped files and shared memory.
    pub file_bytes: u64,
    /// Resident pages of stacks.
    pub stack_bytes: u64,
    /// Resident pages of the allocator's own heaps.
    pub heap_bytes: u64,
    /// Resident anonymous pages outside of them: large blocks, Python's arenas.
    pub other_bytes: u64,
    /// What of the allocator's own heaps is in use, as it says itself.
    pub malloc_used_bytes: u64,
    /// What the allocator has mapped for large blocks, resident or not.
    pub malloc_mapped_bytes: u64,
}

impl MemoryFacts {
    fn anonymous_bytes(&self) -> u64 {
        self.heap_bytes.saturating_add(self.other_bytes)
    }

    /// Resident pages of the allocator's heaps that hold no block.
    fn malloc_free_bytes(&self) -> u64 {
        self.heap_bytes.saturating_sub(self.malloc_used_bytes)
    }
}

/// What the samples say about memory at the same moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteMemory {
    /// The resident part of live blocks.
    pub resident_bytes: u64,
    /// What the allocators lost to headers and rounding for them.
    pub slack_bytes: u64,
    /// Live objects that lie in Python's arenas; part of the resident ones.
    pub python_bytes: u64,
    /// Memory that the recorder itself holds.
    pub profiler_bytes: u64,
}

impl SiteMemory {
    /// What the live blocks of `profile` amount to; `resident` says which
    /// share of a block is resident, 0 to 1.
    #[must_use]
    pub fn of(profile: &Profile, resident: impl Fn(&Allocation) -> f64) -> Self {
        let mut sum = Self::default();
        for block in profile.allocations.iter().filter(|block| block.freed.is_none()) {
            let share = resident(block).clamp(0.0, 1.0);
            let part = (block.weight_bytes as f64 * share) as u64;
            sum.resident_bytes = sum.resident_bytes.saturating_add(part);
            let slack = slack_of(block).saturating_mul(block.blocks());
            sum.slack_bytes = sum.slack_bytes.saturating_add(slack);
            if is_in_arena(block) {
                sum.python_bytes = sum.python_bytes.saturating_add(part);
            }
        }
        sum
    }
}

/// An object that the interpreter passes on to `malloc` is called a block of that.
fn is_in_arena(block: &Allocation) -> bool {
    matches!(block.allocator, Allocator::PyMem | Allocator::PyObject)
}

/// What one block like this costs its allocator beyond its size.
fn slack_of(block: &Allocation) -> u64 {
    const ALIGNED: u64 = 16;
    const PAGE: u64 = 4096;
    let size = block.size_bytes;
    let room = match block.allocator {
        Allocator::Mmap | Allocator::Arena | Allocator::Device => size.next_multiple_of(PAGE),
        _ if is_in_arena(block) => size.max(1).next_multiple_of(ALIGNED),
        // A header of eight bytes, and no chunk is smaller than 32.
        _ => size.saturating_add(8).next_multiple_of(ALIGNED).max(32),
    };
    room.saturating_sub(size)
}

/// A named part of the resident size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// Blocks that the sites hold.
    Sites,
    /// Allocated before sampling began, and not freed since.
    BeforeStart,
    /// Headers and rounding of the allocators.
    Slack,
    /// Room that the allocators keep for later.
    FreeRoom,
    /// Mapped files: code, data, shared memory.
    Files,
    /// Stacks of threads.
    Stacks,
    /// What the recorder itself holds.
    Profiler,
}

impl Part {
    /// All parts, in the order in which people read them.
    pub const ALL: [Self; 7] = [
        Self::Sites,
        Self::BeforeStart,
        Self::Slack,
        Self::FreeRoom,
        Self::Files,
        Self::Stacks,
        Self::Profiler,
    ];

    /// Its name in the API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sites => "sites",
            Self::BeforeStart => "before_start",
            Self::Slack => "allocator_slack",
            Self::FreeRoom => "free_room",
            Self::Files => "mapped_files",
            Self::Stacks => "stacks",
            Self::Profiler => "profiler",
        }
    }

    /// What a report calls it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Sites => "held by sites",
            Self::BeforeStart => "from before the start",
            Self::Slack => "allocator slack",
            Self::FreeRoom => "free room in arenas",
            Self::Files => "mapped files",
            Self::Stacks => "stacks",
            Self::Profiler => "tachograph itself",
        }
    }
}

/// What the resident size of a process is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// The resident size.
    pub resident_bytes: u64,
    /// Its parts, in the order of [`Part::ALL`].
    pub parts: Vec<(Part, u64)>,
    /// What no part accounts for; negative when the parts say too much,
    /// because what the sites hold is an estimate.
    pub unexplained_bytes: i64,
}

impl Explanation {
    /// The size of one part.
    #[must_use]
    pub fn part(&self, part: Part) -> u64 {
        self.parts.iter().find(|(other, _)| *other == part).map_or(0, |(_, bytes)| *bytes)
    }

    /// What stays unexplained, as a share of the resident size.
    #[must_use]
    pub fn unexplained_share(&self) -> f64 {
        self.unexplained_bytes.unsigned_abs() as f64 / self.resident_bytes.max(1) as f64
    }
}

/// Names the parts of the resident size `now`, given the facts of the `start`
/// and what the samples know. The parts and what is unexplained add up to it.
///
/// What was in use at the start bounds what can be left from before it, and
/// what Python's arenas grew by bounds their free room; what exceeds both is
/// called unexplained.
///
/// ```
/// use tachograph_profile::analyze::heap::{MemoryFacts, Part, SiteMemory, explain};
///
/// let start = MemoryFacts {
///     resident_bytes: 30, file_bytes: 10, heap_bytes: 20, malloc_used_bytes: 18,
///     ..Default::default()
/// };
/// let now = MemoryFacts {
///     resident_bytes: 130, file_bytes: 10, heap_bytes: 120, malloc_used_bytes: 110,
///     ..Default::default()
/// };
/// let sites = SiteMemory { resident_bytes: 90, slack_bytes: 2, ..Default::default() };
/// let found = explain(&start, &now, &sites);
/// assert_eq!(found.part(Part::BeforeStart), 18);
/// assert_eq!(found.part(Part::FreeRoom), 10);
/// assert_eq!(found.unexplained_bytes, 0);
/// ```
#[must_use]
pub fn explain(start: &MemoryFacts, now: &MemoryFacts, sites: &SiteMemory) -> Explanation {
    let malloc_free = now.malloc_free_bytes();
    let known = sites
        .resident_bytes
        .saturating_add(sites.slack_bytes)
        .saturating_add(sites.profiler_bytes)
        .saturating_add(malloc_free);
    let rest = now.anonymous_bytes().saturating_sub(known);
    let before = rest.min(start.anonymous_bytes().saturating_sub(start.malloc_free_bytes()));
    // Python's arenas lie outside of the allocator's heaps. What they grew by
    // and no live object fills is room that freed objects left.
    let grown = now.other_bytes.saturating_sub(start.other_bytes);
    let arena_free = (rest - before).min(grown.saturating_sub(sites.python_bytes));
    let parts: Vec<_> = Part::ALL
        .into_iter()
        .map(|part| {
            let bytes = match part {
                Part::Sites => sites.resident_bytes,
                Part::BeforeStart => before,
                Part::Slack => sites.slack_bytes,
                Part::FreeRoom => malloc_free.saturating_add(arena_free),
                Part::Files => now.file_bytes,
                Part::Stacks => now.stack_bytes,
                Part::Profiler => sites.profiler_bytes,
            };
            (part, bytes)
        })
        .collect();
    let sum: i128 = parts.iter().map(|(_, bytes)| i128::from(*bytes)).sum();
    let unexplained = i128::from(now.resident_bytes) - sum;
    Explanation {
        resident_bytes: now.resident_bytes,
        parts,
        unexplained_bytes: i64::try_from(unexplained).unwrap_or(i64::MIN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::heap::from_rows;

    #[test]
    fn a_block_costs_more_than_its_size() {
        let mut profile = from_rows(&[(0, None, 100, &[("f", "a.py", 1)])]);
        let block = &mut profile.allocations[0];
        let mut slack = |size, allocator| {
            (block.size_bytes, block.allocator) = (size, allocator);
            slack_of(block)
        };
        assert_eq!(slack(100, Allocator::Malloc), 12);
        assert_eq!(slack(1, Allocator::Malloc), 31);
        assert_eq!(slack(56, Allocator::PyObject), 8);
        assert_eq!(slack(600, Allocator::PyObject), 8);
        assert_eq!(slack(5000, Allocator::Mmap), 3192);
    }

    #[test]
    fn untouched_memory_is_not_resident() {
        let profile = from_rows(&[
            (0, None, 1000, &[("f", "a.py", 1)]),
            (1, None, 500, &[("g", "a.py", 2)]),
            (2, Some(3), 70, &[("g", "a.py", 2)]),
        ]);

        let sum = SiteMemory::of(&profile, |block| if block.time.0 == 0 { 0.25 } else { 1.0 });

        assert_eq!(sum.resident_bytes, 750);
    }

    #[test]
    fn what_nobody_accounts_for_is_unexplained() {
        let start = MemoryFacts { resident_bytes: 10, other_bytes: 10, ..MemoryFacts::default() };
        let now = MemoryFacts {
            resident_bytes: 1000,
            heap_bytes: 900,
            malloc_used_bytes: 900,
            other_bytes: 100,
            ..MemoryFacts::default()
        };
        let sites = SiteMemory { resident_bytes: 300, ..SiteMemory::default() };

        let found = explain(&start, &now, &sites);

        // 10 are from before, 90 may be free room in arenas; 600 are nobody's.
        assert_eq!(found.part(Part::BeforeStart), 10);
        assert_eq!(found.part(Part::FreeRoom), 90);
        assert_eq!(found.unexplained_bytes, 600);
        assert!(found.unexplained_share() > 0.59);
    }
}
