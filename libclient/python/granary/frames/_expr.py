"""Expressions: what to compute of a row, of a group, of a window. They are text for granary, made by Python's operators.

An aggregate or window function inside an expression is a Part: a column with a name of its own, that a step before makes.
"""
from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from typing import Any, Dict, FrozenSet, Iterable, List, Optional, Tuple, Union

from . import _literals as literals
from ._lists import ListMethods, StructMethods
from ._made import ExprMethods, StrMethods
from ._tables import functions, nearest
from ._windows import WindowMethods, over_time
from ._zones import Dates

_UNSURE = ("the truth value of an expression is not known before it is computed: use & | ~ and not `and` `or` `not`, "
           "is_in() and not `in`, between() and not a < b < c")


@dataclass(frozen=True)
class Over:
    """Whose rows a window function sees."""

    partition: Tuple[str, ...] = ()
    by: Tuple[str, ...] = ()
    descending: Tuple[bool, ...] = ()
    nulls: Tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    """FUNCTION(argument, ...), computed by a step before."""

    function: str
    arguments: Tuple[str, ...]
    over: Optional[Over] = None  # None: of the group; without groups, of all rows
    needs: Tuple[Part, ...] = ()  # parts that its arguments name
    frame: str = ""  # "rows between ...": of windows

    @property
    def text(self) -> str:
        return f"{self.function}({', '.join(self.arguments)}){' ' * bool(self.frame)}{self.frame}"

    @property
    def group_text(self) -> str:
        """As groups want it."""
        return self.text if self.arguments else self.function

    @property
    def name(self) -> str:
        """Of the column that holds it."""
        told = repr((self.function, self.arguments, self.over, *([self.frame] if self.frame else []))).encode()
        return f"__{self.function}_{hashlib.blake2b(told, digest_size=6).hexdigest()}"

    @property
    def aggregates(self) -> bool:
        """Whether groups know it."""
        return self.over is None and not self.frame and self.function in functions("aggregates")

    @property
    def windows(self) -> bool:
        """Whether windows know it, with so many arguments."""
        known = functions("windows").get(self.function)
        if self.frame:
            return True
        return known is not None and len(self.arguments) <= len(known.arguments)


