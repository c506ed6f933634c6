"""`configure`: what it takes, what it refuses, and what the environment adds."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
import tachograph


@pytest.fixture(autouse=True)
def fresh_settings() -> Iterator[None]:
    tachograph._reset_for_tests()
    yield
    tachograph._reset_for_tests()


def test_the_settings_of_the_start() -> None:
    config = tachograph.get_manager().config

    assert config.enabled is True
    assert config.profiling is False
    assert config.profiling_buffer_size == 1000
    assert config.profiling_sample_rate == 1.0
    assert config.profiling_hooks is None
    assert (config.slow_signal_ms, config.slow_signal_level) == (0.0, "INFO")


def test_configure_returns_the_one_manager() -> None:
    manager = tachograph.configure(profiling=True)

    assert manager is tachograph.get_manager()
    assert manager.config.profiling is True
    assert manager.configure(profiling=False) is manager
    assert manager.config.profiling is False


def test_what_is_left_out_stays_as_it_is() -> None:
    tachograph.configure(profiling=True, profiling_buffer_size=7, slow_signal_ms=3)

    config = tachograph.configure(profiling_sample_rate=0.5, profiling=None).config

    assert (config.profiling, config.profiling_buffer_size) == (True, 7)
    assert (config.slow_signal_ms, config.profiling_sample_rate) == (3.0, 0.5)


def test_the_configuration_is_frozen_and_replaced_as_a_whole() -> None:
    before = tachograph.get_manager().config

    tachograph.configure(profiling=True)

    assert tachograph.get_manager().config is not before
    assert before.profiling is False
    with pytest.raises(dataclasses.FrozenInstanceError):
        before.profiling = True  # type: ignore[misc]
    copy = dataclasses.replace(tachograph.get_manager().config, enabled=False)
    assert copy.enabled is False
    assert tachograph.get_manager().enabled is True


def test_hooks_are_kept_apart_from_the_list_they_came_in() -> None:
    hooks = [lambda: {"a": 1}]

    config = tachograph.configure(profiling_hooks=hooks).config
    hooks.clear()

    assert len(config.profiling_hooks or ()) == 1


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan"), float("inf"), 7])
def test_a_share_that_is_none_is_refused_and_named(rate: float) -> None:
    with pytest.raises(ValueError, match=rf"profiling_sample_rate must be .*, not {rate!r}"):
        tachograph.configure(profiling_sample_rate=rate)

    assert tachograph.get_manager().config.profiling_sample_rate == 1.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"profiling_buffer_size": -1}, r"profiling_buffer_size .* not -1"),
        ({"profiling_buffer_size": 10**12}, r"profiling_buffer_size .* not 1000000000000"),
        ({"slow_signal_ms": -2.5}, r"slow_signal_ms .* not -2\.5"),
        ({"slow_signal_ms": float("nan")}, r"slow_signal_ms .* not nan"),
        ({"slow_signal_level": "LOUD"}, r"slow_signal_level .* not 'LOUD'"),
        ({"event_buffer_size": -3}, r"event_buffer_size .* not -3"),
    ],
)
def test_values_out_of_range_are_refused_and_named(
    settings: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        tachograph.configure(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"profiling_buffer_size": 1.5}, r"profiling_buffer_size .* not 1\.5"),
        ({"profiling_sample_rate": "half"}, r"profiling_sample_rate .* not 'half'"),
        ({"profiling_sample_rate": []}, r"profiling_sample_rate .* not \[\]"),
        ({"slow_signal_level": 30}, r"slow_signal_level .* not 30"),
        ({"profiling_hooks": 5}, r"profiling_hooks .* not 5"),
        ({"profiling_hooks": ["gpu"]}, r"profiling_hooks .* not 'gpu'"),
        ({"profiling_hooks": dict}, r"write \[<class 'dict'>\]"),
        ({"profilling": True}, r"does not know 'profilling'; it knows .*profiling"),
    ],
)
def test_values_of_another_kind_are_refused_and_named(
    settings: dict[str, object], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        tachograph.configure(**settings)  # type: ignore[arg-type]


def test_a_refused_call_changes_nothing() -> None:
    with pytest.raises(ValueError, match="profiling_sample_rate"):
        tachograph.configure(profiling=True, profiling_sample_rate=2)

    assert tachograph.get_manager().config.profiling is False


def test_arguments_of_smonitors_diagnostics_are_taken() -> None:
    manager = tachograph.configure(
        profile="dev",
        handlers=[],
        level="INFO",
        theme="rich",
        event_buffer_size=5,
        args_summary=True,
        strict_signals=True,
        run_id="run-7",
        session_id="session-7",
        correlation_id="order-7",
        routes=[],
        filters=[],
        codes={},
        silence=["noisy"],
        trace_depth=2,
    )

    assert (manager.config.profile, manager.config.level) == ("dev", "INFO")
    report = tachograph.report()
    assert (report["run_id"], report["session_id"]) == ("run-7", "session-7")
    assert tachograph.emit("INFO", "x")["correlation_id"] == "order-7"


def test_enabled_can_be_assigned() -> None:
    manager = tachograph.configure(profiling=True)

    manager.enabled = False

    assert manager.config.enabled is False
    with tachograph.span("off"):
        pass
    assert tachograph.report()["timeline"] == []


def test_changes_hold_for_functions_decorated_earlier() -> None:
    @tachograph.signal
    def work() -> None:
        pass

    work()
    assert not tachograph.report()["timings"]
    tachograph.configure(profiling=True)
    work()
    tachograph.configure(profiling=False)
    work()

    (row,) = tachograph.report()["timings"].values()
    assert row["count"] == 1


def test_a_reset_forgets_everything() -> None:
    tachograph.configure(profiling=True, profiling_buffer_size=3, event_buffer_size=3)
    with tachograph.span("gone"):
        pass
    tachograph.emit("WARNING", "gone")
    run = tachograph.report()["run_id"]

    tachograph._reset_for_tests()

    report = tachograph.report()
    assert report["timings"] == {} and report["timeline"] == []
    assert report["warnings_total"] == report["calls_total"] == report["events_buffered"] == 0
    assert report["run_id"] != run
    assert tachograph.get_manager().config.profiling_buffer_size == 1000


def test_the_environment_gives_what_the_program_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TACHOGRAPH_PROFILING", "yes")
    monkeypatch.setenv("TACHOGRAPH_PROFILING_BUFFER", "50")
    monkeypatch.setenv("TACHOGRAPH_PROFILING_SAMPLE", "0.25")
    monkeypatch.setenv("TACHOGRAPH_SLOW_SIGNAL_MS", "12.5")
    monkeypatch.setenv("TACHOGRAPH_SLOW_SIGNAL_LEVEL", "warning")

    config = tachograph.configure(profiling_buffer_size=9).config

    assert (config.profiling, config.profiling_buffer_size) == (True, 9)
    assert (config.profiling_sample_rate, config.slow_signal_ms) == (0.25, 12.5)
    assert config.slow_signal_level == "WARNING"


def test_what_the_program_said_earlier_beats_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tachograph.configure(profiling=False)
    monkeypatch.setenv("TACHOGRAPH_PROFILING", "1")

    assert tachograph.configure(slow_signal_ms=1).config.profiling is False


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("TACHOGRAPH_PROFILING_SAMPLE", "1.5"),
        ("TACHOGRAPH_PROFILING_SAMPLE", "often"),
        ("TACHOGRAPH_PROFILING_BUFFER", "-4"),
        ("TACHOGRAPH_PROFILING", "perhaps"),
        ("TACHOGRAPH_SLOW_SIGNAL_LEVEL", "LOUD"),
    ],
)
def test_a_variable_that_makes_no_sense_is_announced_and_ignored(
    variable: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tachograph.get_manager().config
    monkeypatch.setenv(variable, text)

    with pytest.warns(RuntimeWarning, match=rf"{variable}='{text}' is ignored"):
        config = tachograph.configure().config

    assert config == before


def run_python(code: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.strip()


def test_the_environment_alone_turns_profiling_on() -> None:
    code = """
import tachograph

@tachograph.signal
def work():
    with tachograph.span("inner"):
        pass

work()
print(sorted(tachograph.report()["timings"]))
"""

    assert run_python(code, TACHOGRAPH_PROFILING="1") == "['__main__.work', 'inner']"
    assert run_python(code, TACHOGRAPH_PROFILING="0") == "[]"
    assert run_python(code) == "[]"


def test_the_import_stays_light() -> None:
    code = """
import sys
before = set(sys.modules)
import tachograph
heavy = {"dataclasses", "json", "datetime", "inspect", "asyncio"} - before
print(sorted(heavy & set(sys.modules)))
"""

    assert run_python(code) == "[]"
