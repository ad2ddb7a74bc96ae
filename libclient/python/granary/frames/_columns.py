"""Columns of chunks as NumPy arrays, Python values and pandas Series; and back.

Numbers without nulls stay where they lie. With nulls, floats have NaN, times NaT, integers and bools are NumPy's masked arrays, for no
other dtype holds all their digits; strings, binaries, times of day, decimals and lists are objects with None. NumPy has no zones:
instants are M8[us] of UTC there.
"""
from __future__ import annotations

import datetime
import decimal
import sys
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from .._granary import decimals_of_list, texts_of_list
from ._run import Array, Column

NUMPY = {"int8": "i1", "int16": "i2", "int32": "i4", "int64": "i8", "uint8": "u1", "uint16": "u2", "uint32": "u4", "uint64": "u8",
         "float32": "f4", "float64": "f8", "date": "i4", "timestamp": "M8[us]", "duration": "m8[us]", "timestamptz": "M8[us]",
         "time": "i8"}
_MOMENTS = ("date", "timestamp", "duration", "timestamptz", "time")
_US_A_DAY = 86400 * 10**6
_EXACT = decimal.Context(prec=60)


def scale_of(dtype: str) -> int:
    return int(dtype[8:-1])


def bits(packed: Array, rows: int) -> Array:
    return np.unpackbits(packed, count=rows, bitorder="little").astype(bool)


def valid(column: Column) -> Optional[Array]:
    """Where there are values; None: everywhere."""
    if column.dtype == "null":
        return np.zeros(column.rows, bool)
    if column.validity is None:
        return None
    there = bits(column.validity, column.rows)
    return None if there.all() else there


def _plain_texts(column: Column) -> List[Any]:
    """Of strings str, of binaries bytes."""
    assert column.offsets is not None
    text = b"" if column.values is None else column.values.tobytes()
    offsets = column.offsets.tolist()
    pieces = (text[a:b] for a, b in zip(offsets, offsets[1:]))
    return list(pieces) if column.dtype == "binary" else [piece.decode() for piece in pieces]


def _texts(column: Column) -> Array:
    made = np.empty(column.rows, object)
    if column.dictionary is None:
        made[:] = _plain_texts(column) if column.rows else []
        return made
    entries = np.empty(column.dictionary.rows, object)
    entries[:] = _plain_texts(column.dictionary)
    return entries[column.values] if len(entries) else made


def _decimals(column: Column) -> Array:
    made = np.empty(column.rows, object)
    scale = scale_of(column.dtype)
    raw = b"" if column.values is None else column.values.tobytes()
    for i in range(column.rows):
        made[i] = decimal.Decimal(int.from_bytes(raw[16 * i:16 * i + 16], "little", signed=True)).scaleb(-scale, _EXACT)
    return made


def is_list(dtype: str) -> bool:
    return dtype.startswith("list(")


def _lists(column: Column) -> Array:
    """Python's lists, of Python's values."""
    made = np.empty(column.rows, object)
    if column.items is None or column.offsets is None:
        return made
    items = to_list([column.items])
    offsets = column.offsets.tolist()
    for i in range(column.rows):
        made[i] = items[offsets[i]:offsets[i + 1]]
    return made


def values(column: Column) -> Array:
    """One a row; under nulls is anything."""
    if is_list(column.dtype):
        return _lists(column)
    if column.dtype in ("string", "binary"):
        return _texts(column)
    if column.dtype.startswith("decimal"):
        return _decimals(column)
    if column.dtype == "null":
        return np.full(column.rows, None, object)
    if column.values is None:
        return np.zeros(column.rows, "?" if column.dtype == "bool" else NUMPY[column.dtype])
    if column.dtype == "bool":
        return bits(column.values, column.rows)
    return column.values.view(NUMPY[column.dtype])


def joined(columns: Sequence[Column]) -> Tuple[Array, Optional[Array]]:
    """Values of chunks one behind the other, and where they are valid; one chunk is not copied."""
    some = [values(c) for c in columns]
    theres = [valid(c) for c in columns]
    there = None
    if any(t is not None for t in theres):
        there = np.concatenate([np.ones(c.rows, bool) if t is None else t for c, t in zip(columns, theres)])
    return (some[0] if len(some) == 1 else np.concatenate(some)), there


