"""FLOPs of numpy, against what the shapes say."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from tachograph._doors import flops

numpy = pytest.importorskip("numpy")

BLAS = "BLAS calls"


def counted(work: Callable[[], object]) -> tuple[int, str]:
    window = flops.begin()
    work()
    return flops.end(window)


def ones(*shape: int, kind: str = "d") -> Any:
    return numpy.ones(shape, dtype=kind)


@pytest.mark.parametrize(("kind", "each"), [("f", 2), ("d", 2), ("F", 8), ("D", 8)])
def test_a_product_of_matrices_counts_what_its_shapes_say(kind: str, each: int) -> None:
    a, b = ones(30, 40, kind=kind), ones(40, 50, kind=kind)

    assert counted(lambda: a @ b) == (each * 30 * 40 * 50, BLAS)


@pytest.mark.parametrize(("kind", "each"), [("f", 2), ("d", 2), ("F", 8), ("D", 8)])
def test_a_matrix_times_a_vector(kind: str, each: int) -> None:
    a, x = ones(30, 40, kind=kind), ones(40, kind=kind)

    assert counted(lambda: a @ x) == (each * 30 * 40, BLAS)


def test_a_product_of_vectors() -> None:
    x = ones(1000)

    assert counted(lambda: x @ x) == (2000, BLAS)


def test_a_matrix_times_itself_turned_computes_one_triangle() -> None:
    a = ones(30, 40)

    assert counted(lambda: a @ a.T) == (30 * 31 * 40, BLAS)


def test_a_stack_of_products_is_the_sum_of_them() -> None:
    a, b = ones(7, 30, 40), ones(7, 40, 50)

    assert counted(lambda: a @ b) == (7 * 2 * 30 * 40 * 50, BLAS)


def test_solving_equations_is_counted_by_formula() -> None:
    a, b = numpy.eye(60) * 2, ones(60, 3)

    assert counted(lambda: numpy.linalg.solve(a, b)) == (2 * 60**3 // 3 + 2 * 60 * 60 * 3, BLAS)


def test_results_stay_the_same() -> None:
    a = numpy.arange(12.0).reshape(3, 4)
    expected = a @ a.T

    window = flops.begin()
    found = a @ a.T
    flops.end(window)

    assert (found == expected).all()


def test_all_threads_are_counted_and_windows_count_their_own() -> None:
    a = ones(20, 20) + numpy.eye(20)
    b = ones(20, 20)

    def work() -> None:
        threads = [threading.Thread(target=lambda: a @ b) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    outer = flops.begin()
    a @ b
    assert counted(work) == (4 * 2 * 20**3, BLAS)
    assert flops.end(outer) == (5 * 2 * 20**3, BLAS)


def test_nothing_is_counted_outside_of_a_window() -> None:
    a = ones(20, 20)
    flops.end(flops.begin())
    a @ ones(20, 20)

    assert counted(lambda: None) == (0, "none")


def test_a_library_that_is_loaded_later_is_seen_in_the_next_window() -> None:
    program = """
from tachograph._doors import flops
window = flops.begin()
import numpy
flops.end(window)
a = numpy.ones((10, 20))
b = numpy.ones((20, 30))
window = flops.begin()
a @ b
assert flops.end(window) == (2 * 10 * 20 * 30, "BLAS calls")
"""
    subprocess.run([sys.executable, "-c", program], check=True)
