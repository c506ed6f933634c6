"""What a collector knows, as files and on the screen."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from tachograph.profiler import MetricsCollector, Reporter

COLUMNS = [
    *("kind", "name", "unit", "count", "mean", "std", "min", "max"),
    *("p50", "p95", "p99", "total", "self", "last", "inside"),
]


@pytest.fixture
def collector() -> MetricsCollector:
    collector = MetricsCollector()
    for step in range(5):
        collector.record("batch_size", 32)
        with collector.measure_time("iteration"), collector.measure_time("forward"):
            pass
        collector.record("loss", 1 / (step + 1))
    return collector


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_json_has_the_schema_of_the_document(collector: MetricsCollector, tmp_path: Path) -> None:
    path = tmp_path / "profile.json"

    Reporter(collector).save_json(path)

    report = json.loads(path.read_text())
    assert report == collector.generate_report()
    assert {"mean", "std", "min", "max"} <= set(report["timing"]["forward"])
    assert set(report["memory"]) == {"peak_allocated", "peak_reserved"}
    assert set(report["throughput"]) == {"samples_per_sec", "iterations_per_sec"}
    blocks = [line for line in path.read_text().splitlines() if '"blocks"' in line]
    assert blocks and all(line.rstrip().endswith("]]") for line in blocks)


def test_csv_is_one_table_with_named_columns(collector: MetricsCollector, tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"

    Reporter(collector).save_csv(path)

    table = rows(path)
    assert list(table[0]) == COLUMNS
    assert [(row["kind"], row["name"]) for row in table] == [
        ("timing", "iteration"),
        ("timing", "forward"),
        ("metric", "batch_size"),
        ("metric", "loss"),
        ("throughput", "samples_per_sec"),
        ("throughput", "iterations_per_sec"),
        ("memory", "peak_allocated"),
        ("memory", "peak_reserved"),
    ]
    forward = table[1]
    assert (forward["unit"], forward["count"], forward["inside"]) == ("ms", "5", "iteration")
    assert float(table[3]["last"]) == pytest.approx(0.2)
    assert float(table[4]["mean"]) > 0 and table[6]["max"] == "0"


def test_an_empty_collector_writes_valid_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reporter = Reporter(MetricsCollector())

    reporter.save_json(tmp_path / "empty.json")
    reporter.save_csv(tmp_path / "empty.csv")
    reporter.print_summary()

    report = json.loads((tmp_path / "empty.json").read_text())
    assert report["timing"] == {} and report["memory"]["peak_allocated"] == 0
    assert [row["kind"] for row in rows(tmp_path / "empty.csv")] == ["throughput"] * 2 + [
        "memory"
    ] * 2
    assert "nothing was measured" in capsys.readouterr().out


def test_the_summary_is_the_report_without_colour_in_a_file(
    collector: MetricsCollector, capsys: pytest.CaptureFixture[str]
) -> None:
    Reporter(collector).print_summary()

    text = capsys.readouterr().out
    assert text == f"{collector.generate_report()}\n"
    assert "\x1b" not in text


def test_each_call_tells_what_is_known_by_then(collector: MetricsCollector, tmp_path: Path) -> None:
    reporter = Reporter(collector)
    collector.record("later", 1.0)

    reporter.save_json(tmp_path / "report.json")

    assert "later" in json.loads((tmp_path / "report.json").read_text())["metrics"]


def test_names_survive_quotes_commas_and_line_ends(tmp_path: Path) -> None:
    name = 'a "b", c\n"blocks": [ 1 ]'
    collector = MetricsCollector()
    collector.record(name, 1.0)
    reporter = Reporter(collector)

    reporter.save_csv(tmp_path / "names.csv")
    reporter.save_json(tmp_path / "names.json")

    assert rows(tmp_path / "names.csv")[0]["name"] == name
    assert list(json.loads((tmp_path / "names.json").read_text())["metrics"]) == [name]
    assert len(str(collector.generate_report()).splitlines()) < 10


def test_a_place_that_cannot_be_written_is_named(
    collector: MetricsCollector, tmp_path: Path
) -> None:
    reporter = Reporter(collector)
    with pytest.raises(FileNotFoundError, match=r"cannot write to .*nowhere.*choose a directory"):
        reporter.save_json(tmp_path / "nowhere" / "report.json")
    with pytest.raises(IsADirectoryError, match="name a file in it"):
        reporter.save_csv(tmp_path)
    with pytest.raises(TypeError, match="a path must be a str or a PathLike, not 3"):
        reporter.save_json(3)  # type: ignore[arg-type]


def test_what_is_no_collector_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match=r"a run must be a MetricsCollector.*not None"):
        Reporter(None)  # type: ignore[arg-type]
