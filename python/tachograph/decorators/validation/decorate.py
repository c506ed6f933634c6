"""Decorators that look at what goes into a function and what comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, overload

from .._around import around
from .._ledger import spelled
from ._checks import Checks, by_parameter, checks_of

if TYPE_CHECKING:
    from ..._data.validation import ValidationResult
    from ..._types import P, R

__all__ = ["checked", "validate_inputs", "validate_outputs"]

# A validator is an object with `validate`, or a function.
Validators = Any


class CheckedCall:
    """One call whose values are looked at."""

    __slots__ = ("_args", "_arguments", "_checks", "_kwargs", "result")

    def __init__(self, checks: Checks, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._checks = checks
        self._args = args
        self._kwargs = kwargs
        self._arguments: dict[str, Any] = {}
        self.result: ValidationResult = checks.new_result()

    def begin(self) -> None:
        self._arguments = self._checks.check_inputs(self.result, self._args, self._kwargs)

    def returned(self, value: Any) -> None:
        self._checks.check_output(self.result, value, self._arguments)

    def yielded(self, value: Any) -> None:
        metadata = self.result.metadata
        metadata["values_count"] = metadata.get("values_count", 0) + 1
        self._checks.check_output(self.result, value, self._arguments)

    def exhausted(self) -> None:
        """Nothing is left to look at."""

    def failed(self, error: BaseException) -> None:
        """There is no result to look at."""


def checked(function: Any, make: Callable[[Any, str], Checks], *, return_result: bool) -> Any:
    """Return `function` with its calls looked at as `make` says."""
    if isinstance(function, (staticmethod, classmethod)):
        inner = checked(function.__func__, make, return_result=return_result)
        return type(function)(inner)
    if not callable(function):
        raise TypeError(
            f"only a function can be checked, not {function!r}; validators go into the "
            "parentheses, as in @validate_outputs(range_check(0, 1))"
        )
    checks = make(function, spelled(function)[0])
    return around(
        function,
        lambda args, kwargs: CheckedCall(checks, args, kwargs),
        with_result=return_result,
    )


@overload
def validate_inputs(
    validators: Mapping[str, Validators],
    raise_on_error: bool = ...,
    return_result: Literal[False] = ...,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


@overload
def validate_inputs(
    validators: Mapping[str, Validators],
    raise_on_error: bool = ...,
    return_result: bool = ...,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...


def validate_inputs(
    validators: Mapping[str, Validators],
    raise_on_error: bool = True,
    return_result: bool = False,
) -> Any:
    """Look at the arguments of every call of the function below.

    Works on functions of every kind. All validators are asked, so that an
    error names everything that is wrong. The arguments of a coroutine or
    generator are looked at when it begins to run.

    Args:
        validators: For each parameter a validator, or several in a list. A
            function that takes a value, or a value and the context, is one
            too; see `ValidatorBase`.
        raise_on_error: Raise instead of calling the function.
        return_result: Return ``(value, ValidationResult)``.

    Raises:
        ValidationError: When called: an argument was rejected.
        ValueError: The function has no such parameter.

    Example:
        >>> @validate_inputs({"share": range_check(0, 1)})
        ... def split(rows, share):
        ...     return rows[: int(len(rows) * share)]
        >>> split([1, 2, 3, 4], share=0.5)
        [1, 2]
    """
    by_parameter(validators)

    def make(function: Any, name: str) -> Checks:
        return checks_of(function, name, validators, None, raises=raise_on_error)

    return lambda function: checked(function, make, return_result=return_result)


@overload
def validate_outputs(
    validators: Validators,
    raise_on_error: bool = ...,
    return_result: Literal[False] = ...,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


@overload
def validate_outputs(
    validators: Validators,
    raise_on_error: bool = ...,
    return_result: bool = ...,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...


def validate_outputs(
    validators: Validators, raise_on_error: bool = True, return_result: bool = False
) -> Any:
    """Look at what every call of the function below returns.

    Works on functions of every kind: of a coroutine function the awaited
    value is looked at, of a generator each value before its user gets it.

    Args:
        validators: A validator, or several in a list; see `validate_inputs`.
        raise_on_error: Raise instead of returning the value.
        return_result: Return ``(value, ValidationResult)``.

    Raises:
        ValidationError: When called: the result was rejected. A validator's
            own `ValidationError` is raised as it is.

    Example:
        >>> @validate_outputs([type_check(list), custom_check(len, "no rows")])
        ... def load():
        ...     return [1, 2]
        >>> load()
        [1, 2]
    """

    def make(function: Any, name: str) -> Checks:
        return checks_of(function, name, None, validators, raises=raise_on_error)

    return lambda function: checked(function, make, return_result=return_result)
