//! Native stacks of another process, by the unwind tables of its objects.
//!
//! The tables are read from the process's memory, object by object, when a
//! stack first leads through one.

use std::ops::Range;

use framehop::{
    CacheNative, FrameAddress, MayAllocateDuringUnwind, Module, ModuleSectionInfo, Unwinder as _,
    UnwinderNative,
};
use rustc_hash::FxHashMap;
use tachograph_probe::memory::ReadMemory;

use crate::attach::find::image::Image;
use crate::attach::find::maps::{Mapped, mapped};
use crate::attach::read::snapshot::Snapshot;
use crate::native::elf;
use crate::python::ProcessMemory;
use crate::sys::clock;
use crate::sys::native;
use crate::sys::native::unwind::{MAX_OBJECT, NativeRaw};
use crate::sys::registers::Interrupted;

/// Frames kept of one stack.
pub(crate) const MAX_FRAMES: usize = 768;

/// The list of objects is read again at most this often.
const REFRESH_NS: u64 = 200_000_000;

/// Unwind tables larger than this are not read.
const LARGEST_TABLE: u64 = 512 << 20;

/// Addresses after which what is known of them is forgotten.
const MOST_RETURNS: usize = 1 << 16;

/// No code lies below this address.
const LOWEST_CODE: u64 = 4096;

type Tables = Vec<u8>;

/// An object of the process.
#[derive(Debug)]
pub(crate) struct Object {
    /// Where and what it is.
    pub(crate) mapped: Mapped,
    /// Distance between addresses in the file and addresses in memory.
    pub(crate) bias: u64,
    /// The build id; empty when it has none.
    pub(crate) build_id: Vec<u8>,
    /// Its unwind table index, for telling functions apart that have no name.
    pub(crate) index: Option<Range<u64>>,
    is_prepared: bool,
}

/// Unwinds stacks of one process.
pub(crate) struct Unwinder {
    pid: i32,
    engine: UnwinderNative<Tables, MayAllocateDuringUnwind>,
    cache: CacheNative<MayAllocateDuringUnwind>,
    /// Every object ever seen; a frame's object number is its place plus one.
    objects: Vec<Object>,
    /// Where the object is that held the latest address.
    latest: usize,
    /// Whether a signal handler returns to an address, as far as that was asked.
    signal_returns: FxHashMap<u64, bool>,
    refreshed_at: u64,
    frames: Vec<NativeRaw>,
}

impl std::fmt::Debug for Unwinder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Unwinder").field("objects", &self.objects.len()).finish()
    }
}

impl Unwinder {
    /// For process `pid`.
    pub(crate) fn of(pid: i32) -> Self {
        Self {
            pid,
            engine: UnwinderNative::new(),
            cache: CacheNative::new(),
            objects: Vec::new(),
            latest: 0,
            signal_returns: FxHashMap::default(),
            refreshed_at: 0,
            frames: Vec::new(),
        }
    }

    /// The object with number `id`.
    pub(crate) fn object(&self, id: u16) -> Option<&Object> {
        self.objects.get(usize::from(id).checked_sub(1)?)
    }

    /// The stack of a thread that stands at `registers`, innermost first, and
    /// whether it was followed to its end.
    pub(crate) fn unwind(
        &mut self,
        memory: &Snapshot,
        registers: Interrupted,
    ) -> (&[NativeRaw], bool) {
        self.frames.clear();
        if self.signal_returns.len() > MOST_RETURNS {
            self.signal_returns.clear();
        }
        let mut regs = native::step::unwind_registers(registers);
        let mut address = FrameAddress::from_instruction_pointer(registers.ip);
        let mut read = |at: u64| memory.word(at);
        let (mut guessed, mut complete) = (false, false);
        while self.frames.len() < MAX_FRAMES {
            let (pc, sp) = (address.address_for_lookup(), regs.sp());
            let object = self.object_at(pc);
            self.frames.push(NativeRaw { pc, sp, cfa: sp, object: object.unwrap_or(0) });
            if object.is_none() {
                // Code that no object holds is crossed once, by its frame pointer.
                let step = native::step::by_frame_pointer(&regs, &mut read).filter(|_| !guessed);
                guessed = true;
                match step.and_then(|(callers, at)| {
                    regs = callers;
                    FrameAddress::from_return_address(at)
                }) {
                    Some(caller) => address = caller,
                    None => break,
                }
                continue;
            }
            let at = address.address();
            let returns = self.signal_returns.entry(at);
            if *returns.or_insert_with(|| native::step::is_signal_return(at, &mut read))
                && let Some(before) = native::step::interrupted_registers(sp, &mut read)
            {
                regs = native::step::unwind_registers(before);
                address = FrameAddress::from_instruction_pointer(before.ip);
                continue;
            }
            let mut read_stack = |at| memory.word(at).ok_or(());
            let step =
                self.engine.unwind_frame(address, &mut regs, &mut self.cache, &mut read_stack);
            let Ok(Some(caller)) = step else {
                complete = step.is_ok() && !guessed;
                break;
            };
            let went_up = regs.sp() > sp || !address.is_return_address() && regs.sp() == sp;
            let Some(next) = FrameAddress::from_return_address(caller)
                .filter(|_| went_up && caller > LOWEST_CODE)
            else {
                break;
            };
            if let Some(frame) = self.frames.last_mut() {
                frame.cfa = regs.sp().max(sp);
            }
            address = next;
        }
        (&self.frames, complete)
    }

