//! The Python module `tachograph._native`: conversions only.
//!
//! Every function takes plain Python values, releases the interpreter lock
//! where it works, and hands back plain values. What a user sees, with its
//! checks and documentation, is the Python package around it.
#![deny(unsafe_code)]

mod client;
mod columns;
mod command;
mod errors;
mod facts;
mod flops;
mod gpu;
mod heap;
mod lines;
mod metrics;
mod monitor;
mod monitor_table;
mod native;
mod process;
mod raw;
mod recording;
mod rows;
mod spans;
mod text;

/// Counts what the recorder itself holds; the explanation of a program's resident size needs it.
#[global_allocator]
static MEMORY: tachograph_capture::OwnMemory = tachograph_capture::OwnMemory;

/// The compiled half of tachograph. Private: its names change without notice.
#[pyo3::pymodule(gil_used = false)]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::client::Client;
    #[pymodule_export]
    use crate::command::{finish_when_told_to_end, run_command};
    #[pymodule_export]
    use crate::flops::{BlasWindow, blas_count_again, blas_leave_out};
    #[pymodule_export]
    use crate::gpu::{
        GpuMark, gpu_current_device, gpu_devices, gpu_has_context, gpu_index_of, gpu_is_loaded,
        gpu_mark, gpu_readings, gpu_status, gpu_synchronize, gpu_watch, memory_table,
        stream_efficiency, stream_table,
    };
    #[pymodule_export]
    use crate::heap::{HeapDoor, Picture};
    #[pymodule_export]
    use crate::lines::{LineWatch, OwnLineWatch, line_listing, line_means};
    #[pymodule_export]
    use crate::metrics::{
        Collector, Phase, bottleneck_table, comparison_table, find_bottlenecks, run_comparison,
        run_report_of, run_table,
    };
    #[pymodule_export]
    use crate::monitor::{
        Measured, MonitorWindow, carbon_countries, carbon_intensity, energy_source,
        machine_figures, memory_growth, open_descriptors, process_figures, processor_name,
        read_everything, resident_bytes,
    };
    #[pymodule_export]
    use crate::monitor_table::monitor_table;
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
