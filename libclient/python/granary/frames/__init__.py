"""Frames: plans of operators that are made without running anything, and tables that are computed.

    import granary as gr

    birds = (gr.scan_csv("birdstrikes.csv")
             .filter(gr.col("Cost Total $") > 0)
             .group_by("Wildlife Species")
             .agg(gr.col("Cost Total $").sum().alias("total")))
    print(birds.collect())

docs/python-frames.md tells how to use them; every method's help() comes from granary's table of operators.
"""
from __future__ import annotations

from typing import Any, List

from . import functions, selectors
from ._made import FUNCTIONS, SOURCES
from ._run import Engine, GranaryError, use
from ._expr import Expr, col, expr, interval, lit, when
from ._frame import Frame
from ._lazy import GroupBy, LazyFrame, concat
from ._sources import from_arrow, from_dict, from_pandas, table
from ._sql import sql

# Functions that stand here, too, under the names that Polars has for them.
_FREE = {"coalesce": "coalesce", "concat_str": "concat", "max_horizontal": "greatest", "min_horizontal": "least", "make_date": "make_date",
         "len": "size", "row_number": "row_number", "rank": "rank", "dense_rank": "dense_rank", "ntile": "ntile"}

__all__ = ["Engine", "Expr", "Frame", "GranaryError", "GroupBy", "LazyFrame", "col", "concat", "expr", "from_arrow", "from_dict",
           "from_pandas", "functions", "interval", "lit", "selectors", "sql", "table", "use", "when", *sorted(set(SOURCES) - {"table"}), *_FREE]


def __getattr__(name: str) -> Any:
    if name in SOURCES:
        return SOURCES[name]
    if name in _FREE:
        return FUNCTIONS[_FREE[name]]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> List[str]:
    return list(__all__)
