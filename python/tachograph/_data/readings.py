"""What a recording holds of the process, the machine and its devices."""

from __future__ import annotations

from .plain import dataclass

__all__ = ["Energy", "MemoryGrowth", "SeriesRow"]


@dataclass(frozen=True, slots=True)
class SeriesRow:
    """One series of readings and what it amounts to.

    Attributes:
        name: What was read.
        scope: Whose it is: ``"machine"``, ``"process"``, ``"thread"`` or ``"device"``.
        track: What that is called.
        os_id: The number the system gives it.
        unit: ``"bytes"``, ``"nanoseconds"``, ``"ratio"``, ``"joules"``, ``"watts"``,
            ``"celsius"``, ``"hertz"`` or ``"count"``.
        is_total: It only grows; ``growth`` means something, ``mean`` does not.
        count: How many readings there are.
        min: The smallest.
        max: The largest.
        mean: Their mean.
        last: The latest.
        growth: From the first reading to the last.
        points: Seconds since the start of the recording, and values.
    """

    name: str
    scope: str
    track: str
    os_id: int
    unit: str
    is_total: bool
    count: int
    min: float
    max: float
    mean: float
    last: float
    growth: float
    points: list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Energy:
    """Energy of the recorded process.

    Attributes:
        joules: All of it, devices included.
        device_joules: The part that devices counted themselves.
        source: ``"measured"`` by the processor's counters, or ``"modelled"``.
        method: How it is known, and if it is modelled why.
    """

    joules: float
    device_joules: float
    source: str
    method: str

    @property
    def kwh(self) -> float:
        """Kilowatt-hours."""
        return self.joules / 3.6e6

    def co2_grams(self, country: str | None = None) -> float:
        """Return the grams of CO2 equivalents that this energy stands for.

        Args:
            country: Whose grid it came from, by two or three letters; by default
                the mean of the world. The figures are yearly ones of 2023, see
                the guide.

        Raises:
            ValueError: The country's grid is not known.
        """
        from .._native import carbon_countries, carbon_intensity

        found = carbon_intensity(country)
        if found is None:
            raise ValueError(
                f"the grid of country {country!r} is not in the table; it has "
                f"{', '.join(carbon_countries())}"
            )
        return self.kwh * found[0]


@dataclass(frozen=True, slots=True)
class MemoryGrowth:
    """How memory grew, and why that is or is not called a leak.

    Attributes:
        leaking: It grew evenly and by enough to matter.
        bytes_per_second: How fast it grew, by a slope that odd readings do not move.
        lower_bytes_per_second: It grew faster than this 95 times in 100.
        grown_bytes: What it grew for sure: the lower bound times the time.
        threshold_bytes: What it would have had to grow to count: 10 MB, and 5 % of
            what was held.
        seconds: How long was judged; the first quarter, the warm-up, is left out.
        points: Readings that were judged.
        reason: Why the verdict is what it is.
    """

    leaking: bool
    bytes_per_second: float
    lower_bytes_per_second: float
    grown_bytes: float
    threshold_bytes: float
    seconds: float
    points: int
    reason: str
