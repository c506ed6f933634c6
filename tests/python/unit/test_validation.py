"""`validate_inputs` and `validate_outputs`: what passes, what does not, and what is said."""

from __future__ import annotations

import asyncio
import inspect
import pickle
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from tachograph.decorators import (
    ValidationResult,
    ValidatorBase,
    custom_check,
    range_check,
    type_check,
    validate_inputs,
    validate_outputs,
)
from tachograph.exceptions import DataError, RefuncError, TachographError, ValidationError


class Small(ValidatorBase):
    """Says no by returning False."""

    def validate(self, value: int) -> bool:
        return value < 10


class Positive(ValidatorBase):
    """Says no by raising, and takes the context."""

    def __init__(self) -> None:
        self.contexts: list[dict[str, Any]] = []

    def validate(self, value: int, context: dict[str, Any]) -> None:
        self.contexts.append(context)
        if value <= 0:
            raise ValidationError(f"{value} is not positive")


@pytest.mark.parametrize("answer", [None, True, 1, "yes"])
def test_none_and_true_let_a_value_pass(answer: object) -> None:
    @validate_outputs(lambda value: answer)
    def one() -> int:
        return 1

    assert one() == 1


@pytest.mark.parametrize("answer", [False, 0])
def test_false_rejects_a_value(answer: object) -> None:
    @validate_outputs(lambda value: answer)
    def one() -> int:
        return 1

    with pytest.raises(ValidationError, match=r"one: the result: 1 was rejected by <lambda>"):
        one()


def test_false_of_another_library_rejects_too() -> None:
    numpy = pytest.importorskip("numpy")

    @validate_outputs(lambda value: numpy.bool_(False))
    def one() -> int:
        return 1

    with pytest.raises(ValidationError):
        one()


def test_a_validator_takes_the_value_alone_or_with_its_context() -> None:
    positive = Positive()

    @validate_inputs({"rows": [Small(), positive]})
    def load(path: str, rows: int = 3) -> int:
        return rows

    assert load("a.csv") == 3
    assert positive.contexts == [
        {"function_name": "load", "parameter": "rows", "arguments": {"path": "a.csv", "rows": 3}}
    ]


def test_the_error_of_a_validator_is_raised_as_it_is() -> None:
    class Broken(ValidationError):
        pass

    broken = Broken("out of order")

    class Always(ValidatorBase):
        def validate(self, value: object, context: object) -> None:
            raise broken

    @validate_outputs(Always())
    def one() -> int:
        return 1

    with pytest.raises(Broken) as caught:
        one()
    assert caught.value is broken
    assert caught.value.__notes__ == ["the result of one is not valid"]


def test_an_error_names_everything_that_is_wrong() -> None:
    @validate_inputs({"a": [Small(), type_check(str)], "b": Positive()})
    def add(a: object, b: int) -> None:
        raise AssertionError("must not be called")

    with pytest.raises(ValidationError) as caught:
        add(12, -1)

    assert str(caught.value) == (
        "add: argument 'a': 12 is not valid; argument 'a': expected str, got int; "
        "argument 'b': -1 is not positive"
    )
    assert len(caught.value.context["errors"]) == 3
    assert isinstance(caught.value.__cause__, ValidationError)


def test_without_raising_the_call_goes_on_and_the_result_tells() -> None:
    @validate_inputs({"a": Small()}, raise_on_error=False, return_result=True)
    def twice(a: int) -> int:
        return 2 * a

    value, result = twice(12)

    assert value == 24
    assert isinstance(result, ValidationResult)
    assert (result.function_name, result.input_valid, result.output_valid) == ("twice", False, True)
    assert result.input_errors == ["argument 'a': 12 is not valid"]
    assert result.validation_time > 0
    assert result.metadata == {"validators_count": 1}
    assert not result.is_valid


def test_a_bug_in_a_validator_is_not_taken_for_an_answer() -> None:
    @validate_outputs(lambda value: value.missing)
    def one() -> int:
        return 1

    with pytest.raises(AttributeError, match="missing"):
        one()


def test_a_parameter_that_does_not_exist_is_a_mistake() -> None:
    with pytest.raises(ValueError, match=r"load has no parameter 'row'; its parameters: rows"):

        @validate_inputs({"row": Small()})
        def load(rows: int) -> None: ...


def test_named_extras_are_checked_by_their_name() -> None:
    @validate_inputs({"rate": range_check(0, 1)})
    def fit(**options: float) -> float:
        return options["rate"]

    assert fit(rate=0.5) == 0.5
    with pytest.raises(ValidationError, match="argument 'rate'"):
        fit(rate=2)


def test_a_wrong_call_is_answered_by_the_function_itself() -> None:
    @validate_inputs({"rows": Small()})
    def load(rows: int) -> None: ...

    with pytest.raises(TypeError, match=r"load\(\) missing 1 required positional argument"):
        load()  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (Small, r"not the class Small; write Small\(\.\.\.\)"),
        (3, "has a method `validate` or is a function, and 3 is neither"),
    ],
)
def test_what_is_no_validator_is_refused_at_once(given: object, said: str) -> None:
    with pytest.raises(TypeError, match=said):

        @validate_outputs(given)
        def one() -> int:
            return 1


