"""Values of Python as literals of SQL, for the parameters of a statement."""
from __future__ import annotations

import datetime
import decimal
import math
from typing import Any, List, Mapping, Sequence, Tuple, Union

import numpy as np

Params = Union[Sequence[Any], Mapping[str, Any], None]


def literal(value: Any, name: str) -> str:
    """What a value is in a statement; whatever is in a text stays a text."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, (float, decimal.Decimal)):
        if not math.isfinite(value):
            raise ValueError(f"parameter ${name}: {value!r} is no literal of SQL: write cast('{value}' as double) in the statement")
        return repr(value) if isinstance(value, float) else f"{value:f}"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, datetime.datetime):
        return f"{'timestamp' if value.tzinfo is None else 'timestamptz'} '{value.isoformat(' ')}'"
    if isinstance(value, datetime.date):
        return f"date '{value.isoformat()}'"
    if isinstance(value, datetime.time) and value.tzinfo is None:
        return f"time '{value.isoformat()}'"
    if isinstance(value, datetime.timedelta):
        micros = value // datetime.timedelta(microseconds=1)
        return f"interval '{micros} microseconds'"
    raise TypeError(f"parameter ${name}: no literal of SQL stands for {type(value).__name__} {value!r:.60}")


def literals(params: Params) -> Tuple[List[str], List[str]]:
    """Names, which a sequence has none of, and literals."""
    if isinstance(params, (str, bytes)) or not isinstance(params, (Sequence, Mapping)):
        raise TypeError(f"params are a list or a dict, not {type(params).__name__}")
    if isinstance(params, Mapping):
        return [str(name) for name in params], [literal(value, str(name)) for name, value in params.items()]
    return [], [literal(value, str(i + 1)) for i, value in enumerate(params)]
