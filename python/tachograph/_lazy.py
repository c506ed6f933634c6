"""Names that are imported when they are first used.

Data classes, JSON and dates take milliseconds to import; a program that only
imports tachograph does not pay for them.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def lazy(
    package: str, names: dict[str, str], submodules: tuple[str, ...]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package.

    Args:
        package: Name of the package.
        names: Public names, each with the module it lives in.
        submodules: Modules that are attributes of the package.
    """

    def get(name: str) -> object:
        from importlib import import_module

        if name in submodules:
            return import_module(f"{package}.{name}")
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"{package}.{names[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def listing() -> list[str]:
        present = vars(sys.modules[package])
        special = (name for name in present if name.startswith("_"))
        # What the package imported for its own use is not listed.
        return sorted({*special, *present.get("__all__", ()), *names, *submodules})

    return get, listing
