//! The processor's energy counters, as the kernel shows them under `powercap`.

use std::fs;
use std::io;
use std::path::Path;

use super::super::Places;
use super::super::kept::Kept;
use super::super::words::number;

/// The counters of all packages, and of memory where it is counted apart.
#[derive(Debug)]
pub(super) struct Rapl {
    zones: Vec<Zone>,
}

/// One counter.
#[derive(Debug)]
struct Zone {
    name: String,
    energy: Kept,
    /// The counter starts again after this, in microjoules.
    wraps_at: u64,
    last: u64,
    /// Microjoules since it was first read.
    total: u64,
}

impl Rapl {
    /// Opens what there is.
    ///
    /// # Errors
    ///
    /// Why no counter can be read, as half a sentence.
    pub(super) fn open(places: &Places) -> Result<Self, String> {
        let folder = places.sys.join("class/powercap");
        let entries = fs::read_dir(&folder)
            .map_err(|_| "this machine shows no energy counters".to_owned())?;
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        let mut zones = Vec::new();
        let mut denied = None;
        for path in paths {
            match Zone::open(&path) {
                Ok(Some(zone)) => zones.push(zone),
                Ok(None) => {}
                Err(error) => denied = Some((path.join("energy_uj"), error)),
            }
        }
        match denied {
            // A machine of which a part cannot be read is not measured.
            Some((path, error)) if error.kind() == io::ErrorKind::PermissionDenied => {
                Err(format!("permission denied; sudo chmod o+r {}", path.display()))
            }
            Some((path, error)) => Err(format!("{} cannot be read ({error})", path.display())),
            None if zones.is_empty() => Err("this machine shows no energy counters".to_owned()),
            None => Ok(Self { zones }),
        }
    }

    /// Joules since it was opened, of all zones together.
    pub(super) fn read(&mut self) -> f64 {
        self.zones.iter_mut().map(Zone::read).sum::<u64>() as f64 / 1e6
    }

    /// What is counted.
    pub(super) fn names(&self) -> String {
        self.zones.iter().map(|zone| zone.name.as_str()).collect::<Vec<_>>().join(", ")
    }
}

impl Zone {
    /// The counter in this folder if it is a package, or memory beside one;
    /// parts of a package are in it already.
    fn open(path: &Path) -> io::Result<Option<Self>> {
        let name = fs::read_to_string(path.join("name")).unwrap_or_default().trim().to_owned();
        if !name.starts_with("package") && name != "dram" {
            return Ok(None);
        }
        let last = fs::read_to_string(path.join("energy_uj"))?;
        let last = number(last.trim().as_bytes()).ok_or(io::ErrorKind::InvalidData)?;
        let range = fs::read_to_string(path.join("max_energy_range_uj")).unwrap_or_default();
        let wraps_at = number(range.trim().as_bytes()).unwrap_or(u64::MAX);
        let energy = Kept::new(path.join("energy_uj"));
        Ok(Some(Self { name, energy, wraps_at, last, total: 0 }))
    }

    /// Microjoules so far. A reading that fails adds nothing.
    fn read(&mut self) -> u64 {
        let now = self.energy.read::<64, _>(|text| number(text.trim_ascii()));
        if let Some(now) = now {
            let grown = match now.checked_sub(self.last) {
                Some(grown) => grown,
                // It went past its end and began again.
                None => self.wraps_at.saturating_sub(self.last).saturating_add(now),
            };
            self.total = self.total.saturating_add(grown);
            self.last = now;
        }
        self.total
    }
}

/// Trees of counters that tests make and change.
#[cfg(test)]
pub(super) mod fake {
    use super::*;
    use std::path::PathBuf;

    pub(in crate::monitor) struct Tree(PathBuf);

