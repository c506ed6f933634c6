"""Builds the CPythons that neither Debian stable nor a version manager has yet.

Free-threaded and coming versions change what the sampler reads, so they are
tested before users meet them. The sources are the upstream tarballs that every
Debian mirror keeps in its pool; the mirror is the one this machine's apt
already uses. The result is an ordinary installation per interpreter in a cache
outside the checkout: `TACHOGRAPH_INTERPRETERS`, or `tachograph/interpreters`
in the user's cache folder. What is already there is not built again.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """One upstream tarball in the Debian pool, known by its digest."""

    package: str
    version: str
    sha256: str

    @property
    def file_name(self) -> str:
        """The tarball's name in the pool."""
        return f"{self.package}_{self.version}.orig.tar.xz"

    @property
    def pool_path(self) -> str:
        """Where the tarball lies, seen from the mirror's root."""
        return f"pool/main/p/{self.package}/{self.file_name}"


@dataclass(frozen=True)
class Build:
    """One interpreter to have: its name in the cache and how it is configured."""

    name: str
    source: Source
    options: tuple[str, ...] = ()

    @property
    def program(self) -> str:
        """The name of the interpreter in the `bin` folder of its prefix."""
        free_threaded = "t" if "--disable-gil" in self.options else ""
        return self.source.package + free_threaded


PYTHON_3_14 = Source(
    "python3.14", "3.14.7", "3b48dac8fb59f62eaa67ac83c1eb12bda1b7a08406dd286e252c11a66be27f81"
)
PYTHON_3_15 = Source(
    "python3.15", "3.15.0~rc2", "8d93af5eaaaea5adfd41bd786a7ba3f03f2ad1ab57c6a65e0b963deab91d5ad7"
)

# Free-threaded builds begin with 3.14: PyO3 refuses the experimental 3.13 one.
BUILDS = (
    Build("3.14", PYTHON_3_14),
    Build("3.14t", PYTHON_3_14, ("--disable-gil",)),
    Build("3.15", PYTHON_3_15),
    Build("3.15t", PYTHON_3_15, ("--disable-gil",)),
)

# Without these CPython still builds, but its ssl, zlib, ctypes, sqlite3, bz2 or
# lzma module is missing, and pip or a test fails much later.
BUILD_PACKAGES = {
    "openssl/ssl.h": "libssl-dev",
    "zlib.h": "zlib1g-dev",
    "ffi.h": "libffi-dev",
    "sqlite3.h": "libsqlite3-dev",
    "bzlib.h": "libbz2-dev",
    "lzma.h": "liblzma-dev",
}


def cache_directory() -> Path:
    """Return where the built interpreters are kept."""
    chosen = os.environ.get("TACHOGRAPH_INTERPRETERS")
    if chosen:
        return Path(chosen).expanduser().absolute()
    user_cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(user_cache).expanduser() / "tachograph" / "interpreters"


def built_interpreters() -> dict[str, Path]:
    """Return the interpreters the cache holds, by name; nothing is built."""
    programs = {
        build.name: cache_directory() / build.name / "bin" / build.program for build in BUILDS
    }
    return {name: program for name, program in programs.items() if program.exists()}


def debian_mirror() -> str:
    """Return the archive root this machine's apt takes `main` from."""
    if shutil.which("apt-get") is None:
        raise SystemExit(
            "this machine has no apt, so no Debian mirror is known; "
            f"install the interpreters yourself as {cache_directory()}/3.14 and so on"
        )
    listing = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(SITE)|$(COMPONENT)|$(IDENTIFIER)"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for line in listing.splitlines():
        site, component, identifier = line.split("|")
        if component == "main" and identifier == "Packages":
            return site
    raise SystemExit("apt has no index with component 'main'; run `apt-get update` once and repeat")


def install_build_packages() -> None:
    """Install the development packages whose headers the compiler does not find."""
    missing = [package for header, package in BUILD_PACKAGES.items() if not compiler_finds(header)]
    if not missing:
        return
    install = ["apt-get", "install", "-q", "-y", *missing]
    if os.geteuid() != 0:
        raise SystemExit(f"packages are missing; run `sudo {' '.join(install)}` and repeat")
    print(f"installing {', '.join(missing)}", flush=True)
    subprocess.run(["apt-get", "update", "-q"], check=True)
    subprocess.run(install, check=True)


