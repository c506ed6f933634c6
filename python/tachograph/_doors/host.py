"""Facts that only the running interpreter knows: names of threads, and what is own code."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from threading import Thread


# The script, as `tachograph run` knows it before there is a `__main__`.
started_script = ""


def thread_names() -> list[tuple[int, str]]:
    """Return the names of threads by the id the operating system knows them by.

    Threads that have ended are included while something still refers to them.
    """
    threading = sys.modules.get("threading")
    if threading is None:
        # Importing it now would make whichever thread we are on the main one.
        return [(os.getpid(), "MainThread")]
    names: dict[int, str] = {}
    for thread in [*_ended_threads(threading), *threading.enumerate()]:
        if thread.native_id is not None:
            names[thread.native_id] = str(thread.name)
    # In a child that was forked just now, `threading` still knows its parent's ids.
    names.setdefault(os.getpid(), "MainThread")
    return list(names.items())


def _ended_threads(threading: object) -> Iterable[Thread]:
    """Return threads the interpreter still knows about; an inner list, so it may be gone."""
    try:
        return list(getattr(threading, "_dangling", ()))
    except RuntimeError:  # it changed while we read it
        return []


def python_facts() -> tuple[str, str, str, bool]:
    """Return version, implementation, executable, and whether it is free-threaded."""
    version = ".".join(map(str, sys.version_info[:3]))
    return version, "CPython", sys.executable or "", "free-threading" in sys.version


def command() -> list[str]:
    """Return the program and its arguments."""
    return [str(word) for word in getattr(sys, "argv", [])]


def roots() -> tuple[str, str, list[str], list[str]]:
    """Return working directory, script, standard library and installed packages."""
    try:
        working_directory = os.getcwd()
    except OSError:  # it was removed
        working_directory = ""
    script = getattr(sys.modules.get("__main__"), "__file__", None) or started_script
    library = os.path.dirname(os.__file__)
    libraries = dict.fromkeys((library, os.path.realpath(library)))
    packages = [
        entry
        for entry in sys.path
        if os.path.basename(entry.rstrip(os.sep)) in ("site-packages", "dist-packages")
    ]
    own_package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if os.path.dirname(own_package) not in packages:
        packages.append(own_package)
    return working_directory, os.path.abspath(script) if script else "", list(libraries), packages
