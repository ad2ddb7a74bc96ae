"""Windows that move along a frame's rows, and intervals of time: rolling(), expanding(), ewm(), resample() and their like of frames.

Each gives an object whose agg() makes a frame; sum(), mean() and the others are agg() of some columns, or all of numbers.
"""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Dict, List, Optional

import numpy as np

from . import _literals as literals, _steps
from ._expr import Expr, col, column_name, flat, when
from ._plan import Node
from ._windows import Duration, alpha_of, duration

if TYPE_CHECKING:
    from ._lazy import LazyFrame

_LISTS = "__windows"  # of apply(): the values of each window
_NUMBERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")


def _names(values: Any) -> List[str]:
    return [column_name(v) for v in flat(() if values is None else (values,))]


def _columns(frame: LazyFrame, given: Any, without: List[str]) -> List[str]:
    """Those that are given, or all of numbers."""
    names = [column_name(c) for c in flat(given)]
    if names:
        return names
    found = [n for n, dtype in frame.schema.items() if n not in without and (dtype in _NUMBERS or dtype.startswith("decimal"))]
    if not found:
        raise TypeError("no column of numbers is left: name the columns")
    return found


class Aggregating:
    """What agg() is for: its methods are aggregates of columns."""

    _frame: LazyFrame
    _without: List[str]

    def agg(self, *aggregates: Any, **named: Any) -> LazyFrame:
        raise NotImplementedError

    def _others(self) -> Dict[str, str]:
        """The columns that selectors choose from."""
        return {name: dtype for name, dtype in self._frame.collect_schema().items() if name not in self._without}

    def _each(self, function: str, columns: Any, *more: Any) -> LazyFrame:
        return self.agg({name: getattr(col(name), function)(*more) for name in _columns(self._frame, columns, self._without)})

    def sum(self, *columns: Any) -> LazyFrame:
        """Sums of these columns, or of all of numbers."""
        return self._each("sum", columns)

    def mean(self, *columns: Any) -> LazyFrame:
        """Means."""
        return self._each("mean", columns)

    def min(self, *columns: Any) -> LazyFrame:
        """The smallest values."""
        return self._each("min", columns)

    def max(self, *columns: Any) -> LazyFrame:
        """The largest values."""
        return self._each("max", columns)

    def median(self, *columns: Any) -> LazyFrame:
        """The values in the middle."""
        return self._each("median", columns)

    def std(self, *columns: Any, ddof: int = 1) -> LazyFrame:
        """Standard deviations."""
        return self._each("std", columns, ddof)

    def var(self, *columns: Any, ddof: int = 1) -> LazyFrame:
        """Variances."""
        return self._each("var", columns, ddof)

    def sem(self, *columns: Any, ddof: int = 1) -> LazyFrame:
        """Standard errors of the means."""
        return self._each("sem", columns, ddof)

    def skew(self, *columns: Any) -> LazyFrame:
        """Unbiased skewness."""
        return self._each("skew", columns)

    def kurt(self, *columns: Any) -> LazyFrame:
        """Unbiased kurtosis."""
        return self._each("kurtosis", columns)

    def first(self, *columns: Any) -> LazyFrame:
        """The first values."""
        return self._each("first", columns)

    def last(self, *columns: Any) -> LazyFrame:
        """The last values."""
        return self._each("last", columns)

    def count(self, *columns: Any) -> LazyFrame:
        """How many values there are."""
        return self._each("count", columns)

    def nunique(self, *columns: Any) -> LazyFrame:
        """How many different values there are."""
        return self._each("nunique", columns)

    def quantile(self, quantile: float, *columns: Any) -> LazyFrame:
        """The values below which this share lies."""
        return self._each("quantile", columns, float(quantile))

    def size(self, name: str = "size") -> LazyFrame:
        """How many rows there are."""
        return self.agg({name: "size"})

    def apply(self, function: Any, column: Any, *, dtype: Any = "float64") -> LazyFrame:
        """function(array) of the column's values in each window or interval, nans among them: a number. dtype: of these.

        All windows are written out, so this costs as much memory as they have rows, and a call of Python for each.
        """
        if not callable(function):
            raise TypeError(f"apply(): a function of an array, not {type(function).__name__} {function!r:.60}")
        name = column_name(column)
        lists = self.agg({_LISTS: col(name).array()})
        made = lists.map_chunk(_of_each, function, name, columns={name: literals.dtype(dtype)}, kind="numpy")
        there = when(col(_LISTS).is_not_null()).then(col(name))
        return made.with_columns(there.alias(name)).drop(_LISTS)


