"""Data classes whose fields are made when somebody first looks at them.

A monitor hands out a result for every call, and most are never looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["Late", "fill_later", "made_later", "nothing"]

T = TypeVar("T", bound="Late")

TYPE_CHECKING = False


def nothing() -> None:
    """Return ``None``: a default that is no attribute of its class."""


class Late:
    """A data class that may be made later; to its users there is no difference.

    Every field needs a ``default_factory`` or no default at all: an attribute
    of the class would be found before the field is made.
    """

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Make the fields; called for attributes that are not there."""
            make = self.__dict__.get("_make")
            if make is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            for field, value in make().items():
                self.__dict__.setdefault(field, value)
            self.__dict__.pop("_make", None)
            return getattr(self, name)

    def __getstate__(self) -> dict[str, Any]:
        if "_make" in self.__dict__:
            getattr(self, "_make_now", None)
        return self.__dict__


def made_later(kind: type[T], make: Callable[[], dict[str, Any]]) -> T:
    """Return an object of class `kind` whose fields `make` gives when they are asked for."""
    made = kind.__new__(kind)
    made.__dict__["_make"] = make
    return made


def fill_later(result: Late, make: Callable[[], dict[str, Any]]) -> None:
    """Let the fields of `result` be those that `make` gives when they are asked for."""
    fields = result.__dict__
    fields["_make"] = make
    for name in [name for name in fields if name != "_make"]:
        del fields[name]
