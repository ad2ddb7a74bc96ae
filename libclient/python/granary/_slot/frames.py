"""A Python function on one chunk of a frame: a DataFrame, or arrays by name, in and out."""
from __future__ import annotations

import uuid
from typing import Any, Callable, Dict, List

from .. import _granary
from .._engine import column_of, given_of
from ..frames import _columns
from ..frames._run import Column
from . import wire

_CAST = {
    "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64", "uint8": "uint8", "uint16": "uint16", "uint32": "uint32",
    "uint64": "uint64", "float32": "float32", "float64": "float64", "bool": "bool",
}  # fmt: skip


def _given(columns: List[Column], kind: str) -> Any:
    if kind == "numpy":
        return {one.name: _columns.to_numpy([one]) for one in columns}
    import pandas

    return pandas.DataFrame({one.name: _columns.to_pandas([one], False, False) for one in columns}, copy=False)


def _column(name: str, values: Any, dtype: str) -> Column:
    """A column of what the function gave, of the dtype that was declared."""
    import pandas

    series = values if isinstance(values, pandas.Series) else pandas.Series(values)
    if dtype in _CAST and str(series.dtype) != dtype and not series.isna().any():
        series = series.astype(_CAST[dtype])
    made = _columns.from_series(name, series)
    if made.dtype == "null" and made.dtype != dtype:  # nothing but nulls: of any dtype
        raise TypeError(f"column {name!r} has no value, so its dtype is not known; it was declared as {dtype}")
    return made


def _result(columns: List[Column], result: Any, what: Dict[str, Any]) -> tuple[List[Column], int]:
    """The chunk that is promised: columns of the input, replaced or joined by those that were declared."""
    declared: Dict[str, str] = what["columns"]
    names = list(result) if isinstance(result, dict) else list(getattr(result, "columns", []))
    if not names and not isinstance(result, dict) and not hasattr(result, "columns"):
        raise TypeError(f"the function gave a {type(result).__name__}, where a DataFrame or a dict of arrays is asked for")
    known = {one.name: one for one in columns}
    for name in names:
        if name not in declared and (what["only"] or name not in known):
            raise ValueError(f"the function gives column {name!r}, which columns={{...}} does not declare")
    for name in declared:
        if name not in names:
            raise ValueError(f"the function gives no column {name!r}, which columns={{...}} declares")
    wanted = list(declared) if what["only"] else [*known, *(name for name in declared if name not in known)]
    rows = len(result[names[0]]) if names else 0
    same = bool(columns) and rows == columns[0].rows
    made = []
    for name in wanted:
        if name in declared:
            made.append(_column(name, result[name], declared[name]))
        elif same:
            made.append(known[name])  # as it was: not converted there and back
        elif name in names:
            made.append(_column(name, result[name], known[name].dtype))
        else:
            raise ValueError(f"the function gives {rows} rows of a chunk of {columns[0].rows}, but not column {name!r}")
    return made, rows


def run(
    client: Any,
    function: Callable[..., Any],
    data: memoryview,
    meta: memoryview,
    arguments: List[Any],
    keywords: Dict[str, Any],
    what: Dict[str, Any],
) -> wire.Output:
    """The function of a map_chunk node on a frame."""
    columns = [column_of(one) for one in _granary.frame_of_bytes(data, meta).columns()]
    made, rows = _result(columns, function(_given(columns, what["kind"]), *arguments, **keywords), what)
    # The library writes frames as objects: this one is there only until the executor has read it.
    id = uuid.uuid4().bytes
    client.frame_put([given_of(one) for one in made], rows, id)
    view = client.get(id)
    client.delete(id)
    return wire.Output(view.size, [(0, memoryview(view))])
