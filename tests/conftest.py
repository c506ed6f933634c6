"""What a test marked `measures` gets: another measurement when the first one fails.

Such a test compares two clocks, and whoever else uses the machine may take the
processor away between their readings. Only its assertions count as measured: a
crash, a hang or any other exception fails at once. Every test that was measured
again is named at the end, with what the failed measurement said.
"""

from __future__ import annotations

import pytest

MEASURED_AGAIN_AT_MOST = 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have pytest-rerunfailures run the marked tests again, and no others."""
    for item in items:
        if item.get_closest_marker("measures"):
            again = pytest.mark.flaky(reruns=MEASURED_AGAIN_AT_MOST, only_rerun=["^AssertionError"])
            item.add_marker(again)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the tests that were measured again."""
    failed = terminalreporter.stats.get("rerun", [])
    if not failed:
        return
    terminalreporter.section("measured again")
    for report in failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        told = crash.message.partition("\n")[0] if crash else ""
        terminalreporter.line(f"{report.nodeid}: {told}")
