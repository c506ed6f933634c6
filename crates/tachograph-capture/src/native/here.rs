//! The native stack of the calling thread.

use std::cell::RefCell;
use std::sync::Arc;

use super::{NativeSymbol, Symbolizer, refresh};
use crate::sys::native::step::registers_here;
use crate::sys::native::unwind::{MAX_FRAMES, NativeRaw, PC_MASK, Scratch, unwind_own};
use crate::sys::registers::Interrupted;

/// One native frame of the calling thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeFrame {
    /// Instruction pointer.
    pub ip: u64,
    /// Function name; empty when unknown.
    pub symbol: String,
    /// Object file.
    pub filename: String,
    /// Distance from the start of the function.
    pub offset: u64,
}

/// How far a walk came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Walked {
    /// Frames written.
    pub depth: usize,
    /// The thread's first function was reached.
    pub complete: bool,
}

/// Walks the stack of the calling thread without allocating, as often as asked.
///
/// Knows the objects that were loaded at the last [`refresh`]; before the first
/// one it finds nothing.
pub struct Walker {
    scratch: Scratch,
    frames: Box<[NativeRaw]>,
}

impl std::fmt::Debug for Walker {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Walker").finish_non_exhaustive()
    }
}

impl Default for Walker {
    fn default() -> Self {
        Self::new()
    }
}

impl Walker {
    /// A walker with its own working memory, about 100 KB.
    #[must_use]
    pub fn new() -> Self {
        let frames = vec![NativeRaw::default(); MAX_FRAMES].into_boxed_slice();
        Self { scratch: Scratch::default(), frames }
    }

    /// Writes the code words of the calling thread's stack to `out`, innermost
    /// first and beginning with the caller, for a [`Symbolizer`] to name.
    ///
    /// At most 255 of them. Allocates nothing, takes no lock and may run in a
    /// signal handler.
    #[inline(never)]
    pub fn walk(&mut self, out: &mut [u64]) -> Walked {
        let registers = registers_here();
        self.walk_from(registers, out)
    }

    /// The callers of the function whose registers these are.
    fn walk_from(&mut self, registers: Interrupted, out: &mut [u64]) -> Walked {
        let unwound = unwind_own(registers, &mut self.scratch, &mut self.frames);
        let callers = self.frames.get(1..unwound.depth).unwrap_or_default();
        for (word, frame) in out.iter_mut().zip(callers) {
            *word = frame.code();
        }
        let complete = unwound.complete && callers.len() <= out.len();
        Walked { depth: callers.len().min(out.len()), complete }
    }
}

/// The native stack of the calling thread, innermost first, beginning with the
/// caller.
///
/// At most `max_depth` frames, and never more than 255. Empty where
/// [`available`](super::available) is false.
///
/// ```
/// use tachograph_capture::native;
///
/// for frame in native::capture_here(10) {
///     println!("{} + {:#x} in {}", frame.symbol, frame.offset, frame.filename);
/// }
/// ```
#[must_use]
#[inline(never)]
pub fn capture_here(max_depth: usize) -> Vec<NativeFrame> {
    thread_local! {
        // Boxed: what every thread has room for from its beginning is scarce.
        static OWN: RefCell<Box<(Walker, Symbolizer)>> =
            RefCell::new(Box::new((Walker::new(), Symbolizer::new())));
    }
    let registers = registers_here();
    refresh();
    OWN.with_borrow_mut(|own| {
        let (walker, symbolizer) = &mut **own;
        let mut words = vec![0; max_depth.min(MAX_FRAMES)];
        let walked = walker.walk_from(registers, &mut words);
        words.truncate(walked.depth);
        let symbols = symbolizer.resolve(&words);
        let named = |(word, symbol): (u64, Arc<NativeSymbol>)| NativeFrame {
            // Every frame here is a caller: it goes on behind its call.
            ip: (word & PC_MASK) + 1,
            symbol: symbol.known_name().to_owned(),
            filename: symbol.module_path.clone(),
            offset: symbol.offset() + 1,
        };
        words.into_iter().zip(symbols).map(named).collect()
    })
}
