"""``CarbonAwareProfiler``: a profiler that always follows energy, and its block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .profiler import PerformanceProfiler

if TYPE_CHECKING:
    from types import TracebackType

    from .metrics import PerformanceMetrics
    from .operation import Operation


class CarbonAwareProfiler(PerformanceProfiler):
    """``PerformanceProfiler`` with ``track_carbon=True``.

    Args:
        project_name: Kept as an attribute, for programs that tell runs apart by it.
        experiment_name: Kept as an attribute.
        track_carbon: Follow energy and greenhouse gas.
        **options: Those of ``PerformanceProfiler``.

    Example:
        >>> profiler = CarbonAwareProfiler(country="FR")
        >>> with profiler.profile_with_carbon("training") as session:
        ...     train()
        >>> session.results["carbon"]["emissions_kg_co2"]
    """

    def __init__(
        self,
        project_name: str = "",
        experiment_name: str = "",
        track_carbon: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(track_carbon=track_carbon, **options)
        self.project_name = project_name
        self.experiment_name = experiment_name

    def profile_with_carbon(self, description: str = "") -> CarbonSession:
        """Return a block like that of ``profile()``; ``as`` gives a ``CarbonSession``."""
        return CarbonSession(self.profile(description))


class CarbonSession:
    """One block of ``profile_with_carbon()``. It prints nothing."""

    __slots__ = ("_operation",)

    def __init__(self, operation: Operation) -> None:
        self._operation = operation

    def __enter__(self) -> CarbonSession:
        self._operation.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._operation.__exit__(kind, error, traceback)

    @property
    def metrics(self) -> PerformanceMetrics | None:
        """The figures, those so far while it runs; ``None`` before it began."""
        return self._operation.metrics()

    @property
    def results(self) -> dict[str, Any]:
        """``performance``, and ``carbon`` unless it is not followed; empty before it began."""
        metrics = self._operation.metrics()
        if metrics is None:
            return {}
        found: dict[str, Any] = {"performance": self._operation.flat.to_dict()}
        carbon = metrics.carbon
        if carbon is not None:
            found["carbon"] = {
                "emissions_kg_co2": carbon.co2_g / 1000,
                "energy_consumed_kwh": carbon.energy_kwh,
                **metrics.to_dict()["carbon"],
            }
        return found
