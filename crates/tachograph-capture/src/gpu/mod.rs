//! Accelerators: what they are, how busy they are, how long their work takes.
//!
//! Looking never changes anything: no context is made, no device memory is
//! taken, the CUDA driver is neither loaded nor initialised, and a device that
//! sleeps is left asleep. What a machine does not have is `None` or an empty
//! list with a reason (`status`), never an error.

mod anchors;
mod codes;
mod devices;
mod drm;
mod marks;
mod nvidia;
mod per_process;
mod pids;
mod places;
mod reading;
mod source;
#[cfg(test)]
mod stand_in;
mod stream_log;

pub use devices::{Status, devices, read, status};
pub use marks::{
    Mark, current_device, device_of_cuda, has_context, is_known, is_loaded, mark, synchronize,
};
pub use reading::{Device, Reading, Vendor};
pub use source::watch;
pub(crate) use stream_log::take_stream_spans;
pub use stream_log::{StreamSpan, stream_span, wants_stream_spans};
