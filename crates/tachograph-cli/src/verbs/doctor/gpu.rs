//! Whether the libraries and files that tell about GPUs are there.

use super::finding::{Finding, Verdict};
use super::machine::Machine;

/// Folders where a driver puts its libraries.
const LIBRARIES: [&str; 7] = [
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "usr/lib64",
    "usr/lib",
    "usr/local/nvidia/lib64",
    "usr/lib/wsl/lib",
    "run/opengl-driver/lib",
];

/// NVIDIA's driver, through its library.
pub(super) fn nvidia(machine: &Machine) -> Finding {
    let has = |name: &str| LIBRARIES.iter().any(|folder| machine.has(&format!("{folder}/{name}")));
    let version = machine.read("sys/module/nvidia/version").ok();
    match (has("libnvidia-ml.so.1"), version) {
        (true, Some(version)) => Finding::new(
            "nvidia",
            Verdict::Good,
            format!("NVIDIA driver {version} with its library"),
            "GPU series are recorded",
        ),
        (true, None) => Finding::new(
            "nvidia",
            Verdict::Absent,
            "NVIDIA's library without a driver",
            "GPU series are empty",
        ),
        (false, Some(version)) => Finding::new(
            "nvidia",
            Verdict::Improvable,
            format!("NVIDIA driver {version} without its library"),
            "GPU series are empty",
        )
        .with_remedy("in a container: start it with --gpus all and NVIDIA_DRIVER_CAPABILITIES=all"),
        (false, None) => Finding::new(
            "nvidia",
            Verdict::Absent,
            "no NVIDIA driver library",
            "GPU series are empty",
        ),
    }
}

/// AMD's driver, through its files.
pub(super) fn amd(machine: &Machine) -> Finding {
    const CARDS: &str = "sys/class/drm";
    let is_amd = |card: &String| {
        let vendor = machine.read(&format!("{CARDS}/{card}/device/vendor"));
        vendor.is_ok_and(|vendor| vendor == "0x1002")
    };
    match machine.list(CARDS).into_iter().filter(is_amd).count() {
        0 => {
            Finding::new("amd", Verdict::Absent, "no AMD graphics card", "nothing is read from one")
        }
        cards => Finding::new(
            "amd",
            Verdict::Good,
            format!("{cards} AMD graphics {}", if cards == 1 { "card" } else { "cards" }),
            "memory and load are read from the kernel's files",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::machine::Tree;
    use super::*;

    #[test]
    fn driver_and_library_are_told_apart() {
        let library = ("usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "");
        let driver = ("sys/module/nvidia/version", "550.90\n");

        let both = nvidia(&Tree::with("both", &[library, driver]).machine);
        assert_eq!(both.what, "NVIDIA driver 550.90 with its library");
        let driver_only = nvidia(&Tree::with("driver", &[driver]).machine);
        assert_eq!(driver_only.verdict, Verdict::Improvable);
        let library_only = nvidia(&Tree::with("library", &[library]).machine);
        assert_eq!(library_only.what, "NVIDIA's library without a driver");
        assert_eq!(nvidia(&Tree::with("nothing", &[]).machine).verdict, Verdict::Absent);
    }

    #[test]
    fn cards_are_known_by_their_vendor() {
        let tree = Tree::with(
            "amd",
            &[
                ("sys/class/drm/card0/device/vendor", "0x1002\n"),
                ("sys/class/drm/card1/device/vendor", "0x8086\n"),
            ],
        );

        assert_eq!(amd(&tree.machine).what, "1 AMD graphics card");
    }
}
