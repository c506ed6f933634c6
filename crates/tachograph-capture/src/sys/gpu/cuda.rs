//! The CUDA driver, `libcuda.so.1`, as the program uses it.
//!
//! We never load it and never initialise it: a driver that was initialised
//! cannot be used by children of `fork`, and a context takes hundreds of
//! megabytes of the device. Where the program has done both, we may ask.

use std::ffi::{CStr, c_char, c_void};
use std::path::Path;

use super::library::Library;
use super::{Code, NO_FUNCTION, checked, functions};

/// Events with a time, on which a waiting thread sleeps.
const BLOCKING_SYNC: u32 = 1;
/// A stream that does not wait for the default one.
const NON_BLOCKING: u32 = 1;

/// A context of the program on one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Context(*mut c_void);

/// A stream; 0 is the default one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stream(pub(crate) usize);

/// An event of ours.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Event(*mut c_void);

// SAFETY: the driver's handles may be used from any thread; they are only ever
// given back to the driver.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}
// SAFETY: as above.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

functions! {
    /// What we use of the library.
    Functions {
        get_current = c"cuCtxGetCurrent" (*mut *mut c_void);
        push = c"cuCtxPushCurrent_v2" (*mut c_void);
        pop = c"cuCtxPopCurrent_v2" (*mut *mut c_void);
        get_device = c"cuCtxGetDevice" (*mut i32);
        synchronize = c"cuCtxSynchronize" ();
        primary_state = c"cuDevicePrimaryCtxGetState" (i32, *mut u32, *mut i32);
        primary_retain = c"cuDevicePrimaryCtxRetain" (*mut *mut c_void, i32);
        primary_release = c"cuDevicePrimaryCtxRelease_v2" (i32);
        primary_release_v1 = c"cuDevicePrimaryCtxRelease" (i32);
        device_get = c"cuDeviceGet" (*mut i32, i32);
        bus_id = c"cuDeviceGetPCIBusId" (*mut c_char, i32, i32);
        is_capturing = c"cuStreamIsCapturing" (*mut c_void, *mut u32);
        exchange_mode = c"cuThreadExchangeStreamCaptureMode" (*mut u32);
        stream_create = c"cuStreamCreate" (*mut *mut c_void, u32);
        event_create = c"cuEventCreate" (*mut *mut c_void, u32);
        event_record = c"cuEventRecord" (*mut c_void, *mut c_void);
        event_synchronize = c"cuEventSynchronize" (*mut c_void);
        event_query = c"cuEventQuery" (*mut c_void);
        event_elapsed = c"cuEventElapsedTime" (*mut f32, *mut c_void, *mut c_void);
        event_destroy = c"cuEventDestroy_v2" (*mut c_void);
    }
}

/// The driver that the program has loaded.
#[derive(Debug)]
pub(crate) struct Cuda {
    functions: Functions,
}

/// Calls a function that may be missing.
macro_rules! call {
    ($function:expr $(, $argument:expr)*) => {{
        let function = $function.ok_or(NO_FUNCTION)?;
        // SAFETY: every pointer is to a local of the type that the vendor's
        // header names, or to as many bytes as the call is told; handles came
        // from the driver itself, which checks them.
        checked(unsafe { function($($argument),*) })
    }};
}

impl Cuda {
    /// Calls of this thread end no capture of another one.
    pub(crate) const RELAXED: u32 = 2;

    /// The driver, if the program has loaded it by now.
    pub(crate) fn loaded(name: &Path) -> Result<Self, String> {
        let library = Library::loaded(name)?;
        Ok(Self { functions: Functions::find(&library) })
    }

    /// The calling thread's context; none is no error.
    pub(crate) fn current(&self) -> Result<Option<Context>, Code> {
        let mut context = std::ptr::null_mut();
        call!(self.functions.get_current, &raw mut context)?;
        Ok((!context.is_null()).then_some(Context(context)))
    }

    /// The primary context of device `ordinal`, when the program made one.
    /// It is ours to use until `release_primary`.
    pub(crate) fn primary(&self, ordinal: i32) -> Result<Option<Context>, Code> {
        let device = self.device(ordinal)?;
        let (mut flags, mut is_active) = (0, 0);
        call!(self.functions.primary_state, device, &raw mut flags, &raw mut is_active)?;
        if is_active == 0 {
            return Ok(None);
        }
        let mut context = std::ptr::null_mut();
        call!(self.functions.primary_retain, &raw mut context, device)?;
        Ok(Some(Context(context)))
    }

