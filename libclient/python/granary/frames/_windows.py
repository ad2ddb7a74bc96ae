"""Windows that move along the rows, as methods of expressions: rolling(), expanding(), ewm(), and the names that Polars has for them.

A window of rows is made by the functions of granary's windows where these go from chunk to chunk, else by a frame as SQL has it.
"""
from __future__ import annotations

import datetime
import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Tuple, Union

if TYPE_CHECKING:
    from ._expr import Expr

Duration = Union[str, datetime.timedelta]
CLOSED = ("right", "left", "both", "neither")
_UNITS = {"us": 1, "ms": 1000, "s": 10**6, "S": 10**6, "min": 60 * 10**6, "m": 60 * 10**6, "T": 60 * 10**6, "h": 3600 * 10**6,
          "H": 3600 * 10**6, "d": 86400 * 10**6, "D": 86400 * 10**6, "w": 7 * 86400 * 10**6, "W": 7 * 86400 * 10**6}
# Functions of windows of rows that go from chunk to chunk.
_ROWS = ("sum", "mean", "min", "max", "std", "var", "count", "median")
_NO_APPLY = ("an expression calls no Python function: use the methods there are (quantile, skew, corr, ...), or those of a frame: "
             "frame.rolling(3).apply(function, 'x')")


def duration(value: Any, what: str) -> str:
    """A duration's text, of that or of a timedelta."""
    if isinstance(value, datetime.timedelta):
        return f"{value // datetime.timedelta(microseconds=1)}us"
    if not isinstance(value, str):
        raise TypeError(f"{what} is a duration such as '7d', not {type(value).__name__} {value!r:.60}")
    return value


def microseconds(text: str, what: str) -> int:
    """Of '7d' or '1h30min'."""
    parts = re.findall(r"(\d*)([a-zA-Z]+)", text)
    if not parts or "".join(n + unit for n, unit in parts) != text or any(unit not in _UNITS for _, unit in parts):
        raise ValueError(f"{what} is {text!r}: write a number with a unit, such as '15min', '1h30min' or '7d'; units are us, ms, s, min, h, d, w")
    made = sum(int(n or 1) * _UNITS[unit] for n, unit in parts)
    if made < 1:
        raise ValueError(f"{what} is {text!r}: it is longer than nothing")
    return made


def _count(value: Any, what: str, least: int = 1) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{what} is a number of rows, not {type(value).__name__} {value!r:.60}")
    number = value.__index__()
    if number < least:
        raise ValueError(f"{what} is {least} or more, not {number}")
    return int(number)


def _bounds(before: int, behind: int, unit: str) -> str:
    """Of so many before the row to so many behind it; below 0: before it."""
    def told(distance: int) -> str:
        return f"interval '{distance} microseconds'" if unit == "range" else str(distance)
    end = f"{told(-behind)} preceding" if behind < 0 else f"{told(behind)} following"
    return f"{unit} between {told(before)} preceding and {end}"


