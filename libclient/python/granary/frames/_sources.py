"""Where plans begin: files and tables (made from the operators), pandas, Arrow, and columns in memory."""
from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Dict, List, Sequence

from . import _columns
from ._made import SOURCES
from ._plan import Node
from ._run import Column, engine

if TYPE_CHECKING:
    from ._lazy import LazyFrame

_PIECE_BYTES = 32 << 20


def is_pandas(value: Any) -> bool:
    """Whether it is a DataFrame. pandas is not imported for that."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.DataFrame)


def _bytes(column: Column) -> int:
    own = sum(a.nbytes for a in (column.values, column.offsets) if a is not None)
    return own if column.items is None else own + _bytes(column.items)


def _table(ids: List[str]) -> LazyFrame:
    """Chunks that the ids keep."""
    from ._lazy import LazyFrame
    return LazyFrame(Node("table", (), {"ids": ids}, ids))


def put(columns: Sequence[Column], rows: int, pieces: int = 0) -> LazyFrame:
    """Columns as chunks in the store. pieces: how many; 0: by their size."""
    at = engine()
    pieces = max(1, min(rows, pieces or 1 + sum(map(_bytes, columns)) // _PIECE_BYTES))
    cuts = [rows * i // pieces for i in range(pieces + 1)]
    ids: List[str] = []
    for a, b in zip(cuts, cuts[1:]):
        ids.append(at.put_chunk(columns if pieces == 1 else [_columns.sliced(c, a, b) for c in columns], b - a))
    return _table(ids)


def from_pandas(frame: Any, *, pieces: int = 0) -> LazyFrame:
    """A DataFrame's rows, copied into the store now. The index is left out: reset_index() makes a column of it.
    None, NaT and pandas.NA are nulls; NaN stays a float. pieces: how many chunks; default by size."""
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names):
        raise ValueError("from_pandas(): two columns have one name")
    if not names:
        raise ValueError("from_pandas(): a frame has at least one column")
    columns = [_columns.from_series(name, frame.iloc[:, i]) for i, name in enumerate(names)]
    return put(columns, len(frame), pieces)


def from_dict(data: Dict[str, Any], *, pieces: int = 0) -> LazyFrame:
    """Columns by name: lists or NumPy arrays, copied into the store now. Lists of lists, and arrays of two dimensions, are columns
    of lists. None in a list is a null.

    >>> gr.from_dict({"a": [3, 1, 2]}).sort("a").collect().to_dict()
    {'a': [1, 2, 3]}
    """
    import pandas as pd
    given = {k: list(v) if getattr(v, "ndim", 1) == 2 else v for k, v in data.items()}
    return from_pandas(pd.DataFrame({k: _columns.series_of(v) for k, v in given.items()}), pieces=pieces)


def is_arrow(value: Any) -> bool:
    return hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")


def from_arrow(data: Any) -> LazyFrame:
    """What has __arrow_c_stream__ or __arrow_c_array__: a table of pyarrow, Polars, DuckDB, a record batch. Copied into the store now."""
    if not is_arrow(data):
        raise TypeError(f"from_arrow(): {type(data).__name__} has neither __arrow_c_stream__ nor __arrow_c_array__")
    at = engine()
    if not hasattr(data, "__arrow_c_stream__"):
        pair = data.__arrow_c_array__()
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"from_arrow(): __arrow_c_array__() of {type(data).__name__} gives two capsules, a schema and an array")
        return _table(at.put_arrow_array(*pair))
    return _table(at.put_arrow(data.__arrow_c_stream__()))


def table(name: str, **parameters: Any) -> LazyFrame:
    """A table of that name: loaded, kept, or one that changes. time: as it was then, in ns since 1970."""
    return SOURCES["table"](name=name, **parameters)


def __getattr__(name: str) -> Any:
    if name in SOURCES:
        return SOURCES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
