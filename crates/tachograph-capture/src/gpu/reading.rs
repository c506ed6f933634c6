//! What is known of a device: facts that stay, and readings that change.

use tachograph_profile::{SeriesKind, Unit};

/// Who made a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    /// NVIDIA, read through its management library.
    Nvidia,
    /// AMD, read from the kernel's files.
    Amd,
    /// Intel, read from the kernel's files.
    Intel,
    /// Someone else.
    Other,
}

impl Vendor {
    /// The name people know.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nvidia => "NVIDIA",
            Self::Amd => "AMD",
            Self::Intel => "Intel",
            Self::Other => "other",
        }
    }
}

/// Facts of a device that do not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its place in the list of all devices.
    pub index: u32,
    /// Who made it.
    pub vendor: Vendor,
    /// What it is called.
    pub name: String,
    /// Its number in the world; empty when it has none.
    pub uuid: String,
    /// Where it sits, as the kernel writes it: `0000:01:00.0`.
    pub bus_id: String,
    /// The driver that runs it, with its version where there is one.
    pub driver: String,
    /// All of its memory; `None` where it has none of its own.
    pub memory_total_bytes: Option<u64>,
}

/// One reading of one device. What it does not tell is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// The device's place in the list of all devices.
    pub device: u32,
    /// Memory in use, by everyone.
    pub memory_used_bytes: Option<u64>,
    /// All of its memory.
    pub memory_total_bytes: Option<u64>,
    /// Memory that this process holds on it.
    pub process_memory_bytes: Option<u64>,
    /// Share of the last moment it worked, 0 to 1.
    pub utilization: Option<f64>,
    /// Share of the last moment its memory was moved, 0 to 1.
    pub memory_utilization: Option<f64>,
    /// Degrees Celsius of the chip.
    pub temperature_c: Option<f64>,
    /// Watts drawn now.
    pub power_w: Option<f64>,
    /// Joules drawn so far, since a moment that only the driver knows.
    pub energy_j: Option<f64>,
}

impl Reading {
    /// Share of its memory that is in use, 0 to 1.
    #[must_use]
    pub fn memory_share(&self) -> Option<f64> {
        let total = self.memory_total_bytes.filter(|total| *total > 0)?;
        Some(self.memory_used_bytes? as f64 / total as f64)
    }

    /// The values that are there, as series of a recording.
    pub fn values(&self) -> impl Iterator<Item = (&'static str, Unit, SeriesKind, f64)> + use<> {
        let bytes = |value: Option<u64>| value.map(|bytes| bytes as f64);
        let gauge = SeriesKind::Gauge;
        [
            ("memory used", Unit::Bytes, gauge, bytes(self.memory_used_bytes)),
            ("memory share", Unit::Ratio, gauge, self.memory_share()),
            ("process memory", Unit::Bytes, gauge, bytes(self.process_memory_bytes)),
            ("utilisation", Unit::Ratio, gauge, self.utilization),
            ("memory utilisation", Unit::Ratio, gauge, self.memory_utilization),
            ("temperature", Unit::Celsius, gauge, self.temperature_c),
            ("power", Unit::Watts, gauge, self.power_w),
            ("energy", Unit::Joules, SeriesKind::Total, self.energy_j),
        ]
        .into_iter()
        .filter_map(|(name, unit, kind, value)| Some((name, unit, kind, value?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_read_becomes_a_series() {
        let reading =
            Reading { memory_used_bytes: Some(7), power_w: Some(0.5), ..Reading::default() };

        let names: Vec<_> = reading.values().map(|(name, _, _, value)| (name, value)).collect();

        assert_eq!(names, [("memory used", 7.0), ("power", 0.5)]);
    }
}
