//! AMD and Intel devices, from the kernel's files under `/sys/class/drm`.

use std::fs;
use std::path::{Path, PathBuf};

use super::reading::{Device, Reading, Vendor};

/// One graphics card of the kernel.
#[derive(Debug)]
struct Card {
    /// Its device's folder.
    folder: PathBuf,
    /// Its sensors' folder.
    sensors: Option<PathBuf>,
    facts: Device,
}

/// The cards below one `/sys`.
#[derive(Debug, Default)]
pub(super) struct Drm {
    cards: Vec<Card>,
}

impl Drm {
    /// Lists the cards below `sys`, numbered from `first`. NVIDIA's are left
    /// out: their driver has no such files.
    pub(super) fn open(sys: &Path, first: u32) -> Self {
        let entries = fs::read_dir(sys.join("class/drm")).into_iter().flatten().flatten();
        let mut found: Vec<(u32, PathBuf)> = entries
            .filter_map(|entry| Some((card_number(&entry.file_name())?, entry.path())))
            .collect();
        found.sort();
        let mut cards = Vec::new();
        for (_, path) in found {
            let index = first + u32::try_from(cards.len()).unwrap_or(0);
            cards.extend(Card::open(path.join("device"), index));
        }
        Self { cards }
    }

    /// The cards' facts.
    pub(super) fn devices(&self) -> impl Iterator<Item = &Device> {
        self.cards.iter().map(|card| &card.facts)
    }

    /// One reading of each.
    pub(super) fn read(&self) -> impl Iterator<Item = Reading> {
        self.cards.iter().map(Card::read)
    }
}

impl Card {
    fn open(folder: PathBuf, index: u32) -> Option<Self> {
        let vendor = match text(&folder.join("vendor"))?.as_str() {
            "0x1002" => Vendor::Amd,
            "0x8086" => Vendor::Intel,
            _ => return None,
        };
        let events = fs::read_to_string(folder.join("uevent")).unwrap_or_default();
        let fact = |name: &str| {
            let line = events.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_default().to_owned()
        };
        let number = text(&folder.join("device")).unwrap_or_default();
        let product = text(&folder.join("product_name")).filter(|name| !name.is_empty());
        let name =
            product.unwrap_or_else(|| format!("{} {number}", vendor.name()).trim_end().to_owned());
        let facts = Device {
            index,
            vendor,
            name,
            uuid: text(&folder.join("unique_id")).unwrap_or_default(),
            bus_id: fact("PCI_SLOT_NAME="),
            driver: fact("DRIVER="),
            memory_total_bytes: number_in(&folder.join("mem_info_vram_total")),
        };
        let sensors = fs::read_dir(folder.join("hwmon")).ok();
        let sensors =
            sensors.and_then(|mut entries| entries.next()?.ok().map(|entry| entry.path()));
        Some(Self { folder, sensors, facts })
    }

    fn read(&self) -> Reading {
        let nothing = Reading { device: self.facts.index, ..Reading::default() };
        if is_asleep(&self.folder) {
            return nothing;
        }
        let own = |name: &str| number_in(&self.folder.join(name));
        let sensor = |name: &str| number_in(&self.sensors.as_ref()?.join(name));
        let share = |percent: u64| percent.min(100) as f64 / 100.0;
        let watts = sensor("power1_average").or_else(|| sensor("power1_input"));
        Reading {
            memory_used_bytes: own("mem_info_vram_used"),
            memory_total_bytes: own("mem_info_vram_total"),
            utilization: own("gpu_busy_percent").map(share),
            memory_utilization: own("mem_busy_percent").map(share),
            temperature_c: sensor("temp1_input").map(|milli| milli as f64 / 1e3),
            power_w: watts.map(|micro| micro as f64 / 1e6),
            energy_j: sensor("energy1_input").map(|micro| micro as f64 / 1e6),
            ..nothing
        }
    }
}

/// Whether the kernel has put the device to sleep. To read it would wake it.
pub(super) fn is_asleep(device: &Path) -> bool {
    text(&device.join("power/runtime_status")).is_some_and(|status| status == "suspended")
}

