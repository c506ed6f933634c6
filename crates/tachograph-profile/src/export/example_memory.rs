//! The made-up training job with its memory sampled as well: a batch that is
//! held at the peak, a buffer that comes and goes, and a cache that leaks.

use super::example::training_run;
use crate::analyze::heap::{MemoryFacts, SiteMemory, fact_values};
use crate::{
    Allocation, Allocator, HeapReport, HeapSettings, Interner, Mode, Point, Profile, Series,
    SeriesId, SeriesKind, StackId, Time, TrackId, Unit,
};

const DATA: &str = "/home/ada/job/data.py";
const OPS: &str = "/home/ada/job/ops.py";
const MS: u64 = 1_000_000;

/// The job with memory.
pub(super) fn training_with_memory() -> Profile {
    let mut profile = training_run(Mode::Cpu);
    let mut tables = Interner::from_tables(std::mem::take(&mut profile.tables));
    let main = tables.python_frame("main", "/home/ada/job/train.py", 71, 60);
    let main = tables.stack(None, main);
    let mut stack = |function, file, line, first| {
        let frame = tables.python_frame(function, file, line, first);
        tables.stack(Some(main), frame)
    };
    let load = stack("load_batch", DATA, 77, 70);
    let grad = stack("Tensor.grad", OPS, 12, 9);
    let put = stack("cache_put", DATA, 102, 99);
    let blocks = &mut profile.allocations;
    for i in 0..9 {
        add(blocks, i * 40 * MS, Some(1_200 * MS), load, 20_000_000);
    }
    for i in 0..90 {
        add(blocks, i * 21 * MS, Some((i * 21 + 15) * MS), grad, 4_000_000);
    }
    for i in 0..60 {
        add(blocks, i * 32 * MS, None, put, 40_000);
    }
    blocks.sort_by_key(|block| block.time);
    profile.meta.settings.heap = Some(HeapSettings {
        rate_bytes: 512 << 10,
        python_objects: true,
        native: true,
        report: HeapReport { total_samples: 159, freed_samples: 99, ..HeapReport::default() },
    });
    resident(&mut profile.points, &mut tables);
    profile.tables = tables.into_tables();
    profile
}

fn add(blocks: &mut Vec<Allocation>, time: u64, freed: Option<u64>, stack: StackId, size: u64) {
    blocks.push(Allocation {
        time: Time(time),
        freed: freed.map(Time),
        track: TrackId(1),
        stack,
        address: 0x7f00_0000_0000 + time,
        size_bytes: size,
        weight_bytes: size,
        allocator: Allocator::Malloc,
    });
}

fn resident(points: &mut Vec<Point>, tables: &mut Interner) {
    let start = MemoryFacts {
        resident_bytes: 31_000_000,
        file_bytes: 15_000_000,
        stack_bytes: 200_000,
        heap_bytes: 9_000_000,
        other_bytes: 6_800_000,
        malloc_used_bytes: 8_500_000,
        malloc_mapped_bytes: 400_000,
    };
    let now = MemoryFacts {
        resident_bytes: 42_000_000,
        file_bytes: 15_400_000,
        stack_bytes: 300_000,
        heap_bytes: 16_000_000,
        other_bytes: 10_300_000,
        malloc_used_bytes: 12_000_000,
        malloc_mapped_bytes: 400_000,
    };
    let sites = SiteMemory {
        resident_bytes: 2_400_000,
        slack_bytes: 30_000,
        python_bytes: 0,
        profiler_bytes: 3_100_000,
    };
    for (time, facts, sites) in [(0, start, SiteMemory::default()), (1_900 * MS, now, sites)] {
        for (name, value) in fact_values(&facts, &sites) {
            let name = tables.string(name);
            let rows = &mut tables.tables_mut().series;
            let row = rows.iter().position(|row| row.name == name).unwrap_or_else(|| {
                let (track, unit, kind) = (TrackId(0), Unit::Bytes, SeriesKind::Gauge);
                rows.push(Series { name, track, unit, kind });
                rows.len() - 1
            });
            points.push(Point {
                time: Time(time),
                series: SeriesId::from(row),
                value: value as f64,
            });
        }
    }
}