def to_numpy(columns: Sequence[Column]) -> Array:
    dtype = columns[0].dtype
    made, there = joined(columns)
    if dtype == "date":
        made = made.astype("M8[D]")
    elif dtype == "time":
        made = _clocks(made, there)
    if there is None:
        return made
    if made.dtype == object:
        made[~there] = None
        return made
    if made.dtype.kind in "fMm":
        made = made.copy()
        made[~there] = np.nan if made.dtype.kind == "f" else np.array("NaT", made.dtype)
        return made
    masked: Array = np.ma.MaskedArray(made, ~there)  # type: ignore[no-untyped-call]
    return masked


def to_list(columns: Sequence[Column]) -> List[Any]:
    """Python's own values; None is null."""
    dtype = columns[0].dtype
    made, there = joined(columns)
    if dtype in _MOMENTS:
        whole = made.astype("i8").tolist()
        given = [_moment(v, dtype) if there is None or there[i] else None for i, v in enumerate(whole)]
        return given
    listed: List[Any] = made.tolist()
    return listed if there is None else [v if ok else None for v, ok in zip(listed, there)]


def _moment(value: int, dtype: str) -> Any:
    try:
        if dtype == "duration":
            return datetime.timedelta(microseconds=value)
        if dtype == "date":
            return datetime.date(1970, 1, 1) + datetime.timedelta(days=value)
        made = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=value)
        return made.replace(tzinfo=datetime.timezone.utc) if dtype == "timestamptz" else made.time() if dtype == "time" else made
    except OverflowError:
        shown = f"{value} us" if dtype == "duration" else np.datetime64(value, "D" if dtype == "date" else "us")
        raise OverflowError(f"Python's {dtype}s do not reach {shown}: to_numpy() holds it") from None


def _clocks(made: Array, there: Optional[Array]) -> Array:
    """Times of day as objects: NumPy has no dtype for them."""
    clocks = np.empty(len(made), object)
    clocks[:] = [_moment(v, "time") if there is None or there[i] else None for i, v in enumerate(made.tolist())]
    return clocks


# ---- pandas ----

def _nanoseconds(name: str, made: Array, there: Optional[Array], dtype: str) -> Array:
    """pandas 1.5 has nanoseconds; what they do not reach is an error."""
    factor = 10**9 * 86400 if dtype == "date" else 1000
    whole = made.astype("i8")
    most = (2**63 - 1) // factor
    outside = (whole > most) | (whole < -most)
    if there is not None:
        outside &= there
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        shown = made[row] if dtype != "date" else np.datetime64(int(whole[row]), "D")
        raise OverflowError(f"column {name!r}, row {row}: pandas' nanoseconds do not reach {shown}: leave the column out, or use "
                            "to_numpy() or to_dict()")
    if there is not None:
        whole = np.where(there, whole, 0)
    scaled = (whole * factor).astype("m8[ns]" if dtype == "duration" else "M8[ns]")
    if there is not None:
        scaled[~there] = np.array("NaT", scaled.dtype)
    return scaled


def to_pandas(columns: Sequence[Column], nullable: bool, categories: bool) -> Any:
    import pandas as pd
    dtype, name = columns[0].dtype, columns[0].name
    if categories and dtype == "string":
        return _categorical(columns)
    made, there = joined(columns)
    if dtype == "time":
        return pd.Series(_clocks(made, there), dtype=object)
    if dtype in _MOMENTS:
        nanoseconds = pd.Series(_nanoseconds(name, made, there, dtype))
        return nanoseconds.dt.tz_localize("UTC") if dtype == "timestamptz" else nanoseconds
    if made.dtype == object:
        if there is not None:
            made[~there] = None
        return pd.Series(made, dtype=object)
    mask = np.zeros(len(made), bool) if there is None else ~there
    if made.dtype.kind == "f" and not nullable:
        return pd.Series(made if there is None else np.where(mask, made.dtype.type(np.nan), made))
    if there is None and not nullable:
        return pd.Series(made)
    array = {"b": pd.arrays.BooleanArray, "f": getattr(pd.arrays, "FloatingArray", None)}.get(made.dtype.kind, pd.arrays.IntegerArray)
    return pd.Series(array(np.array(made), mask))


