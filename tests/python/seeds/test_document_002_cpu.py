"""Document 002 up to "Memory Profiling": every block runs and does what its text says."""

from __future__ import annotations

import re
from collections.abc import Callable

import tachograph
from blocks import all_blocks

Run = Callable[..., None]

ACTIVE = "spprof.start(interval_ms=1)\ndo_work()\n"
PROFILE = ACTIVE + "profile = spprof.stop()\n"


def stop_after_each_start(code: str) -> str:
    """Stop before the next `start()`, which the text says would raise."""
    stopped = r"\1; do_work(); seen.append(spprof.stop())"
    return re.sub(r"^(spprof\.start\(.*\))$", stopped, code, flags=re.M)


def test_01_quick_start_saves_a_profile_of_the_work(run: Run) -> None:
    run(
        "002.01",
        after="""
import json
assert any(f.function_name == "do_work" for s in profile.samples for f in s.frames)
document = json.load(open("profile.json"))
assert document["version"] == "1.0.0" and document["profiles"][0]["samples"]
""",
    )


def test_02_start_takes_an_interval_and_a_path(run: Run) -> None:
    run(
        "002.02",
        before="seen = []",
        edit=stop_after_each_start,
        after="""
import os
default, fast, saved = seen
assert default.interval_ms == 10 and fast.interval_ms == 1
assert len(fast.samples) > len(default.samples) > 0
assert os.path.getsize("profile.json") > 0
""",
    )


def test_03_stop_returns_the_samples(run: Run) -> None:
    run("002.03", before=ACTIVE, after="assert len(profile.samples) > 50")


def test_04_start_if_nothing_is_active(run: Run) -> None:
    run("002.04", after="assert spprof.is_active()\nspprof.stop()\nassert not spprof.is_active()")


def test_05_stats_tell_samples_of_a_running_session_and_nothing_otherwise(run: Run) -> None:
    run(
        "002.05",
        # They are counted as they are collected, by a thread that has to get its turn.
        before="assert spprof.stats() is None\n"
        + ACTIVE
        + "while not spprof.stats().collected_samples: do_work(0.01)",
        after="""
assert stats.collected_samples > 0 and stats.dropped_samples >= 0
spprof.stop()
assert spprof.stats() is None
""",
    )


def test_06_a_block_is_profiled(run: Run) -> None:
    run(
        "002.06",
        after="""
import os
assert p.profile.interval_ms == 5 and p.profile.samples
assert os.path.exists("profile.json")
""",
    )


def test_07_a_decorated_function_is_profiled_every_time(run: Run) -> None:
    run(
        "002.07",
        after="""
import os
for _ in range(2):
    expensive_function()
    assert os.path.getsize("func_profile.json") > 0
    os.unlink("func_profile.json")
""",
    )


def test_08_four_registered_threads_are_sampled(run: Run) -> None:
    run(
        "002.08",
        after="""
workers = {t.name for t in threads}
assert workers <= {s.thread_name for s in profile.samples}, {s.thread_name for s in profile.samples}
""",
    )


def test_09_a_thread_in_a_thread_profiler_block_is_sampled(run: Run) -> None:
    run(
        "002.09",
        after="""
import threading
spprof.start()
thread = threading.Thread(target=worker, name="in-a-block")
thread.start()
thread.join()
assert "in-a-block" in {s.thread_name for s in spprof.stop().samples}
""",
    )


def test_10_native_unwinding_gives_native_frames(run: Run) -> None:
    run(
        "002.10",
        before="import zlib, os\ndata = os.urandom(3_000_000)",
        edit=lambda code: code.replace("# Profile code", "zlib.compress(data, 9); do_work()  #"),
        after="""
if spprof.native_unwinding_available():
    assert spprof.native_unwinding_enabled()
    assert any(f.is_native for s in profile.samples for f in s.frames)
assert profile.samples
""",
    )


def test_11_speedscope_as_a_file_and_as_data(run: Run) -> None:
    run(
        "002.11",
        before=PROFILE,
        after="import json\nassert json.load(open('profile.json')) == data",
    )


def test_12_collapsed_as_a_file_and_as_text(run: Run) -> None:
    run(
        "002.12",
        before=PROFILE,
        after="assert open('profile.collapsed').read().rstrip() == text and 'do_work' in text",
    )


def test_13_collapsed_is_what_flame_graph_scripts_read(run: Run) -> None:
    assert all_blocks()["002.13"].language == "bash"
    run(
        "002.12",
        before=PROFILE,
        after="""
import re
total = 0
for line in open("profile.collapsed"):
    stack, _, count = line.rstrip().rpartition(" ")
    assert all(stack.split(";")), line
    total += int(count)
assert total == len(profile.samples)
""",
    )


def test_14_to_16_the_data_classes_have_the_listed_fields_in_order(run: Run) -> None:
    for name, ours in (
        ("002.14", tachograph.Profile),
        ("002.15", tachograph.Sample),
        ("002.16", tachograph.Frame),
    ):
        run(
            name,
            before="""
from collections.abc import Sequence
from dataclasses import dataclass, fields, MISSING
from datetime import datetime
from tachograph import Frame, Sample
""",
            after=f"""
listed = [f.name for f in fields({ours.__name__})]
ours = fields(spprof.{ours.__name__})
assert [f.name for f in ours][:len(listed)] == listed
assert all(f.default is not MISSING for f in ours[len(listed):])
""",
        )


def test_17_blocks_with_and_without_a_path(run: Run) -> None:
    run(
        "002.17",
        before="process_actual_data = process_one_item = do_work",
        after="import os\nassert os.path.getsize('real_profile.json') > 0",
    )


def test_18_a_memory_limit_is_taken(run: Run) -> None:
    run(
        "002.18",
        after="""
do_work(0.3)
profile = spprof.stop()
assert profile.interval_ms == 100
assert profile.meta["memory_limit_bytes"] == 50 << 20
""",
    )


def test_19_samples_can_be_filtered_by_file(run: Run) -> None:
    run(
        "002.19",
        before=ACTIVE,
        edit=lambda code: code.replace("myapp", "block.py"),
        after="assert len(my_samples) > 0.9 * len(profile.samples) > 0",
    )


def test_20_check_before_starting(run: Run) -> None:
    run(
        "002.20",
        after="""
try:
    spprof.start()
except RuntimeError as error:
    assert "Profiler already running" in str(error)
else:
    raise AssertionError("a second start() must be refused")
spprof.stop()
""",
    )


def test_21_more_memory_can_be_given(run: Run) -> None:
    run("002.21", after="spprof.stop()")


def test_22_a_thread_can_register_itself(run: Run) -> None:
    run("002.22", before=ACTIVE, after="spprof.stop()")


def test_23_work_in_a_thread_profiler_block_is_sampled(run: Run) -> None:
    run("002.23", before="spprof.start()", after="assert spprof.stop().samples")


def test_24_the_container_command_is_not_for_us() -> None:
    assert all_blocks()["002.24"].text.startswith("docker run")


def test_troubleshooting_asks_for_the_native_flag() -> None:
    assert tachograph._HAS_NATIVE is True
