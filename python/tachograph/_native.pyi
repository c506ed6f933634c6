"""The compiled half of tachograph. Private: its names change without notice."""

from collections.abc import Callable, Generator
from os import PathLike
from types import TracebackType
from typing import (
    Any,
    Literal,
    Self,
    SupportsFloat,
    SupportsIndex,
    TypeAlias,
    TypedDict,
    final,
    type_check_only,
)

from typing_extensions import disjoint_base

__all__ = [
    "Client",
    "Collector",
    "Ended",
    "Meter",
    "Phase",
    "Recording",
    "Summary",
    "_Block",
    "__version__",
    "block",
    "bottleneck_table",
    "calls_clear",
    "calls_total",
    "capture_native_stack",
    "comparison_table",
    "export_timeline",
    "find_bottlenecks",
    "format_of",
    "meters",
    "meters_clear",
    "native_available",
    "peak_memory",
    "point",
    "profiling",
    "run_comparison",
    "run_report_of",
    "run_table",
    "signal",
    "signals",
    "span",
    "timed",
    "timeline",
    "timeline_capacity",
    "timeline_clear",
]

__version__: str

_Stats: TypeAlias = tuple[int, int, int, float, int]
_SampleColumns: TypeAlias = tuple[list[int], list[int], list[int], list[int], list[int]]
_ThreadNames: TypeAlias = list[tuple[int, str]]
_FrameRow: TypeAlias = tuple[str, str, int, bool]
_FunctionRow: TypeAlias = tuple[str, str, int, str, bool, int, int]
_LineRow: TypeAlias = tuple[str, int, str, int, int, str | None]
_PlaceRow: TypeAlias = tuple[str, str, int]
_ThreadRow: TypeAlias = tuple[int, str, int, int, int, int, int, int, _PlaceRow | None]

_SpanRow: TypeAlias = tuple[
    tuple[str, str, int | None, int],
    tuple[int, int, int],
    tuple[int, int, int, int, int, int, int, int],
    list[_FunctionRow],
]
_Scalar: TypeAlias = str | int | float | bool | None
_TimelineRow: TypeAlias = tuple[
    str, int, int | None, str, str | None, int | None, bool, int, list[tuple[str, _Scalar]]
]

class _Columns(TypedDict):
    frames: list[_FrameRow]
    stacks: list[list[int]]
    threads: list[tuple[int, str | None]]
    tasks: list[str]
    columns: _SampleColumns

@final
class Client:
    """One door's window on the session."""

    @staticmethod
    def open(
        *,
        interval_ns: int,
        mode: str,
        trigger: str,
        native: bool,
        max_depth: int,
        path: str | PathLike[str] | None,
        memory_limit_bytes: int,
        source: bool,
        python: tuple[str, str, str, bool],
        command: list[str],
        roots: tuple[str, str, list[str], list[str]],
        thread_names: _ThreadNames,
    ) -> Client: ...
    def stats(self) -> _Stats | None: ...
    def finish(self, thread_names: _ThreadNames) -> tuple[Recording, str | None]: ...
    def is_alive(self) -> bool: ...

@final
class Recording:
    """A finished recording. Immutable; every view of it is a new one."""

    @staticmethod
    def open(path: str | PathLike[str]) -> Recording: ...
    @staticmethod
    def from_bytes(data: bytes, name: str) -> Recording: ...
    @staticmethod
    def from_samples(
        *,
        frames: list[_FrameRow],
        stacks: list[list[int]],
        threads: list[tuple[int, str | None]],
        tasks: list[str],
        columns: _SampleColumns,
        mode: str,
        interval_ns: int,
        started_unix_ns: int,
        duration_ns: int,
        dropped_samples: int,
        python_version: str,
        platform: str,
    ) -> Recording: ...
    def to_bytes(self) -> bytes: ...
    @property
    def sample_count(self) -> int: ...
    @property
    def duration_ns(self) -> int: ...
    @property
    def mode(self) -> str: ...
    def facts(self) -> tuple[int, int, int, int, str, str]: ...
    def meta(self) -> str: ...
    def loss(self) -> str: ...
    def notes(self) -> list[tuple[int, bool, str]]: ...
    def columns(self) -> _Columns: ...
    def functions(self, measure: str | None) -> list[_FunctionRow]: ...
    def lines(self, measure: str | None) -> list[_LineRow]: ...
    def threads(self) -> list[_ThreadRow]: ...
    def tasks(self) -> list[tuple[str, int, int, int]]: ...
    def spans(self) -> list[_SpanRow]: ...
    def timeline(self) -> list[_TimelineRow]: ...
    def metrics(self) -> list[tuple[str, int, float, float, float, float]]: ...
    def summary(self, *, color: bool, width: int, unicode: bool) -> str: ...
    def export(self, format: str, measure: str | None) -> bytes: ...
    def save(self, path: str | PathLike[str], format: str | None, measure: str | None) -> None: ...
    def between(self, from_ns: int, to_ns: int) -> Recording: ...
    def within(self, name: str) -> Recording: ...

def native_available() -> bool: ...
def peak_memory() -> int | None: ...
def capture_native_stack(max_depth: int) -> list[tuple[int, str, str, int]]: ...
def format_of(path: str | PathLike[str]) -> str | None: ...

_Clock: TypeAlias = Literal["wall", "perf", "process", "thread"]

class _TimelineEntry(TypedDict, total=False):
    key: str
    duration_ms: float
    timestamp: str
    span: bool
    failed: bool
    meta: dict[str, str | int | float | bool | None]
    tags: list[str]

