"""Signals beside their times: what is attached, failures, slow calls."""

from __future__ import annotations

import asyncio
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tachograph


@pytest.fixture(autouse=True)
def fresh_profiling() -> Iterator[None]:
    tachograph._reset_for_tests()
    tachograph.configure(profiling=True)
    yield
    tachograph._reset_for_tests()


def last_entry() -> dict[str, Any]:
    return dict(tachograph.report()["timeline"][-1])


def test_extra_factory_and_tags_are_on_the_entry() -> None:
    @tachograph.signal(
        tags=["api", "demo"], extra_factory=lambda args, kwargs: {"n": args[0], **kwargs}
    )
    def sample(n: int, *, selection: str) -> str:
        return selection

    sample(3, selection="name CA")

    entry = last_entry()
    assert entry["tags"] == ["api", "demo"]
    assert entry["meta"] == {"n": 3, "selection": "name CA"}
    assert "span" not in entry


def failing(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    raise RuntimeError("extra is broken")


def no_dict(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    return 5  # type: ignore[return-value]


@pytest.mark.parametrize("factory", [failing, no_dict])
@pytest.mark.parametrize("profiling", [True, False])
def test_an_extra_factory_that_fails_is_announced_and_breaks_nothing(
    factory: Callable[..., dict[str, Any]], profiling: bool
) -> None:
    tachograph.configure(profiling=profiling)

    @tachograph.signal(extra_factory=factory)
    def work() -> str:
        return "done"

    with pytest.warns(RuntimeWarning, match=r"extra_factory failed.*\bwork\b|\bwork\b.*failed"):
        assert work() == "done"
    assert len(tachograph.report()["timeline"]) == profiling


def test_an_extra_factory_may_return_nothing() -> None:
    @tachograph.signal(extra_factory=lambda args, kwargs: None)
    def work() -> str:
        return "done"

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert work() == "done"
    assert "meta" not in last_entry()


@pytest.mark.parametrize("profiling", [True, False])
def test_a_failing_call_is_an_event_once(profiling: bool) -> None:
    tachograph.configure(profiling=profiling, event_buffer_size=5)

    @tachograph.signal(extra_factory=lambda args, kwargs: {"resource": "a.h5"})
    def inner() -> None:
        raise ValueError("broken file")

    @tachograph.signal(exception_level="warning")
    def outer() -> None:
        inner()

    with pytest.raises(ValueError, match="broken file"):
        outer()

    report = tachograph.report()
    assert (report["errors_total"], report["warnings_total"]) == (1, 0)
    (event,) = tachograph.get_manager().recent_events()
    assert event["level"] == "ERROR" and event["message"] == "broken file"
    assert event["exception_type"] == "ValueError"
    assert event["source"].endswith(".inner")
    assert event["extra"] == {"source_module": __name__, "resource": "a.h5"}


def test_the_level_of_a_failing_call_can_be_chosen() -> None:
    @tachograph.signal(exception_level="WARNING")
    def work() -> None:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        work()

    report = tachograph.report()
    assert (report["errors_total"], report["warnings_total"]) == (0, 1)


def test_leaving_with_an_exit_is_no_failure() -> None:
    @tachograph.signal
    def work() -> None:
        raise SystemExit(0)

    with pytest.raises(SystemExit):
        work()

    assert tachograph.report()["errors_total"] == 0


def test_an_event_that_cannot_be_made_does_not_hide_the_exception(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*args: object, **kwargs: object) -> dict[str, Any]:
        raise RuntimeError("no events today")

    monkeypatch.setattr(tachograph.get_manager(), "emit", broken)

    @tachograph.signal
    def work() -> None:
        raise ValueError("original")

    with (
        pytest.warns(RuntimeWarning, match="no events today"),
        pytest.raises(ValueError, match="original"),
    ):
        work()


@pytest.mark.parametrize("profiling", [True, False])
def test_a_slow_call_is_an_event(profiling: bool) -> None:
    tachograph.configure(
        profiling=profiling, slow_signal_ms=500, slow_signal_level="WARNING", event_buffer_size=5
    )

    @tachograph.signal(tags=["io"], extra_factory=lambda args, kwargs: dict(kwargs))
    def load(*, seconds: float) -> None:
        time.sleep(seconds)

    load(seconds=0.0)
    load(seconds=0.51)

    report = tachograph.report()
    (slow,) = report["slow_signals_recent"]
    assert slow["source"].endswith(".load")
    assert slow["duration_ms"] >= 510 and slow["threshold_ms"] == 500
    assert slow["signal_tags"] == ["io"]
    assert report["warnings_total"] == 1
    (event,) = tachograph.get_manager().recent_events(limit=1)
    assert (event["code"], event["category"]) == ("TACHOGRAPH-SIGNAL-SLOW", "profiling")
    assert event["extra"]["seconds"] == 0.51 and event["extra"]["module"] == __name__
    assert len(report["timeline"]) == (2 if profiling else 0)


def test_a_slow_coroutine_and_a_slow_failure_are_events_too() -> None:
    tachograph.configure(profiling=False, slow_signal_ms=10)

    @tachograph.signal
    async def fetch() -> None:
        await asyncio.sleep(0.02)

    @tachograph.signal
    def fail() -> None:
        time.sleep(0.02)
        raise ValueError("mine")

    asyncio.run(fetch())
    with pytest.raises(ValueError, match="mine"):
        fail()

    sources = [slow["source"] for slow in tachograph.report()["slow_signals_recent"]]
    assert [source.rpartition(".")[2] for source in sources] == ["fetch", "fail"]
    assert tachograph.report()["errors_total"] == 1
