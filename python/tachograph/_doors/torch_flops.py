"""FLOPs of torch operations, seen at its dispatcher.

Every operation of a thread passes there, forward and backward, after linear
layers, einsum and the like have become products of matrices. A product and its
sum are two operations; complex numbers take four times as many.
"""

from __future__ import annotations

import sys
from math import prod
from typing import TYPE_CHECKING, Any

from .._native import blas_count_again, blas_leave_out

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TorchCounter", "counter"]


def _product(a: Any, b: Any) -> int:
    """Return the operations of ``a @ b`` for matrices or stacks of them."""
    return 2 * int(prod(a.shape)) * int(b.shape[-1])


def _convolved(around: Any, weight: Any) -> int:
    """Return the operations of putting ``weight`` at every place of ``around``."""
    return 2 * int(around.shape[0]) * int(prod(around.shape[2:])) * int(prod(weight.shape))


def _convolution(args: tuple[Any, ...], result: Any) -> int:
    image, weight, transposed = args[0], args[1], args[6]
    around = image if transposed else result
    return _convolved(around, weight)


def _convolution_backward(args: tuple[Any, ...], _: Any) -> int:
    gradient, image, weight, transposed, wanted = args[0], args[1], args[2], args[7], args[10]
    around = image if transposed else gradient
    once = _convolved(around, weight)
    return once * (bool(wanted[0]) + bool(wanted[1]))


def _attention(query: Any, key: Any, value: Any) -> tuple[int, int]:
    """Return the operations of query times key, and of scores times value."""
    scores = int(prod(query.shape[:-1])) * int(key.shape[-2])
    return 2 * scores * int(query.shape[-1]), 2 * scores * int(value.shape[-1])


def _attention_forward(args: tuple[Any, ...], _: Any) -> int:
    return sum(_attention(*args[:3]))


def _attention_backward(args: tuple[Any, ...], _: Any) -> int:
    # The scores are computed again, then two products for each of the two.
    first, second = _attention(*args[1:4])
    return 3 * first + 2 * second


FORMULAS: dict[str, Callable[[tuple[Any, ...], Any], int]] = {
    "aten::mm": lambda args, _: _product(args[0], args[1]),
    "aten::addmm": lambda args, _: _product(args[1], args[2]),
    "aten::_addmm_activation": lambda args, _: _product(args[1], args[2]),
    "aten::bmm": lambda args, _: _product(args[0], args[1]),
    "aten::baddbmm": lambda args, _: _product(args[1], args[2]),
    "aten::addbmm": lambda args, _: _product(args[1], args[2]),
    "aten::_scaled_mm": lambda args, _: _product(args[0], args[1]),
    "aten::_int_mm": lambda args, _: _product(args[0], args[1]),
    "aten::mv": lambda args, _: 2 * prod(args[0].shape),
    "aten::addmv": lambda args, _: 2 * prod(args[1].shape),
    "aten::dot": lambda args, _: 2 * prod(args[0].shape),
    "aten::vdot": lambda args, _: 2 * prod(args[0].shape),
    "aten::addr": lambda args, _: 2 * prod(args[0].shape),
    "aten::convolution": _convolution,
    "aten::_convolution": _convolution,
    "aten::convolution_overrideable": _convolution,
    "aten::convolution_backward": _convolution_backward,
    "aten::_scaled_dot_product_flash_attention": _attention_forward,
    "aten::_scaled_dot_product_flash_attention_for_cpu": _attention_forward,
    "aten::_scaled_dot_product_efficient_attention": _attention_forward,
    "aten::_scaled_dot_product_cudnn_attention": _attention_forward,
    "aten::_scaled_dot_product_fused_attention_overrideable": _attention_forward,
    "aten::_scaled_dot_product_flash_attention_backward": _attention_backward,
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": _attention_backward,
    "aten::_scaled_dot_product_efficient_attention_backward": _attention_backward,
    "aten::_scaled_dot_product_cudnn_attention_backward": _attention_backward,
}


def counter() -> TorchCounter | None:
    """Return a new counter; ``None`` if torch is not loaded, or has no dispatcher."""
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    try:
        return TorchCounter(torch)
    except Exception:  # a torch of another kind, or a stand-in
        return None


class TorchCounter:
    """Counts on the thread it is started on, until it is stopped."""

    def __init__(self, torch: Any) -> None:
        from importlib import import_module

        dispatch = import_module("torch.utils._python_dispatch")
        self._current = dispatch._get_current_dispatch_mode
        self._counts = True
        self.flops = 0
        self._known: dict[Any, Callable[[tuple[Any, ...], Any], int] | None] = {}
        self._is_composite: dict[Any, bool] = {}
        self._torch = torch
        seen = self._seen

        def passed(mode: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return seen(mode, func, args, kwargs or {})

        kind = type(dispatch.TorchDispatchMode)
        members = {"__torch_dispatch__": passed}
        self._mode = kind("CountingMode", (dispatch.TorchDispatchMode,), members)()

    def start(self) -> None:
        """Begin to count."""
        self._mode.__enter__()

    def stop(self) -> None:
        """Stop counting."""
        self._counts = False
        # Someone else's mode may be on top of ours; then ours stays, and counts nothing.
        if self._current() is self._mode:
            self._mode.__exit__(None, None, None)

    def _seen(self, mode: Any, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        formula = self._formula(func)
        if formula is None and self._composite(func):
            with mode:
                result = func.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        # Its BLAS may be a shared library; what is counted here is not counted there.
        left_out = blas_leave_out()
        try:
            result = func(*args, **kwargs)
        finally:
            if left_out:
                blas_count_again()
        if formula is not None and self._counts:
            try:
                self.flops += formula(_positional(func, args, kwargs), result) * _factor(result)
            except Exception:  # an operation that is called in a way we do not know
                self._known[func] = None
        return result

    def _formula(self, func: Any) -> Callable[[tuple[Any, ...], Any], int] | None:
        if func not in self._known:
            schema = getattr(func, "_schema", None)
            self._known[func] = FORMULAS.get(getattr(schema, "name", ""))
        return self._known[func]

    def _composite(self, func: Any) -> bool:
        """Tell whether an operation is made of others; they pass here one by one."""
        if func not in self._is_composite:
            try:
                has_kernel = self._torch._C._dispatch_has_kernel_for_dispatch_key
                composite = bool(has_kernel(func.name(), "CompositeImplicitAutograd"))
            except Exception:
                composite = False
            self._is_composite[func] = composite and hasattr(func, "decompose")
        return self._is_composite[func]


def _positional(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Return the arguments in the order of the operation's schema."""
    if not kwargs:
        return args
    rest = [argument.name for argument in func._schema.arguments[len(args) :]]
    return (*args, *(kwargs.get(name) for name in rest))


def _factor(result: Any) -> int:
    """Return how many real operations stand for one: four if numbers are complex."""
    first = result[0] if isinstance(result, tuple) else result
    return 4 if first is not None and first.is_complex() else 1