/// The folders of NVIDIA's devices below `sys`.
pub(super) fn nvidia_folders(sys: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(sys.join("bus/pci/devices")).into_iter().flatten().flatten();
    let is_nvidia = |folder: &PathBuf| {
        let is_display = text(&folder.join("class")).is_some_and(|class| class.starts_with("0x03"));
        is_display && text(&folder.join("vendor")).is_some_and(|vendor| vendor == "0x10de")
    };
    entries.map(|entry| entry.path()).filter(is_nvidia).collect()
}

/// The number of `card0`; not `card0-HDMI-A-1`, not `renderD128`.
fn card_number(name: &std::ffi::OsStr) -> Option<u32> {
    name.to_str()?.strip_prefix("card")?.parse().ok()
}

fn text(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn number_in(path: &Path) -> Option<u64> {
    text(path)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/gpu").join(name)
    }

    #[test]
    fn an_amd_card_is_read_from_the_kernels_files() {
        let drm = Drm::open(&tree("amd_and_intel"), 3);

        let facts: Vec<_> = drm.devices().cloned().collect();
        let readings: Vec<_> = drm.read().collect();

        assert_eq!(facts.len(), 2);
        assert_eq!((facts[0].index, facts[0].vendor), (3, Vendor::Amd));
        assert_eq!(facts[0].name, "AMD Instinct MI210");
        assert_eq!(
            (facts[0].bus_id.as_str(), facts[0].driver.as_str()),
            ("0000:c1:00.0", "amdgpu")
        );
        assert_eq!(readings[0].memory_used_bytes, Some(1_073_741_824));
        assert_eq!(readings[0].memory_total_bytes, Some(68_702_699_520));
        assert_eq!(readings[0].utilization, Some(0.87));
        assert_eq!(readings[0].memory_utilization, Some(0.31));
        assert_eq!(readings[0].temperature_c, Some(54.0));
        assert_eq!(readings[0].power_w, Some(212.5));
        assert_eq!(readings[0].energy_j, None);
    }

    #[test]
    fn an_intel_card_tells_what_it_has() {
        let drm = Drm::open(&tree("amd_and_intel"), 0);

        let facts: Vec<_> = drm.devices().cloned().collect();
        let reading = drm.read().nth(1).unwrap();

        assert_eq!((facts[1].vendor, facts[1].name.as_str()), (Vendor::Intel, "Intel 0x56a0"));
        assert_eq!((reading.utilization, reading.memory_used_bytes), (None, None));
        assert_eq!((reading.energy_j, reading.power_w), (Some(1234.5), None));
        assert_eq!(reading.device, 1);
    }

    #[test]
    fn a_card_that_sleeps_is_listed_and_not_read() {
        let drm = Drm::open(&tree("asleep"), 0);

        assert_eq!(drm.devices().count(), 1);
        assert_eq!(drm.read().next().unwrap(), Reading::default());
    }

    #[test]
    fn of_nvidias_devices_only_those_that_show_or_compute_count() {
        let sys = std::env::temp_dir().join(format!("tachograph-pci-{}", std::process::id()));
        for (device, class, status) in
            [("0000:01:00.0", "0x030200", "suspended"), ("0000:01:00.1", "0x040300", "active")]
        {
            let folder = sys.join("bus/pci/devices").join(device);
            fs::create_dir_all(folder.join("power")).unwrap();
            fs::write(folder.join("vendor"), "0x10de\n").unwrap();
            fs::write(folder.join("class"), class).unwrap();
            fs::write(folder.join("power/runtime_status"), status).unwrap();
        }

        let found = nvidia_folders(&sys);

        assert_eq!(found.len(), 1);
        assert!(found[0].ends_with("0000:01:00.0") && is_asleep(&found[0]));
        fs::remove_dir_all(sys).unwrap();
    }

    #[test]
    fn without_files_there_are_no_cards() {
        assert_eq!(Drm::open(Path::new("/nowhere"), 0).devices().count(), 0);
        assert!(nvidia_folders(Path::new("/nowhere")).is_empty());
    }
}
