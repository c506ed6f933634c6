"""FLOPs of real torch programs, against what their shapes say."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch
from tachograph._doors import flops
from torch import nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

TORCH = "torch dispatcher"


def counted(work: Any) -> tuple[int, str]:
    window = flops.begin()
    work()
    return flops.end(window)


def test_the_model_of_the_document_takes_26017792() -> None:
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10))

    assert counted(lambda: model(torch.randn(32, 784))) == (26_017_792, TORCH)


def test_inference_counts_the_same() -> None:
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10))
    image = torch.randn(32, 784)
    with torch.no_grad():
        assert counted(lambda: model(image)) == (26_017_792, TORCH)
    with torch.inference_mode():
        assert counted(lambda: model(image)) == (26_017_792, TORCH)


def test_backward_of_a_layer_is_two_more_products() -> None:
    layer = nn.Linear(20, 30)
    image = torch.randn(8, 20, requires_grad=True)

    forward_and_backward = counted(lambda: layer(image).sum().backward())

    assert forward_and_backward == (3 * 2 * 8 * 20 * 30, TORCH)


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        (lambda: torch.ones(3, 4) @ torch.ones(4, 5), 2 * 3 * 4 * 5),
        (lambda: torch.ones(3, 4) @ torch.ones(4), 2 * 3 * 4),
        (lambda: torch.ones(7) @ torch.ones(7), 2 * 7),
        (lambda: torch.ones(2, 3, 4) @ torch.ones(2, 4, 5), 2 * 2 * 3 * 4 * 5),
        (lambda: torch.einsum("ij,kj->ik", torch.ones(3, 4), torch.ones(5, 4)), 2 * 3 * 4 * 5),
        (
            lambda: torch.baddbmm(torch.ones(2, 3, 5), torch.ones(2, 3, 4), torch.ones(2, 4, 5)),
            2 * 2 * 3 * 4 * 5,
        ),
        (
            lambda: functional.conv2d(torch.ones(2, 3, 10, 12), torch.ones(8, 3, 3, 3)),
            2 * 2 * (8 * 10) * 8 * 3 * 9,
        ),
        (
            lambda: functional.conv_transpose2d(torch.ones(2, 3, 5, 6), torch.ones(3, 8, 3, 3)),
            2 * 2 * (5 * 6) * 3 * 8 * 9,
        ),
        (
            lambda: functional.conv1d(torch.ones(1, 8, 20), torch.ones(8, 2, 3), groups=4),
            2 * 18 * 8 * 2 * 3,
        ),
    ],
)
def test_an_operation_counts_what_its_shapes_say(work: Any, expected: int) -> None:
    assert counted(work) == (expected, TORCH)


def test_complex_numbers_take_four_times_as_many() -> None:
    a, b = torch.ones(3, 4, dtype=torch.complex64), torch.ones(4, 5, dtype=torch.complex64)

    assert counted(lambda: a @ b)[0] == 4 * 2 * 3 * 4 * 5


def test_attention_is_two_products_whichever_way_it_is_computed() -> None:
    query, key, value = (torch.randn(2, 4, 16, 32) for _ in range(3))

    forward = counted(lambda: functional.scaled_dot_product_attention(query, key, value))

    assert forward == (2 * (2 * 2 * 4 * 16 * 16 * 32), TORCH)


def test_a_training_step_agrees_with_torchs_own_counter() -> None:
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 16 * 16, 10)
    )
    images, labels = torch.randn(4, 3, 16, 16), torch.randint(0, 10, (4,))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step() -> None:
        optimizer.zero_grad()
        functional.cross_entropy(model(images), labels).backward()
        optimizer.step()

    with FlopCounterMode(display=False) as theirs:
        step()

    assert counted(step) == (theirs.get_total_flops(), TORCH)


def test_windows_inside_of_each_other_count_their_own() -> None:
    a = torch.ones(10, 10)
    outer = flops.begin()
    a @ a
    inner = flops.begin()
    a @ a
    assert flops.end(inner) == (2000, TORCH)
    a @ a
    assert flops.end(outer) == (6000, TORCH)
    assert counted(lambda: None) == (0, "none")


def test_nothing_is_left_in_the_dispatcher() -> None:
    from torch.utils._python_dispatch import _get_current_dispatch_mode

    counted(lambda: torch.ones(3, 3) @ torch.ones(3, 3))

    assert _get_current_dispatch_mode() is None


def test_a_mode_of_someone_else_on_top_of_ours_is_left_alone() -> None:
    from torch.utils._python_dispatch import _get_current_dispatch_mode

    window = flops.begin()
    theirs = FlopCounterMode(display=False)
    theirs.__enter__()
    torch.ones(3, 3) @ torch.ones(3, 3)
    assert flops.end(window) == (54, TORCH)
    assert _get_current_dispatch_mode() is not None
    theirs.__exit__(None, None, None)
    torch.ones(3, 3) @ torch.ones(3, 3)
    assert theirs.get_total_flops() == 54


def test_another_threads_torch_is_seen_at_its_blas_calls_or_not_at_all() -> None:
    def elsewhere() -> None:
        torch.ones(3, 3) @ torch.ones(3, 3)

    def work() -> None:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()

    assert counted(work) in ((54, "BLAS calls"), (0, "none"))


def test_results_and_gradients_stay_the_same() -> None:
    torch.manual_seed(1)
    layer, image = nn.Linear(5, 3), torch.randn(2, 5)
    expected = layer(image)

    window = flops.begin()
    found = layer(image)
    found.sum().backward()
    flops.end(window)

    assert torch.equal(found, expected)
    assert layer.weight.grad is not None


def test_numpy_beside_torch_is_counted_by_its_own_calls() -> None:
    numpy = pytest.importorskip("numpy")
    a = torch.ones(10, 10)
    b, c = numpy.ones((20, 30)), numpy.ones((30, 40))

    def work() -> None:
        a @ a
        b @ c

    assert counted(work) == (2000 + 2 * 20 * 30 * 40, "torch dispatcher + BLAS calls")
