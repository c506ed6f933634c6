//! Native stacks: unwinding and names.

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

/// Whether this build and machine can unwind native stacks.
#[must_use]
pub fn available() -> bool {
    false
}

/// The native stack of the calling thread, innermost first.
#[must_use]
pub fn capture_here(max_depth: usize) -> Vec<NativeFrame> {
    let _ = max_depth;
    Vec::new()
}
