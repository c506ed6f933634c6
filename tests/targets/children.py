"""Processes made while a recording runs: fork, multiprocessing, subprocess.

Right answer: parent and child both end well; the child is not recorded until
it asks, and can ask.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable

from clockwork import spin


def in_forked_child(work: Callable[[], None]) -> int:
    """Run `work` in a forked child; return its exit status, 0 if all is well."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def square(number: int) -> int:
    """Be the work of a pool."""
    spin(20_000)
    return number * number
