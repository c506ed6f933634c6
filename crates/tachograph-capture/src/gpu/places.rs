//! Where drivers are looked for. The variables are for tests, and for a driver
//! that is installed in an unusual place.

use std::path::PathBuf;

/// The file to load in place of `libnvidia-ml.so.1`.
const NVML: &str = "TACHOGRAPH_NVML_LIBRARY";
/// The file that stands for `libcuda.so.1`.
const CUDA: &str = "TACHOGRAPH_CUDA_LIBRARY";
/// The folder to read in place of `/sys`.
const SYS: &str = "TACHOGRAPH_SYS";

pub(super) fn nvml() -> PathBuf {
    given(NVML, "libnvidia-ml.so.1")
}

pub(super) fn cuda() -> PathBuf {
    given(CUDA, "libcuda.so.1")
}

pub(super) fn sys() -> PathBuf {
    given(SYS, "/sys")
}

fn given(variable: &str, usual: &str) -> PathBuf {
    let given = std::env::var_os(variable).filter(|given| !given.is_empty());
    given.map_or_else(|| usual.into(), PathBuf::from)
}