@type_check_only
class _SpanBlock:
    """A named stretch of time; the same object may be entered again."""

    @property
    def name(self) -> str: ...
    @property
    def elapsed_ns(self) -> int: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
        /,
    ) -> None: ...

@final
class _Block:
    """A block of code that is timed each time it is entered."""

    @property
    def name(self) -> str: ...
    @property
    def elapsed_ns(self) -> int: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None: ...

@final
class Meter:
    """A live aggregate that many threads may add to."""

    def __new__(cls, name: str | None = None, /) -> Self: ...
    def add(self, value: float, /) -> None: ...
    def summary(self) -> Summary: ...
    def clear(self) -> None: ...

@final
class Summary:
    """What a meter knew at one moment."""

    @property
    def count(self) -> int: ...
    @property
    def total(self) -> float: ...
    @property
    def mean(self) -> float: ...
    @property
    def std(self) -> float: ...
    @property
    def min(self) -> float: ...
    @property
    def max(self) -> float: ...
    @property
    def last(self) -> float: ...
    def percentile(self, q: float, rule: Literal["linear", "lower"] = "linear") -> float: ...
    def blocks(self) -> list[tuple[int, int, float]]: ...
    def merged(self, other: Summary) -> Summary: ...

@final
class Ended:
    """How a measured stretch of time ended."""

    @property
    def name(self) -> str: ...
    @property
    def duration_ns(self) -> int: ...
    @property
    def wall_ns(self) -> int: ...
    @property
    def running_ns(self) -> int: ...
    @property
    def suspended_ns(self) -> int: ...
    @property
    def failed(self) -> bool: ...
    @property
    def error(self) -> BaseException | None: ...
    @property
    def started_unix_ns(self) -> int: ...

@type_check_only
class _Steps:
    @property
    def inner(self) -> Any: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Any: ...
    def __await__(self) -> Generator[Any, Any, Any]: ...
    def take_step(self) -> None: ...
    def step_paused(self) -> None: ...
    def step_returned(self) -> None: ...
    def step_raised(self, error: BaseException) -> None: ...

@type_check_only
class _Turns:
    def turn(self, awaitable: object) -> _Steps: ...
    def close(self) -> None: ...

@type_check_only
class _Plan:
    def around(self, function: Callable[..., Any]) -> Callable[..., Any]: ...
    def steps(
        self, inner: Any, args: tuple[Any, ...], kwargs: dict[str, Any], is_task: bool
    ) -> Any: ...
    def turns(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Turns: ...

def span(name: str, /, **attributes: object) -> _SpanBlock: ...
def block(
    name: str,
    /,
    *,
    meter: Meter | None = None,
    clock: _Clock = "wall",
    after: Callable[[Ended], object] | None = None,
    attributes: dict[str, Any] | None = None,
) -> _Block: ...
def timed(
    function: Any,
    /,
    *,
    name: str,
    meter: Meter | None = None,
    clock: _Clock = "wall",
    gate: Literal["always", "profiling"] = "always",
    timeline: bool = False,
    tags: tuple[str, ...] | None = None,
    before: Callable[[tuple[Any, ...], dict[str, Any]], dict[str, Any] | None] | None = None,
    after: Callable[[Ended], object] | None = None,
) -> Any: ...
def signal(
    function: Any,
    /,
    *,
    name: str,
    tags: tuple[str, ...],
    before: Callable[[tuple[Any, ...], dict[str, Any]], dict[str, Any] | None] | None,
    failed: Callable[[Exception, dict[str, Any], str], object],
    slow: Callable[[Ended, dict[str, Any]], object],
    name_of: Callable[[type], str] | None,
) -> Any: ...
def signals(enabled: bool, slow_ns: int) -> None: ...
def calls_total() -> int: ...
def calls_clear() -> None: ...
def point(name: str, value: float, /) -> None: ...
def profiling(on: bool, sample_rate: float) -> None: ...
def meters() -> dict[str, Summary]: ...
def meters_clear() -> None: ...
def timeline() -> list[_TimelineEntry]: ...
def timeline_capacity(entries: int) -> None: ...
def timeline_clear() -> None: ...
def export_timeline(path: str | PathLike[str], format: str) -> None: ...

@disjoint_base
class Collector:
    """Named numbers and phases. Any thread may add to them."""

    def __new__(cls) -> Self: ...
    def record(self, name: str, value: SupportsFloat | SupportsIndex) -> None: ...
    def measure_time(self, name: str) -> Phase: ...
    def _start_phase(self, name: str) -> Phase: ...
    def _add_time(self, name: str, took_ms: float, own_ms: float, inside: str | None) -> None: ...
    def _last(self, name: str) -> tuple[int, float]: ...
    def _report(self) -> str: ...
    def _forget(self) -> None: ...

@final
class Phase:
    """A block of code that a collector times: enter it with ``with``."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> Literal[False]: ...
    def stop(self) -> int: ...
    def give_up(self) -> None: ...
    @property
    def elapsed_ns(self) -> int: ...
    @property
    def elapsed_ms(self) -> float: ...

def find_bottlenecks(report: str) -> str: ...
def run_comparison(a: str, b: str) -> str: ...
def run_report_of(recording: Recording) -> str: ...
def run_table(report: str, *, color: bool, width: int, unicode: bool) -> str: ...
def bottleneck_table(report: str, *, color: bool, width: int, unicode: bool) -> str: ...
def comparison_table(a: str, b: str, *, color: bool, width: int, unicode: bool) -> str: ...
