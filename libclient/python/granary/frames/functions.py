"""All functions of expressions, with their operands as arguments: functions.greatest(gr.col("a"), gr.col("b")).

They are made from granary's table of functions. Those of windows that look at no column stand here, too: row_number(), rank(), size().
"""
from __future__ import annotations

import datetime
from typing import Any, List

from ._expr import Expr, call, lit, part
from ._made import FUNCTIONS
from ._tables import nearest


def now() -> Expr:
    """The instant at which the plan is written: a timestamptz, and the same in all rows."""
    return lit(datetime.datetime.now(datetime.timezone.utc)).alias("now")


def random(seed: int = 0) -> Expr:
    """A number from 0 to 1 for each row, without 1. It depends on the row's position and the seed alone, so it is the same each time."""
    bits = call("bitand", call("hash", part("cumcount", [], True), seed), 2**53 - 1)
    return (bits / lit(2.0**53)).alias("random")


def __getattr__(name: str) -> Any:
    try:
        return FUNCTIONS[name]
    except KeyError:
        raise AttributeError(f"no function {name!r}{nearest(name, FUNCTIONS)}") from None


def __dir__() -> List[str]:
    return sorted({*FUNCTIONS, "now", "random"})