    /// Gives the primary context back.
    pub(crate) fn release_primary(&self, ordinal: i32) -> Result<(), Code> {
        let device = self.device(ordinal)?;
        call!(self.functions.primary_release.or(self.functions.primary_release_v1), device)
    }

    fn device(&self, ordinal: i32) -> Result<i32, Code> {
        let mut device = 0;
        call!(self.functions.device_get, &raw mut device, ordinal)?;
        Ok(device)
    }

    /// Makes `context` this thread's, above the one it has.
    pub(crate) fn push(&self, context: Context) -> Result<(), Code> {
        call!(self.functions.push, context.0)
    }

    /// Puts back the one it had.
    pub(crate) fn pop(&self) -> Result<(), Code> {
        let mut context = std::ptr::null_mut();
        call!(self.functions.pop, &raw mut context)
    }

    /// The number of the current context's device.
    pub(crate) fn current_device(&self) -> Result<i32, Code> {
        let mut device = 0;
        call!(self.functions.get_device, &raw mut device)?;
        Ok(device)
    }

    /// Where a device sits: `0000:01:00.0`.
    pub(crate) fn bus_id(&self, ordinal: i32) -> Result<String, Code> {
        let device = self.device(ordinal)?;
        let mut room = [0_u8; 32];
        call!(self.functions.bus_id, room.as_mut_ptr().cast(), 32, device)?;
        let text = CStr::from_bytes_until_nul(&room);
        Ok(text.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default())
    }

    /// Waits for everything the current context was told to do.
    pub(crate) fn synchronize(&self) -> Result<(), Code> {
        call!(self.functions.synchronize)
    }

    /// Whether the stream's work is being captured into a graph. Then it must
    /// not be waited for: that would end the capture with an error.
    pub(crate) fn is_capturing(&self, stream: Stream) -> Result<bool, Code> {
        let mut status = 0;
        match call!(self.functions.is_capturing, stream.pointer(), &raw mut status) {
            // Drivers before graphs.
            Err(NO_FUNCTION) => Ok(false),
            answer => answer.map(|()| status != 0),
        }
    }

    /// Sets how this thread's calls bear on captures; tells how they did before.
    pub(crate) fn exchange_capture_mode(&self, mode: u32) -> Result<u32, Code> {
        let mut mode = mode;
        call!(self.functions.exchange_mode, &raw mut mode)?;
        Ok(mode)
    }

    /// A stream of our own, which waits for none of the program's.
    pub(crate) fn create_stream(&self) -> Result<Stream, Code> {
        let mut stream = std::ptr::null_mut();
        call!(self.functions.stream_create, &raw mut stream, NON_BLOCKING)?;
        Ok(Stream(stream as usize))
    }

    /// A new event of the current context.
    pub(crate) fn create_event(&self) -> Result<Event, Code> {
        let mut event = std::ptr::null_mut();
        call!(self.functions.event_create, &raw mut event, BLOCKING_SYNC)?;
        Ok(Event(event))
    }

    /// The event happens when `stream` has done what it was told so far.
    pub(crate) fn record(&self, event: &Event, stream: Stream) -> Result<(), Code> {
        call!(self.functions.event_record, event.0, stream.pointer())
    }

    /// Waits for the event.
    pub(crate) fn wait(&self, event: &Event) -> Result<(), Code> {
        call!(self.functions.event_synchronize, event.0)
    }

    /// Whether the event has happened.
    pub(crate) fn happened(&self, event: &Event) -> bool {
        let query = || call!(self.functions.event_query, event.0);
        query().is_ok()
    }

    /// Milliseconds between two events that have happened.
    pub(crate) fn elapsed_ms(&self, start: &Event, end: &Event) -> Result<f64, Code> {
        let mut elapsed = 0.0_f32;
        call!(self.functions.event_elapsed, &raw mut elapsed, start.0, end.0)?;
        Ok(f64::from(elapsed))
    }

    /// Gives the event back.
    pub(crate) fn destroy(&self, event: &Event) -> Result<(), Code> {
        call!(self.functions.event_destroy, event.0)
    }
}

impl Stream {
    fn pointer(self) -> *mut c_void {
        self.0 as *mut c_void
    }
}
