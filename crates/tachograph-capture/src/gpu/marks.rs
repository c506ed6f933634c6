//! Moments on a device's own clock: events on the program's streams.
//!
//! Only a context that the program has made is used. Where there is none, or
//! its work is being captured into a graph, the answer is a reason and the
//! caller falls back to the clock of the processor.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::anchors::{self, Anchor};
use super::devices::Status;
use super::{codes, nvidia, places};
use crate::sys::gpu::Code;
use crate::sys::gpu::cuda::{Context, Cuda, Event, Stream};
use crate::sys::native::fork::Turn;
use crate::sys::{fork, native};

/// A moment on a device: when a stream has done what it was told before.
#[derive(Debug)]
pub struct Mark {
    cuda: &'static Cuda,
    event: Event,
    anchor: Option<Arc<Anchor>>,
    device: i32,
    generation: u32,
}

/// Marks the present moment on `stream` (0 is the default stream) of CUDA
/// device `ordinal`; without one, of the current device, else of the first.
/// An `anchored` mark also has a time on the clock of recordings.
///
/// # Errors
///
/// A sentence says why there can be no mark.
pub fn mark(stream: u64, ordinal: Option<i32>, anchored: bool) -> Result<Mark, String> {
    let cuda = driver()?;
    let here = Here::enter(cuda, ordinal)?;
    let stream = Stream(usize::try_from(stream).unwrap_or(0));
    if cuda.is_capturing(stream).map_err(codes::cuda)? {
        return Err("the stream is being captured into a graph".to_owned());
    }
    let anchor = if anchored { anchors::of(cuda, here.device) } else { None };
    let event = cuda.create_event().map_err(codes::cuda)?;
    let mark = Mark { cuda, event, anchor, device: here.device, generation: fork::generation() };
    cuda.record(&mark.event, stream).map_err(codes::cuda)?;
    Ok(mark)
}

/// Waits until CUDA device `ordinal` has done everything it was told.
///
/// # Errors
///
/// A sentence says why there is nothing to wait for.
pub fn synchronize(stream: u64, ordinal: Option<i32>) -> Result<(), String> {
    let cuda = driver()?;
    let _here = Here::enter(cuda, ordinal)?;
    let stream = Stream(usize::try_from(stream).unwrap_or(0));
    if cuda.is_capturing(stream).map_err(codes::cuda)? {
        return Err("the stream is being captured into a graph".to_owned());
    }
    cuda.synchronize().map_err(codes::cuda)
}

impl Mark {
    /// Waits until the moment has come.
    ///
    /// # Errors
    ///
    /// A sentence says why it never will.
    pub fn wait(&self) -> Result<(), String> {
        self.still_ours()?;
        let _relaxed = Relaxed::new(self.cuda);
        self.cuda.wait(&self.event).map_err(codes::cuda)
    }

    /// Whether the moment has come.
    #[must_use]
    pub fn happened(&self) -> bool {
        let _relaxed = Relaxed::new(self.cuda);
        self.still_ours().is_ok() && self.cuda.happened(&self.event)
    }

    /// Milliseconds from this mark to a `later` one; both must have happened.
    ///
    /// # Errors
    ///
    /// A sentence says why it cannot be told.
    pub fn elapsed_ms(&self, later: &Self) -> Result<f64, String> {
        self.still_ours()?;
        self.cuda.elapsed_ms(&self.event, &later.event).map_err(codes::cuda)
    }

    /// When it happened, in nanoseconds on the clock of recordings.
    #[must_use]
    pub fn time_ns(&self) -> Option<u64> {
        let anchor = self.anchor.as_ref().filter(|_| self.still_ours().is_ok())?;
        anchor.time_ns(&self.event)
    }

    /// The CUDA number of its device.
    #[must_use]
    pub fn device(&self) -> i32 {
        self.device
    }

    /// A forked child cannot use its parent's device.
    fn still_ours(&self) -> Result<(), String> {
        let ours = self.generation == fork::generation();
        ours.then_some(()).ok_or_else(|| "the mark belongs to the parent process".to_owned())
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        if self.still_ours().is_ok() {
            let _ = self.cuda.destroy(&self.event);
        }
    }
}

