"""The keys under which signals are reported, and the shorter ones people look them up by.

A signal's key is ``module.qualname``, which tells two methods of the same name
apart. smonitor called it ``module.function``; that name finds it as well.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The engine keeps as many names; nothing that is made on the fly may grow without end.
_MOST_KEYS = 65_536


class Place:
    """Where a signal lives: its module, and the name smonitor would give it."""

    __slots__ = ("bare_key", "module", "tags")

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.bare_key = f"{module}.{name}"
        self.tags: set[str] = set()


_places: dict[str, Place] = {}


def key_of(function: Any, tags: tuple[str, ...]) -> str:
    """Return the key of a function, and remember where it lives."""
    return _remember(_module_of(function), _qualname_of(function), _name_of(function), tags)


def may_be_method(function: Any) -> bool:
    """Whether `function` was written in the body of a class, as far as its name tells."""
    outer, _, _ = _qualname_of(function).rpartition(".")
    return bool(outer) and not outer.endswith("<locals>")


def key_on_class(function: Any, kind: type, tags: tuple[str, ...]) -> str:
    """Return the key of a method for instances of `kind`.

    A method that a class inherits from another module belongs to the class's
    module, where a reader of the report looks for it.
    """
    name = _name_of(function)
    module = kind.__module__
    if module == _module_of(function) or not isinstance(module, str) or not hasattr(kind, name):
        return key_of(function, tags)
    return _remember(module, f"{kind.__qualname__}.{name}", name, tags)


def place_of(key: str) -> Place | None:
    """Return where the signal of `key` lives; ``None`` for a span's name."""
    return _places.get(key)


def _remember(module: str, qualname: str, name: str, tags: tuple[str, ...]) -> str:
    key = f"{module}.{qualname}"
    place = _places.get(key)
    if place is None and len(_places) < _MOST_KEYS:
        place = _places.setdefault(key, Place(module, name))
    if place is not None:
        place.tags.update(tags)
    return key


def _module_of(function: Any) -> str:
    return str(getattr(function, "__module__", None) or "<no module>")


def _qualname_of(function: Any) -> str:
    return str(getattr(function, "__qualname__", None) or _name_of(function))


def _name_of(function: Any) -> str:
    return str(getattr(function, "__name__", None) or type(function).__name__)