    /// The number of the object that holds `pc`, its tables read.
    fn object_at(&mut self, pc: u64) -> Option<u16> {
        let holds = |object: &Object| (object.mapped.start..object.mapped.end).contains(&pc);
        let find = |objects: &[Object]| objects.iter().rposition(holds);
        if self.objects.get(self.latest).is_some_and(|object| object.is_prepared && holds(object)) {
            return u16::try_from(self.latest + 1).ok();
        }
        let mut found = find(&self.objects);
        if found.is_none() {
            let now = clock::monotonic();
            if now.saturating_sub(self.refreshed_at) < REFRESH_NS {
                return None;
            }
            self.refreshed_at = now;
            self.refresh();
            found = find(&self.objects);
        }
        let index = found.filter(|index| *index < usize::from(MAX_OBJECT))?;
        let object = self.objects.get_mut(index)?;
        if !object.is_prepared {
            object.is_prepared = true;
            if let Some(module) = prepare(self.pid, object) {
                self.engine.add_module(module);
            }
        }
        self.latest = index;
        u16::try_from(index + 1).ok()
    }

    fn refresh(&mut self) {
        self.latest = usize::MAX;
        self.signal_returns.clear();
        for mapped in mapped(self.pid).unwrap_or_default() {
            if !self.objects.iter().any(|object| object.mapped == mapped) {
                // What was there before is gone; its rules must not be used.
                self.engine.remove_module(mapped.start);
                self.objects.push(Object {
                    mapped,
                    bias: 0,
                    build_id: Vec::new(),
                    index: None,
                    is_prepared: false,
                });
            }
        }
    }
}

/// Reads what unwinding through `object` needs.
fn prepare(pid: i32, object: &mut Object) -> Option<Module<Tables>> {
    let memory = ProcessMemory::of(pid);
    let image = Image::at(&memory, object.mapped.start)?;
    object.bias = image.bias;
    let read = |address: u64, out: &mut [u8]| memory.bytes(address, out);
    if let Some((id, _)) = elf::build_id(&image.segments, &read) {
        object.build_id = id;
    }
    let index = elf::unwind_index(&image.segments)?;
    let table = elf::unwind_table(&image.segments, &index, &read)?;
    object.index = Some(index.clone());
    let bytes = |range: &Range<u64>| {
        let length = range.end.checked_sub(range.start).filter(|length| *length < LARGEST_TABLE);
        let mut bytes = vec![0; usize::try_from(length?).ok()?];
        memory.bytes(range.start, &mut bytes).then_some(bytes)
    };
    let sections = Sections {
        bias: image.bias,
        index: (index.clone(), bytes(&index)?),
        table: (table.clone(), bytes(&table)?),
    };
    let extent = elf::extent(&image.segments)?;
    Some(Module::new(object.mapped.path.clone(), extent, image.bias, sections))
}

/// The sections of an object that the unwinder asks for.
struct Sections {
    bias: u64,
    index: (Range<u64>, Vec<u8>),
    table: (Range<u64>, Vec<u8>),
}

impl Sections {
    fn section(&mut self, name: &[u8]) -> Option<&mut (Range<u64>, Vec<u8>)> {
        match name {
            b".eh_frame_hdr" => Some(&mut self.index),
            b".eh_frame" => Some(&mut self.table),
            _ => None,
        }
    }
}

impl ModuleSectionInfo<Tables> for Sections {
    fn base_svma(&self) -> u64 {
        0
    }

    fn section_svma_range(&mut self, name: &[u8]) -> Option<Range<u64>> {
        let bias = self.bias;
        let Range { start, end } = self.section(name)?.0.clone();
        Some(start.wrapping_sub(bias)..end.wrapping_sub(bias))
    }

    fn section_data(&mut self, name: &[u8]) -> Option<Tables> {
        self.section(name).map(|section| std::mem::take(&mut section.1))
    }
}
