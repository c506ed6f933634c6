//! Profiles of memory for tests and examples.

use crate::{Allocation, Allocator, Profile, Time, TrackId};

/// A time, when it was freed, a weight, and root-first `(function, file, line)` rows.
type Block<'a> = (u64, Option<u64>, u64, &'a [(&'a str, &'a str, u32)]);

/// A profile of sampled blocks on one thread, for tests and examples. Each
/// sample is one block as large as its weight.
#[must_use]
pub fn from_rows(blocks: &[Block<'_>]) -> Profile {
    let stacks: Vec<_> = blocks.iter().map(|(time, _, _, stack)| (*time, 0, *stack)).collect();
    let mut profile = Profile::from_stacks(&stacks);
    let mut order: Vec<_> = blocks.iter().filter(|row| !row.3.is_empty()).collect();
    order.sort_by_key(|row| row.0);
    for ((time, freed, weight, _), sample) in order.into_iter().zip(&profile.samples) {
        profile.allocations.push(Allocation {
            time: Time(*time),
            freed: freed.map(Time),
            track: TrackId(1),
            stack: sample.stack,
            address: 0,
            size_bytes: *weight,
            weight_bytes: *weight,
            allocator: Allocator::Malloc,
        });
    }
    profile.samples.clear();
    let last = blocks.iter().map(|(time, freed, ..)| freed.unwrap_or(*time).max(*time)).max();
    profile.meta.duration_ns = last.unwrap_or(0);
    profile
}
