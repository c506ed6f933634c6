//! What the name of a span stands for: its number, and its meter in the ledger
//! of the live report.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock, PoisonError, RwLock};

use tachograph_capture::spans::{Ledger, Meter, Name};

/// A name with its meter. Lives as long as the process, as names do.
pub(crate) struct Key {
    name: Name,
    meter: OnceLock<Meter>,
}

/// The meters of the live report.
pub(super) static LEDGER: LazyLock<Ledger> = LazyLock::new(Ledger::new);

static KEYS: LazyLock<RwLock<HashMap<Name, &'static Key>>> = LazyLock::new(RwLock::default);

impl Key {
    /// The key called `text`.
    pub(crate) fn of(text: &str) -> &'static Self {
        let name = Name::of(text);
        let known = KEYS.read().unwrap_or_else(PoisonError::into_inner).get(&name).copied();
        known.unwrap_or_else(|| {
            let mut keys = KEYS.write().unwrap_or_else(PoisonError::into_inner);
            keys.entry(name)
                .or_insert_with(|| Box::leak(Box::new(Self { name, meter: OnceLock::new() })))
        })
    }

    /// Its name.
    #[inline]
    pub(crate) fn name(&self) -> Name {
        self.name
    }

    /// Its meter in the live report; made when it is first asked for.
    #[inline]
    pub(super) fn meter(&self) -> &Meter {
        self.meter.get_or_init(|| LEDGER.meter(self.name))
    }
}
