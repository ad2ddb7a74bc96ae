"""All functions of expressions, with their operands as arguments: functions.greatest(gr.col("a"), gr.col("b")).

They are made from granary's table of functions. Those of windows that look at no column stand here, too: row_number(), rank(), size().
"""
from __future__ import annotations

from typing import Any, List

from ._made import FUNCTIONS
from ._tables import nearest


def __getattr__(name: str) -> Any:
    try:
        return FUNCTIONS[name]
    except KeyError:
        raise AttributeError(f"no function {name!r}{nearest(name, FUNCTIONS)}") from None


def __dir__() -> List[str]:
    return sorted(FUNCTIONS)