def _of_each(chunk: Dict[str, Any], function: Any, name: str) -> Dict[str, Any]:
    """In the executor: a value for each list; of none what nobody reads."""
    lists = chunk[_LISTS].tolist()
    arrays = [None if one is None else np.array([math.nan if v is None else v for v in one]) for one in lists]
    return {name: np.array([0 if one is None else function(one) for one in arrays])}


class Rolling(Aggregating):
    """What a frame's rolling() gives: a row for each row, in their order, with the keys, the column of times, and the aggregates."""

    def __init__(self, frame: LazyFrame, keys: List[str], parameters: Dict[str, Any]) -> None:
        self._frame = frame
        self._keys = keys
        self._parameters = parameters
        self._without = keys + ([parameters["on"]] if "on" in parameters else [])

    def agg(self, *aggregates: Any, **named: Any) -> LazyFrame:
        """Aggregates of each row's window; behind a name, a str is a text such as 'sum(x)' or 'size'."""
        from ._lazy import LazyFrame, aggregates_of
        chosen = aggregates_of(aggregates, named, self._others)
        if not chosen:
            raise TypeError("agg() needs an aggregate")
        return LazyFrame(_steps.moved("rolling", self._frame._node, self._keys, self._without, chosen, "columns", **self._parameters))

    def corr(self, left: Any, right: Any) -> LazyFrame:
        """How two columns are correlated, as `corr`."""
        return self.agg(corr=col(column_name(left)).corr(col(column_name(right))))

    def cov(self, left: Any, right: Any) -> LazyFrame:
        """The covariance of two columns, as `cov`."""
        return self.agg(cov=col(column_name(left)).cov(col(column_name(right))))


class Decaying:
    """What a frame's ewm() gives: a row for each row, with the keys and the results."""

    def __init__(self, frame: LazyFrame, keys: List[str], given: Dict[str, Any]) -> None:
        self._frame = frame
        self._keys = keys
        self._given = given

    def _each(self, function: str, columns: Any, **more: Any) -> LazyFrame:
        chosen: Dict[str, Expr] = {}
        for name in _columns(self._frame, columns, self._keys):
            made: Expr = getattr(col(name).ewm(**self._given), function)(**more)
            chosen[name] = made.over(*self._keys) if self._keys else made
        return self._frame.select(*self._keys, **chosen)

    def mean(self, *columns: Any) -> LazyFrame:
        """Means of these columns, or of all of numbers."""
        return self._each("mean", columns)

    def var(self, *columns: Any, bias: bool = False) -> LazyFrame:
        """Variances; with bias divided by the sum of weights."""
        return self._each("var", columns, bias=bias)

    def std(self, *columns: Any, bias: bool = False) -> LazyFrame:
        """Standard deviations."""
        return self._each("std", columns, bias=bias)


class Resampler(Aggregating):
    """What resample() and group_by_dynamic() give: a row for each interval, with the keys, its time, and the aggregates."""

    def __init__(self, frame: LazyFrame, keys: List[str], on: str, parameters: Dict[str, Any]) -> None:
        self._frame = frame
        self._keys = keys
        self._on = on
        self._parameters = parameters
        self._without = [*keys, on]

    def agg(self, *aggregates: Any, fill: Optional[str] = None, limit: Optional[int] = None, **named: Any) -> LazyFrame:
        """Aggregates of each interval. fill: of nulls, by 'ffill', 'bfill' or 'linear', each group by itself; limit: so many in a row."""
        from ._lazy import LazyFrame, aggregates_of
        chosen = aggregates_of(aggregates, named, self._others)
        more = {k: v for k, v in (("fill", fill), ("limit", limit)) if v is not None}
        return LazyFrame(_steps.moved("resample", self._frame._node, self._keys, self._without, chosen, "aggregate", on=self._on,
                                      **self._parameters, **more))

    def _times(self, fill: str) -> LazyFrame:
        from ._lazy import LazyFrame
        if self._parameters.get("closed") == "right" or self._parameters.get("label") == "right":
            raise ValueError("without aggregates, a time is the beginning of its interval: leave closed and label out")
        given = {"origin": "start_day", **{k: v for k, v in self._parameters.items() if k in ("every", "origin", "offset")}}
        keys = {"keys": self._keys} if self._keys else {}
        return LazyFrame(Node("upsample", (self._frame._node,), {"on": self._on, "fill": fill, **given, **keys}))

    def asfreq(self) -> LazyFrame:
        """The rows at the beginnings of intervals; nulls where there is none."""
        return self._times("null")

    def ffill(self) -> LazyFrame:
        """At the beginning of each interval the last row so far."""
        return self._times("ffill")

    def bfill(self) -> LazyFrame:
        """At the beginning of each interval the next row."""
        return self._times("bfill")

    def nearest(self) -> LazyFrame:
        """At the beginning of each interval the nearest row."""
        return self._times("nearest")

    def interpolate(self) -> LazyFrame:
        """asfreq(), and numbers on the line between their neighbours."""
        return self._times("linear")


