"""Fuzzes the readers of `fuzz/` for a while with the stable compiler.

Builds the targets with the coverage counters and the address sanitizer that
libFuzzer wants, runs each for its share of the time, and fails on the first
input that makes one panic, hang or read outside its memory. Found inputs are
kept in `fuzz/artifacts`.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys

from steps import ROOT, StepFailed, Steps, run

FUZZ = ROOT / "fuzz"

# What `cargo fuzz` sets; written out so that nothing has to be installed.
COVERAGE = (
    "--cfg fuzzing",
    "-Zsanitizer=address",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "-Cdebug-assertions",
    "-Cforce-frame-pointers",
)

# An input that takes longer is a hang; one that needs more memory, a leak of trust.
LIMITS = ("-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1")


def host() -> str:
    """Return the compiler's own target; naming it keeps build scripts unsanitized."""
    version = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    return next(line.split()[1] for line in version.splitlines() if line.startswith("host:"))


def targets() -> list[str]:
    """Return the names of the fuzz targets."""
    manifest = (FUZZ / "Cargo.toml").read_text()
    return re.findall(r'^\[\[bin\]\]\s+name = "([^"]+)"', manifest, flags=re.MULTILINE)


def fuzz(target: str, triple: str, seconds: int) -> None:
    """Run one target, starting from its seeds and what earlier runs found."""
    corpus = FUZZ / "corpus" / target
    artifacts = FUZZ / "artifacts" / target
    corpus.mkdir(parents=True, exist_ok=True)
    artifacts.mkdir(parents=True, exist_ok=True)
    seeds = [folder for folder in (FUZZ / "seeds" / target,) if folder.is_dir()]
    program = FUZZ / "target" / triple / "release" / target
    limits = (*LIMITS, f"-max_total_time={seconds}", f"-artifact_prefix={artifacts}/")
    run(program, *limits, corpus, *seeds)


def main() -> int:
    """Build the targets, run each for its share of the time."""
    parser = argparse.ArgumentParser(description="Fuzz the readers of untrusted data.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="default: all")
    parser.add_argument(
        "--seconds",
        type=int,
        default=int(os.environ.get("FUZZ_SECONDS", "60")),
        help="time for each target (default: FUZZ_SECONDS or 60)",
    )
    options = parser.parse_args()
    known = targets()
    unknown = sorted(set(options.targets) - set(known))
    if unknown:
        parser.error(f"no fuzz target is named {unknown[0]!r}; choose from {', '.join(known)}")

    steps = Steps()
    failure = None
    try:
        triple = host()
        with steps.step("build the fuzz targets"):
            run(
                *("cargo", "build", "--release", "--locked", "--target", triple),
                *("--manifest-path", FUZZ / "Cargo.toml", "--target-dir", FUZZ / "target"),
                environment={"RUSTC_BOOTSTRAP": "1", "RUSTFLAGS": " ".join(COVERAGE)},
            )
        for target in options.targets or known:
            with steps.step(f"fuzz {target}"):
                fuzz(target, triple, options.seconds)
    except StepFailed as error:
        failure = error
    return steps.finish(failure)


if __name__ == "__main__":
    sys.exit(main())
