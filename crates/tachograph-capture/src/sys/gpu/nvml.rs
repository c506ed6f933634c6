//! NVIDIA's management library, `libnvidia-ml.so.1`.
//!
//! It reads counters of the driver. It makes no context on a device and takes
//! no device memory. Every call answers with a code; a driver that is removed
//! while we run gives codes, not crashes.

use std::ffi::{CStr, c_char, c_void};
use std::path::Path;

use super::library::Library;
use super::{Code, NO_FUNCTION, checked, functions};

/// The list was longer than the room we gave.
const INSUFFICIENT_SIZE: Code = Code(7);
/// The sensor of the chip itself.
const TEMPERATURE_GPU: u32 = 0;
/// Room for a name, a number or a version; the library never writes more than it is told.
const TEXT_BYTES: u32 = 96;
/// Most processes that are asked for.
const MOST_PROCESSES: usize = 4096;
/// Stands for "cannot be known" in a number of bytes.
const NOT_AVAILABLE: u64 = u64::MAX;

/// A device, by the library's own handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Device(*mut c_void);

// SAFETY: the handle is only ever given back to the library, whose functions
// may be called from any thread.
unsafe impl Send for Device {}

/// Bytes of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) total: u64,
    pub(crate) used: u64,
}

#[repr(C)]
#[derive(Default)]
struct MemoryV1 {
    total: u64,
    free: u64,
    used: u64,
}

