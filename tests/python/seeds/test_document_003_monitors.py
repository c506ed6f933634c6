"""Document 003, memory, machine and values: each block runs and does what its text says."""

from __future__ import annotations

from collections.abc import Callable

Run = Callable[..., None]

LISTEN = """
import contextlib, io
said = io.StringIO()
"""


def test_03_the_highest_memory_is_seen_and_allocations_are_traced(run: Run) -> None:
    spike = """
    rows = bytearray(200_000_000)
    rows[::4096] = b"x" * len(rows[::4096])
    del rows
    kept.append(bytearray(30_000_000))
"""
    run(
        "003.03",
        edit=lambda code: code.replace("...", spike.strip()).replace(
            "use_tracemalloc=True", "use_tracemalloc=True, return_result=True"
        ),
        before="kept = []",
        after="""
from tachograph.decorators import get_memory_stats

value, memory = materialize_features(1)
assert value is None
# The kernel counts pages in batches, one for each processor: some 100 KB are uncertain.
assert memory.peak_memory >= memory.start_memory.rss + 199_000_000, memory
assert memory.peak_memory >= memory.end_memory.rss
assert memory.tracemalloc_peak >= 190_000_000, memory
assert 25_000_000 <= memory.tracemalloc_current <= 60_000_000, memory
place = memory.metadata["allocations"][0]
assert place["bytes"] >= 25_000_000 and place["file"].endswith("block.py"), place
assert open("block.py").read().splitlines()[place["line"] - 1].startswith("    kept.append")
assert get_memory_stats("materialize_features").max_peak_memory == memory.peak_memory
""",
    )


def test_03_the_function_returns_what_it_returned(run: Run) -> None:
    run("003.03", after="assert materialize_features(1) is None")


def test_04_everything_is_watched_and_printed(run: Run) -> None:
    run(
        "003.04",
        before=LISTEN,
        edit=lambda code: code.replace("...", "return do_work(0.1)"),
        after="""
with contextlib.redirect_stdout(said):
    assert isinstance(train_epoch(1), int)
text = said.getvalue()
for word in ("train_epoch", "TIMING", "MEMORY", "SYSTEM", "CPU", "peak"):
    assert word in text, text
assert "GPU  " not in text or "busy" in text
""",
    )


def test_04_with_return_results_the_caller_gets_both(run: Run) -> None:
    run(
        "003.04",
        edit=lambda code: code.replace("...", "do_work(0.1); return 1, 2").replace(
            "print_results=True", "return_results=True"
        ),
        after="""
from tachograph.decorators import CombinedResult
result, seen = train_epoch(1)
assert result == (1, 2)
assert isinstance(seen, CombinedResult)
assert seen.timing_result.execution_time >= 0.1
assert seen.monitoring_result.peak_cpu > 0
summary = seen.summary()
assert set(summary["timing"]) >= {"execution_time", "timing_mode"}
assert set(summary["memory"]) >= {"peak_memory_mb", "memory_diff_mb", "duration"}
assert set(summary["system"]) >= {
    "peak_cpu", "peak_memory", "total_disk_read_mb", "total_disk_write_mb", "duration"
}
assert isinstance(summary, dict) and "TIMING" in str(summary)
assert config.return_results and not config.print_results
""",
    )


def test_04_a_tuple_stays_a_tuple(run: Run) -> None:
    run(
        "003.04",
        before=LISTEN,
        edit=lambda code: code.replace("...", "return 1, 2"),
        after="""
with contextlib.redirect_stdout(said):
    assert train_epoch(1) == (1, 2)
""",
    )


def test_05_an_async_function_is_watched_and_the_loop_goes_on(run: Run) -> None:
    run(
        "003.05",
        edit=lambda code: code.replace("...", "await queue.get()").replace(
            "enable_system=False", "enable_system=False, return_results=True"
        ),
        before="import asyncio",
        after="""
async def main():
    # It ends after the loop has gone round a hundred times, or never.
    queue = asyncio.Queue()
    watched = asyncio.ensure_future(stream_predictions(queue))
    await asyncio.sleep(0)
    began = time.perf_counter()
    for _ in range(100):
        assert not watched.done()
        await asyncio.sleep(0.001)
    waited = time.perf_counter() - began
    queue.put_nowait(None)
    return waited, await watched

waited, (value, seen) = asyncio.run(main())
assert value is None and seen.monitoring_result is None
assert 0.1 <= waited <= seen.timing_result.execution_time, seen
assert seen.timing_result.metadata["async"] is True
assert seen.timing_result.metadata["suspended_time"] >= waited
""",
    )