def test_validators_without_parameters_are_refused_at_once() -> None:
    with pytest.raises(TypeError, match="come by parameter"):

        @validate_inputs(Small())  # type: ignore[arg-type]
        def one(a: int) -> int:
            return a


def test_a_decorator_without_its_validators_is_refused_at_once_or_says_where_they_go() -> None:
    def one(a: int) -> int:
        return a

    with pytest.raises(TypeError, match="come by parameter"):
        validate_inputs(one)  # type: ignore[arg-type]
    # A function may be a validator of results, so only its call can tell.
    with pytest.raises(TypeError, match="not 1; validators go into the parentheses"):
        validate_outputs(one)(1)  # type: ignore[arg-type]


def test_a_method_is_checked_by_the_names_of_its_parameters() -> None:
    class Model:
        @validate_inputs({"rows": Small()})
        def fit(self, rows: int) -> int:
            return rows

        @staticmethod
        @validate_outputs(Small())
        def double(rows: int) -> int:
            return rows * 2

    assert Model().fit(3) == 3
    with pytest.raises(ValidationError):
        Model().fit(30)
    with pytest.raises(ValidationError):
        Model.double(30)


def test_every_kind_of_function_keeps_its_kind() -> None:
    guard = validate_outputs(type_check(int))

    async def coroutine() -> int:
        return 1

    def generator() -> Iterator[int]:
        yield 1

    async def async_generator() -> AsyncIterator[int]:
        yield 1

    assert inspect.iscoroutinefunction(guard(coroutine))
    assert inspect.isgeneratorfunction(guard(generator))
    assert inspect.isasyncgenfunction(guard(async_generator))
    assert asyncio.run(guard(coroutine)()) == 1
    assert list(guard(generator)()) == [1]


def test_the_awaited_value_is_checked() -> None:
    @validate_outputs(type_check(str))
    async def load() -> int:
        await asyncio.sleep(0)
        return 1

    with pytest.raises(ValidationError, match="expected str"):
        asyncio.run(load())


def test_each_value_of_a_generator_is_checked_before_its_user_gets_it() -> None:
    closed = []

    @validate_outputs(range_check(0, 2))
    def count() -> Iterator[int]:
        try:
            yield from range(10)
        finally:
            closed.append(True)

    seen = []
    with pytest.raises(ValidationError, match=r"3 is not within \[0, 2\]"):
        for number in count():
            seen.append(number)

    assert seen == [0, 1, 2]
    assert closed == [True]


def test_a_generator_still_takes_what_is_sent_and_thrown() -> None:
    @validate_outputs(type_check(str))
    def echo() -> Any:
        got = yield "ready"
        try:
            while True:
                got = yield got
        except KeyError as error:
            yield f"caught {error}"
        return "over"

    echoed = echo()
    assert next(echoed) == "ready"
    assert echoed.send("a") == "a"
    assert echoed.throw(KeyError("k")) == "caught 'k'"
    with pytest.raises(StopIteration) as end:
        next(echoed)
    assert end.value.value == "over"


def test_an_asynchronous_generator_is_checked_value_by_value() -> None:
    @validate_outputs(range_check(0, 1))
    async def count() -> AsyncIterator[int]:
        for number in range(5):
            await asyncio.sleep(0)
            yield number

    async def collect() -> list[int]:
        seen = []
        with pytest.raises(ValidationError):
            async for number in count():
                seen.append(number)
        return seen

    assert asyncio.run(collect()) == [0, 1]


def test_the_result_of_a_generator_is_complete_at_its_end() -> None:
    @validate_outputs(range_check(0, 1), raise_on_error=False, return_result=True)
    def count() -> Iterator[int]:
        yield from range(4)

    numbers, result = count()

    assert result.output_valid
    assert list(numbers) == [0, 1, 2, 3]
    assert (result.output_valid, len(result.output_errors)) == (False, 2)
    assert result.metadata["values_count"] == 4


def test_errors_form_one_family_and_travel() -> None:
    error = ValidationError("bad", {"row": 3}, "drop the row", KeyError("x"))

    assert isinstance(error, DataError) and issubclass(DataError, RefuncError)
    assert issubclass(RefuncError, TachographError)
    assert str(error) == "bad; drop the row"
    told = error.to_dict()
    assert (told["error_type"], told["context"]) == ("ValidationError", {"row": 3})
    assert told["original_error"] == "'x'"
    again = pickle.loads(pickle.dumps(ValidationError("bad", {"row": 3})))
    assert (again.message, again.context) == ("bad", {"row": 3})


def test_a_custom_check_takes_the_context_if_it_wants_it() -> None:
    @validate_inputs(
        {"end": custom_check(lambda end, context: end > context["arguments"]["begin"])}
    )
    def between(begin: int, end: int) -> int:
        return end - begin

    assert between(1, 3) == 2
    with pytest.raises(ValidationError, match="Custom validation failed"):
        between(3, 1)
