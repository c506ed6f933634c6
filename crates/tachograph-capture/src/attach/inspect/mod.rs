//! What a dump shows besides frames: local variables, tasks, waits.

pub(crate) mod tasks;
pub(crate) mod values;
pub(crate) mod waits;
