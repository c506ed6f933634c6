//! A bell between our own threads: ring it, and whoever waits wakes up.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A bell that stays rung until someone has heard it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waker {
    bell: Arc<(Mutex<bool>, Condvar)>,
}

impl Waker {
    /// Rings.
    pub(crate) fn wake(&self) {
        let (rung, heard) = &*self.bell;
        *rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        heard.notify_one();
    }

    /// Waits until it rings, at most `limit`.
    pub(crate) fn wait(&self, limit: Duration) {
        let (rung, heard) = &*self.bell;
        let rung = rung.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = heard.wait_timeout_while(rung, limit, |rung| !*rung);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }
}
