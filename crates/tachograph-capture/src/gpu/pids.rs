//! Our process as a driver knows it.

/// The kernel's number of the first process namespace.
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

/// Whether a driver's process ids are ours too. In a container they are those
/// of the machine, so our own is not among them, or belongs to someone else.
pub(super) fn are_ours() -> bool {
    std::fs::read_link("/proc/self/ns/pid").is_ok_and(|link| link.as_os_str() == FIRST_NAMESPACE)
}
