//! Ctrl-C and SIGTERM end what we do in good order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::Failure;

/// Whether the user wants us to stop.
#[derive(Debug)]
pub(crate) struct Interrupt {
    came: Arc<AtomicBool>,
    registered: Vec<signal_hook::SigId>,
}

impl Interrupt {
    /// From now on these signals only set a mark. A second Ctrl-C ends us at
    /// once; the kernel then lets go of whatever we hold.
    pub(crate) fn watch() -> Result<Self, Failure> {
        let came = Arc::new(AtomicBool::new(false));
        let mut registered = Vec::new();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            registered.push(flag::register_conditional_default(signal, Arc::clone(&came))?);
            registered.push(flag::register(signal, Arc::clone(&came))?);
        }
        Ok(Self { came, registered })
    }

    /// A signal came.
    pub(crate) fn came(&self) -> bool {
        self.came.load(Ordering::Relaxed)
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        for id in self.registered.drain(..) {
            signal_hook::low_level::unregister(id);
        }
    }
}
