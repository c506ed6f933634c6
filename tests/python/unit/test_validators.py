"""The ready validators, the type hints and the schemas: each against values with a known answer."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal, Optional, TypeVar

import pytest
from tachograph.decorators import (
    CustomValidator,
    DataFrameValidator,
    RangeValidator,
    ShapeValidator,
    TypeValidator,
    custom_check,
    dataframe_check,
    range_check,
    shape_check,
    type_check,
    validate_data_schema,
    validate_types,
)
from tachograph.exceptions import RefuncError, ValidationError


class Column:
    """As much of a column as a validator may ask for."""

    class Kind:
        def __init__(self, name: str, kind: str) -> None:
            self.name, self.kind = name, kind

        def __str__(self) -> str:
            return self.name

    def __init__(self, name: str, kind: str) -> None:
        self.dtype = self.Kind(name, kind)


class Frame:
    """As much of a data frame as a validator may ask for."""

    def __init__(self, rows: int, **columns: Column) -> None:
        self._rows, self._columns = rows, columns
        self.columns = list(columns)
        self.shape = (rows, len(columns))

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]


FRAME = Frame(3, a=Column("int64", "i"), b=Column("float32", "f"))


@pytest.mark.parametrize(
    ("rule", "value", "passes"),
    [
        (type_check(int), 1, True),
        (type_check(int), "1", False),
        (type_check((int, str)), "1", True),
        (range_check(0, 1), 0, True),
        (range_check(0, 1), 1.0, True),
        (range_check(0, 1), 1.5, False),
        (range_check(0, 1), math.nan, False),
        (range_check(0, 1), "many", False),
        (range_check(min_val=0), 1e300, True),
        (range_check(max_val=0), 1, False),
        (range_check(0, 1), [0.0, 0.5], True),
        (range_check(0, 1), [0.0, 1.5], False),
        (range_check(0, 1), [0.0, math.nan], False),
        (range_check(0, 1), [], True),
        (shape_check((3,)), [1, 2, 3], True),
        (shape_check((2,)), [1, 2, 3], False),
        (shape_check((None, 2)), FRAME, True),
        (shape_check((4, 2)), FRAME, False),
        (shape_check(min_dims=2), [1], False),
        (shape_check(max_dims=1), FRAME, False),
        (shape_check((1,)), 1, False),
        (dataframe_check(["a", "b"]), FRAME, True),
        (dataframe_check(["c"]), FRAME, False),
        (dataframe_check(min_rows=3, max_rows=3), FRAME, True),
        (dataframe_check(min_rows=4), FRAME, False),
        (dataframe_check(max_rows=2), FRAME, False),
        (dataframe_check(column_types={"a": int, "b": "float32"}), FRAME, True),
        (dataframe_check(column_types={"a": float}), FRAME, False),
        (dataframe_check(column_types={"c": int}), FRAME, False),
        (dataframe_check(), [1], False),
        (custom_check(lambda value: value > 1), 2, True),
        (custom_check(lambda value: value > 1), 1, False),
        (custom_check(lambda value: value > 1), "x", False),
    ],
)
def test_a_ready_validator_knows_its_values(rule: Any, value: object, passes: bool) -> None:
    assert rule.validate(value) is passes
    if not passes:
        assert rule.get_error_message(value)


@pytest.mark.parametrize(
    ("rule", "value", "said"),
    [
        (type_check((int, str)), 1.0, "expected int or str, got float"),
        (range_check(0, 1), 2, "2 is not within [0, 1]"),
        (range_check(min_val=0), -1, "-1 is not within [0, inf]"),
        (range_check(0, 1), [0, 7], "values from 0.0 to 7.0 are not within [0, 1]"),
        (range_check(0, 1), "x", "'x' is no number; it must be within [0, 1]"),
        (shape_check((2, 2)), [1], "expected shape (2, 2), got (1,)"),
        (shape_check(min_dims=2), [1], "expected 2 or more dimensions, got 1: shape (1,)"),
        (shape_check(min_dims=2), 1, "expected an array, got int"),
        (
            dataframe_check(["a", "x", "y"], min_rows=4, column_types={"b": int}),
            FRAME,
            "missing columns: x, y; 3 rows are fewer than 4; column 'b' is float32, not int",
        ),
        (custom_check(bool, "must not be empty"), [], "must not be empty"),
    ],
)
def test_a_ready_validator_says_what_is_wrong(rule: Any, value: object, said: str) -> None:
    assert rule.get_error_message(value) == said


def test_factories_make_the_classes() -> None:
    assert isinstance(type_check(int), TypeValidator)
    assert isinstance(range_check(), RangeValidator)
    assert isinstance(shape_check(), ShapeValidator)
    assert isinstance(dataframe_check(), DataFrameValidator)
    assert isinstance(custom_check(bool), CustomValidator)


def test_arrays_are_checked_by_their_elements() -> None:
    numpy = pytest.importorskip("numpy")

    assert range_check(0, 1).validate(numpy.array([[0.1, 0.9], [0.0, 1.0]]))
    assert not range_check(0, 1).validate(numpy.array([0.1, 1.1]))
    assert not range_check(0, 1).validate(numpy.array([0.1, numpy.nan]))
    assert range_check(0, 1).validate(numpy.float32(0.5))
    assert range_check(0, 1).validate(numpy.zeros((0, 3)))
    assert shape_check((None, 3)).validate(numpy.zeros((0, 3)))


@pytest.mark.parametrize(
    "wrong",
    [lambda: type_check("int"), lambda: range_check(2, 1), lambda: custom_check(3)],  # type: ignore[arg-type]
)
def test_rules_that_cannot_hold_are_refused(wrong: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        wrong()


T = TypeVar("T")


@pytest.mark.parametrize(
    ("hint", "value", "passes"),
    [
        (int, 1, True),
        (int, "1", False),
        (float, 1, True),
        (float, "1", False),
        (int | None, None, True),
        (Optional[int], "x", False),  # noqa: UP045
        (list[int], [1, 2], True),
        (list[int], [1, "2"], False),
        (list[int], (1, 2), False),
        (dict[str, int], {"a": 1}, True),
        (dict[str, int], {"a": "b"}, False),
        (tuple[int, str], (1, "a"), True),
        (tuple[int, str], (1,), False),
        (tuple[int, ...], (1, 2, 3), True),
        (tuple[int, ...], (1, "2"), False),
        (set[str], {"a"}, True),
        (Literal["a", "b"], "a", True),
        (Literal["a", "b"], "c", False),
        (Iterator[int], iter([1]), True),
        (Iterator[int], [1], False),
        (type[int], int, True),
        (Any, object(), True),
        (T, object(), True),
    ],
)
def test_a_value_is_what_its_hint_says(hint: Any, value: object, passes: bool) -> None:
    def take(value: Any) -> Any:
        return value

    take.__annotations__ = {"value": hint, "return": hint}
    checked = validate_types(take)

    if passes:
        assert checked(value) is value
    else:
        with pytest.raises(ValidationError, match="expected"):
            checked(value)


def test_an_iterator_is_not_used_up_by_looking_at_it() -> None:
    @validate_types
    def total(rows: Iterator[int]) -> int:
        return sum(rows)

    assert total(iter([1, 2, 3])) == 6


def test_extra_arguments_are_checked_one_by_one() -> None:
    @validate_types
    def add(*numbers: int, **named: str) -> int:
        return sum(numbers)

    assert add(1, 2, unit="m") == 3
    with pytest.raises(ValidationError):
        add(1, "2")  # type: ignore[arg-type]
    with pytest.raises(ValidationError):
        add(1, unit=3)  # type: ignore[arg-type]


def test_the_result_has_the_promised_type_too() -> None:
    @validate_types
    def name() -> str:
        return 3  # type: ignore[return-value]

    with pytest.raises(ValidationError, match="expected str, got int"):
        name()
    assert validate_types(check_return=False)(name.__wrapped__)() == 3  # type: ignore[attr-defined]


def test_strict_mode_demands_hints_and_the_other_looks_at_classes_only() -> None:
    def bare(value):  # type: ignore[no-untyped-def]
        return value

    def hinted(values: list[int], by: int) -> list[int]:
        return values

    with pytest.raises(RefuncError, match=r"bare has no type hints; add some"):
        validate_types(bare)
    assert validate_types(strict_mode=False)(bare)(1) == 1
    relaxed = validate_types(strict_mode=False)(hinted)
    assert relaxed(["a"], 1) == ["a"]
    with pytest.raises(ValidationError, match="expected int"):
        relaxed(["a"], "x")


@pytest.mark.parametrize(
    ("schema", "value", "passes"),
    [
        ({"type": list}, [1], True),
        ({"type": list}, 1, False),
        ({"columns": ["a"], "min_rows": 1}, FRAME, True),
        ({"columns": ["z"]}, FRAME, False),
        ({"max_rows": 2}, FRAME, False),
        ({"shape": (3, 2)}, FRAME, True),
        ({"shape": (3, 3)}, FRAME, False),
        ({"min_dims": 2}, [1], False),
        ({"min_value": 0, "max_value": 1}, 0.5, True),
        ({"min_value": 0}, -1, False),
        ({"max_value": 1}, 2, False),
        ({"max_value": 1}, math.nan, False),
    ],
)
def test_a_schema_is_met_or_not(schema: dict[str, Any], value: object, passes: bool) -> None:
    @validate_data_schema({"value": schema}, schema)
    def take(value: object) -> object:
        return value

    if passes:
        assert take(value) is value
    else:
        with pytest.raises(ValidationError):
            take(value)


def test_a_schema_with_an_unknown_word_is_refused() -> None:
    with pytest.raises(ValueError, match="knows no 'colums'"):
        validate_data_schema({"rows": {"colums": ["a"]}})
