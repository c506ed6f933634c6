//! The Python module `tachograph._native`: conversions only.
//!
//! Every function takes plain Python values, releases the interpreter lock
//! where it works, and hands back plain values. What a user sees, with its
//! checks and documentation, is the Python package around it.
#![deny(unsafe_code)]

mod client;
mod columns;
mod errors;
mod facts;
mod metrics;
mod native;
mod process;
mod raw;
mod recording;
mod rows;
mod spans;
mod text;

/// The compiled half of tachograph. Private: its names change without notice.
#[pyo3::pymodule(gil_used = false)]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::client::Client;
    #[pymodule_export]
    use crate::metrics::{
        Collector, Phase, bottleneck_table, comparison_table, find_bottlenecks, run_comparison,
        run_report_of, run_table,
    };
    #[pymodule_export]
    use crate::native::{capture_native_stack, native_available};
    #[pymodule_export]
    use crate::process::peak_memory;
    #[pymodule_export]
    use crate::recording::{Recording, format_of};
    #[pymodule_export]
    use crate::spans::{
        Block, Ended, Meter, Summary, block, calls_clear, calls_total, export_timeline, meters,
        meters_clear, point, profiling, signal, signals, timed, timeline, timeline_capacity,
        timeline_clear,
    };
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "its name in Python")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_init]
    fn add_raw_functions(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::raw::add_functions(module)
    }
}
