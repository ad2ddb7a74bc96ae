"""Methods of frames that ask for something first: which categories there are, between which values, how many rows.

A plan's columns do not depend on data. So these methods run a small query, and write what it found into the plan. Each says so.
"""
from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple, Union

from . import _steps
from ._expr import Expr, col, column_name, flat
from ._made import FrameMethods
from ._tables import operators

if TYPE_CHECKING:
    from ._lazy import LazyFrame

_MOST = 1000  # columns that are made of values
_ROW = "\1row"


def _names(value: Any) -> List[str]:
    return [] if value is None else [column_name(v) for v in flat((value,))]


def found(frame: LazyFrame, column: str, what: str) -> List[str]:
    """The different values of a column in ascending order, as text, without nulls and nans."""
    some = frame.select(column).dropna().distinct().sort(column).head(_MOST + 1).select(col(column).cast("string"))
    values: List[str] = some.collect().to_dict()[column]
    if len(values) > _MOST:
        raise ValueError(f"{what}: {column!r} has more than {_MOST} different values: filter() rows, or give categories=[...]")
    return values


class FoundMethods(FrameMethods):
    """Of a LazyFrame."""

    __slots__ = ()

    def _one(self, *aggregates: Expr) -> List[Any]:
        """Aggregates over all rows, computed now."""
        return [values[0] for values in self._self.select(*aggregates).collect().to_dict().values()]

    @property
    def _self(self) -> LazyFrame:
        from ._lazy import LazyFrame
        assert isinstance(self, LazyFrame)
        return self

    def _operator(self, op: str, given: Dict[str, Any]) -> LazyFrame:
        return self._self._apply(operators()[op], [], given)

    # ---- values as columns ----

    def pivot_table(self, index: Any, columns: Any, values: Any = None, categories: Optional[Sequence[Any]] = None,
                    aggregate: Optional[str] = None, fill_value: Any = None, *, aggfunc: Optional[str] = None,
                    margins: Union[bool, str] = False, margins_name: str = "All") -> LazyFrame:
        """A row for each group of `index`, a column for each value of `columns`: aggregates of `values`.

        categories  the values that become columns; else those there are, in order: the column is read for it now. Rows of a null
                    are left out then.
        values      one column, or several: these make columns called VALUE_CATEGORY
        aggregate   'mean', 'sum', 'size', ...; 'only': the one value that there is, more are an error. aggfunc is the same
        fill_value  where there are no rows
        margins     True, or a name: a last column and a last row of the aggregates over all
        """
        how = aggregate or aggfunc or "mean"
        frame, column, keys = self._self, column_name(columns), _names(index)
        chosen = _names(values) or ([column] if how == "size" else [])
        if not chosen:
            raise TypeError("pivot_table() needs 'values': what is aggregated")
        if categories is None:
            frame = frame.filter(col(column).is_not_null())
            categories = found(frame, column, "pivot_table()")
            if not categories:
                raise ValueError(f"pivot_table(): {column!r} has no value, so there are no columns to make")
        given = {"index": keys, "columns": column, "categories": list(categories), "aggregate": how,
                 "fill_value": fill_value, "margins": margins_name if margins is True else margins or None}
        made = [frame._operator("pivot_table", {**given, "values": one}) for one in chosen]
        if len(made) == 1:
            return made[0]
        if given["margins"]:
            raise ValueError("pivot_table(): margins are of one column of values")
        whole: Optional[LazyFrame] = None
        for name, one in zip(chosen, made):
            one = one.rename({str(c): f"{name}_{c}" for c in categories})
            whole = one if whole is None else whole.join(one, on=keys) if keys else whole.join(one, how="cross")
        assert whole is not None
        return whole

    def pivot(self, index: Any = None, columns: Any = None, values: Any = None, categories: Optional[Sequence[Any]] = None,
              aggregate: Optional[str] = None, fill_value: Any = None, *, on: Any = None,
              aggregate_function: Optional[str] = None) -> LazyFrame:
        """As pivot_table(), of values that come once: a second one for a place is an error, unless an aggregate is given.

        on is the same as columns, as in Polars."""
        how = aggregate or aggregate_function or "only"
        chosen = on if columns is None else columns
        if chosen is None:
            raise TypeError("pivot() needs 'columns' (or 'on'): whose values become columns")
        return self.pivot_table(index, chosen, values, categories, how, fill_value)

    def unstack(self, index: Any, columns: Any, values: Any, fill_value: Any = None) -> LazyFrame:
        """The inverse of stack(): a row for each group of `index`, a column for each value of `columns`, which is asked for now.
        Two values for one place are an error."""
        return self.pivot_table(index, columns, values, None, "only", fill_value)

    def crosstab(self, index: Any, columns: Any, values: Any = None, aggregate: Optional[str] = None, *,
                 aggfunc: Optional[str] = None, margins: Union[bool, str] = False, margins_name: str = "All",
                 normalize: Union[bool, str] = False) -> LazyFrame:
        """How often each pair of values comes, as pandas' crosstab(): rows of `index`, columns of `columns`. Which there are is asked
        for now. Rows where one of them is null are left out.

        values, aggregate  an aggregate of another column instead
        normalize          True or 'all': shares of all rows; 'index', 'columns': of the row, of the column
        margins            True, or a name: a last column and a last row over all
        """
        how = aggregate or aggfunc
        if (values is None) != (how is None):
            raise TypeError("crosstab(): 'values' and 'aggregate' go together")
        if normalize not in (False, True, "all", "index", "columns"):
            raise ValueError(f"crosstab(): normalize is True, 'all', 'index' or 'columns', not {normalize!r}")
        if normalize and (margins or values is not None):
            raise ValueError("crosstab(): normalize is of counts, without margins")
        keys, column = _names(index), column_name(columns)
        frame = self._self.filter(*[col(k).is_not_null() for k in [*keys, column]])
        categories = found(frame, column, "crosstab()")
        if not categories:
            raise ValueError(f"crosstab(): {column!r} has no value, so there are no columns to make")
        counts = frame.pivot_table(keys, column, values or column, categories, how or "size", 0 if values is None else None,
                                   margins=margins, margins_name=margins_name)
        if not normalize:
            return counts
        across = sum((col(c) for c in categories[1:]), col(categories[0]))
        if normalize == "columns":
            return counts.with_columns({c: col(c) / col(c).sum() for c in categories})
        if normalize == "index":
            return counts.with_columns({c: col(c) / across for c in categories})
        total = counts.with_columns({_ROW: across})
        return total.with_columns({c: col(c) / col(_ROW).sum() for c in categories}).drop(_ROW)

    def get_dummies(self, column: Any = None, categories: Optional[Sequence[Any]] = None, prefix: Any = None, *, columns: Any = None,
                    dummy_na: bool = False, drop_first: bool = False) -> LazyFrame:
        """A bool column for each value of a column, behind the others.

        column      one or several; default: all of strings. columns is the same
        categories  the values; else those there are, in order: the column is read for it now
        prefix      of the new names, before '_' and the value; one, or one each; default: the column's name
        dummy_na    one more, COLUMN_nan, for missing values
        drop_first  without the first value
        """
        frame = self._self
        chosen = _names(column if columns is None else columns)
        if not chosen:
            chosen = [name for name, dtype in frame.collect_schema().items() if dtype == "string"]
        prefixes = list(prefix) if isinstance(prefix, (list, tuple)) else [prefix] * len(chosen)
        if len(prefixes) != len(chosen):
            raise ValueError(f"get_dummies(): {len(prefixes)} prefixes for {len(chosen)} columns")
        if categories is not None and len(chosen) != 1:
            raise ValueError("get_dummies(): categories are of one column")
        listed = [found(frame, name, "get_dummies()") if categories is None else list(categories) for name in chosen]
        for name, start, values in zip(chosen, prefixes, listed):
            missing: Dict[str, Expr] = {}
            if dummy_na:
                label = name if start is None else start
                missing = {f"{label}_nan" if label else "nan": col(_ROW + name)}
                frame = frame.with_columns({_ROW + name: col(name).cast("string").is_null()})
            values = values[1:] if drop_first else values
            if values:
                frame = frame._operator("get_dummies", {"column": name, "categories": values, "prefix": start})
            else:
                frame = frame.drop(name)
            if missing:
                frame = frame.with_columns(missing).drop(_ROW + name)
        return frame

    to_dummies = get_dummies

    def transpose(self, *, include_header: bool = False, header_name: str = "column",
                  column_names: Union[None, str, Sequence[str]] = None) -> LazyFrame:
        """Rows as columns, columns as rows; columns have one dtype. How many rows there are, 1000 at most, is asked for now.

        include_header  a first column with the names that the columns had, called header_name
        column_names    of the new columns: a list, or the column that has them, which goes; default column_0, column_1, ...
        """
        frame = self._self
        kept = [n for n in frame.collect_schema() if n != column_names]
        if isinstance(column_names, str):
            names = [str(v) for v in frame.select(col(column_names).cast("string")).head(_MOST + 1).collect().to_dict()[column_names]]
            rows = len(names)
        else:
            rows = int(frame.count_rows().collect().item())
            names = [f"column_{i}" for i in range(rows)] if column_names is None else [str(n) for n in column_names]
        if not 0 < rows <= _MOST:
            raise ValueError(f"transpose(): each row becomes a column: 1 to {_MOST} rows can, not {rows}{'' if rows <= _MOST else ' or more'}")
        if len(names) != rows or len(set(names)) != rows:
            raise ValueError(f"transpose(): {rows} rows need as many different names, not {len(set(names))}")
        if not kept:
            raise ValueError("transpose(): no column is left to become a row")
        places = {name: f"{place:06}" for place, name in enumerate(kept)}
        numbered = frame.select(*[col(n).alias(places[n]) for n in kept]).reset_index(_ROW)
        long = numbered.melt(id_vars=[_ROW], value_vars=list(places.values()), var_name="\1name", value_name="\1value")
        wide = long._operator("pivot_table", {"index": ["\1name"], "columns": _ROW, "values": "\1value",
                                              "categories": [str(i) for i in range(rows)], "aggregate": "only"})
        made = {name: col(str(i)) for i, name in enumerate(names)}
        if not include_header:
            return wide.select(made)
        if header_name in made:
            raise ValueError(f"transpose(): a column is called {header_name!r}: choose another header_name")
        return wide.replace({place: name for name, place in places.items()}, columns=["\1name"]).select(
            {header_name: col("\1name"), **made})

    def shift(self, periods: int = 1, columns: Any = None, keys: Any = None, fill_value: Any = None) -> LazyFrame:
        """Values moved down by so many rows; negative: up. columns: default all but the keys; keys: each group of these by itself.
        fill_value: where there is no value to take."""
        return self._operator("shift_columns", {"periods": periods, "columns": columns, "keys": keys, "fill_value": fill_value})

    def unnest(self, *columns: Any) -> LazyFrame:
        """Columns of a struct under their own names. Structs of files and of Arrow come as columns called STRUCT.FIELD: unnest("a")
        makes b of a.b."""
        starts = tuple(f"{name}." for name in _names(list(columns)))
        schema = self._self.collect_schema()
        renamed = {n: n[len(next(s for s in starts if n.startswith(s))):] for n in schema if n.startswith(starts)}
        for start in starts:
            if not any(n.startswith(start) for n in schema):
                raise KeyError(f"no struct {start[:-1]!r}: no column's name begins with {start!r}")
        return self._self.rename(renamed)

    # ---- bins ----

    def cut(self, column: Any, bins: Any = None, labels: Any = None, right: bool = True, include_lowest: bool = False,
            name: Optional[str] = None, *, count: Optional[int] = None) -> LazyFrame:
        """Numbers put into bins: between edges, or so many of equal width.

        bins    the edges, ascending; or how many bins of equal width from the smallest value to the largest one
        labels  one a bin; False: numbers from 0. The default is '(0, 10]'. For a number of bins, the smallest and the largest value
                are asked for now to make it, and have the digits that pandas shows.
        right   bins have their right edge, not their left one
        """
        wanted = int(bins) if isinstance(bins, numbers.Integral) and not isinstance(bins, bool) else count
        given: Dict[str, Any] = {"column": column_name(column), "right": right, "include_lowest": include_lowest, "name": name}
        if wanted is None:
            if bins is None or isinstance(bins, str):
                raise TypeError("cut() needs 'bins': the edges, or how many bins")
            edges = list(bins)
            if labels is False:
                numbered = self._operator("cut", {**given, "bins": edges, "labels": [str(i) for i in range(len(edges) - 1)]})
                return numbered.with_columns({name or given["column"]: col(name or given["column"]).cast("int64")})
            return self._operator("cut", {**given, "bins": edges, "labels": labels})
        if labels is None:
            low, high = self._one(col(given["column"]).min().cast("float64").alias("low"),
                                  col(given["column"]).max().cast("float64").alias("high"))
            if wanted >= 1 and low is not None and math.isfinite(low) and math.isfinite(high):
                labels = interval_labels(low, high, wanted, right, include_lowest)
            else:
                labels = [str(i) for i in range(wanted)]  # no value is in a bin, or the plan itself says what is wrong
        return self._operator("cut", {**given, "count": wanted, "labels": None if labels is False else labels})

    # ---- as pandas and Polars call them ----

    def describe(self, columns: Any = None, include: Any = "numbers") -> LazyFrame:
        """Count, mean, spread and quartiles of numbers. include: 'numbers'; 'text', or object: count, unique, top and freq of other
        columns; 'all': of all."""
        words = {"object": "text", "O": "text", object: "text", str: "text", "string": "text", "number": "numbers"}
        word = words.get(include, include) if isinstance(include, (str, type)) else include
        return self._operator("describe", {"columns": None if columns is None else _names(columns), "include": word})

    def sample(self, rows: Optional[int] = None, fraction: Optional[float] = None, seed: int = 0, replace: bool = False,
               weights: Any = None, keys: Any = None, *, n: Optional[int] = None, frac: Optional[float] = None,
               random_state: Optional[int] = None, with_replacement: Optional[bool] = None) -> LazyFrame:
        """Rows drawn at random: so many (rows, n), or a fraction (fraction, frac) of all, or of each group of `keys`.

        weights  a column: how likely a row is drawn, beside the others
        seed     other seeds, other rows; random_state is the same
        replace  a row may be drawn more than once; with_replacement is the same
        """
        rows = n if rows is None else rows
        fraction = frac if fraction is None else fraction
        if rows is None and fraction is None:
            rows = 1
        return self._operator("sample", {"rows": rows, "fraction": fraction, "seed": seed if random_state is None else random_state,
                                         "replace": replace if with_replacement is None else with_replacement, "weights": weights,
                                         "keys": None if keys is None else _names(keys)})


