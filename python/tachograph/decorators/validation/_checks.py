"""Validators made ready to be asked, and what comes of their answers."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..._data.validation import ValidationResult
from ...exceptions import ValidationError
from ._looks import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Checks", "Rule", "agrees", "by_parameter", "checks_of", "takes_context"]


def agrees(answer: Any) -> bool:
    """Say whether a validator's answer lets a value pass: ``None`` does, ``False`` does not."""
    return answer is None or bool(answer)


def takes_context(function: Callable[..., Any]) -> bool:
    """Say whether a function takes a second argument beside the value."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some built-in functions do not tell
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters):
        return True
    return sum(parameter.kind in positional for parameter in parameters) > 1


class Rule:
    """One validator: an object with ``validate``, or a function. Its arity is known."""

    __slots__ = ("_explain", "_explains_context", "_takes_context", "_validate")

    def __init__(self, validator: Any) -> None:
        if isinstance(validator, type):
            name = validator.__name__
            raise TypeError(f"a validator is needed, not the class {name}; write {name}(...)")
        self._explain: Callable[..., Any] | None = None
        validate = getattr(validator, "validate", None)
        if not callable(validate):
            validate = validator
            if not callable(validator):
                raise TypeError(
                    f"a validator has a method `validate` or is a function, and {validator!r} "
                    "is neither"
                )
        self._validate = validate
        self._takes_context = takes_context(validate)
        explain = getattr(validator, "get_error_message", None)
        if callable(explain):
            self._explain = explain
            self._explains_context = takes_context(explain)

    def fault(self, value: Any, context: dict[str, Any]) -> str | ValidationError | None:
        """Return why `value` is rejected; ``None`` when it may pass."""
        try:
            answer = (
                self._validate(value, context) if self._takes_context else self._validate(value)
            )
        except ValidationError as error:
            return error
        if agrees(answer):
            return None
        if self._explain is None:
            name = getattr(self._validate, "__name__", type(self._validate).__name__)
            return f"{shown(value)} was rejected by {name}"
        return str(
            self._explain(value, context) if self._explains_context else self._explain(value)
        )


def rules_of(validators: Any) -> tuple[Rule, ...]:
    """Return the rules of one validator or several; ``None`` stands for none."""
    if validators is None:
        return ()
    if isinstance(validators, (list, tuple, set, frozenset)):
        return tuple(Rule(validator) for validator in validators)
    return (Rule(validators),)


Faults = list[tuple[str, "str | ValidationError"]]


class Checks:
    """What the validators of one function say about its calls."""

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        inputs: Mapping[str, tuple[Rule, ...]],
        outputs: tuple[Rule, ...],
        *,
        raises: bool,
    ) -> None:
        self.name = name
        self._inputs = inputs
        self._outputs = outputs
        self._raises = raises
        self._signature = inspect.signature(function) if inputs else None
        self._count = sum(map(len, inputs.values())) + len(outputs)

    def new_result(self) -> ValidationResult:
        """Return the result of a call that has not been checked yet."""
        return ValidationResult(self.name, True, True, metadata={"validators_count": self._count})

    def check_inputs(
        self, result: ValidationResult, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        """Check the arguments of a call; return them by name.

        Raises:
            ValidationError: One was rejected, and it was asked for.
        """
        if self._signature is None:
            return {}
        began = time.perf_counter()
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError:
            return {}  # the function itself says what is wrong with the call
        bound.apply_defaults()
        arguments = _by_name(self._signature, bound.arguments)
        faults: Faults = []
        for parameter, rules in self._inputs.items():
            if parameter in arguments:
                context = self._context(parameter, arguments)
                self._ask(rules, arguments[parameter], context, f"argument {parameter!r}", faults)
        result.input_errors += [f"{where}: {_text(fault)}" for where, fault in faults]
        result.input_valid = not result.input_errors
        result.validation_time += time.perf_counter() - began
        if faults and self._raises:
            raise self._error(faults)
        return arguments

    def check_output(self, result: ValidationResult, value: Any, arguments: dict[str, Any]) -> None:
        """Check what a call returned, or a value of a generator.

        Raises:
            ValidationError: It was rejected, and it was asked for.
        """
        if not self._outputs:
            return
        began = time.perf_counter()
        faults: Faults = []
        self._ask(self._outputs, value, self._context(None, arguments), "the result", faults)
        result.output_errors += [_text(fault) for _, fault in faults]
        result.output_valid = not result.output_errors
        result.validation_time += time.perf_counter() - began
        if faults and self._raises:
            raise self._error(faults)

    def _context(self, parameter: str | None, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"function_name": self.name, "parameter": parameter, "arguments": arguments}

    @staticmethod
    def _ask(
        rules: Iterable[Rule], value: Any, context: dict[str, Any], where: str, faults: Faults
    ) -> None:
        for rule in rules:
            fault = rule.fault(value, context)
            if fault is not None:
                faults.append((where, fault))

    def _error(self, faults: Faults) -> ValidationError:
        where, fault = faults[0]
        if len(faults) == 1 and isinstance(fault, ValidationError):
            # The validator's own error, of its own class and with its own text.
            fault.add_note(f"{where} of {self.name} is not valid")
            return fault
        texts = [f"{where}: {_text(fault)}" for where, fault in faults]
        cause = next((fault for _, fault in faults if isinstance(fault, ValidationError)), None)
        error = ValidationError(
            f"{self.name}: {'; '.join(texts)}",
            context={"function_name": self.name, "errors": texts},
            original_error=cause,
        )
        error.__cause__ = cause
        return error


def _by_name(signature: inspect.Signature, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments by name, those of ``**kwargs`` among the others."""
    named = dict(arguments)
    for parameter in signature.parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            more = named.get(parameter.name, {})
            named.update({name: value for name, value in more.items() if name not in named})
    return named


def _text(fault: str | ValidationError) -> str:
    return fault if isinstance(fault, str) else str(fault)


def by_parameter(inputs: Any) -> None:
    """Make sure that validators of arguments say which argument each is for."""
    if inputs is not None and not isinstance(inputs, Mapping):
        raise TypeError(
            "validators of arguments come by parameter, as in {'rows': type_check(list)}, "
            f"not as {type(inputs).__name__}"
        )


def checks_of(
    function: Callable[..., Any],
    name: str,
    inputs: Any,
    outputs: Any,
    *,
    raises: bool,
    strict: bool = True,
) -> Checks:
    """Return the checks of a function; every validator's arity is looked at here, once.

    Args:
        function: The function, whose parameters have names.
        name: What it is called in results.
        inputs: Parameter names with a validator or several each, or ``None``.
        outputs: A validator or several, or ``None``.
        raises: Raise at the first call that is not valid.
        strict: A parameter that the function does not have is a mistake.
    """
    by_parameter(inputs)
    rules = {parameter: rules_of(given) for parameter, given in (inputs or {}).items()}
    if rules:
        rules = _known(function, name, rules, strict)
    return Checks(function, name, rules, rules_of(outputs), raises=raises)


def _known(
    function: Callable[..., Any], name: str, rules: dict[str, tuple[Rule, ...]], strict: bool
) -> dict[str, tuple[Rule, ...]]:
    parameters = inspect.signature(function).parameters
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return rules
    unknown = [parameter for parameter in rules if parameter not in parameters]
    if unknown and strict:
        has = ", ".join(parameters) or "none"
        raise ValueError(f"{name} has no parameter {unknown[0]!r}; its parameters: {has}")
    return {parameter: given for parameter, given in rules.items() if parameter in parameters}
