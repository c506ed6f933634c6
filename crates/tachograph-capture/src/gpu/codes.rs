//! What drivers' error codes mean for a person, with what to do about them.

use crate::sys::gpu::{Code, NO_FUNCTION};

/// Codes of NVML.
pub(super) fn nvml(code: Code) -> String {
    match code {
        NO_FUNCTION => "the driver is too old to have this reading".to_owned(),
        Code(1) => "the library was shut down".to_owned(),
        Code(3) => "the device does not have this reading".to_owned(),
        Code(4) => "permission denied; the administrator has restricted device readings".to_owned(),
        Code(9) => "the NVIDIA kernel module is not loaded".to_owned(),
        Code(12) => "the NVIDIA library is damaged or incomplete; reinstall the driver".to_owned(),
        Code(15) => "the device has fallen off its bus; see the kernel's log".to_owned(),
        Code(17) => "the device files are not reachable; in a container, start it with --gpus all"
            .to_owned(),
        Code(18) => "the NVIDIA library and the kernel module are of different versions; \
                     restart the machine or reload the module after a driver update"
            .to_owned(),
        Code(number) => format!("the NVIDIA library answered with error {number}"),
    }
}

/// Codes of the CUDA driver.
pub(super) fn cuda(code: Code) -> String {
    match code {
        NO_FUNCTION => "the CUDA driver is too old to have this function".to_owned(),
        Code(3) => "the program has not initialised CUDA".to_owned(),
        Code(4) => "CUDA is shutting down with the program".to_owned(),
        Code(201) => "there is no CUDA context".to_owned(),
        Code(900..=908) => "the stream is being captured into a graph".to_owned(),
        Code(number) => format!("the CUDA driver answered with error {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_mismatch_is_told_with_its_remedy_and_an_unknown_code_with_its_number() {
        assert!(nvml(Code(18)).contains("restart the machine"));
        assert!(nvml(Code(777)).contains("777"));
        assert!(cuda(Code(906)).contains("graph"));
    }
}
