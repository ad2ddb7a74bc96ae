"""The table of operators and functions, and the check of arguments against it.

_operators.json is made from the command `granary operators` when granary is built (make_operators.py); it lies beside the package.
"""
from __future__ import annotations

import difflib
import inspect
import json
import math
import operator
import os
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

import numpy as np

import granary

from . import _literals

REQUIRED = inspect.Parameter.empty
# Where pandas takes a value, a str is one; elsewhere a str where an expression belongs is its text.
VALUES = {("fillna", "value"), ("fillna", "values"), ("replace", "values"), ("where_columns", "other"), ("mask_columns", "other"),
          ("pivot_table", "fill_value"), ("shift_columns", "fill_value")}


@dataclass(frozen=True)
class Parameter:
    name: str
    kind: str  # int, number, value, bool, string, ints, bools, strings, map
    doc: str
    required: bool = False
    expression: bool = False
    default: Any = None
    minimum: Optional[int] = None
    maximum: Optional[int] = None
    enum: Optional[List[str]] = None


@dataclass(frozen=True)
class Operator:
    name: str
    section: str
    summary: str
    least: int  # inputs
    most: int
    gives: str
    doc: str
    parameters: Dict[str, Parameter]


@dataclass(frozen=True)
class Function:
    name: str
    arguments: List[str]
    optional: int  # how many of the last ones may be left out
    variadic: bool
    gives: str
    doc: str
    aliases: List[str] = field(default_factory=list)

    @property
    def least(self) -> int:
        return len(self.arguments) - self.optional


