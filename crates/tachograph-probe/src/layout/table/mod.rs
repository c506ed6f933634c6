//! Where each CPython keeps what the reader follows, one file per minor version
//! and build kind.
//!
//! Written by `tools/layouts/generate.py`, which asks the compiler; do not edit.

mod cpython_3_10;
mod cpython_3_11;
mod cpython_3_12;
mod cpython_3_13;
mod cpython_3_13t;
mod cpython_3_14;
mod cpython_3_14t;
mod cpython_3_15;
mod cpython_3_15t;
mod cpython_3_9;

pub(super) use cpython_3_9::CPYTHON_3_9;
pub(super) use cpython_3_10::CPYTHON_3_10;
pub(super) use cpython_3_11::CPYTHON_3_11;
pub(super) use cpython_3_12::CPYTHON_3_12;
pub(super) use cpython_3_13::CPYTHON_3_13;
pub(super) use cpython_3_13t::CPYTHON_3_13T;
pub(super) use cpython_3_14::CPYTHON_3_14;
pub(super) use cpython_3_14t::CPYTHON_3_14T;
pub(super) use cpython_3_15::CPYTHON_3_15;
pub(super) use cpython_3_15t::CPYTHON_3_15T;
