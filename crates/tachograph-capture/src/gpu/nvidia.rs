//! NVIDIA devices, through the management library.

use std::path::Path;

use super::codes;
use super::pids;
use super::places;
use super::reading::{Device, Reading, Vendor};
use crate::sys::gpu::nvml::{self, Nvml};
use crate::sys::threads;

/// The devices of a library that has answered.
#[derive(Debug)]
pub(super) struct Nvidia {
    nvml: Nvml,
    devices: Vec<(nvml::Device, Device)>,
    pids_are_ours: bool,
    /// The driver and CUDA versions as people know them.
    pub(super) version: String,
}

impl Nvidia {
    /// Connects to the driver; says in a sentence why it cannot.
    pub(super) fn open() -> Result<Self, String> {
        Self::load(&places::nvml(), pids::are_ours())
    }

    fn load(library: &Path, pids_are_ours: bool) -> Result<Self, String> {
        let nvml =
            Nvml::load(library).map_err(|error| format!("no NVIDIA driver library ({error})"))?;
        nvml.init().map_err(codes::nvml)?;
        let count = nvml.count().map_err(codes::nvml)?;
        let driver = nvml.driver_version().unwrap_or_default();
        let version = match nvml.cuda_version() {
            Ok(cuda) => format!("{driver}, CUDA {}.{}", cuda / 1000, cuda % 1000 / 10),
            Err(_) => driver.clone(),
        };
        let mut devices = Vec::new();
        for number in 0..count {
            // One device that is broken or not ours to see does not hide the others.
            let Ok(handle) = nvml.device(number) else { continue };
            let index = u32::try_from(devices.len()).unwrap_or(u32::MAX);
            let facts = Device {
                index,
                vendor: Vendor::Nvidia,
                name: nvml.name(handle).unwrap_or_else(|_| "NVIDIA device".to_owned()),
                uuid: nvml.uuid(handle).unwrap_or_default(),
                bus_id: kernel_bus_id(&nvml.bus_id(handle).unwrap_or_default()),
                driver: format!("nvidia {driver}").trim_end().to_owned(),
                memory_total_bytes: nvml.memory(handle).ok().map(|memory| memory.total),
            };
            devices.push((handle, facts));
        }
        Ok(Self { nvml, devices, pids_are_ours, version })
    }

    /// The devices' facts.
    pub(super) fn devices(&self) -> impl Iterator<Item = &Device> {
        self.devices.iter().map(|(_, facts)| facts)
    }

    /// One reading of each that is not `asleep`. A reading the driver refuses
    /// is `None`; a driver that is gone gives readings with nothing in them.
    pub(super) fn read(&self, asleep: impl Fn(&Device) -> bool) -> impl Iterator<Item = Reading> {
        let pid = u32::try_from(threads::process_id()).unwrap_or(0);
        self.devices.iter().map(move |(handle, facts)| match asleep(facts) {
            true => Reading { device: facts.index, ..Reading::default() },
            false => self.reading(*handle, facts.index, pid),
        })
    }

    fn reading(&self, handle: nvml::Device, device: u32, pid: u32) -> Reading {
        let memory = self.nvml.memory(handle).ok();
        let rates = self.nvml.utilization(handle).ok();
        let share = |percent: u32| f64::from(percent.min(100)) / 100.0;
        Reading {
            device,
            memory_used_bytes: memory.map(|memory| memory.used),
            memory_total_bytes: memory.map(|memory| memory.total),
            process_memory_bytes: self.own_memory(handle, pid),
            utilization: rates.map(|(gpu, _)| share(gpu)),
            memory_utilization: rates.map(|(_, memory)| share(memory)),
            temperature_c: self.nvml.temperature(handle).ok().map(f64::from),
            power_w: self.nvml.power(handle).ok().map(|milli| f64::from(milli) / 1e3),
            energy_j: self.nvml.energy(handle).ok().map(|milli| milli as f64 / 1e3),
        }
    }

    /// A process that the driver does not list holds nothing, if its numbers
    /// mean what ours mean.
    fn own_memory(&self, handle: nvml::Device, pid: u32) -> Option<u64> {
        if !self.pids_are_ours {
            return None;
        }
        self.nvml.process_memory(handle, pid).ok().map(Option::unwrap_or_default)
    }
}

/// The library writes eight digits of the domain, in capitals; the kernel four.
pub(super) fn kernel_bus_id(bus_id: &str) -> String {
    let bus_id = bus_id.to_ascii_lowercase();
    match bus_id.split_once(':') {
        Some((domain, rest)) if domain.len() > 4 => {
            format!("{}:{rest}", &domain[domain.len() - 4..])
        }
        _ => bus_id,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::stand_in;

    const GB: u64 = 1 << 30;

    #[test]
    fn devices_of_a_driver_are_listed_and_read() {
        let library = stand_in::build("nvml", "new", &[]);

        let nvidia = Nvidia::load(&library, true).unwrap();
        let facts: Vec<_> = nvidia.devices().cloned().collect();
        let reading = nvidia.read(|_| false).next().unwrap();

        assert_eq!(nvidia.version, "550.54.15, CUDA 12.4");
        assert_eq!((facts.len(), facts[1].name.as_str()), (2, "Stand-in GPU 1"));
        assert_eq!(facts[0].bus_id, "0000:41:00.0");
        assert_eq!(facts[0].memory_total_bytes, Some(8 * GB));
        assert_eq!((reading.memory_used_bytes, reading.process_memory_bytes), (Some(GB), Some(0)));
        assert_eq!((reading.power_w, reading.temperature_c), (Some(150.0), Some(40.0)));
        assert!(reading.energy_j.is_some_and(|joules| joules > 0.0));
        assert_eq!(nvidia.read(|_| true).next().unwrap(), Reading::default());
        std::fs::remove_file(library).unwrap();
    }

    #[test]
    fn an_old_driver_tells_less_and_counts_its_own_memory_as_used() {
        let library = stand_in::build("nvml", "old", &["-DOLD_DRIVER"]);

        let reading = Nvidia::load(&library, true).unwrap().read(|_| false).next().unwrap();

        assert_eq!(reading.memory_used_bytes, Some(GB + GB / 2));
        assert_eq!((reading.process_memory_bytes, reading.energy_j), (Some(0), None));
        std::fs::remove_file(library).unwrap();
    }

    #[test]
    fn a_container_does_not_know_its_own_share() {
        let library = stand_in::build("nvml", "container", &[]);

        let reading = Nvidia::load(&library, false).unwrap().read(|_| false).next().unwrap();

        assert_eq!(reading.process_memory_bytes, None);
        std::fs::remove_file(library).unwrap();
    }

    #[test]
    fn a_file_that_is_no_library_is_a_reason() {
        let reason = Nvidia::load(Path::new("/proc/self/status"), true).unwrap_err();

        assert!(reason.starts_with("no NVIDIA driver library"), "{reason}");
    }

    #[test]
    fn a_bus_number_is_written_as_the_kernel_does() {
        assert_eq!(kernel_bus_id("00000000:0A:00.0"), "0000:0a:00.0");
        assert_eq!(kernel_bus_id("0000:01:00.0"), "0000:01:00.0");
        assert_eq!(kernel_bus_id(""), "");
    }
}
