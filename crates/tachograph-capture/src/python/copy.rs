//! A block of memory copied at once.
//!
//! Fields of one object are read from the same moment and for the price of one
//! read.

use tachograph_probe::memory::ReadMemory;

/// `SIZE` bytes from `start` on; reads outside of them go to `memory`.
pub(super) struct Copy<'a, M, const SIZE: usize> {
    memory: &'a M,
    start: u64,
    block: [u8; SIZE],
}

impl<'a, M: ReadMemory, const SIZE: usize> Copy<'a, M, SIZE> {
    /// Copies `SIZE` bytes at `start`; `None` if they cannot be read.
    pub(super) fn of(memory: &'a M, start: u64) -> Option<Self> {
        let mut block = [0; SIZE];
        memory.bytes(start, &mut block).then_some(Self { memory, start, block })
    }
}

impl<M: ReadMemory, const SIZE: usize> ReadMemory for Copy<'_, M, SIZE> {
    fn word(&self, address: u64) -> Option<u64> {
        let mut word = [0; 8];
        self.bytes(address, &mut word).then(|| u64::from_le_bytes(word))
    }

    fn bytes(&self, address: u64, out: &mut [u8]) -> bool {
        let begin = usize::try_from(address.wrapping_sub(self.start)).unwrap_or(usize::MAX);
        let end = begin.saturating_add(out.len());
        match self.block.get(begin..end) {
            Some(copied) => {
                out.copy_from_slice(copied);
                true
            }
            None => self.memory.bytes(address, out),
        }
    }
}
