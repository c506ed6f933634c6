//! Devices as series of the shared sampler.

use super::devices::{devices, read};
use super::per_process::PerProcess;
use crate::monitor::{self, Key, Scope, Source};
use crate::sys::clock;

/// Drivers renew their values only every 20 to 100 ms, and asking takes up to
/// a millisecond: a sampler that ticks more often leaves devices out.
const EVERY_NS: u64 = 20_000_000;

/// Whether the sampler of this process knows the devices.
static IS_WATCHED: PerProcess<bool> = PerProcess::new();

/// Lets the shared sampler read devices at its ticks, from now on. Nothing is
/// loaded here: the sampler's own thread does that. Machines without devices
/// pay for one look.
pub fn watch() {
    let mut is_watched = IS_WATCHED.lock();
    if !std::mem::replace(&mut *is_watched, true) {
        monitor::add_source(Box::new(Devices::default()));
    }
}

/// The devices, on the sampler's thread.
#[derive(Debug, Default)]
struct Devices {
    /// Their tracks; `None` before the first look.
    scopes: Option<Vec<Scope>>,
    read_at: u64,
}

impl Source for Devices {
    fn read(&mut self, tell: &mut dyn FnMut(&Key, f64)) {
        let scopes = self.scopes.get_or_insert_with(|| {
            let scope = |device: super::Device| Scope::Device {
                index: device.index,
                name: device.name.into(),
            };
            devices().into_iter().map(scope).collect()
        });
        let now = clock::monotonic();
        if scopes.is_empty() || now.saturating_sub(self.read_at) < EVERY_NS {
            return;
        }
        self.read_at = now;
        for (scope, reading) in scopes.iter().zip(read()) {
            for (name, unit, kind, value) in reading.values() {
                tell(&Key { scope: scope.clone(), name: name.into(), unit, kind }, value);
            }
        }
    }
}
