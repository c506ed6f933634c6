//! What a busy hardware thread draws, when nothing measures it.
//!
//! A row is a common processor of its family: the thermal design power that its
//! maker states, divided by its hardware threads. Real power depends on clocks,
//! voltages and the instructions, so the result is good to a factor of two.

use super::super::Places;

/// Part of the model name, a processor of that family, its watts and threads.
///
/// The first row that fits counts, so narrower names come first. Power and
/// threads are from the makers' public product pages.
const FAMILIES: [(&str, &str, f64, f64); 17] = [
    ("EPYC 9", "EPYC 9654", 360.0, 192.0),
    ("EPYC", "EPYC 7763", 280.0, 128.0),
    ("Threadripper", "Threadripper 3990X", 280.0, 128.0),
    ("Ryzen 9", "Ryzen 9 5950X", 105.0, 32.0),
    ("Ryzen 7", "Ryzen 7 5800X", 105.0, 16.0),
    ("Ryzen", "Ryzen 5 5600X", 65.0, 12.0),
    ("Xeon(R) Platinum 84", "Xeon Platinum 8480+", 350.0, 112.0),
    ("Xeon(R) Platinum", "Xeon Platinum 8380", 270.0, 80.0),
    ("Xeon(R) Gold", "Xeon Gold 6248R", 205.0, 48.0),
    ("Xeon(R) CPU E5", "Xeon E5-2690 v4", 135.0, 28.0),
    ("Xeon", "Xeon Platinum 8380", 270.0, 80.0),
    ("Core(TM) i9", "Core i9-13900K", 125.0, 32.0),
    ("Core(TM) i7", "Core i7-8700", 65.0, 12.0),
    ("Core(TM)", "Core i5-12400", 65.0, 12.0),
    ("Neoverse-N1", "Altra Q80-30", 210.0, 80.0),
    ("Cortex-A76", "BCM2712", 12.0, 4.0),
    ("Cortex-A72", "BCM2711", 6.4, 4.0),
];

/// For a processor that is not in the table.
const UNKNOWN_WATTS: f64 = 4.0;

/// What is taken for a busy hardware thread, and why.
#[derive(Debug)]
pub(super) struct Power {
    pub(super) watts_per_thread: f64,
    pub(super) text: String,
}

/// The figure for the processor under `places`.
pub(super) fn power_of(places: &Places) -> Power {
    let text = std::fs::read_to_string(places.proc.join("cpuinfo")).unwrap_or_default();
    of_model(model_name(&text))
}

/// The name of the first processor in a `cpuinfo`.
pub(in crate::monitor) fn model_name(cpuinfo: &str) -> &str {
    let value = |name: &str| {
        let line = cpuinfo.lines().find(|line| line.starts_with(name))?;
        line.split_once(':').map(|(_, value)| value.trim())
    };
    value("model name").or_else(|| value("Model")).unwrap_or_default()
}

fn of_model(model: &str) -> Power {
    let row = FAMILIES.iter().find(|(part, ..)| model.contains(part));
    let Some((_, example, watts, threads)) = row else {
        let text = format!("{UNKNOWN_WATTS:.1} W per busy hardware thread (processor not known)");
        return Power { watts_per_thread: UNKNOWN_WATTS, text };
    };
    let watts_per_thread = watts / threads;
    let text = format!(
        "{watts_per_thread:.1} W per busy hardware thread (as {example}: {watts:.0} W, {threads:.0} threads)"
    );
    Power { watts_per_thread, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrower_name_counts() {
        let watts = |model| of_model(model).watts_per_thread;

        assert!((watts("AMD EPYC 9654 96-Core Processor") - 1.875).abs() < 1e-9);
        assert!((watts("AMD EPYC") - 2.1875).abs() < 1e-9);
        assert!((watts("Intel(R) Xeon(R) CPU @ 2.20GHz") - 3.375).abs() < 1e-9);
        assert!((watts("Intel(R) Core(TM) i7-9750H CPU") - 65.0 / 12.0).abs() < 1e-9);
        assert!((watts("something new") - UNKNOWN_WATTS).abs() < 1e-9);
    }

    #[test]
    fn the_model_is_named_on_any_architecture() {
        assert_eq!(model_name("processor\t: 0\nmodel name\t: AMD EPYC\n"), "AMD EPYC");
        assert_eq!(model_name("processor : 0\nModel : Raspberry Pi 4\n"), "Raspberry Pi 4");
        assert_eq!(model_name(""), "");
    }
}