/// The place of CUDA device `ordinal` in the list of all devices. The numbers
/// differ where the program sees only some, or in another order.
#[must_use]
pub fn device_of_cuda(ordinal: i32) -> Option<u32> {
    let bus_id = nvidia::kernel_bus_id(&driver().ok()?.bus_id(ordinal).ok()?);
    let devices = super::devices();
    devices.iter().find(|device| device.bus_id == bus_id).map(|device| device.index)
}

/// The CUDA number of the calling thread's device; `None` without a context.
#[must_use]
pub fn current_device() -> Option<i32> {
    let cuda = driver().ok()?;
    cuda.current().ok()??;
    cuda.current_device().ok()
}

/// What there is to say about the driver.
pub(super) fn status() -> Status {
    let context = driver().and_then(|cuda| Here::enter(cuda, Some(0)).map(drop));
    let (works, text) = match context {
        Ok(()) => (true, "work on streams is timed by events".to_owned()),
        Err(reason) => (false, format!("{reason}; timers read the processor's clock")),
    };
    Status { source: "CUDA driver", works, text }
}

/// Whether the program has loaded the CUDA driver.
#[must_use]
pub fn is_loaded() -> bool {
    driver().is_ok()
}

/// Whether the program has a context that marks can use.
#[must_use]
pub fn has_context() -> bool {
    driver().is_ok_and(|cuda| Here::enter(cuda, None).is_ok())
}

/// Whether the driver was found before; takes no lock.
#[must_use]
pub fn is_known() -> bool {
    DRIVER.get().is_some()
}

static DRIVER: OnceLock<Cuda> = OnceLock::new();

/// The driver, once the program has loaded it.
fn driver() -> Result<&'static Cuda, String> {
    if let Some(cuda) = DRIVER.get() {
        return Ok(cuda);
    }
    // To ask the linker for a library it does not have takes ten times as long
    // as to ask whether anything was loaded since.
    static ASKED_AT: AtomicU64 = AtomicU64::new(0);
    let none = || "the program has not loaded the CUDA driver".to_owned();
    // A fork waits meanwhile: its child could not take the loader's list lock again.
    let loads = {
        let _turn = Turn::take();
        native::objects::changes().0
    };
    if ASKED_AT.swap(loads, Ordering::Relaxed) == loads {
        return Err(none());
    }
    let cuda = Cuda::loaded(&places::cuda()).map_err(|_| none())?;
    Ok(DRIVER.get_or_init(|| cuda))
}

/// A context of the program, current on this thread as long as this lives.
struct Here<'a> {
    cuda: &'a Cuda,
    device: i32,
    /// The device whose primary context we entered.
    entered: Option<i32>,
    _relaxed: Relaxed<'a>,
}

impl<'a> Here<'a> {
    fn enter(cuda: &'a Cuda, ordinal: Option<i32>) -> Result<Self, String> {
        let relaxed = Relaxed::new(cuda);
        if cuda.current().map_err(codes::cuda)?.is_some() {
            let device = cuda.current_device().map_err(codes::cuda)?;
            if ordinal.is_none_or(|ordinal| ordinal == device) {
                return Ok(Self { cuda, device, entered: None, _relaxed: relaxed });
            }
        }
        let none = || "there is no CUDA context".to_owned();
        let device = ordinal.unwrap_or(0);
        let context: Context = cuda.primary(device).map_err(codes::cuda)?.ok_or_else(none)?;
        if let Err(code) = cuda.push(context) {
            let _ = cuda.release_primary(device);
            return Err(codes::cuda(code));
        }
        Ok(Self { cuda, device, entered: Some(device), _relaxed: relaxed })
    }
}

impl Drop for Here<'_> {
    fn drop(&mut self) {
        if let Some(device) = self.entered {
            let _ = self.cuda.pop();
            let _ = self.cuda.release_primary(device);
        }
    }
}

/// Keeps our calls from ending a capture that another thread makes.
struct Relaxed<'a> {
    cuda: &'a Cuda,
    before: Result<u32, Code>,
}

impl<'a> Relaxed<'a> {
    fn new(cuda: &'a Cuda) -> Self {
        Self { cuda, before: cuda.exchange_capture_mode(Cuda::RELAXED) }
    }
}

impl Drop for Relaxed<'_> {
    fn drop(&mut self) {
        if let Ok(before) = self.before {
            let _ = self.cuda.exchange_capture_mode(before);
        }
    }
}
