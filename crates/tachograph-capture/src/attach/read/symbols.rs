//! Names for native addresses of another process, from the files it mapped.

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{Input, Sym, Symbolized, Symbolizer as Reader};

use crate::attach::find::target::file_of;
use crate::attach::read::unwind::Object;
use crate::native::NativeSymbol;
use crate::native::elf;
use crate::native::symbols::{own_name, reader, tidy};
use crate::python::ProcessMemory;
use tachograph_probe::memory::ReadMemory;

/// Names addresses of one process.
pub(crate) struct Symbols {
    pid: i32,
    reader: Reader,
}

impl std::fmt::Debug for Symbols {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Symbols").field("pid", &self.pid).finish_non_exhaustive()
    }
}

impl Symbols {
    /// For process `pid`.
    pub(crate) fn of(pid: i32) -> Self {
        Self { pid, reader: reader() }
    }

    /// What the function at `pc` is called.
    pub(crate) fn name(&self, object: Option<&Object>, pc: u64) -> NativeSymbol {
        let Some(object) = object else {
            let function = format!("[anonymous]+{pc:#x}");
            return NativeSymbol {
                function,
                file_address: pc,
                function_start: pc,
                ..NativeSymbol::default()
            };
        };
        let file_address = pc.wrapping_sub(object.bias);
        let digits = object.build_id.iter().map(|byte| format!("{byte:02x}"));
        let mut symbol = NativeSymbol {
            module_path: object.mapped.path.clone(),
            module_base: object.mapped.start,
            module_end: object.mapped.end,
            build_id: digits.collect(),
            file_address,
            function_start: file_address,
            ..NativeSymbol::default()
        };
        if let Some((name, start)) = self.look_up(object, file_address) {
            symbol.function = tidy(&name).to_owned();
            symbol.is_named = true;
            symbol.function_start = start;
        } else {
            let memory = ProcessMemory::of(self.pid);
            let read = |address: u64, out: &mut [u8]| memory.bytes(address, out);
            let start =
                object.index.as_ref().and_then(|index| elf::function_start(index, pc, &read));
            symbol.function_start =
                start.map_or(file_address, |start| start.wrapping_sub(object.bias));
            symbol.function = format!("{}+{:#x}", object.mapped.file_name(), symbol.function_start);
        }
        symbol
    }

    fn look_up(&self, object: &Object, address: u64) -> Option<(String, u64)> {
        let mut elf = Elf::new(file_of(self.pid, &object.mapped));
        elf.debug_syms = false;
        let source = Source::from(elf);
        let found = self.reader.symbolize(&source, Input::VirtOffset(&[address])).ok()?;
        match found.into_iter().next()? {
            Symbolized::Sym(Sym { name, addr, offset, .. }) => {
                Some((own_name(&name, offset).to_owned(), addr))
            }
            Symbolized::Unknown(_) => None,
        }
    }
}
