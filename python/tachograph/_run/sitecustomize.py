"""Starts the recorder in a program of ``tachograph run``, then steps aside.

``tachograph run`` puts this folder in front of ``PYTHONPATH``, so the
interpreter takes this module for its ``sitecustomize``. Once the recording is
open, folder and variables are taken back and the ``sitecustomize`` that would
have been imported is: the program finds everything as if it ran alone.
"""

from __future__ import annotations

import os
import sys


def _read(text: str) -> dict[str, str]:
    r"""Return the settings: one ``name=value`` a line; ``\n`` and ``\\`` are escaped."""
    settings = {}
    for line in text.split("\n"):
        name, _, value = line.partition("=")
        if "\\" in value:
            parts = value.split("\\\\")
            value = "\\".join(part.replace("\\n", "\n") for part in parts)
        settings[name] = value
    return settings


def _step_aside(settings: dict[str, str]) -> None:
    here = os.path.dirname(__file__)
    sys.path[:] = [entry for entry in sys.path if entry != here]
    sys.path_importer_cache.pop(here, None)
    sys.modules.pop("sitecustomize", None)
    if settings.get("family") == "1":
        return  # child processes find us through the same variables
    del os.environ["TACHOGRAPH_RUN"]
    if "pythonpath" in settings:
        os.environ["PYTHONPATH"] = settings["pythonpath"]
    else:
        del os.environ["PYTHONPATH"]


def _is_recorded(settings: dict[str, str]) -> bool:
    """Tell whether the library for programs without Python records this process.

    It was there first, in a program that loads its interpreter later. A shell
    that became this interpreter left its number behind, but not the library.
    """
    if settings.get("native_pid") != str(os.getpid()):
        return False
    with open("/proc/self/maps") as maps:
        return "/tachograph/_preload.so" in maps.read()


def _say(why: object) -> None:
    print(f"tachograph: cannot record process {os.getpid()}: {why}", file=sys.stderr)


def _record(settings: dict[str, str]) -> None:
    """Open the recording; a program is never kept from running because it failed."""
    if sys.hexversion < 0x030B00F0:
        _say(f"it needs CPython 3.11 or newer, not {sys.version.split()[0]}")
        return
    # Ours comes last: a tachograph of the program's own environment is preferred.
    home = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    is_missing = home not in sys.path
    if is_missing:
        sys.path.append(home)
    try:
        from tachograph._doors.run import start

        start(settings)
    except Exception as error:
        _say(error)
    finally:
        if is_missing and home in sys.path:
            sys.path.remove(home)


if "TACHOGRAPH_RUN" in os.environ:
    _settings = _read(os.environ["TACHOGRAPH_RUN"])
    _step_aside(_settings)
    if not _is_recorded(_settings):
        _record(_settings)
    # The program's own, if it has one: an ImportError says that it has none,
    # to the interpreter as well.
    __import__("sitecustomize")