def _rounded(x: float, precision: int) -> float:
    """To so many digits behind the point, or behind the first zeros of a fraction: pandas' own way for labels of bins."""
    if x == 0 or not math.isfinite(x):
        return x
    part, whole = math.modf(x)
    digits = precision if whole != 0 else -int(math.floor(math.log10(abs(part)))) - 1 + precision
    import numpy as np
    return float(np.around(x, digits))


def interval_labels(low: float, high: float, count: int, right: bool, include_lowest: bool) -> List[str]:
    """What pandas calls bins of equal width between these."""
    import numpy as np
    if low == high:
        low, high = low - (0.001 * abs(low) if low != 0 else 0.001), high + (0.001 * abs(high) if high != 0 else 0.001)
        edges = np.linspace(low, high, count + 1)
    else:
        edges = np.linspace(low, high, count + 1)
        widened = (high - low) * 0.001
        edges[0 if right else -1] += -widened if right else widened
    precision = next((p for p in range(3, 20) if len({_rounded(float(e), p) for e in edges}) == len(edges)), 3)
    shown = [_rounded(float(e), precision) for e in edges]
    if right and include_lowest:
        shown[0] -= 10.0 ** -precision
    opened, closed = ("(", "]") if right else ("[", ")")
    return [f"{opened}{a}, {b}{closed}" for a, b in zip(shown, shown[1:])]