def test_05_a_function_that_is_not_async_is_refused(run: Run) -> None:
    run(
        "003.05",
        after="""
try:
    performance_monitor_async(enable_system=False)(lambda queue: queue)
except TypeError as error:
    assert "performance_monitor" in str(error)
else:
    raise AssertionError("accepted")
""",
    )


def test_06_a_block_is_watched_and_its_summary_prints(run: Run) -> None:
    run(
        "003.06",
        before="""
class pipeline:
    @staticmethod
    def fit_transform(rows):
        time.sleep(0.05)
        return [row + 1 for row in rows]

dataset = [1, 2]
""",
        after="""
assert transformed == [2, 3]
assert result.function_name == "vectorized_pipeline"
assert result.timing_result.execution_time >= 0.05
assert result.memory_result.peak_memory > 1_000_000
assert result.monitoring_result is None
summary = result.summary()
assert summary["function_name"] == "vectorized_pipeline"
assert summary["timing"]["timing_mode"] == "wall_clock"
assert "system" not in summary
""",
    )


def test_06_works_with_the_defaults_too(run: Run) -> None:
    run(
        "003.06",
        before="class pipeline:\n    fit_transform = staticmethod(sum)\ndataset = [1, 2]",
        edit=lambda code: code.replace(", enable_system=False", ""),
        after="assert result.monitoring_result is not None and transformed == 3",
    )


MODEL = """
import numpy

class Model:
    def __init__(self, *values): self.values = values
    def predict_proba(self, data): return numpy.array(self.values)

good, bad = Model(0.0, 0.5, 1.0), Model(0.2, 1.2)
"""


def test_07_probabilities_pass_inside_and_raise_outside(run: Run) -> None:
    run(
        "003.07",
        before=MODEL,
        after="""
assert predict_proba(good, None).tolist() == [0.0, 0.5, 1.0]
for outside in (bad, Model(-0.1)):
    try:
        predict_proba(outside, None)
    except ValidationError as error:
        assert str(error) == "Probabilities must be within [0, 1]."
    else:
        raise AssertionError("passed")
""",
    )


def test_07_without_raising_the_result_tells(run: Run) -> None:
    run(
        "003.07",
        before=MODEL,
        edit=lambda code: code.replace(
            "raise_on_validation_error=True", "raise_on_validation_error=False, return_results=True"
        ),
        after="""
value, seen = predict_proba(bad, None)
assert value.tolist() == [0.2, 1.2]
assert seen.validation_result.output_valid is False
assert seen.validation_result.output_errors == ["Probabilities must be within [0, 1]."]
assert seen.summary()["validation"]["output_valid"] is False
assert "Probabilities must be within [0, 1]." in str(seen.summary())
value, seen = predict_proba(good, None)
assert seen.validation_result.output_valid is True
""",
    )


def test_the_table_of_tools_lists_names_that_exist() -> None:
    from tachograph import decorators

    names = """
        memory_profile memory_monitor MemoryLeakDetector system_monitor monitor_performance
        validate_inputs validate_outputs performance_monitor performance_monitor_async
        quick_monitor full_monitor debug_monitor MonitoringConfig ValidatorBase CombinedResult
        MemorySnapshot MemoryResult MemoryStats MemoryMode MemoryMonitor get_current_memory
        get_peak_memory_usage MonitoringResult SystemSnapshot GPUSnapshot SystemMonitor
        monitor_system get_system_info get_gpu_info ValidationResult TypeValidator
        RangeValidator ShapeValidator DataFrameValidator CustomValidator type_check range_check
        shape_check dataframe_check custom_check validate_types validate_data_schema
        memory_profile_async system_monitor_async profile_memory profile_memory_async
        monitor_memory monitor_system_resources monitor_system_resources_async
    """
    for name in names.split():
        assert callable(getattr(decorators, name)), name
        assert name in decorators.__all__
    assert {"memory", "monitoring", "combined", "validation"} <= set(dir(decorators))