class Window:
    """Which rows a row sees."""

    def __init__(self, rows: Optional[int], width: int, on: Optional[str], min_periods: Optional[int], center: bool,
                 closed: Optional[str]) -> None:
        if closed is not None and closed not in CLOSED:
            raise ValueError(f"closed is one of {', '.join(map(repr, CLOSED))}, not {closed!r}")
        left, right = closed in ("left", "both"), closed in (None, "right", "both")
        self.rows, self.on, self.center, self.plain = rows, on, center, right and not left
        self.told = min_periods
        self.least = rows or 1 if min_periods is None else _count(min_periods, "min_periods", 0)
        if rows is not None and self.least > rows:
            raise ValueError(f"min_periods {self.least} is more than the window of {rows} rows")
        if rows is not None:
            ahead = (rows - 1) // 2 if center else 0
            self.frame = _bounds(rows - 1 - ahead + left, ahead - (not right), "rows")
        elif width:
            halves = center and width % 2 == 1  # no time is at the end of such a window
            before, behind = (width // 2, width // 2) if center else (width, 0)
            self.frame = _bounds(before - (not left and not halves), behind - (not right and not halves), "range")
        else:
            self.frame = "rows between unbounded preceding and current row"


def of(window: Any, on: Any, min_periods: Optional[int], center: bool, closed: Optional[str]) -> Window:
    """So many rows, or a duration of the column `on`."""
    from ._expr import column_name
    if isinstance(window, (str, datetime.timedelta)):
        if on is None:
            raise TypeError("a window of a duration needs on=, the column of times")
        return Window(None, microseconds(duration(window, "a window"), "a window"), column_name(on), min_periods, center, closed)
    if on is not None:
        raise TypeError("on= is for windows of a duration: over(order_by=...) orders the rows of others")
    return Window(_count(window, "a window"), 0, None, min_periods, center, closed)


class Moving:
    """What rolling() and expanding() of an expression give: its methods are expressions. over() says of whose rows, in which order."""

    def __init__(self, expression: Expr, window: Window) -> None:
        self._expr = expression
        self._window = window

    def _framed(self, function: str, *operands: Any) -> Expr:
        from ._expr import Over, framed
        by = () if self._window.on is None else (self._window.on,)
        return framed(function, [*operands], self._window.frame, Over(by=by, descending=(False,) * len(by)))

    def _enough(self, value: Expr, counted: Optional[Expr], least: int) -> Expr:
        """The value where there are min_periods of what is counted, and the row has a time."""
        from ._expr import col, lit, when
        conditions = [] if self._window.on is None else [col(self._window.on).is_not_null()]
        if least > 0:
            conditions.append((self._framed("size") if counted is None else self._framed("count", counted)) >= lit(least))
        if not conditions:
            return value
        whole = conditions[0] if len(conditions) == 1 else conditions[0] & conditions[1]
        made = when(whole).then(value)
        return made if self._expr._label is None else made.alias(self._expr._label)

    def _over(self, function: str, *more: Any, counted: Optional[Expr] = None) -> Expr:
        from ._expr import part
        window = self._window
        if window.plain and window.on is None and not more and function in _ROWS:
            least = 0 if function == "count" and window.told is None else window.least
            if window.rows is not None:
                return part(f"rolling_{function}", [self._expr, window.rows, least, window.center], True)
            if function != "median":
                return part(f"expanding_{function}", [self._expr, least], True)
        value = self._framed(function, self._expr, *more)
        if window.least == 0 and function == "sum":
            value = value.fill_null(0)
        known = window.least <= 1 and function not in ("count", "nunique")
        return self._enough(value, self._expr if counted is None else counted, 0 if known else window.least)

    def sum(self) -> Expr:
        """Sum of the window's values."""
        return self._over("sum")

    def mean(self) -> Expr:
        """Their mean."""
        return self._over("mean")

    def min(self) -> Expr:
        """The smallest."""
        return self._over("min")

    def max(self) -> Expr:
        """The largest."""
        return self._over("max")

    def median(self) -> Expr:
        """The one in the middle; between two interpolated."""
        return self._over("median")

    def std(self, ddof: int = 1) -> Expr:
        """Standard deviation."""
        return self._over("std", *(() if ddof == 1 else (ddof,)))

    def var(self, ddof: int = 1) -> Expr:
        """Variance."""
        return self._over("var", *(() if ddof == 1 else (ddof,)))

    def sem(self, ddof: int = 1) -> Expr:
        """Standard error of the mean."""
        return self._over("sem", ddof)

    def quantile(self, quantile: float) -> Expr:
        """The value below which this share lies; between two interpolated."""
        from ._expr import part
        window = self._window
        if not 0 <= quantile <= 1:
            raise ValueError(f"a quantile is from 0 to 1, not {quantile}")
        if window.plain and window.on is None and window.rows is not None:
            return part("rolling_quantile", [self._expr, window.rows, float(quantile), window.least, window.center], True)
        return self._over("quantile", float(quantile))

    def skew(self) -> Expr:
        """Unbiased skewness."""
        return self._over("skew")

    def kurt(self) -> Expr:
        """Unbiased kurtosis."""
        return self._over("kurtosis")

    def corr(self, other: Any) -> Expr:
        """Correlation with another expression, of rows where both have a value."""
        return self._both("corr", other)

    def cov(self, other: Any) -> Expr:
        """Covariance with another expression, of rows where both have a value."""
        return self._both("cov", other)

    def _both(self, function: str, other: Any) -> Expr:
        from ._expr import as_column, call, lit, when
        second = as_column(other)
        gone = second.is_null() | call("isnan", second.cast("float64"))
        return self._over(function, second, counted=when(gone).then(lit(None)).otherwise(self._expr))

    def first(self) -> Expr:
        """The first value."""
        return self._over("first")

    def last(self) -> Expr:
        """The last value."""
        return self._over("last")

    def n_unique(self) -> Expr:
        """How many different values there are."""
        return self._over("nunique")

    nunique = n_unique

    def count(self) -> Expr:
        """How many values there are; min_periods counts rows."""
        if self._window.plain and self._window.on is None and self._window.rows is not None:
            return self._over("count")
        return self._enough(self._framed("count", self._expr), None, self._window.told or 0)

    def apply(self, function: Any, *args: Any, **kwargs: Any) -> Expr:
        """Refused: only frame.rolling(...).apply(function, column) calls a Python function."""
        raise TypeError(_NO_APPLY)

    map = apply


class Weighted:
    """What ewm() of an expression gives: exponentially weighted means and spreads."""

    def __init__(self, expression: Expr, alpha: float, adjust: bool, ignore_na: bool, min_periods: int) -> None:
        self._given: Tuple[Any, ...] = (expression, alpha, bool(adjust), bool(ignore_na), _count(min_periods, "min_periods", 0))

    def _part(self, function: str, *more: Any) -> Expr:
        from ._expr import part
        return part(function, [*self._given, *more], True)

    def mean(self) -> Expr:
        """Mean."""
        return self._part("ewm_mean")

    def var(self, bias: bool = False) -> Expr:
        """Variance; with bias divided by the sum of weights."""
        return self._part("ewm_var", bool(bias))

    def std(self, bias: bool = False) -> Expr:
        """Standard deviation."""
        return self._part("ewm_std", bool(bias))


def alpha_of(com: Optional[float], span: Optional[float], halflife: Any, alpha: Optional[float]) -> float:
    """How much of a weight is left for the next row, of the one that is given."""
    given = [name for name, value in (("com", com), ("span", span), ("halflife", halflife), ("alpha", alpha)) if value is not None]
    if len(given) != 1:
        raise ValueError(f"one of com, span, halflife and alpha is given, not {' and '.join(given) or 'none'}")
    if isinstance(halflife, (str, datetime.timedelta)):
        raise TypeError("a half-life is a number of rows: for times, resample() the frame first")
    value = float(next(v for v in (com, span, halflife, alpha) if v is not None))
    made: Dict[str, Callable[[], float]] = {
        "com": lambda: 1 / (1 + value), "span": lambda: 2 / (value + 1), "alpha": lambda: value,
        "halflife": lambda: -math.expm1(-math.log(2) / value)}
    if not math.isfinite(value) or {"com": value < 0, "span": value < 1, "halflife": value <= 0, "alpha": not 0 < value <= 1}[given[0]]:
        raise ValueError(f"{given[0]} is {value}: com is 0 or more, span 1 or more, halflife above 0, alpha above 0 and at most 1")
    return made[given[0]]()


class WindowMethods:
    """Methods of expressions."""

    __slots__ = ()

    def _own(self) -> Expr:
        from ._expr import Expr
        assert isinstance(self, Expr)
        return self

    def rolling(self, window: Any, on: Any = None, *, min_periods: Optional[int] = None, center: bool = False,
                closed: Optional[str] = None) -> Moving:
        """Of the rows around each row: col("x").rolling(3).mean(), col("x").rolling("7d", on="t").mean().over("key").

        window       so many rows, this one the last; or a duration, as '7d' or a timedelta
        on           the column of times, in any order; a row without a time has null
        min_periods  fewer values give null; default: the window of rows, and 1 of a duration
        center       this row is in the middle
        closed       which ends belong to the window: 'right', 'left', 'both', 'neither'
        """
        return Moving(self._own(), of(window, on, min_periods, center, closed))

    def expanding(self, min_periods: int = 1) -> Moving:
        """Of all rows up to this one: col("x").expanding().mean()."""
        return Moving(self._own(), Window(None, 0, None, min_periods, False, None))

    def ewm(self, com: Optional[float] = None, span: Optional[float] = None, halflife: Any = None, alpha: Optional[float] = None,
            min_periods: int = 0, adjust: bool = True, ignore_na: bool = False) -> Weighted:
        """Exponentially weighted: col("x").ewm(span=9).mean(). One of com, span, halflife (rows) and alpha is given."""
        return Weighted(self._own(), alpha_of(com, span, halflife, alpha), adjust, ignore_na, min_periods)

    def ewm_mean(self, alpha: Optional[float] = None, adjust: bool = True, ignore_na: bool = False, min_periods: int = 0, *,
                 com: Optional[float] = None, span: Optional[float] = None, halflife: Any = None) -> Expr:
        """Exponentially weighted mean; one of alpha, com, span and halflife is given."""
        return self.ewm(com, span, halflife, alpha, min_periods, adjust, ignore_na).mean()

    def ewm_var(self, alpha: Optional[float] = None, adjust: bool = True, ignore_na: bool = False, min_periods: int = 0,
                bias: bool = False, *, com: Optional[float] = None, span: Optional[float] = None, halflife: Any = None) -> Expr:
        """Variance with the weights of ewm_mean; with bias divided by their sum."""
        return self.ewm(com, span, halflife, alpha, min_periods, adjust, ignore_na).var(bias)

    def ewm_std(self, alpha: Optional[float] = None, adjust: bool = True, ignore_na: bool = False, min_periods: int = 0,
                bias: bool = False, *, com: Optional[float] = None, span: Optional[float] = None, halflife: Any = None) -> Expr:
        """Standard deviation with the weights of ewm_mean."""
        return self.ewm(com, span, halflife, alpha, min_periods, adjust, ignore_na).std(bias)

    def rolling_skew(self, window: int, min_periods: Optional[int] = None, center: bool = False) -> Expr:
        """Skewness of this row and the window - 1 before."""
        return self.rolling(window, min_periods=min_periods, center=center).skew()

    def rolling_corr(self, other: Any, window: Any, min_periods: Optional[int] = None, *, on: Any = None) -> Expr:
        """Correlation with another column, of this row and the window - 1 before."""
        return self.rolling(window, on, min_periods=min_periods).corr(other)

    def rolling_cov(self, other: Any, window: Any, min_periods: Optional[int] = None, *, on: Any = None) -> Expr:
        """Covariance with another column, of this row and the window - 1 before."""
        return self.rolling(window, on, min_periods=min_periods).cov(other)

    def rolling_sum_by(self, by: Any, window_size: Duration, *, min_periods: int = 1, closed: str = "right") -> Expr:
        """Sum of the rows whose time `by` is within a duration before this row's."""
        return self.rolling(window_size, by, min_periods=min_periods, closed=closed).sum()

    def rolling_mean_by(self, by: Any, window_size: Duration, *, min_periods: int = 1, closed: str = "right") -> Expr:
        """Mean of these rows."""
        return self.rolling(window_size, by, min_periods=min_periods, closed=closed).mean()

    def rolling_min_by(self, by: Any, window_size: Duration, *, min_periods: int = 1, closed: str = "right") -> Expr:
        """The smallest of these rows."""
        return self.rolling(window_size, by, min_periods=min_periods, closed=closed).min()

    def rolling_max_by(self, by: Any, window_size: Duration, *, min_periods: int = 1, closed: str = "right") -> Expr:
        """The largest of these rows."""
        return self.rolling(window_size, by, min_periods=min_periods, closed=closed).max()

    def rolling_std_by(self, by: Any, window_size: Duration, *, min_periods: int = 1, closed: str = "right", ddof: int = 1) -> Expr:
        """Standard deviation of these rows."""
        return self.rolling(window_size, by, min_periods=min_periods, closed=closed).std(ddof)

    def rolling_var_by(self, by: Any, window_size: Duration, *, min_periods: int = 1, closed: str = "right", ddof: int = 1) -> Expr:
        """Variance of these rows."""
        return self.rolling(window_size, by, min_periods=min_periods, closed=closed).var(ddof)

    def rolling_median_by(self, by: Any, window_size: Duration, *, min_periods: int = 1, closed: str = "right") -> Expr:
        """Median of these rows."""
        return self.rolling(window_size, by, min_periods=min_periods, closed=closed).median()

    def rolling_quantile_by(self, by: Any, window_size: Duration, *, quantile: float, min_periods: int = 1, closed: str = "right") -> Expr:
        """Quantile of these rows."""
        return self.rolling(window_size, by, min_periods=min_periods, closed=closed).quantile(quantile)

    def rolling_map(self, function: Any, window_size: int, **kwargs: Any) -> Expr:
        """Refused: only frame.rolling(...).apply(function, column) calls a Python function."""
        raise TypeError(_NO_APPLY)

    def cum_count(self) -> Expr:
        """How many values there are up to this row."""
        return self.expanding(0)._framed("count", self._own())

    def shift(self, n: int = 1, *, fill_value: Any = None) -> Expr:
        """The value n rows before; below 0: behind. fill_value: where there is no such row; default null."""
        from ._expr import lit, part, when
        shifted = part("shift", [self._own(), n], True)
        if fill_value is None:
            return shifted
        number = part("row_number", [], True)
        outside = number <= lit(n) if n >= 0 else number > part("size", [], True) + lit(n)
        made = when(outside).then(fill_value).otherwise(shifted)
        return made if shifted._label is None else made.alias(shifted._label)


def over_time(over: Any, made: Any) -> Any:
    """What over() says, and the column of times, which it does not."""
    if not over.by:
        return made
    if made.by and made.by != over.by:
        raise TypeError(f"a window of a duration is ordered by {over.by[0]!r}: leave order_by out")
    return replace(made, by=over.by, descending=over.descending, nulls=over.nulls)


__all__ = ["Moving", "Weighted", "Window", "WindowMethods", "alpha_of", "duration", "of", "over_time"]
