//! What can go wrong.

/// Why a recording could not be made, read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Recording could not begin.
    #[error(transparent)]
    Capture(#[from] tachograph_capture::Error),
    /// A recording could not be read or written.
    #[error(transparent)]
    Profile(#[from] tachograph_profile::Error),
    /// The recording is not complete.
    #[error("the recording is not complete: {reason}")]
    Incomplete {
        /// Why, as a sentence.
        reason: String,
    },
}
