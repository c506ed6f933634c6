//! Energy: measured where the processor's counters can be read, else modelled.

mod power;
mod rapl;

use super::Places;
pub(super) use power::model_name;
use power::power_of;
use rapl::Rapl;

/// Where figures of energy come from.
#[derive(Clone, Debug, PartialEq)]
pub struct EnergySource {
    /// Counted by the processor; otherwise a model of CPU time.
    pub measured: bool,
    /// Watts a busy hardware thread is taken to draw, in the model.
    pub watts_per_thread: f64,
    /// How, and if it is modelled why, as half a sentence.
    pub text: String,
}

/// Turns readings of the process and the machine into joules.
#[derive(Debug)]
pub(super) struct Meter {
    rapl: Option<Rapl>,
    source: EnergySource,
    /// CPU time of the process, busy time of the machine, joules of the packages.
    last: Option<(u64, u64, f64)>,
    process: f64,
}

/// Joules so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Joules {
    /// This process's part.
    pub(super) process: f64,
    /// All packages, whoever used them; none when it is modelled.
    pub(super) packages: Option<f64>,
}

impl Meter {
    /// The best that can be had under `places`.
    pub(super) fn new(places: &Places) -> Self {
        let processor = power_of(places);
        let watts_per_thread = processor.watts_per_thread;
        let (rapl, text) = match Rapl::open(places) {
            Ok(rapl) => {
                let text = format!("measured by the processor's counters ({})", rapl.names());
                (Some(rapl), text)
            }
            Err(why) => {
                let how = processor.text;
                (None, format!("modelled from CPU time at {how}; RAPL is not readable: {why}"))
            }
        };
        let source = EnergySource { measured: rapl.is_some(), watts_per_thread, text };
        Self { rapl, source, last: None, process: 0.0 }
    }

    /// Where the figures come from.
    pub(super) fn source(&self) -> &EnergySource {
        &self.source
    }

    /// Joules so far, given the process's CPU time and the machine's busy time.
    ///
    /// Counters see whole packages. What they count between two readings is
    /// the process's in proportion to its share of the busy time.
    pub(super) fn read(&mut self, cpu_ns: u64, busy_ns: u64) -> Joules {
        let Some(rapl) = &mut self.rapl else {
            let process = cpu_ns as f64 / 1e9 * self.source.watts_per_thread;
            return Joules { process, packages: None };
        };
        let packages = rapl.read();
        if let Some((cpu, busy, joules)) = self.last {
            let (cpu, busy) = (cpu_ns.saturating_sub(cpu), busy_ns.saturating_sub(busy));
            // The machine counts in ticks, so a short time may look idle to it.
            let share = (cpu as f64 / busy.max(cpu).max(1) as f64).clamp(0.0, 1.0);
            self.process += (packages - joules).max(0.0) * share;
        }
        self.last = Some((cpu_ns, busy_ns, packages));
        Joules { process: self.process, packages: Some(packages) }
    }
}

#[cfg(test)]
mod tests {
    use super::rapl::fake;
    use super::*;

    #[test]
    fn a_process_gets_its_share_of_what_the_package_used() {
        let tree = fake::Tree::new("share");
        tree.zone("intel-rapl:0", "package-0", 5_000_000, 100_000_000);
        let mut meter = Meter::new(&tree.places());
        let second = 1_000_000_000;
        meter.read(0, 10 * second);
        tree.energy("intel-rapl:0", 25_000_000);

        // One of the four busy seconds was the process's.
        let joules = meter.read(second, 14 * second);

        assert!(meter.source().measured);
        assert!((joules.process - 5.0).abs() < 1e-9, "{joules:?}");
        assert_eq!(joules.packages, Some(20.0));
    }

    #[test]
    fn without_counters_cpu_time_is_turned_into_joules_and_it_says_so() {
        let tree = fake::Tree::new("model");
        tree.processor("AMD EPYC 7763 64-Core Processor");
        let mut meter = Meter::new(&tree.places());

        let joules = meter.read(10_000_000_000, 0);

        assert!((joules.process - 10.0 * 280.0 / 128.0).abs() < 1e-9);
        let source = meter.source();
        assert!(!source.measured && source.text.contains("modelled from CPU time at 2.2 W"));
        assert!(source.text.contains("RAPL is not readable"), "{}", source.text);
    }
}