def compiler_finds(header: str) -> bool:
    """Tell whether a C program could include `header`."""
    compiler = os.environ.get("CC", "cc")
    check = subprocess.run(
        [*compiler.split(), "-E", "-x", "c", "-"],
        input=f"#include <{header}>\n",
        capture_output=True,
        text=True,
        check=False,
    )
    return check.returncode == 0


def fetch(source: Source, downloads: Path) -> Path:
    """Return the tarball of `source`, downloaded unless it is there and whole."""
    tarball = downloads / source.file_name
    if not (tarball.exists() and digest(tarball) == source.sha256):
        url = f"{debian_mirror()}/{source.pool_path}"
        print(f"downloading {source.file_name}", flush=True)
        downloads.mkdir(parents=True, exist_ok=True)
        subprocess.run(["/usr/lib/apt/apt-helper", "download-file", url, str(tarball)], check=True)
    found = digest(tarball)
    if found != source.sha256:
        raise SystemExit(
            f"{tarball} has SHA-256 {found}, expected {source.sha256}; delete it and repeat"
        )
    return tarball


def digest(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal text."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def build(wanted: Build, cache: Path) -> None:
    """Build and install one interpreter below `cache`, unless it is there."""
    prefix = cache / wanted.name
    if (prefix / "bin" / wanted.program).exists():
        print(f"{wanted.name}: already in {prefix}", flush=True)
        return
    started = time.monotonic()
    tarball = fetch(wanted.source, cache / "downloads")
    work = cache / f"build-{wanted.name}"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    subprocess.run(["tar", "-xf", str(tarball), "-C", str(work)], check=True)
    (tree,) = work.iterdir()

    # Installed under another name first: a build that stops half-way never
    # looks finished. DESTDIR keeps the final prefix inside the interpreter.
    staging = work / "staging"
    configure = ["./configure", "-q", f"--prefix={prefix}", *wanted.options]
    install = ["make", "-s", "install", f"DESTDIR={staging}"]
    log = cache / f"build-{wanted.name}.log"
    for command in (configure, ["make", "-s", f"-j{os.cpu_count() or 1}"], install):
        print(f"{wanted.name}: {' '.join(command[:3])}", flush=True)
        run_logged(command, tree, log)
    shutil.rmtree(prefix, ignore_errors=True)
    (staging / prefix.relative_to("/")).rename(prefix)
    shutil.rmtree(work)
    print(f"{wanted.name}: built in {time.monotonic() - started:.0f} s, in {prefix}", flush=True)


def run_logged(command: list[str], directory: Path, log: Path) -> None:
    """Run one build command at low priority; its output goes to `log`."""
    with log.open("a") as output:
        result = subprocess.run(
            ["nice", "-n", "5", *command],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            check=False,
        )
    if result.returncode != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
        raise SystemExit(f"{tail}\n`{' '.join(command)}` failed; the whole output is in {log}")


def add_names(parser: argparse.ArgumentParser) -> None:
    """Let a command take names of interpreters; none means all."""
    names = ", ".join(build.name for build in BUILDS)
    parser.add_argument(
        "names", nargs="*", type=known_name, metavar="NAME", help=f"of {names} (default: all)"
    )


def known_name(name: str) -> str:
    """Return `name` if an interpreter is called so."""
    names = [build.name for build in BUILDS]
    if name not in names:
        raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(names)}")
    return name


def build_all(names: list[str]) -> None:
    """Build the named interpreters, all when none is named."""
    install_build_packages()
    for wanted in BUILDS:
        if not names or wanted.name in names:
            build(wanted, cache_directory())


def main() -> int:
    """Build what was asked for, or list what is there."""
    parser = argparse.ArgumentParser(description="Build the CPythons this machine does not have.")
    add_names(parser)
    parser.add_argument("--list", action="store_true", help="print what the cache holds and stop")
    options = parser.parse_args()
    if options.list:
        for name, program in built_interpreters().items():
            print(f"{name:8}{program}")
    else:
        build_all(options.names)
    return 0


if __name__ == "__main__":
    sys.exit(main())
