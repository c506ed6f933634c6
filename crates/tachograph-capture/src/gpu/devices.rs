//! All devices of the machine, whoever made them, behind one list.

use std::path::{Path, PathBuf};

use super::drm::{self, Drm};
use super::marks;
use super::nvidia::Nvidia;
use super::per_process::PerProcess;
use super::places;
use super::reading::{Device, Reading};

/// Whether one way to read devices works, in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Which way: `NVML`, `CUDA driver`, `sysfs`.
    pub source: &'static str,
    /// It gives values.
    pub works: bool,
    /// What it gives, or why it does not and what to do.
    pub text: String,
}

/// What was found on first demand.
#[derive(Debug)]
struct Found {
    nvidia: Result<Nvidia, String>,
    /// Where NVIDIA's devices are, by the number of their bus.
    sleepers: Vec<(String, PathBuf)>,
    drm: Drm,
}

static FOUND: PerProcess<Option<Found>> = PerProcess::new();

/// The devices of this machine; empty when there are none. The first call
/// loads the drivers' libraries, which may take some 50 ms.
#[must_use]
pub fn devices() -> Vec<Device> {
    with(|found| found.devices().cloned().collect())
}

/// One reading of every device, in the same order.
#[must_use]
pub fn read() -> Vec<Reading> {
    with(Found::read)
}

/// How well each way to read devices works here, for people who wonder.
#[must_use]
pub fn status() -> Vec<Status> {
    let mut rows = with(Found::status);
    rows.insert(1, marks::status());
    rows
}

fn with<T>(ask: impl FnOnce(&Found) -> T) -> T {
    let mut found = FOUND.lock();
    ask(found.get_or_insert_with(|| Found::look(&places::sys())))
}

impl Found {
    fn look(sys: &Path) -> Self {
        let folders = drm::nvidia_folders(sys);
        let all_sleep = !folders.is_empty() && folders.iter().all(|folder| drm::is_asleep(folder));
        let nvidia = if all_sleep {
            Err("every NVIDIA device sleeps to save power, and is left asleep".to_owned())
        } else {
            Nvidia::open()
        };
        let count = nvidia.as_ref().map_or(0, |nvidia| nvidia.devices().count());
        let sleepers = folders.into_iter().filter_map(|folder| {
            let name = folder.file_name()?.to_str()?.to_owned();
            Some((name, folder))
        });
        let drm = Drm::open(sys, u32::try_from(count).unwrap_or(0));
        Self { nvidia, sleepers: sleepers.collect(), drm }
    }

    fn devices(&self) -> impl Iterator<Item = &Device> {
        let nvidia = self.nvidia.as_ref().ok().into_iter().flat_map(Nvidia::devices);
        nvidia.chain(self.drm.devices())
    }

    fn read(&self) -> Vec<Reading> {
        let nvidia = self.nvidia.as_ref().ok().into_iter();
        let nvidia = nvidia.flat_map(|nvidia| nvidia.read(|device| self.sleeps(device)));
        nvidia.chain(self.drm.read()).collect()
    }

    fn sleeps(&self, device: &Device) -> bool {
        let folder = self.sleepers.iter().find(|(bus_id, _)| *bus_id == device.bus_id);
        folder.is_some_and(|(_, folder)| drm::is_asleep(folder))
    }

    fn status(&self) -> Vec<Status> {
        let nvidia = match &self.nvidia {
            Ok(nvidia) => {
                let (works, many) = (true, count_of(nvidia.devices().count()));
                Status { source: "NVML", works, text: format!("driver {}: {many}", nvidia.version) }
            }
            Err(reason) => Status { source: "NVML", works: false, text: reason.clone() },
        };
        let many = self.drm.devices().count();
        let text = match many {
            0 => "no AMD or Intel device in /sys/class/drm".to_owned(),
            many => count_of(many),
        };
        vec![nvidia, Status { source: "sysfs", works: many > 0, text }]
    }
}

fn count_of(many: usize) -> String {
    if many == 1 { "1 device".to_owned() } else { format!("{many} devices") }
}
