//! The course of a value over time in a fixed number of blocks.
//!
//! Each block stands for as many consecutive values as every other; when there
//! are too many blocks, neighbours are joined. Means of blocks show a trend,
//! and, unlike single values, they hardly depend on each other, so an interval
//! made from them can be believed.

/// Blocks kept at most.
pub const BLOCKS: usize = 64;

/// Consecutive values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Block {
    /// When the first of them came, on the monotonic clock.
    pub time_ns: u64,
    /// How many they are.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
}

impl Block {
    /// Their mean; 0 when there are none.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum / self.count as f64 }
    }

    fn join(&mut self, other: &Self) {
        self.time_ns = self.time_ns.min(other.time_ns);
        self.count += other.count;
        self.sum += other.sum;
    }
}

/// The blocks of one value.
#[derive(Clone, Debug, PartialEq)]
pub struct Blocks {
    /// Values per block.
    stride: u64,
    blocks: Vec<Block>,
}

impl Default for Blocks {
    fn default() -> Self {
        Self { stride: 1, blocks: Vec::new() }
    }
}

impl Blocks {
    /// Blocks as a saved report has them.
    #[must_use]
    pub fn from_saved(blocks: Vec<Block>) -> Self {
        let stride = blocks.iter().map(|block| block.count).max().unwrap_or(1).max(1);
        Self { stride, blocks }
    }

    /// Adds the next value.
    pub fn add(&mut self, time_ns: u64, value: f64) {
        if let Some(last) = self.blocks.last_mut()
            && last.count < self.stride
        {
            last.count += 1;
            last.sum += value;
            return;
        }
        if self.blocks.len() == BLOCKS {
            self.halve();
        }
        self.blocks.push(Block { time_ns, count: 1, sum: value });
    }

    /// Adds all of `other`, in the order of time.
    pub fn merge(&mut self, other: &Self) {
        self.blocks.extend_from_slice(&other.blocks);
        self.blocks.sort_by_key(|block| block.time_ns);
        self.stride = self.stride.max(other.stride);
        while self.blocks.len() > BLOCKS {
            self.halve();
        }
    }

    /// The blocks, the oldest first.
    #[must_use]
    pub fn as_slice(&self) -> &[Block] {
        &self.blocks
    }

    fn halve(&mut self) {
        let mut kept = 0;
        for at in (0..self.blocks.len()).step_by(2) {
            let mut block = self.blocks.get(at).copied().unwrap_or_default();
            if let Some(next) = self.blocks.get(at + 1) {
                block.join(next);
            }
            if let Some(place) = self.blocks.get_mut(kept) {
                *place = block;
            }
            kept += 1;
        }
        self.blocks.truncate(kept);
        self.stride = self.stride.saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_few_alike_and_lose_nothing() {
        let mut blocks = Blocks::default();
        for value in 0..10_000_u32 {
            blocks.add(u64::from(value), f64::from(value));
        }

        let all = blocks.as_slice();

        assert!(all.len() <= BLOCKS && all.len() >= BLOCKS / 2);
        assert_eq!(all.iter().map(|block| block.count).sum::<u64>(), 10_000);
        assert_eq!(all.iter().map(|block| block.sum).sum::<f64>(), 49_995_000.0);
        let counts: Vec<u64> = all.iter().map(|block| block.count).collect();
        assert!(counts[..counts.len() - 1].windows(2).all(|pair| pair[0] == pair[1]));
        assert!(all.windows(2).all(|pair| pair[0].mean() < pair[1].mean()));
    }

    #[test]
    fn merged_blocks_are_in_the_order_of_time() {
        let (mut left, mut right) = (Blocks::default(), Blocks::default());
        for value in 0..100 {
            left.add(value * 2, 1.0);
            right.add(value * 2 + 1, 3.0);
        }

        left.merge(&right);

        assert!(left.as_slice().len() <= BLOCKS);
        assert!(left.as_slice().windows(2).all(|pair| pair[0].time_ns <= pair[1].time_ns));
        assert_eq!(left.as_slice().iter().map(|block| block.sum).sum::<f64>(), 400.0);
    }

    #[test]
    fn blocks_of_very_many_threads_become_one() {
        let mut of_thread = Blocks::default();
        (0..BLOCKS as u64).for_each(|time| of_thread.add(time, 1.0));
        let mut whole = Blocks::default();

        (0..100).for_each(|_| whole.merge(&of_thread));

        assert!(whole.as_slice().len() <= BLOCKS);
        assert_eq!(whole.as_slice().iter().map(|block| block.count).sum::<u64>(), 6_400);
    }
}
