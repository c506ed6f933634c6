//! The reader against real interpreters.
//!
//! Each test runs every CPython that `TACHOGRAPH_TEST_PYTHONS` names (a list
//! like the search path), or `python3`, stops a program that knows its own
//! stacks, and reads it through the kernel.

mod busy;
mod target;
mod waiting;