def _categorical(columns: Sequence[Column]) -> Any:
    import pandas as pd
    places: dict[str, int] = {}
    codes = []
    for column in columns:
        there = valid(column)
        if column.dictionary is not None:
            own = [places.setdefault(t, len(places)) for t in _plain_texts(column.dictionary)]
            code = np.array(own + [-1], "i4")[column.values] if column.rows else np.zeros(0, "i4")
        else:
            code = np.array([places.setdefault(t, len(places)) if there is None or there[i] else -1
                             for i, t in enumerate(_texts(column))], "i4")
        codes.append(np.where(there, code, -1) if there is not None else code)
    return pd.Series(pd.Categorical.from_codes(np.concatenate(codes), list(places)))


# ---- into the store ----

def series_of(values: Any) -> Any:
    """A pandas Series of a list or an array. pandas takes a None among numbers for NaN, which is a value."""
    import pandas as pd
    series = pd.Series(values, dtype=None if len(values) else object)
    if series.dtype.kind != "f" or not isinstance(values, (list, tuple)) or None not in values:
        return series
    there = np.array([value is not None for value in values])
    known = pd.Series([value for value in values if value is not None])
    filled = np.zeros(len(values), known.dtype)
    filled[there] = known
    masked = pd.arrays.IntegerArray if known.dtype.kind in "iu" else pd.arrays.FloatingArray
    return pd.Series(masked(filled, ~there))


def from_series(name: str, series: Any) -> Column:
    """A pandas Series: NaN is a value of floats; None, NaT and pd.NA are nulls."""
    kind = str(series.dtype)
    if kind.startswith(("datetime64", "timedelta64")):
        return _from_times(name, series)
    if kind == "category":
        return _from_categories(name, series)
    if kind in ("object", "string"):
        return _from_objects(name, series.astype(object).tolist())
    there = series.notna().to_numpy() if kind[0].isupper() or kind == "boolean" else None
    plain = {"boolean": "bool"}.get(kind, kind.lower())
    if plain != "bool" and plain not in NUMPY:
        raise TypeError(f"column {name!r}: granary has no dtype for pandas' {kind}: change it by astype()")
    raw = series.to_numpy() if there is None else series.fillna(False if plain == "bool" else 0).to_numpy(plain)
    return _column(name, plain, np.packbits(raw, bitorder="little") if plain == "bool" else np.ascontiguousarray(raw), len(raw), there)


def _column(name: str, dtype: str, raw: Optional[Array], rows: int, there: Optional[Array], **more: Any) -> Column:
    validity = None if there is None or there.all() else np.packbits(there, bitorder="little")
    return Column(name, dtype, rows, raw, validity, **more)