class Expr(WindowMethods, ExprMethods):
    """A value of a row, not computed yet. Operators and methods make others of it; a frame's methods take it."""

    __slots__ = ("_text", "_level", "_label", "_roots", "_parts", "_column")

    def __init__(self, text: str, level: int = literals.ATOM, label: Optional[str] = None, roots: FrozenSet[str] = frozenset(),
                 parts: Tuple[Part, ...] = (), column: bool = False) -> None:
        self._text = text
        self._level = level
        self._label = label  # the name of the column it makes
        self._roots = roots  # columns that it names outside of parts
        self._parts = parts
        self._column = column  # nothing but a column

    # ---- how it is shown ----

    def __repr__(self) -> str:
        text = self._text
        for part in self._every_part():
            text = text.replace(literals.name(part.name), f"{part.text}{_shown_over(part.over)}")
        return f"<Expr {text}>"

    def _every_part(self) -> List[Part]:
        """Parts, and those they need behind them."""
        found: List[Part] = []
        waiting = list(self._parts)
        while waiting:
            part = waiting.pop(0)
            found.append(part)
            waiting += part.needs
        return found

    def __bool__(self) -> bool:
        raise TypeError(_UNSURE)

    def __contains__(self, other: object) -> bool:
        raise TypeError(_UNSURE)

    def __iter__(self) -> Any:
        raise TypeError("an expression has no values to iterate over: collect() a frame")

    __hash__ = object.__hash__
    __array_ufunc__ = None  # a NumPy scalar before an operator leaves it to us

    # ---- names ----

    def alias(self, name: str) -> Expr:
        """The same under another name."""
        literals.name(name)
        return Expr(self._text, self._level, name, self._roots, self._parts, False)

    @property
    def str(self) -> StrMethods:
        """Functions of strings."""
        return StrMethods(self)

    @property
    def dt(self) -> Dates:
        """Functions of dates and timestamps."""
        return Dates(self)

    @property
    def list(self) -> ListMethods:
        """Functions of lists."""
        return ListMethods(self)

    @property
    def struct(self) -> StructMethods:
        """Fields of a struct, which are columns called STRUCT.FIELD."""
        return StructMethods(self)

    # ---- operators ----

    def __add__(self, other: Any) -> Expr:
        return _binary(self, "+", other, literals.SUM)

    def __radd__(self, other: Any) -> Expr:
        return _binary(other, "+", self, literals.SUM)

    def __sub__(self, other: Any) -> Expr:
        return _binary(self, "-", other, literals.SUM)

    def __rsub__(self, other: Any) -> Expr:
        return _binary(other, "-", self, literals.SUM)

    def __mul__(self, other: Any) -> Expr:
        return _binary(self, "*", other, literals.PRODUCT)

    def __rmul__(self, other: Any) -> Expr:
        return _binary(other, "*", self, literals.PRODUCT)

    def __truediv__(self, other: Any) -> Expr:
        return _binary(self, "/", other, literals.PRODUCT)

    def __rtruediv__(self, other: Any) -> Expr:
        return _binary(other, "/", self, literals.PRODUCT)

    def __floordiv__(self, other: Any) -> Expr:
        return _binary(self, "//", other, literals.PRODUCT)

    def __rfloordiv__(self, other: Any) -> Expr:
        return _binary(other, "//", self, literals.PRODUCT)

    def __mod__(self, other: Any) -> Expr:
        return _binary(self, "%", other, literals.PRODUCT)

    def __rmod__(self, other: Any) -> Expr:
        return _binary(other, "%", self, literals.PRODUCT)

    def __pow__(self, other: Any) -> Expr:
        return call("pow", self, other)

    def __rpow__(self, other: Any) -> Expr:
        return call("pow", other, self)

    def __and__(self, other: Any) -> Expr:
        return _binary(self, "and", other, literals.AND)

    def __rand__(self, other: Any) -> Expr:
        return _binary(other, "and", self, literals.AND)

    def __or__(self, other: Any) -> Expr:
        return _binary(self, "or", other, literals.OR)

    def __ror__(self, other: Any) -> Expr:
        return _binary(other, "or", self, literals.OR)

    def __xor__(self, other: Any) -> Expr:
        return _compare(self, "!=", other)

    def __rxor__(self, other: Any) -> Expr:
        return _compare(self, "!=", other)

    def __invert__(self) -> Expr:
        return _unary("not ", self, literals.NOT)

    def __neg__(self) -> Expr:
        return _unary("-", self, literals.UNARY)

    def __pos__(self) -> Expr:
        return self

    def __abs__(self) -> Expr:
        return call("abs", self)

    def __eq__(self, other: Any) -> Expr:  # type: ignore[override]
        return _compare(self, "=", other)

    def __ne__(self, other: Any) -> Expr:  # type: ignore[override]
        return _compare(self, "!=", other)

    def __lt__(self, other: Any) -> Expr:
        return _compare(self, "<", other)

    def __le__(self, other: Any) -> Expr:
        return _compare(self, "<=", other)

    def __gt__(self, other: Any) -> Expr:
        return _compare(self, ">", other)

    def __ge__(self, other: Any) -> Expr:
        return _compare(self, ">=", other)

    # ---- forms that the grammar has words for ----

    def is_null(self) -> Expr:
        """Whether there is no value. A nan is a value: is_nan()."""
        return _behind(self, " is null")

    def is_not_null(self) -> Expr:
        """Whether there is a value."""
        return _behind(self, " is not null")

    def is_missing(self) -> Expr:
        """Whether it is null or, of floats only, a nan: pandas' isna()."""
        return self.is_null() | call("isnan", self)

    def is_in(self, values: Iterable[Any]) -> Expr:
        """Whether it is one of these. A None among them makes it null where it is none of the others."""
        if isinstance(values, (str_type, bytes)) or isinstance(values, Expr):
            raise TypeError("is_in() takes a list of values")
        given = [lift(v) for v in values]
        if not given:
            return lit(False)
        return _joined(f"{_at(self, literals.SUM)} in ({', '.join(v._text for v in given)})", literals.COMPARE, [self, *given])

    def between(self, lower: Any, upper: Any, closed: str_type = "both") -> Expr:
        """Whether it is between two values. closed: 'both', 'left', 'right', 'none' - which ends count."""
        if closed not in ("both", "left", "right", "none"):
            raise ValueError(f"closed is 'both', 'left', 'right' or 'none', not {closed!r}")
        above = _compare(self, ">=" if closed in ("both", "left") else ">", lower)
        return above & _compare(self, "<=" if closed in ("both", "right") else "<", upper)

    def format(self, spec: str_type) -> Expr:
        """As text, by a format of Python's: '>8', '05d', '.2f', ','."""
        return call("format^", self, spec)

    def like(self, pattern: str_type, *, case: bool = True) -> Expr:
        """Whether it matches SQL's pattern: % is any text, _ any character."""
        return _joined(f"{_at(self, literals.SUM)} {'like' if case else 'ilike'} {literals.string(pattern)}", literals.COMPARE, [self])

    def cast(self, dtype: Any, strict: bool = True) -> Expr:
        """In another dtype: 'float64', 'decimal(2)', float, numpy.int8. strict=False: null where it cannot be."""
        return _joined(f"{'cast' if strict else 'try_cast'}({self._text} as {literals.dtype(dtype)})", literals.ATOM, [self])

    def fill_null(self, value: Any) -> Expr:
        """This value where it is null."""
        return call("coalesce", self, value)

    def fill_nan(self, value: Any) -> Expr:
        """This value where it is a nan."""
        return when(call("isnan", self)).then(value).otherwise(self)

    def clip(self, lower: Any = None, upper: Any = None) -> Expr:
        """Held within bounds; nulls and nans stay."""
        chosen = None
        if lower is not None:
            chosen = when(self < lower).then(lower)
        if upper is not None:
            chosen = (when(self > upper) if chosen is None else chosen.when(self > upper)).then(upper)
        return self if chosen is None else _named(chosen.otherwise(self), self._label)

    def shift(self, n: int = 1, fill_value: Any = None) -> Expr:
        """The value n rows before; n may be negative. fill_value: where there is no such row."""
        moved = part("shift", [self, n], True)
        if fill_value is None:
            return moved
        place = part("cumcount", [], True)
        there = place >= n if n >= 0 else place < part("size", [], True) + n
        return _named(when(there).then(moved).otherwise(fill_value), self._label)

    def over(self, *partition: Any, order_by: Any = None, descending: Union[bool, Iterable[bool]] = False,
             nulls_last: bool = True) -> Expr:
        """Of the rows with the same values of these columns. order_by: columns that order them for functions that ask."""
        columns = tuple(column_name(c) for c in flat(partition))
        by = tuple(column_name(c) for c in flat(() if order_by is None else (order_by,)))
        downs = (bool(descending),) * len(by) if isinstance(descending, bool) else tuple(bool(d) for d in descending)
        if len(downs) != len(by):
            raise ValueError(f"descending has {len(downs)} values for {len(by)} columns of order_by")
        over = Over(columns, by, downs, () if nulls_last else ("first",) * len(by))
        open_parts = [p for p in self._parts if p.over is None or p.over == Over() or p.frame and not p.over.partition]
        if not open_parts:
            raise TypeError("over() needs an aggregate or a window function: col('x').sum().over('key')")
        text, parts = self._text, []
        for part in self._parts:
            new = replace(part, over=over_time(part.over, over) if part.frame else over) if part in open_parts else part
            text = text.replace(literals.name(part.name), literals.name(new.name))
            parts.append(new)
        return Expr(text, self._level, self._label, self._roots, tuple(parts))