def _read() -> Any:
    for directory in granary.__path__:
        path = os.path.join(directory, "_operators.json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                return json.load(file)
    raise ImportError("granary's package lacks _operators.json, which is made when granary is built: "
                      "make_operators.py GRANARY granary/_operators.json")


@lru_cache(maxsize=None)
def _table() -> Any:
    return _read()


@lru_cache(maxsize=None)
def operators() -> Dict[str, Operator]:
    made = {}
    for row in _table()["operators"]:
        whole: Dict[str, Any] = {**row, "parameters": {p["name"]: Parameter(**p) for p in row["parameters"]}}
        made[row["name"]] = Operator(**whole)
    return made


@lru_cache(maxsize=None)
def functions(kind: str) -> Dict[str, Function]:
    """kind: functions, aggregates, windows."""
    return {row["name"]: Function(**row) for row in _table()[kind]}


def nearest(word: str, among: Iterable[str]) -> str:
    """'; did you mean ...?', or nothing."""
    close = difflib.get_close_matches(word, list(among), 1, 0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


class Checker:
    """Makes the JSON of a node's parameters. How an expression becomes text, and a column a name, it is told."""

    def __init__(self, is_expression: Callable[[Any], bool], text: Callable[[Any, str], str], column: Callable[[Any], Optional[str]],
                 value: Callable[[Any], str]) -> None:
        self.is_expression = is_expression
        self.text = text  # of an expression; the second argument is the operator it is for
        self.column = column  # the name, when an expression is a column
        self.value = value  # of a Python value: the literal's text

    def check(self, op: Operator, given: Dict[str, Any]) -> Dict[str, Any]:
        """given: as they were bound; None stands for what is not given."""
        given = {name: value for name, value in given.items() if value is not None or (op.name, name) in VALUES and name in given}
        for name in given:
            if name not in op.parameters:
                raise TypeError(f"{op.name}() has no parameter {name!r}{nearest(name, op.parameters)}; it has: "
                                f"{', '.join(op.parameters) or 'none'}")
        for name, parameter in op.parameters.items():
            if parameter.required and name not in given:
                raise TypeError(f"{op.name}() needs {name!r}: {parameter.doc}")
        return {name: self._one(op, op.parameters[name], value) for name, value in given.items()}

    def _one(self, op: Operator, parameter: Parameter, value: Any) -> Any:
        try:
            made = getattr(self, "_" + parameter.kind)(op, parameter, value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{op.name}(): {parameter.name}: {error}") from None
        for one in made if isinstance(made, list) else [made]:
            if parameter.enum and one not in parameter.enum:
                raise ValueError(f"{op.name}(): {parameter.name}: {one!r} is none of {', '.join(map(repr, parameter.enum))}"
                                 f"{nearest(str(one), parameter.enum)}")
        return made

    def _int(self, op: Operator, parameter: Parameter, value: Any) -> int:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError(f"an int, not {value!r}")
        try:
            number = operator.index(value)
        except TypeError:
            raise TypeError(f"an int, not {_shown(value)}") from None
        least = -(2**63) if parameter.minimum is None else parameter.minimum
        most = 2**63 - 1 if parameter.maximum is None else parameter.maximum
        if not least <= number <= most:
            raise ValueError(f"{number} is not from {least} to {most}")
        return number

    def _number(self, op: Operator, parameter: Parameter, value: Any) -> float:
        if isinstance(value, (bool, np.bool_, str)):
            raise TypeError(f"a number, not {value!r}")
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise TypeError(f"a number, not {_shown(value)}") from None
        if not math.isfinite(number):
            raise ValueError(f"a finite number, not {number}")
        return number

    def _value(self, op: Operator, parameter: Parameter, value: Any) -> Any:
        """An integer keeps all its digits."""
        try:
            number = operator.index(value)
        except TypeError:
            return self._number(op, parameter, value)
        if isinstance(value, (bool, np.bool_)):
            raise TypeError(f"a number, not {value!r}")
        return number if -(2**63) <= number < 2**63 else str(number)

    def _bool(self, op: Operator, parameter: Parameter, value: Any) -> bool:
        if not isinstance(value, (bool, np.bool_)):
            raise TypeError(f"True or False, not {_shown(value)}")
        return bool(value)

    def _string(self, op: Operator, parameter: Parameter, value: Any) -> str:
        if parameter.expression:
            return self._expression(op, parameter, value)
        if self.is_expression(value):
            name = self.column(value)
            if name is None:
                raise TypeError("a name, not an expression")
            return name
        if isinstance(value, os.PathLike):
            return str(os.fspath(value))
        if not isinstance(value, str):
            raise TypeError(f"a str, not {_shown(value)}")
        return value

    def _expression(self, op: Operator, parameter: Parameter, value: Any) -> str:
        if self.is_expression(value):
            return self.text(value, op.name)
        if isinstance(value, str) and (op.name, parameter.name) not in VALUES:
            return value
        return self.value(value)

    def _list(self, value: Any) -> List[Any]:
        if isinstance(value, (str, bytes)) or self.is_expression(value) or not hasattr(value, "__iter__"):
            return [value]
        return list(value)

    def _ints(self, op: Operator, parameter: Parameter, value: Any) -> List[int]:
        return [self._int(op, parameter, v) for v in self._list(value)]

    def _bools(self, op: Operator, parameter: Parameter, value: Any) -> List[bool]:
        return [self._bool(op, parameter, v) for v in self._list(value)]

    def _strings(self, op: Operator, parameter: Parameter, value: Any) -> List[str]:
        """Numbers are taken as text: edges of bins, categories."""
        numbers = "number" in parameter.doc or "shares" in parameter.doc
        return [str(v) if numbers and isinstance(v, (int, float, np.number)) and not isinstance(v, bool)
                else self._string(op, parameter, v) for v in self._list(value)]

    def _map(self, op: Operator, parameter: Parameter, value: Any) -> Dict[str, str]:
        if not isinstance(value, dict):
            raise TypeError(f"a dict, not {_shown(value)}")
        made: Dict[str, str] = {}
        for key, one in value.items():
            if (op.name, parameter.name) == ("replace", "values"):
                key = self._expression(op, parameter, key)
            elif not isinstance(key, (str, int, float)) or isinstance(key, bool):
                raise TypeError(f"the names of a dict are str, not {_shown(key)}")
            if not parameter.expression and parameter.name != "params" and parameter.name != "resources":
                made[str(key)] = self._name_or_dtype(parameter, one)
            elif parameter.expression:
                made[str(key)] = self._expression(op, parameter, one)
            else:
                made[str(key)] = one
        return made

    def _name_or_dtype(self, parameter: Parameter, value: Any) -> str:
        if "dtype" in parameter.doc:
            return _literals.dtype(value)
        if not isinstance(value, str):
            raise TypeError(f"a str, not {_shown(value)}")
        return value


def _shown(value: Any) -> str:
    return f"{type(value).__name__} {value!r:.60}"


def split(values: Tuple[Any, ...]) -> List[Any]:
    """Arguments, where one list may stand for all."""
    if len(values) == 1 and isinstance(values[0], (list, tuple)):
        return list(values[0])
    return list(values)