#[repr(C)]
#[derive(Default)]
struct MemoryV2 {
    version: u32,
    total: u64,
    reserved: u64,
    free: u64,
    used: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct ProcessV1 {
    pid: u32,
    used: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct ProcessV2 {
    pid: u32,
    used: u64,
    gpu_instance: u32,
    compute_instance: u32,
}

#[repr(C)]
#[derive(Default)]
struct Rates {
    gpu: u32,
    memory: u32,
}

#[repr(C)]
struct Pci {
    legacy_id: [u8; 16],
    numbers: [u32; 5],
    bus_id: [u8; 32],
}

functions! {
    /// What we use of the library.
    Functions {
        init = c"nvmlInit_v2" ();
        driver_version = c"nvmlSystemGetDriverVersion" (*mut c_char, u32);
        cuda_version = c"nvmlSystemGetCudaDriverVersion" (*mut i32);
        count = c"nvmlDeviceGetCount_v2" (*mut u32);
        by_index = c"nvmlDeviceGetHandleByIndex_v2" (u32, *mut *mut c_void);
        name = c"nvmlDeviceGetName" (*mut c_void, *mut c_char, u32);
        uuid = c"nvmlDeviceGetUUID" (*mut c_void, *mut c_char, u32);
        pci = c"nvmlDeviceGetPciInfo_v3" (*mut c_void, *mut Pci);
        memory_v1 = c"nvmlDeviceGetMemoryInfo" (*mut c_void, *mut MemoryV1);
        memory_v2 = c"nvmlDeviceGetMemoryInfo_v2" (*mut c_void, *mut MemoryV2);
        rates = c"nvmlDeviceGetUtilizationRates" (*mut c_void, *mut Rates);
        temperature = c"nvmlDeviceGetTemperature" (*mut c_void, u32, *mut u32);
        power = c"nvmlDeviceGetPowerUsage" (*mut c_void, *mut u32);
        energy = c"nvmlDeviceGetTotalEnergyConsumption" (*mut c_void, *mut u64);
        compute_v1 = c"nvmlDeviceGetComputeRunningProcesses" (*mut c_void, *mut u32, *mut ProcessV1);
        compute_v2 = c"nvmlDeviceGetComputeRunningProcesses_v2" (*mut c_void, *mut u32, *mut ProcessV2);
        compute_v3 = c"nvmlDeviceGetComputeRunningProcesses_v3" (*mut c_void, *mut u32, *mut ProcessV2);
    }
}

/// The loaded library.
#[derive(Debug)]
pub(crate) struct Nvml {
    functions: Functions,
}

/// Calls a function that may be missing.
macro_rules! call {
    ($function:expr $(, $argument:expr)*) => {{
        let function = $function.ok_or(NO_FUNCTION)?;
        // SAFETY: every pointer is to a local of the type that the vendor's
        // header names, or to as many bytes as the call is told; handles came
        // from the library itself.
        checked(unsafe { function($($argument),*) })
    }};
}

impl Nvml {
    /// Loads the library; says why when it cannot.
    pub(crate) fn load(name: &Path) -> Result<Self, String> {
        let library = Library::load(name)?;
        Ok(Self { functions: Functions::find(&library) })
    }

    /// Connects to the driver.
    pub(crate) fn init(&self) -> Result<(), Code> {
        call!(self.functions.init)
    }

    /// The driver's version as people know it.
    pub(crate) fn driver_version(&self) -> Result<String, Code> {
        text(|room, size| call!(self.functions.driver_version, room, size))
    }

    /// The CUDA version the driver serves: 12040 is 12.4.
    pub(crate) fn cuda_version(&self) -> Result<i32, Code> {
        let mut version = 0;
        call!(self.functions.cuda_version, &raw mut version)?;
        Ok(version)
    }

    /// How many devices there are.
    pub(crate) fn count(&self) -> Result<u32, Code> {
        let mut count = 0;
        call!(self.functions.count, &raw mut count)?;
        Ok(count)
    }

    /// The device number `index`.
    pub(crate) fn device(&self, index: u32) -> Result<Device, Code> {
        let mut handle = std::ptr::null_mut();
        call!(self.functions.by_index, index, &raw mut handle)?;
        Ok(Device(handle))
    }

    /// What the device is called.
    pub(crate) fn name(&self, device: Device) -> Result<String, Code> {
        text(|room, size| call!(self.functions.name, device.0, room, size))
    }

    /// Its number in the world.
    pub(crate) fn uuid(&self, device: Device) -> Result<String, Code> {
        text(|room, size| call!(self.functions.uuid, device.0, room, size))
    }

    /// Where it sits: `00000000:01:00.0`.
    pub(crate) fn bus_id(&self, device: Device) -> Result<String, Code> {
        let mut pci = Pci { legacy_id: [0; 16], numbers: [0; 5], bus_id: [0; 32] };
        call!(self.functions.pci, device.0, &raw mut pci)?;
        Ok(until_zero(&pci.bus_id))
    }

    /// Its memory. Older drivers count what they keep for themselves as used.
    pub(crate) fn memory(&self, device: Device) -> Result<Memory, Code> {
        let version = u32::try_from(size_of::<MemoryV2>()).unwrap_or(0) | 2 << 24;
        let mut memory = MemoryV2 { version, ..MemoryV2::default() };
        let mut newer = || call!(self.functions.memory_v2, device.0, &raw mut memory);
        if newer().is_ok() {
            return Ok(Memory { total: memory.total, used: memory.used });
        }
        let mut memory = MemoryV1::default();
        call!(self.functions.memory_v1, device.0, &raw mut memory)?;
        Ok(Memory { total: memory.total, used: memory.used })
    }

    /// Percent of the last moment that kernels ran, and that memory was moved.
    pub(crate) fn utilization(&self, device: Device) -> Result<(u32, u32), Code> {
        let mut rates = Rates::default();
        call!(self.functions.rates, device.0, &raw mut rates)?;
        Ok((rates.gpu, rates.memory))
    }

    /// Degrees Celsius of the chip.
    pub(crate) fn temperature(&self, device: Device) -> Result<u32, Code> {
        let mut degrees = 0;
        call!(self.functions.temperature, device.0, TEMPERATURE_GPU, &raw mut degrees)?;
        Ok(degrees)
    }

    /// Milliwatts drawn now.
    pub(crate) fn power(&self, device: Device) -> Result<u32, Code> {
        let mut milliwatts = 0;
        call!(self.functions.power, device.0, &raw mut milliwatts)?;
        Ok(milliwatts)
    }

    /// Millijoules since the driver was loaded.
    pub(crate) fn energy(&self, device: Device) -> Result<u64, Code> {
        let mut millijoules = 0;
        call!(self.functions.energy, device.0, &raw mut millijoules)?;
        Ok(millijoules)
    }

    /// Bytes that process `pid` holds on the device; `None` when the driver
    /// does not list it or does not know.
    pub(crate) fn process_memory(&self, device: Device, pid: u32) -> Result<Option<u64>, Code> {
        let newer = self.functions.compute_v3.or(self.functions.compute_v2);
        let rows: Vec<(u32, u64)> = if newer.is_some() {
            let rows = list(|count, rows: *mut ProcessV2| call!(newer, device.0, count, rows))?;
            rows.iter().map(|row| (row.pid, row.used)).collect()
        } else {
            let older = self.functions.compute_v1;
            let rows = list(|count, rows: *mut ProcessV1| call!(older, device.0, count, rows))?;
            rows.iter().map(|row| (row.pid, row.used)).collect()
        };
        // A process may have several rows, one for each slice of the device.
        let own = rows.iter().filter(|(other, used)| *other == pid && *used != NOT_AVAILABLE);
        Ok(own.map(|(_, used)| *used).reduce(u64::saturating_add))
    }
}

/// A list whose length only the library knows.
fn list<Row: Copy + Default>(
    mut fill: impl FnMut(*mut u32, *mut Row) -> Result<(), Code>,
) -> Result<Vec<Row>, Code> {
    let mut room = 16;
    loop {
        let mut rows = vec![Row::default(); room];
        let mut count = u32::try_from(room).unwrap_or(0);
        match fill(&raw mut count, rows.as_mut_ptr()) {
            Err(INSUFFICIENT_SIZE) if room < MOST_PROCESSES => room *= 4,
            Err(code) => return Err(code),
            Ok(()) => {
                rows.truncate(usize::try_from(count).unwrap_or(0));
                return Ok(rows);
            }
        }
    }
}

/// A text that the library writes into room of ours.
fn text(fill: impl FnOnce(*mut c_char, u32) -> Result<(), Code>) -> Result<String, Code> {
    let mut room = [0_u8; TEXT_BYTES as usize];
    fill(room.as_mut_ptr().cast(), TEXT_BYTES)?;
    Ok(until_zero(&room))
}

fn until_zero(bytes: &[u8]) -> String {
    CStr::from_bytes_until_nul(bytes)
        .map(|text| text.to_string_lossy().into_owned())
        .unwrap_or_default()
}
