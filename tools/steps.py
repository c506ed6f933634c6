"""Runs the parts of a long job one after the other, with headings and times.

A person who watches sees what is happening, and one who comes back sees what
failed first, with the command to repeat it, and where the time went.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class StepFailed(Exception):
    """A command of a step ended with a failure, so the job stops here."""


class Steps:
    """The steps done so far, each with its time."""

    def __init__(self) -> None:
        """Start the clock of the whole job."""
        self._started = time.monotonic()
        self._times: list[tuple[str, float]] = []

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Print a heading, run the body, and keep how long it took."""
        print(f"\n=== {title}", flush=True)
        started = time.monotonic()
        try:
            yield
        finally:
            seconds = time.monotonic() - started
            self._times.append((title, seconds))
            print(f"--- {title}: {seconds:.1f} s", flush=True)

    def time_table(self) -> str:
        """Return what every step took, and the whole, as lines of text."""
        width = max((len(title) for title, _ in self._times), default=0)
        lines = [f"{title:{width}}  {seconds:7.1f} s" for title, seconds in self._times]
        lines.append(f"{'whole':{width}}  {time.monotonic() - self._started:7.1f} s")
        return "\n".join(lines)

    def finish(self, failure: StepFailed | None) -> int:
        """Print the times and the outcome; return the exit status of the job."""
        print(f"\n{self.time_table()}", flush=True)
        if failure is not None:
            print(f"\nFAILED: {failure}", file=sys.stderr, flush=True)
            return 1
        print("\nall steps passed", flush=True)
        return 0


def run(
    *command: str | Path,
    environment: Mapping[str, str] | None = None,
    accept: Sequence[int] = (0,),
    quiet: bool = False,
) -> None:
    """Run one command in the checkout's root; raise `StepFailed` if it fails.

    Args:
        command: The program and its arguments.
        environment: Variables to add to the ones of this process.
        accept: Exit statuses that count as success.
        quiet: Show the output only when the command fails.
    """
    words = [str(word) for word in command]
    shown = shlex.join([word.removeprefix(f"{ROOT}/") for word in words])
    print(f"$ {shown}", flush=True)
    result = subprocess.run(
        words,
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if quiet else None,
        stderr=subprocess.STDOUT if quiet else None,
        text=True,
        errors="replace",
        check=False,
    )
    if result.returncode not in accept:
        if quiet:
            print(result.stdout, flush=True)
        raise StepFailed(f"`{shown}` ended with status {result.returncode}")