str_type = str
ExprLike = Any


def _shown_over(over: Optional[Over]) -> str:
    return f" over ({', '.join(over.partition)})" if over and over.partition else ""


def _at(expression: Expr, level: int) -> str:
    """Its text as an operand that has to bind so tightly."""
    return expression._text if expression._level >= level else f"({expression._text})"


def _joined(text: str, level: int, operands: List[Expr]) -> Expr:
    """An expression with these operands; named as the first that has a name."""
    label = next((o._label for o in operands if o._label is not None), None)
    parts = tuple(dict.fromkeys(p for o in operands for p in o._parts))
    return Expr(text, level, label, frozenset().union(*(o._roots for o in operands)), parts)


def _named(expression: Expr, label: Optional[str]) -> Expr:
    return expression if label is None else expression.alias(label)


def _binary(left: Any, sign: str, right: Any, level: int) -> Expr:
    a, b = lift(left), lift(right)
    return _joined(f"{_at(a, level)} {sign} {_at(b, level + 1)}", level, [a, b])


def _compare(left: Expr, sign: str, right: Any) -> Expr:
    """Comparisons do not chain: both sides bind more tightly."""
    if right is None:
        raise TypeError(f"{sign} None is null for every row: use is_null() or is_not_null()")
    b = lift(right)
    return _joined(f"{_at(left, literals.SUM)} {sign} {_at(b, literals.SUM)}", literals.COMPARE, [left, b])