class FoundGroups:
    """Methods of groups that keep rows: what group_by() gives has them."""

    _frame: LazyFrame
    _keys: List[Any]
    _parameters: Dict[str, Any]

    def _kept(self, op: str, given: Dict[str, Any], keys: str = "keys") -> LazyFrame:
        """An operator with these keys, on rows that stay."""
        from ._lazy import LazyFrame
        node, names, new = _steps.keyed(self._frame._node, self._keys)
        if self._parameters.get("dropna") is False:
            raise ValueError(f"{op}: rows with a null key are in no group: dropna=False does not go with it")
        made = LazyFrame(node)._apply(operators()[op], [], {keys: names, **given})
        return LazyFrame(_steps.without(made._node, list(new)))

    def agg(self, *aggregates: Any, **named: Any) -> LazyFrame:
        raise NotImplementedError

    def _others(self) -> Dict[str, str]:
        """The columns that are no keys: what selects columns does not mean these."""
        keys = {column_name(k) for k in self._keys if isinstance(k, str) or k._column}
        return {name: dtype for name, dtype in self._frame.collect_schema().items() if name not in keys}

    def _each(self, function: str, takes: Any = lambda dtype: not dtype.startswith("list(")) -> LazyFrame:
        """The aggregate of each column that it is for. Which columns there are is asked for now."""
        chosen = {name: getattr(col(name), function)() for name, dtype in self._others().items() if takes(dtype)}
        if not chosen:
            raise TypeError(f"{function}(): no column has a dtype that it is for")
        return self.agg(chosen)

    def sum(self) -> LazyFrame:
        """The sum of each column of numbers."""
        return self._each("sum", _is_number)

    def mean(self) -> LazyFrame:
        """The mean of each column of numbers."""
        return self._each("mean", _is_number)

    def median(self) -> LazyFrame:
        """The median of each column of numbers."""
        return self._each("median", _is_number)

    def std(self) -> LazyFrame:
        """The standard deviation of each column of numbers."""
        return self._each("std", _is_number)

    def var(self) -> LazyFrame:
        """The variance of each column of numbers."""
        return self._each("var", _is_number)

    def min(self) -> LazyFrame:
        """The smallest value of each column."""
        return self._each("min")

    def max(self) -> LazyFrame:
        """The largest value of each column."""
        return self._each("max")

    def first(self) -> LazyFrame:
        """The first value of each column that is not missing."""
        return self._each("first")

    def last(self) -> LazyFrame:
        """The last value of each column that is not missing."""
        return self._each("last")

    def count(self) -> LazyFrame:
        """How many values of each column are not missing."""
        return self._each("count")

    def n_unique(self) -> LazyFrame:
        """How many different values each column has, nulls and nans aside."""
        return self._each("nunique")

    nunique = n_unique

    def ngroup(self, ascending: bool = True, name: str = "ngroup") -> LazyFrame:
        """All rows, and the number of each one's group from 0, in the order of the keys; null where a key is."""
        return self._kept("ngroup", {"ascending": ascending, "name": name})

    def cumcount(self, ascending: bool = True, name: str = "cumcount") -> LazyFrame:
        """All rows, and how many rows of its group stand before each one (ascending=False: behind it)."""
        if ascending:
            return self._kept("window", {"columns": {name: "cumcount()"}}, "partition")
        made = self._kept("window", {"columns": {name: "cumcount()", _ROW: "size()"}}, "partition")
        return made.with_columns({name: col(_ROW) - col(name) - 1}).drop(_ROW)

    def shift(self, periods: int = 1, columns: Any = None, fill_value: Any = None) -> LazyFrame:
        """All rows, with values moved down by so many rows within their group. fill_value: where there is none to take."""
        return self._kept("shift_columns", {"periods": periods, "columns": columns, "fill_value": fill_value})

    def sample(self, n: Optional[int] = None, frac: Optional[float] = None, *, seed: int = 0, weights: Any = None,
               random_state: Optional[int] = None) -> LazyFrame:
        """So many rows of each group (n), or a fraction of them (frac), drawn at random; weights: a column."""
        return self._kept("sample", {"rows": 1 if n is None and frac is None else n, "fraction": frac, "weights": weights,
                                     "seed": seed if random_state is None else random_state})


def _is_number(dtype: str) -> bool:
    return dtype.startswith(("int", "uint", "float", "decimal"))


def several(aggregates: Dict[str, Any]) -> Dict[str, Any]:
    """Lists of functions of a column, as a column each: {"x": ["min", "max"]} makes x_min and x_max."""
    made: Dict[str, Any] = {}
    for name, value in aggregates.items():
        if not isinstance(value, list):
            made[name] = value
            continue
        for one in value:
            function = aggregate_text(one)
            made[f"{name}_{function}"] = "size" if function == "size" else (name, function)
    return made


# Python's own functions, as they are given to pandas' agg().
BUILTIN: Tuple[Tuple[Any, str], ...] = ((list, "array"), (set, "unique"), (len, "size"), (sum, "sum"), (min, "min"), (max, "max"),
                                        (any, "any"), (all, "all"))


def aggregate_text(value: Any) -> Any:
    """The name of the aggregate that one of Python's functions is; anything else as it is."""
    return next((name for function, name in BUILTIN if value is function), value)


__all__ = ["BUILTIN", "FoundGroups", "FoundMethods", "aggregate_text", "found", "interval_labels", "several"]