class MovingMethods:
    """Methods of frames."""

    __slots__ = ()

    def _own(self) -> LazyFrame:
        from ._lazy import LazyFrame
        assert isinstance(self, LazyFrame)
        return self

    def rolling(self, window: Any = None, on: Any = None, *, columns: Optional[Dict[str, Any]] = None, keys: Any = None,
                min_periods: Optional[int] = None, center: Optional[bool] = None, closed: Optional[str] = None, group_by: Any = None,
                index_column: Any = None, period: Any = None, offset: Any = None) -> Any:
        """The rows around each row: frame.rolling("7d", on="t").mean("x"), frame.rolling(3).agg(m=gr.col("x").max()).

        window       so many rows, this one the last; or a duration, as '7d' or a timedelta. Polars calls it period
        on           the column of times that orders the rows; Polars calls it index_column
        min_periods  fewer values give null; default: the window of rows, and 1 of a duration
        center       this row is in the middle
        closed       which ends belong to the window: 'right', 'left', 'both', 'neither'
        group_by     each group of these columns by itself
        columns      new column -> aggregate: then it is the operator, which keeps all columns
        """
        from ._tables import operators
        if offset is not None:
            raise TypeError("rolling() has no offset: closed and center say which rows belong to a window")
        window = period if window is None else window
        on = index_column if on is None else on
        if window is None:
            raise TypeError("rolling() needs a window: rolling(3), or rolling('7d', on='t')")
        text = str(window) if isinstance(window, int) and not isinstance(window, bool) else duration(window, "a window")
        names = _names(keys if group_by is None else group_by)
        given = {"window": text, "on": None if on is None else column_name(on), "min_periods": min_periods, "center": center, "closed": closed}
        if columns is not None:
            return self._own()._apply(operators()["rolling"], [], {"columns": columns, "keys": names or None, **given})
        checked = _check("rolling", {**given, "columns": {}})
        return Rolling(self._own(), names, {k: v for k, v in checked.items() if k != "columns"})

    def expanding(self, min_periods: int = 1, *, group_by: Any = None) -> Rolling:
        """All rows up to each row: frame.expanding().mean("x")."""
        made = self.rolling("unbounded", min_periods=min_periods, group_by=group_by)
        assert isinstance(made, Rolling)
        return made

    def ewm(self, com: Optional[float] = None, span: Optional[float] = None, halflife: Any = None, alpha: Optional[float] = None,
            min_periods: int = 0, adjust: bool = True, ignore_na: bool = False, *, group_by: Any = None) -> Decaying:
        """Exponentially weighted: frame.ewm(span=9).mean("x"). One of com, span, halflife (rows) and alpha is given."""
        given = {"alpha": alpha_of(com, span, halflife, alpha), "min_periods": min_periods, "adjust": adjust, "ignore_na": ignore_na}
        return Decaying(self._own(), _names(group_by), given)

    def resample(self, rule: Any = None, on: Any = None, *, every: Any = None, aggregate: Optional[Dict[str, Any]] = None, keys: Any = None,
                 closed: Optional[str] = None, label: Optional[str] = None, origin: Any = None, offset: Any = None,
                 empty: Optional[bool] = None, fill: Optional[str] = None, limit: Optional[int] = None, group_by: Any = None) -> Any:
        """Intervals of time: frame.resample("1h", on="t").agg(m=gr.col("x").mean()), also those without rows.

        rule         how long an interval is: '15min', '1D', '1W', '1MS'
        on           the column of times
        closed       which end of an interval belongs to it: 'left' (default) or 'right'
        label        which end stands in the column of times
        origin       'start_day' (default), 'start', 'epoch', or a timestamp; offset is added
        group_by     each group of these columns by itself
        aggregate    new column -> aggregate: then it is the operator
        """
        from ._tables import operators
        rule = every if rule is None else rule
        if rule is None or on is None:
            raise TypeError("resample() needs how long an interval is, and the column of times: resample('1h', on='t')")
        names = _names(keys if group_by is None else group_by)
        given = {"every": duration(rule, "an interval"), "closed": closed, "label": label, "origin": None if origin is None else str(origin),
                 "offset": None if offset is None else duration(offset, "an offset"), "empty": empty}
        if aggregate is not None:
            whole = {**given, "on": column_name(on), "aggregate": aggregate, "keys": names or None, "fill": fill, "limit": limit}
            return self._own()._apply(operators()["resample"], [], whole)
        if fill is not None or limit is not None:
            raise TypeError("resample(): agg() takes fill and limit")
        checked = _check("resample", {**given, "on": column_name(on), "aggregate": {}})
        return Resampler(self._own(), names, column_name(on), {k: v for k, v in checked.items() if k not in ("aggregate", "on")})

    def group_by_dynamic(self, index_column: Any, *, every: Any, period: Any = None, offset: Any = None, closed: str = "left",
                         label: str = "left", group_by: Any = None, start_by: str = "window") -> Resampler:
        """Intervals of time that have rows: frame.group_by_dynamic("t", every="1h").agg(gr.col("x").mean())."""
        if period is not None and period != every:
            raise ValueError("group_by_dynamic(): intervals do not overlap: rolling() has windows that do")
        origins = {"window": "epoch", "datapoint": "start"}
        if start_by not in origins:
            raise ValueError(f"group_by_dynamic(): start_by is 'window' or 'datapoint', not {start_by!r}")
        text = duration(every, "an interval")
        origin = None if start_by == "window" and text[-1] in "wW" else origins[start_by]  # weeks begin on Mondays
        made = self.resample(every, index_column, closed=closed, label=label, origin=origin, offset=offset, empty=False, group_by=group_by)
        assert isinstance(made, Resampler)
        return made

    def upsample(self, on: Any = None, every: Any = None, keys: Any = None, origin: Optional[str] = None, offset: Any = None,
                 fill: Optional[str] = None, *, time_column: Any = None, group_by: Any = None) -> LazyFrame:
        """A row for each of equally distant times: frame.upsample("t", every="15min").

        fill    the values of a time without a row: 'null' (default), of the row 'ffill' before, 'bfill' behind, the 'nearest', or 'linear'
        """
        from ._tables import operators
        on = time_column if on is None else on
        if on is None or every is None:
            raise TypeError("upsample() needs the column of times, and how far apart they are: upsample('t', every='15min')")
        names = _names(keys if group_by is None else group_by)
        return self._own()._apply(operators()["upsample"], [], {
            "on": column_name(on), "every": duration(every, "a distance"), "keys": names or None, "origin": origin,
            "offset": None if offset is None else duration(offset, "an offset"), "fill": fill})

    def ffill(self, limit: Optional[int] = None) -> LazyFrame:
        """Missing values become the last ones before, at most `limit` rows away."""
        from ._tables import operators
        return self._own()._apply(operators()["fillna"], [], {"method": "ffill", "limit": limit})

    def bfill(self, limit: Optional[int] = None) -> LazyFrame:
        """Missing values become the next ones behind, at most `limit` rows away."""
        from ._tables import operators
        return self._own()._apply(operators()["fillna"], [], {"method": "bfill", "limit": limit})


def _check(op: str, given: Dict[str, Any]) -> Dict[str, Any]:
    """Parameters as the operator has them, without those that are not given."""
    from ._lazy import check
    return check(op, given)


__all__ = ["Decaying", "Duration", "MovingMethods", "Resampler", "Rolling"]