def _unary(sign: str, operand: Expr, level: int) -> Expr:
    return _joined(f"{sign}{_at(operand, level + 1)}", level, [operand])


def _behind(operand: Expr, words: str) -> Expr:
    return _joined(f"{_at(operand, literals.SUM)}{words}", literals.COMPARE, [operand])


def flat(values: Iterable[Any]) -> List[Any]:
    """Lists within are opened."""
    made: List[Any] = []
    for value in values:
        made += list(value) if isinstance(value, (list, tuple)) else [value]
    return made


def col(name: str_type) -> Expr:
    """The column of that name, whatever the name is.

    >>> gr.from_dict({"a": [1, 5]}).filter(gr.col("a") > 2).collect().to_dict()
    {'a': [5]}
    """
    return Expr(literals.name(name), literals.ATOM, name, frozenset([name]), (), True)


def lit(value: Any) -> Expr:
    """A value: bool, int, float, Decimal, str, date, datetime, timedelta, None, NumPy's, or a list of these."""
    text, level = literals.literal(value)
    return Expr(text, level, None)


def expr(text: str_type) -> Expr:
    """An expression in granary's own words: expr("`unit price` * (1 - discount)")."""
    if not isinstance(text, str):
        raise TypeError(f"a str, not {type(text).__name__}")
    return Expr(f"({text})", literals.ATOM, None, frozenset(["*"]))


def interval(*, years: int = 0, months: int = 0, days: int = 0, hours: int = 0, minutes: int = 0, seconds: int = 0) -> Expr:
    """What may be added to a date or timestamp. The 31st becomes the last day of a shorter month."""
    given = {"year": years, "month": months, "day": days, "hour": hours, "minute": minutes, "second": seconds}
    if any(not isinstance(v, int) or isinstance(v, bool) for v in given.values()):
        raise TypeError("interval() takes whole numbers")
    text = " ".join(f"{v} {unit}" for unit, v in given.items() if v) or "0 day"
    return Expr(f"interval '{text}'")


def lift(value: Any) -> Expr:
    """An expression as it is, anything else as a value."""
    return value if isinstance(value, Expr) else lit(value)


def column_name(value: Any) -> str_type:
    """Of a name, or of col(name)."""
    if isinstance(value, Expr):
        if not value._column or value._label is None:
            raise TypeError(f"a column is needed here, not {value!r}: with_columns() makes one")
        return value._label
    if not isinstance(value, str):
        raise TypeError(f"a column's name is a str, not {type(value).__name__} {value!r:.60}")
    return value


