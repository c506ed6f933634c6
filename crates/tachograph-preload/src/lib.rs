//! A library for `LD_PRELOAD`: samples the heap of any program, with or without
//! Python, from its first block on.
//!
//! ```sh
//! LD_PRELOAD=/path/to/libtachograph_preload.so TACHOGRAPH_OUTPUT=run.tacho ./program
//! ```
//!
//! `TACHOGRAPH_OUTPUT` names the recording; `{pid}` in it becomes the number of
//! the process. Without it nothing is recorded. `TACHOGRAPH_HEAP_RATE` is the
//! number of bytes between two samples, 524288 if it is not set. A program that
//! this one starts is recorded too if the name has a `{pid}`; otherwise it would
//! overwrite the file. Nothing is ever printed. `tachograph run` has a variable
//! of its own (`run.rs`), and then CPU time and the machine are recorded too.
#![deny(unsafe_code)]

mod exports;
mod recording;
mod run;