def _from_times(name: str, series: Any) -> Column:
    zoned = getattr(series.dt, "tz", None) is not None
    series = series.dt.tz_convert("UTC").dt.tz_localize(None) if zoned else series
    there = series.notna().to_numpy()
    whole = series.to_numpy().view("i8")
    if (whole[there] % 1000).any():
        raise ValueError(f"column {name!r}: granary has microseconds, and nanoseconds are there: use .dt.floor('us')")
    made = np.where(there, whole // 1000, 0)
    timed = series.dtype.kind == "M"
    return _column(name, "timestamptz" if zoned else "timestamp" if timed else "duration", made, len(made), there)


def _from_categories(name: str, series: Any) -> Column:
    entries = series.cat.categories.tolist()
    if not all(isinstance(e, str) for e in entries):
        return from_series(name, series.astype(series.cat.categories.dtype))
    codes = series.cat.codes.to_numpy().astype("i4")
    there = codes >= 0
    if not entries:
        return _from_objects(name, [None] * len(codes))
    return _column(name, "string", np.where(there, codes, 0).astype("i4"), len(codes), there, dictionary=_from_texts(name, entries))


def _absents() -> Tuple[object, ...]:
    """pandas' values for none. Without pandas nobody has them."""
    pd = sys.modules.get("pandas")
    return (pd.NA, pd.NaT) if pd is not None else ()


def _from_texts(name: str, texts: List[Any]) -> Optional[Column]:
    """Of strings, and what stands for none; None: they are others."""
    made = texts_of_list(name, texts, _absents())
    if made is None:
        return None
    offsets, raw, validity = made
    there = None if validity is None else np.frombuffer(validity, "u1")
    return Column(name, "string", len(texts), np.frombuffer(raw, "u1"), there, np.frombuffer(offsets, "i4"))


def _absent(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType")


_NUMBERS = {int, float, np.float64, np.int64}


def _from_objects(name: str, objects: List[Any]) -> Column:
    """Of one kind: strings, bytes, bools, integers, decimals, dates, datetimes, times, lists of these. NaN among them is missing, as pandas has it, but for numbers."""
    found = _from_texts(name, objects) or _from_good_decimals(name, objects)
    if found is not None:
        return found
    gone = [_absent(v) for v in objects]
    kinds = {type(v) for v, g in zip(objects, gone) if not g}
    if not kinds <= _NUMBERS:  # of numbers NaN is one
        gone = [g or isinstance(v, (float, np.floating, decimal.Decimal)) and v != v for v, g in zip(objects, gone)]
        kinds = {type(v) for v, g in zip(objects, gone) if not g}
    there = ~np.array(gone, bool)
    if all(issubclass(k, decimal.Decimal) for k in kinds):
        return _from_decimals(name, objects, gone, there)
    if kinds <= {bool, np.bool_}:
        return _column(name, "bool", np.packbits([bool(v) if not g else False for v, g in zip(objects, gone)], bitorder="little"),
                       len(objects), there)
    if all(issubclass(k, (int, np.integer)) and k is not bool for k in kinds):
        whole = [0 if g else int(v) for v, g in zip(objects, gone)]
        if min(whole) < -(2**63) or max(whole) >= 2**63:
            raise ValueError(f"column {name!r}: integers beyond int64: make them decimal.Decimal")
        return _column(name, "int64", np.array(whole, "i8"), len(whole), there)
    if kinds <= _NUMBERS:
        return _column(name, "float64", np.array([0.0 if g else float(v) for v, g in zip(objects, gone)]), len(objects), there)
    if all(issubclass(k, (list, tuple, np.ndarray)) for k in kinds):
        return _from_lists(name, objects, gone, there)
    if kinds == {datetime.date}:
        days = np.array([0 if g else (v - datetime.date(1970, 1, 1)).days for v, g in zip(objects, gone)], "i4")
        return _column(name, "date", days, len(objects), there)
    if all(issubclass(k, datetime.datetime) for k in kinds):
        zones = {v.utcoffset() is not None for v, g in zip(objects, gone) if not g}
        if len(zones) > 1:
            raise TypeError(f"column {name!r}: some of its datetimes have a zone, and others have none")
        zoned = True in zones
        first = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc if zoned else None)
        whole = [0 if g else (v - first) // datetime.timedelta(microseconds=1) for v, g in zip(objects, gone)]
        return _column(name, "timestamptz" if zoned else "timestamp", np.array(whole, "i8"), len(objects), there)
    if all(issubclass(k, (bytes, bytearray, memoryview)) for k in kinds):
        return _from_bytes(name, [b"" if g else bytes(v) for v, g in zip(objects, gone)], there)
    if kinds == {datetime.time}:
        if any(v.tzinfo is not None for v, g in zip(objects, gone) if not g):
            raise TypeError(f"column {name!r}: granary's times of day have no zone: use .replace(tzinfo=None)")
        whole = [0 if g else ((v.hour * 60 + v.minute) * 60 + v.second) * 10**6 + v.microsecond for v, g in zip(objects, gone)]
        return _column(name, "time", np.array(whole, "i8"), len(objects), there)
    if all(issubclass(k, datetime.timedelta) for k in kinds):
        whole = [0 if g else v // datetime.timedelta(microseconds=1) for v, g in zip(objects, gone)]
        return _column(name, "duration", np.array(whole, "i8"), len(objects), there)
    raise TypeError(f"column {name!r}: objects of {', '.join(sorted(k.__name__ for k in kinds))}: granary's columns have one dtype")


def _from_bytes(name: str, pieces: List[bytes], there: Array) -> Column:
    offsets = np.zeros(len(pieces) + 1, "i4")
    if sum(map(len, pieces)) >= 2**31:
        raise ValueError(f"column {name!r}: more than 2 GiB of bytes: give it in several pieces")
    np.cumsum([len(p) for p in pieces], out=offsets[1:])
    return _column(name, "binary", np.frombuffer(b"".join(pieces), "u1"), len(pieces), there, offsets=offsets)


def _from_lists(name: str, objects: List[Any], gone: List[bool], there: Array) -> Column:
    """Lists, tuples, and arrays of one dimension; the dtype of their items is found out as a column's is."""
    whole = [() if g else v for v, g in zip(objects, gone)]
    offsets = np.concatenate([np.zeros(1, "i8"), np.cumsum([len(v) for v in whole], dtype="i8")])
    if offsets[-1] >= 2**31:
        raise ValueError(f"column {name!r}: its lists have {offsets[-1]} items, beyond 2147483647: put it in pieces")
    arrays = [v for v, g in zip(whole, gone) if not g and isinstance(v, np.ndarray)]
    if any(a.ndim != 1 for a in arrays):
        raise TypeError(f"column {name!r}: an array of {max(a.ndim for a in arrays)} dimensions: granary's lists have one: "
                        "use .ravel()")
    if arrays and len(arrays) == len(gone) - sum(gone) and len({a.dtype for a in arrays}) == 1 and arrays[0].dtype.kind in "iuf" \
            and arrays[0].dtype.name in NUMPY:
        flat = np.concatenate(arrays)
        items = _column(name, flat.dtype.name, np.ascontiguousarray(flat, flat.dtype.newbyteorder("=")), len(flat), None)
    else:
        items = _from_objects(name, [item for v in whole for item in _items(v)])
    if is_list(items.dtype):
        raise TypeError(f"column {name!r}: lists in lists: granary's lists have one level")
    return _column(name, f"list({items.dtype})", None, len(objects), there, offsets=offsets.astype("i4"), items=items)


def _items(value: Any) -> Any:
    """NumPy's times as Python's: its nanoseconds would be integers."""
    if isinstance(value, np.ndarray):
        timed = value.dtype.kind in "mM" and np.datetime_data(value.dtype)[0] in ("ns", "ps", "fs", "as")
        return (value.astype(value.dtype.kind + "8[us]") if timed else value).tolist()
    return value


def _from_good_decimals(name: str, objects: List[Any]) -> Optional[Column]:
    """Of decimals, and what stands for none; None: they are others, or _from_decimals() tells what is wrong."""
    made = decimals_of_list(objects, decimal.Decimal, _absents())
    if made is None:
        return None
    scale, raw, validity = made
    there = None if validity is None else np.frombuffer(validity, "u1")
    return Column(name, f"decimal({scale})", len(objects), np.frombuffer(raw, "u1"), there)


def _from_decimals(name: str, objects: List[Any], gone: List[bool], there: Array) -> Column:
    endless = next((i for i, (v, g) in enumerate(zip(objects, gone)) if not g and not v.is_finite()), None)
    if endless is not None:
        raise ValueError(f"column {name!r}, row {endless}: decimals of granary are finite, not {objects[endless]}")
    scale = max([0] + [-int(v.as_tuple().exponent) for v, g in zip(objects, gone) if not g])
    if scale > 38:
        raise ValueError(f"column {name!r}: decimals have up to 38 digits behind the point")
    if any(not g and v and v.adjusted() + scale >= 38 for v, g in zip(objects, gone)):
        raise ValueError(f"column {name!r}: decimals have up to 38 digits")
    whole = [0 if g else int(v.scaleb(scale, _EXACT)) for v, g in zip(objects, gone)]
    raw = b"".join(v.to_bytes(16, "little", signed=True) for v in whole)
    return _column(name, f"decimal({scale})", np.frombuffer(raw, "u1"), len(objects), there)


def sliced(column: Column, start: int, stop: int) -> Column:
    """Some rows of a column that Python made."""
    there = None if column.validity is None else np.packbits(bits(column.validity, column.rows)[start:stop], bitorder="little")
    if column.offsets is not None:
        return Column(column.name, column.dtype, stop - start, column.values, there, column.offsets[start:stop + 1],
                      items=column.items)
    if column.values is None:
        return Column(column.name, column.dtype, stop - start, None, there)
    if column.dtype == "bool":
        cut = np.packbits(bits(column.values, column.rows)[start:stop], bitorder="little")
    elif column.dtype.startswith("decimal"):
        cut = column.values[16 * start:16 * stop]
    else:
        cut = column.values[start:stop]
    return Column(column.name, column.dtype, stop - start, cut, there, None, column.dictionary)
