"""Columns chosen by what they are: their dtype, or their name.

    import granary as gr
    cs = gr.selectors

    frame.select(cs.numeric() - cs.by_name("id"))
    frame.with_columns(cs.float().round(2))
    frame.drop(cs.matches("^tmp"))

A selector stands for several columns in select(), with_columns(), drop(), agg(), and where an operator takes names of columns. An
expression of it is one for each column. `|`, `&`, `-` and `~` join selectors. Which columns there are is asked for then: for a
CSV or JSON lines file, that reads it.
"""
from __future__ import annotations

import json
import re
from typing import Any, Dict, List

from . import _literals as literals
from ._expr import Expr, Part

_MARK = "\1cs:"  # begins what stands for a column's name; the rest is what it is looked for by
_FOUND = re.compile("`(\1cs:(?:[^`]|``)*)`")
_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_KINDS: Dict[str, Any] = {
    "numeric": lambda d: d in _INTEGERS or d.startswith(("float", "decimal")), "integer": lambda d: d in _INTEGERS,
    "signed_integer": lambda d: d in _INTEGERS and d[0] == "i", "unsigned_integer": lambda d: d in _INTEGERS and d[0] == "u",
    "float": lambda d: d.startswith("float"), "decimal": lambda d: d.startswith("decimal"), "string": lambda d: d == "string",
    "boolean": lambda d: d == "bool", "binary": lambda d: d == "binary", "date": lambda d: d == "date", "time": lambda d: d == "time",
    "datetime": lambda d: d in ("timestamp", "timestamptz"), "duration": lambda d: d == "duration",
    "temporal": lambda d: d in ("date", "time", "timestamp", "timestamptz", "duration"), "list": lambda d: d.startswith("list(")}


class Selector(Expr):
    """An expression that stands for columns."""

    __slots__ = ("_spec",)

    def __init__(self, spec: List[Any]) -> None:
        name = _MARK + json.dumps(spec, ensure_ascii=True)
        super().__init__(literals.name(name), literals.ATOM, name, frozenset([name]), (), True)
        self._spec = spec

    def __repr__(self) -> str:
        return f"<Selector {self._spec}>"

    def __or__(self, other: Any) -> Expr:
        return Selector(["or", self._spec, other._spec]) if isinstance(other, Selector) else super().__or__(other)

    def __and__(self, other: Any) -> Expr:
        return Selector(["and", self._spec, other._spec]) if isinstance(other, Selector) else super().__and__(other)

    def __sub__(self, other: Any) -> Expr:
        return Selector(["and", self._spec, ["not", other._spec]]) if isinstance(other, Selector) else super().__sub__(other)

    def __xor__(self, other: Any) -> Expr:
        if not isinstance(other, Selector):
            return super().__xor__(other)
        return Selector(["or", ["and", self._spec, ["not", other._spec]], ["and", other._spec, ["not", self._spec]]])

    def __invert__(self) -> Expr:
        return Selector(["not", self._spec])


def chosen(spec: List[Any], schema: Dict[str, str]) -> List[str]:
    """The columns that it stands for, in their order."""
    names = list(schema)
    word, *rest = spec
    if word in ("first", "last"):
        return names[:1] if word == "first" else names[-1:]
    if word == "and":
        return [n for n in chosen(rest[0], schema) if n in chosen(rest[1], schema)]
    if word == "or":
        return [n for n in names if n in chosen(rest[0], schema) or n in chosen(rest[1], schema)]
    if word == "not":
        return [n for n in names if n not in chosen(rest[0], schema)]
    if word == "name":
        for name in rest[0]:
            if name not in schema:
                raise KeyError(f"no column {name!r}; there are: {', '.join(map(repr, names))}")
        return [n for n in names if n in rest[0]]
    if word == "kind":
        return [n for n, dtype in schema.items() if _KINDS[rest[0]](dtype)]
    if word == "dtype":
        return [n for n, dtype in schema.items() if dtype in rest[0]]
    if word == "matches":
        return [n for n in names if re.search(rest[0], n)]
    if word == "starts":
        return [n for n in names if n.startswith(tuple(rest[0]))]
    if word == "ends":
        return [n for n in names if n.endswith(tuple(rest[0]))]
    if word == "contains":
        return [n for n in names if any(part in n for part in rest[0])]
    return names


# ---- in expressions ----

def _every_text(expression: Expr) -> str:
    return " ".join([expression._text, *(a for p in expression._every_part() for a in p.arguments)])


def is_many(value: Any) -> bool:
    """Whether it stands for columns that are looked for."""
    return isinstance(value, Expr) and _MARK in _every_text(value)


