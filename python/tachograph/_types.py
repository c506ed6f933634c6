"""Words that arguments take, for type checkers. Imported by them only, or late."""

from __future__ import annotations

from typing import Literal, ParamSpec, TypeVar

Mode = Literal["cpu"] | Literal["wall"]
Trigger = Literal["auto"] | Literal["tick"] | Literal["perf"] | Literal["cpu-timer"]
MemoryMeasure = Literal["live"] | Literal["peak"] | Literal["allocated"] | Literal["blocks"]
Measure = Literal["cpu"] | Literal["wall"] | Literal["samples"] | MemoryMeasure
At = Literal["peak"] | Literal["live"] | Literal["total"] | Literal["freed"]
Format = Literal["speedscope"] | Literal["collapsed"] | Literal["svg"] | Literal["tacho"]

P = ParamSpec("P")
R = TypeVar("R")