def as_column(value: Any) -> Expr:
    """Where a frame's columns are chosen, a str is a name."""
    if isinstance(value, Expr):
        return value
    if not isinstance(value, str):
        raise TypeError(f"a column's name or an expression, not {type(value).__name__} {value!r:.60}: lit() makes one of a value")
    return col(value)


def call(function: str_type, *operands: Any) -> Expr:
    """function(operand, ...): one of expressions' functions."""
    given = [lift(o) for o in operands]
    return _joined(f"{function}({', '.join(o._text for o in given)})", literals.ATOM, given)


def part(function: str_type, operands: List[Any], window: bool) -> Expr:
    """An aggregate or a window function over the first operands; the others are literals."""
    given = [lift(o) for o in operands]
    inner = tuple(dict.fromkeys(p for o in given for p in o._parts))
    if any(p.over is None for p in inner):
        raise TypeError(f"{function}() of an aggregate: give the inner one a window by over(), or compute it in a step before")
    # In brackets no text is the name of a column, as an aggregate's argument may be. Literals stay as they are: an offset of -1.
    texts = tuple(f"({o._text})" if o._level != literals.ATOM and (o._roots or o._parts) else o._text for o in given)
    made = Part(function, texts, Over() if window else None, inner)
    label = next((o._label for o in given if o._label is not None), "len" if function == "size" else function)
    return Expr(literals.name(made.name), literals.ATOM, label, frozenset(), (made,))


def framed(function: str_type, operands: List[Any], frame: str_type, over: Over) -> Expr:
    """An aggregate over the rows of a frame."""
    made = part(function, operands, True)
    whole = replace(made._parts[0], over=over, frame=frame)
    return Expr(literals.name(whole.name), literals.ATOM, made._label, frozenset(), (whole,))


def aggregate_of(text: str_type) -> Expr:
    """Of granary's own text: 'size', 'sum(x)', 'quantile(x, 0.9)'."""
    found = re.fullmatch(r"\s*(\w+)\s*(?:\((.*)\))?\s*", text, re.DOTALL)
    known = functions("aggregates")
    if found is None or found.group(1) not in known:
        word = found.group(1) if found else text
        raise ValueError(f"no aggregate: {text!r}{nearest(word, known)}")
    made = Part(found.group(1), (found.group(2),) if found.group(2) else ())
    return Expr(literals.name(made.name), literals.ATOM, made.function, frozenset(), (made,))


class When:
    """when(condition), which waits for then()."""

    def __init__(self, condition: Any, before: Tuple[Tuple[Expr, Expr], ...] = ()) -> None:
        self._condition = lift(condition)
        self._before = before

    def then(self, value: Any) -> Then:
        """The value where the condition is true."""
        return Then(self._before + ((self._condition, lift(value)),))


class Then(Expr):
    """A chain of when().then(): null where no condition is true, unless otherwise() follows."""

    __slots__ = ("_pairs",)

    def __init__(self, pairs: Tuple[Tuple[Expr, Expr], ...]) -> None:
        made = _case(pairs, None)
        super().__init__(made._text, made._level, made._label, made._roots, made._parts)
        self._pairs = pairs

    def when(self, condition: Any) -> When:
        """Another condition, asked where those before are not true."""
        return When(condition, self._pairs)

    def otherwise(self, value: Any) -> Expr:
        """The value where no condition is true."""
        return _case(self._pairs, lift(value))


def _case(pairs: Tuple[Tuple[Expr, Expr], ...], other: Optional[Expr]) -> Expr:
    text = "".join(f" when {c._text} then {v._text}" for c, v in pairs)
    operands = [v for _, v in pairs] + ([other] if other is not None else []) + [c for c, _ in pairs]
    return _joined(f"case{text}{' else ' + other._text if other is not None else ''} end", literals.ATOM, operands)


def when(condition: Any) -> When:
    """when(c).then(a).when(d).then(b).otherwise(e)

    >>> size = gr.when(gr.col("a") > 2).then("big").otherwise("small").alias("size")
    >>> gr.from_dict({"a": [1, 5]}).select(size).collect()["size"].tolist()
    ['small', 'big']
    """
    return When(condition)