    impl Tree {
        pub(in crate::monitor) fn new(name: &str) -> Self {
            let root =
                std::env::temp_dir().join(format!("tachograph-rapl-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&root);
            fs::create_dir_all(root.join("proc")).unwrap();
            Self(root)
        }

        pub(in crate::monitor) fn places(&self) -> Places {
            Places::at(&self.0)
        }

        pub(in crate::monitor) fn zone(&self, folder: &str, name: &str, energy: u64, range: u64) {
            let path = self.0.join("sys/class/powercap").join(folder);
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("name"), format!("{name}\n")).unwrap();
            fs::write(path.join("max_energy_range_uj"), format!("{range}\n")).unwrap();
            self.energy(folder, energy);
        }

        pub(in crate::monitor) fn energy(&self, folder: &str, energy: u64) {
            let path = self.0.join("sys/class/powercap").join(folder).join("energy_uj");
            fs::write(path, format!("{energy}\n")).unwrap();
        }

        pub(in crate::monitor) fn processor(&self, model: &str) {
            let text = format!("processor\t: 0\nmodel name\t: {model}\n");
            fs::write(self.0.join("proc/cpuinfo"), text).unwrap();
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_and_memory_add_up_and_parts_of_a_package_do_not() {
        let tree = fake::Tree::new("sum");
        for (folder, name) in [
            ("intel-rapl:0", "package-0"),
            ("intel-rapl:0:0", "core"),
            ("intel-rapl:0:1", "dram"),
            ("intel-rapl:1", "package-1"),
            ("intel-rapl:2", "psys"),
        ] {
            tree.zone(folder, name, 1_000_000, 262_143_328_850);
        }
        let mut rapl = Rapl::open(&tree.places()).unwrap();
        for (folder, energy) in [
            ("intel-rapl:0", 3_000_000),
            ("intel-rapl:0:0", 2_500_000),
            ("intel-rapl:0:1", 1_500_000),
            ("intel-rapl:1", 5_000_000),
            ("intel-rapl:2", 9_000_000),
        ] {
            tree.energy(folder, energy);
        }

        assert!((rapl.read() - 6.5).abs() < 1e-9);
        assert_eq!(rapl.names(), "package-0, dram, package-1");
    }

    #[test]
    fn a_counter_that_begins_again_goes_on() {
        let tree = fake::Tree::new("wrap");
        tree.zone("intel-rapl:0", "package-0", 90_000_000, 100_000_000);
        let mut rapl = Rapl::open(&tree.places()).unwrap();
        tree.energy("intel-rapl:0", 5_000_000);
        assert!((rapl.read() - 15.0).abs() < 1e-9);
        tree.energy("intel-rapl:0", 6_000_000);

        assert!((rapl.read() - 16.0).abs() < 1e-9);
    }

    #[test]
    fn a_reading_that_fails_adds_nothing() {
        let tree = fake::Tree::new("fail");
        tree.zone("intel-rapl:0", "package-0", 1_000_000, 100_000_000);
        let mut rapl = Rapl::open(&tree.places()).unwrap();
        tree.energy("intel-rapl:0", 2_000_000);
        rapl.read();
        fs::write(tree.places().sys.join("class/powercap/intel-rapl:0/energy_uj"), "?").unwrap();

        assert!((rapl.read() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_machine_without_counters_says_so() {
        let tree = fake::Tree::new("none");
        assert!(Rapl::open(&tree.places()).unwrap_err().contains("no energy counters"));
        tree.zone("dtpm", "dtpm", 1, 1);
        assert!(Rapl::open(&tree.places()).unwrap_err().contains("no energy counters"));
    }

    #[test]
    fn a_counter_that_cannot_be_read_is_told_with_its_remedy() {
        let tree = fake::Tree::new("odd");
        tree.zone("intel-rapl:0", "package-0", 1, 1);
        let path = tree.places().sys.join("class/powercap/intel-rapl:0/energy_uj");
        fs::write(&path, "no number").unwrap();
        assert!(Rapl::open(&tree.places()).unwrap_err().contains("cannot be read"));

        // Whoever runs the tests as root may read everything.
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        if fs::read(&path).is_err() {
            assert!(Rapl::open(&tree.places()).unwrap_err().contains("sudo chmod o+r"));
        }
    }
}
