"""The command ``tachograph``, for its script and for ``python -m tachograph``."""

from __future__ import annotations

import os
import sys

from ._native import run_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> NoReturn:
    """Do what the command line says, and end the process."""
    run_command(sys.argv, sys.executable, os.path.dirname(os.path.abspath(__file__)))


if __name__ == "__main__":
    main()
