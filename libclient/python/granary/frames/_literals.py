"""Python values and names as texts of granary's expressions."""
from __future__ import annotations

import datetime
import decimal
import math
import numbers
import typing
from typing import Any, List, Tuple

import numpy as np

# How tightly a text binds, from `or` to what never needs brackets.
OR, AND, NOT, COMPARE, SUM, PRODUCT, UNARY, ATOM = range(8)
_DIGITS = 38
_LAST_SEEN = 240


def name(text: str) -> str:
    """A column, whatever its name is."""
    if not isinstance(text, str):
        raise TypeError(f"a column's name is a str, not {type(text).__name__}")
    if not text or "\0" in text:
        raise ValueError("a column's name has at least one character, and no NUL")
    return "`" + text.replace("`", "``") + "`"


def string(text: str) -> str:
    if "\0" in text:
        raise ValueError("a string in an expression has no NUL")
    return "'" + text.replace("'", "''") + "'"


def literal(value: Any) -> Tuple[str, int]:
    """The text of a value, and how tightly it binds."""
    if value is None or value is getattr(np, "NaT", None) or _is_missing(value):
        return "null", ATOM
    if isinstance(value, (bool, np.bool_)):
        return ("true" if value else "false"), ATOM
    if isinstance(value, str):
        return string(value), ATOM
    if isinstance(value, (list, tuple)):
        return _list(value), ATOM
    for kind, write in _WRITERS:
        if isinstance(value, kind):
            made: Tuple[str, int] = write(value)
            return made
    raise TypeError(f"{type(value).__name__} is no value of an expression: {value!r:.60}")


def _list(values: Any) -> str:
    if not values:
        raise ValueError("an empty list has no dtype: col(...).list.slice(0, 0) is one, or lit(None).cast('list(int64)') a null")
    return f"list_value({', '.join(literal(v)[0] for v in values)})"


def _is_missing(value: Any) -> bool:
    """pandas.NA, NaT of pandas and NumPy; a nan is a value."""
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    return type(value).__name__ in ("NAType", "NaTType")


def _signed(text: str) -> Tuple[str, int]:
    return text, (UNARY if text.startswith("-") else ATOM)


def _decimal(value: decimal.Decimal) -> Tuple[str, int]:
    if not value.is_finite():
        raise ValueError(f"granary's decimals are finite: {value}")
    text = format(value, "f")
    if sum(c.isdigit() for c in text.lstrip("-0.")) > _DIGITS:
        raise ValueError(f"granary's decimals have up to {_DIGITS} digits: {text}")
    return _signed(text + "^")


def _integer(value: Any) -> Tuple[str, int]:
    text = str(int(value))
    if len(text.lstrip("-")) > _DIGITS:
        raise ValueError(f"integers have up to {_DIGITS} digits: {text[:_LAST_SEEN]}")
    return _signed(text)


def _float(value: Any) -> Tuple[str, int]:
    number = float(value)
    if math.isfinite(number):
        return _signed(repr(number))
    return f"cast('{'nan' if math.isnan(number) else 'inf' if number > 0 else '-inf'}' as float64)", ATOM


def _timestamp(value: datetime.datetime) -> Tuple[str, int]:
    if value.utcoffset() is not None:
        return "timestamptz" + _timestamp(value.astimezone(datetime.timezone.utc).replace(tzinfo=None))[0][9:-1] + "Z'", ATOM
    if getattr(value, "nanosecond", 0):
        raise ValueError(f"granary's timestamps have microseconds: {value}")
    return f"timestamp '{value.strftime('%Y').zfill(4)}-{value:%m-%d %H:%M:%S.%f}'", ATOM


def _bytes(value: Any) -> Tuple[str, int]:
    return f"cast('\\x{bytes(value).hex()}' as binary)", ATOM


def _time(value: datetime.time) -> Tuple[str, int]:
    if value.tzinfo is not None:
        raise TypeError("granary's times of day have no zone: use value.replace(tzinfo=None)")
    return f"time '{value:%H:%M:%S.%f}'", ATOM


def _date(value: datetime.date) -> Tuple[str, int]:
    return f"date '{value.isoformat()}'", ATOM


def _microseconds(days: int, seconds: int, microseconds: int) -> Tuple[str, int]:
    hours, rest = divmod(seconds, 3600)
    return f"cast('{days}d {hours:02}:{rest // 60:02}:{rest % 60:02}.{microseconds:06}' as duration)", ATOM


def _duration(value: datetime.timedelta) -> Tuple[str, int]:
    if getattr(value, "nanoseconds", 0):
        raise ValueError(f"granary's durations have microseconds: {value}")
    if value < datetime.timedelta(0):
        return "-" + _duration(-value)[0], UNARY
    return _microseconds(value.days, value.seconds, value.microseconds)


def _numpy_time(value: np.datetime64) -> Tuple[str, int]:
    if np.datetime_data(value.dtype)[0] in ("Y", "M", "W", "D"):
        return f"date '{value.astype('datetime64[D]')}'", ATOM
    exact = value.astype("datetime64[us]")
    if exact != value:
        raise ValueError(f"granary's timestamps have microseconds: {value}")
    return f"timestamp '{str(exact).replace('T', ' ')}'", ATOM


def _numpy_duration(value: np.timedelta64) -> Tuple[str, int]:
    exact = value.astype("timedelta64[us]")
    if exact != value:
        raise ValueError(f"granary's durations have microseconds: {value}")
    return _duration(datetime.timedelta(microseconds=int(exact.astype("i8"))))


# The first kind that fits: a datetime is a date, a bool an integer.
_WRITERS: List[Tuple[Any, Any]] = [
    (decimal.Decimal, _decimal), (np.timedelta64, _numpy_duration), (np.datetime64, _numpy_time), (numbers.Integral, _integer),
    (np.integer, _integer), (numbers.Real, _float), (np.floating, _float), (datetime.datetime, _timestamp), (datetime.date, _date),
    (datetime.timedelta, _duration), (datetime.time, _time),
    ((bytes, bytearray), _bytes)]


_DTYPES = {bool: "bool", int: "int64", float: "float64", str: "string", datetime.date: "date", datetime.datetime: "timestamp",
           datetime.timedelta: "duration", datetime.time: "time", bytes: "binary"}


def dtype(kind: Any) -> str:
    """granary's name of a dtype: of its own name, a Python type, List[int], or one of NumPy's."""
    if isinstance(kind, str):
        return {"str": "string", "object": "string", "datetime64[us]": "timestamp", "datetime64[ns]": "timestamp",
                "datetime64[us, UTC]": "timestamptz", "datetime64[ns, UTC]": "timestamptz",
                "timedelta64[us]": "duration", "timedelta64[ns]": "duration", "int": "int64", "float": "float64",
                "boolean": "bool"}.get(kind, kind)
    if typing.get_origin(kind) is list:
        return f"list({dtype(typing.get_args(kind)[0])})"
    if isinstance(kind, type) and kind in _DTYPES:
        return _DTYPES[kind]
    if isinstance(kind, np.dtype) or isinstance(kind, type) and issubclass(kind, np.generic):
        return dtype(np.dtype(kind).name)
    raise TypeError(f"no dtype: {kind!r}")
