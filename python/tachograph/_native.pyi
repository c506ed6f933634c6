"""The compiled half of tachograph. Private: its names change without notice."""

from os import PathLike
from typing import TypeAlias, TypedDict, final

__all__ = [
    "Client",
    "Recording",
    "__version__",
    "capture_native_stack",
    "format_of",
    "native_available",
    "peak_memory",
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
    def summary(self, *, color: bool, width: int, unicode: bool) -> str: ...
    def export(self, format: str, measure: str | None) -> bytes: ...
    def save(self, path: str | PathLike[str], format: str | None, measure: str | None) -> None: ...
    def between(self, from_ns: int, to_ns: int) -> Recording: ...

def native_available() -> bool: ...
def peak_memory() -> int | None: ...
def capture_native_stack(max_depth: int) -> list[tuple[int, str, str, int]]: ...
def format_of(path: str | PathLike[str]) -> str | None: ...