def _part_of(part: Part, old: str, new: str) -> Part:
    needs = tuple(_part_of(p, old, new) for p in part.needs)
    made = []
    for argument in part.arguments:
        argument = argument.replace(literals.name(old), literals.name(new))
        for before, after in zip(part.needs, needs):
            argument = argument.replace(literals.name(before.name), literals.name(after.name))
        made.append(argument)
    return Part(part.function, tuple(made), part.over, needs)


def _of_column(expression: Expr, old: str, new: str) -> Expr:
    text = expression._text.replace(literals.name(old), literals.name(new))
    parts = []
    for part in expression._parts:
        made = _part_of(part, old, new)
        text = text.replace(literals.name(part.name), literals.name(made.name))
        parts.append(made)
    label = new if expression._label == old else expression._label
    roots = frozenset(new if r == old else r for r in expression._roots)
    return Expr(text, expression._level, label, roots, tuple(parts), expression._column)


def expanded(expression: Expr, schema: Dict[str, str]) -> List[Expr]:
    """One expression for each column that it stands for; itself where it stands for one by name."""
    marks = sorted({m.replace("``", "`") for m in _FOUND.findall(_every_text(expression))})
    if not marks:
        return [expression]
    if len(marks) > 1:
        raise ValueError("an expression has two different selectors: join them by | or &, or use one expression for each")
    names = chosen(json.loads(marks[0][len(_MARK):]), schema)
    if expression._label != marks[0] and len(names) > 1:
        raise ValueError(f"{len(names)} columns would be called {expression._label!r}: alias() is for one")
    return [_of_column(expression, marks[0], name) for name in names]


def all_expanded(values: Any, schema: Any) -> List[Any]:
    """A list of names and expressions, with those that are looked for as columns. schema: gives the columns, when it is called."""
    made: List[Any] = []
    for value in values:
        made += expanded(value, schema()) if is_many(value) else [value]
    return made


# ---- what there is ----

def _kind(name: str, doc: str) -> Any:
    def function() -> Selector:
        return Selector(["kind", name])
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


numeric = _kind("numeric", "Integers, floats and decimals; no bools.")
integer = _kind("integer", "Integers.")
signed_integer = _kind("signed_integer", "Integers with a sign.")
unsigned_integer = _kind("unsigned_integer", "Integers without a sign.")
float = _kind("float", "float32 and float64.")
decimal = _kind("decimal", "Decimals.")
string = _kind("string", "Strings.")
boolean = _kind("boolean", "Bools.")
binary = _kind("binary", "Binaries.")
date = _kind("date", "Dates.")
time = _kind("time", "Times of day.")
datetime = _kind("datetime", "Timestamps, with a zone or without.")
duration = _kind("duration", "Durations.")
temporal = _kind("temporal", "Dates, times, timestamps and durations.")
list_ = _kind("list", "Lists.")


def all() -> Selector:
    """Every column."""
    return Selector(["all"])


def first() -> Selector:
    """The first column."""
    return Selector(["first"])


def last() -> Selector:
    """The last column."""
    return Selector(["last"])


def by_name(*names: str) -> Selector:
    """Columns of these names; one that is not there is an error."""
    return Selector(["name", _flat(names)])


def by_dtype(*dtypes: Any) -> Selector:
    """Columns of these dtypes: 'float64', float, numpy.int8."""
    return Selector(["dtype", [literals.dtype(d) for d in _flat(dtypes)]])


def matches(pattern: str) -> Selector:
    """Columns in whose name a regular expression of Python is found."""
    re.compile(pattern)
    return Selector(["matches", pattern])


def starts_with(*starts: str) -> Selector:
    """Columns whose name begins with one of these."""
    return Selector(["starts", _flat(starts)])


def ends_with(*ends: str) -> Selector:
    """Columns whose name ends with one of these."""
    return Selector(["ends", _flat(ends)])


def contains(*parts: str) -> Selector:
    """Columns whose name has one of these in it."""
    return Selector(["contains", _flat(parts)])


def exclude(*others: Any) -> Selector:
    """All columns but these: names, or selectors."""
    spec: List[Any] = ["name", [o for o in _flat(others) if not isinstance(o, Selector)]]
    for other in _flat(others):
        spec = ["or", spec, other._spec] if isinstance(other, Selector) else spec
    return Selector(["not", spec])


def _flat(values: Any) -> List[Any]:
    made: List[Any] = []
    for value in values:
        made += value if isinstance(value, (list, tuple)) else [value]
    return made
