"""Dtypes of arrays and how they meet: the tables of the array API standard 2021.12. They are NumPy's dtype objects."""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


DType = np.dtype[Any]

bool = np.dtype(np.bool_)  # the standard's name
int8 = np.dtype(np.int8)
int16 = np.dtype(np.int16)
int32 = np.dtype(np.int32)
int64 = np.dtype(np.int64)
uint8 = np.dtype(np.uint8)
uint16 = np.dtype(np.uint16)
uint32 = np.dtype(np.uint32)
uint64 = np.dtype(np.uint64)
float32 = np.dtype(np.float32)
float64 = np.dtype(np.float64)
complex64 = np.dtype(np.complex64)
complex128 = np.dtype(np.complex128)

ALL: dict[str, DType] = {
    one.name: one
    for one in (bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64, complex64, complex128)
}

_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "floating": "fc",
    "real numeric": "iuf",
    "real numeric or bool": "iufb",
    "numeric": "iufc",
    "integral or bool": "iub",
    "any": "iufcb",
}
"""What functions take: names as isdtype() has them, and the letters NumPy has for kinds."""


class finfo_object(NamedTuple):
    """Limits of a floating dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


class iinfo_object(NamedTuple):
    """Limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


def dtype_of(given: Any) -> DType:
    """A dtype by itself, its name, NumPy's scalar type, or Python's type; TypeError when granary has none such."""
    try:
        found = np.dtype(given)
    except TypeError:
        raise TypeError(f"{given!r} is no dtype; there are: {', '.join(ALL)}") from None
    if given is None or found.name not in ALL:
        raise TypeError(f"there are no arrays of {given!r}; dtypes are: {', '.join(ALL)}")
    return ALL[found.name]


def is_kind(dtype: DType, kind: str) -> Any:
    """Whether a dtype is of a kind of _KINDS."""
    return dtype.kind in _KINDS[kind]


def need(name: str, kind: str, *dtypes: DType) -> None:
    """TypeError unless all are of a kind."""
    for one in dtypes:
        if not is_kind(one, kind):
            raise TypeError(f"{name}() takes {kind} dtypes, not {one}")


def part_of(dtype: DType) -> DType:
    """Of complex numbers the dtype of their parts; any other itself."""
    return ALL["float32" if dtype == complex64 else "float64"] if dtype.kind == "c" else dtype


def complex_of(dtype: DType) -> DType:
    """The complex numbers of a float's precision."""
    return ALL["complex64" if part_of(dtype) == float32 else "complex128"]


def promote(one: DType, other: DType) -> DType:
    """The dtype that two give together; TypeError where the standard has none."""
    if one == other:
        return one
    kinds = {one.kind, other.kind}
    if "c" in kinds and kinds <= {"f", "c"}:
        return ALL["complex128" if float64 in (part_of(one), part_of(other)) else "complex64"]
    if kinds <= {"i"} or kinds <= {"u"} or kinds <= {"f"}:
        return one if one.itemsize > other.itemsize else other
    if kinds == {"i", "u"}:
        signed, unsigned = (one, other) if one.kind == "i" else (other, one)
        if signed.itemsize > unsigned.itemsize:
            return signed
        if unsigned.itemsize < 8:
            return ALL[f"int{unsigned.itemsize * 16}"]
    raise TypeError(f"{one} and {other} do not promote: the standard has no dtype for both. Use astype()")


def _dtype_or_dtype_of(given: Any) -> DType:
    own = getattr(given, "dtype", None)
    if isinstance(given, np.dtype) or isinstance(given, type) or own is None:
        return dtype_of(given)
    return dtype_of(own)


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that these give together."""
    if not arrays_and_dtypes:
        raise ValueError("result_type() needs at least one array or dtype")
    found = _dtype_or_dtype_of(arrays_and_dtypes[0])
    for one in arrays_and_dtypes[1:]:
        found = promote(found, _dtype_or_dtype_of(one))
    return found


def can_cast(from_: Any, to: DType, /) -> Any:
    """Whether a dtype promotes to another without more."""
    source, to = _dtype_or_dtype_of(from_), dtype_of(to)
    try:
        return promote(source, to) == to
    except TypeError:
        return False


def finfo(type: Any, /) -> finfo_object:
    """Limits of a floating dtype, or of an array's; of complex numbers those of their parts."""
    dtype = part_of(_dtype_or_dtype_of(type))
    need("finfo", "real floating", dtype)
    found = np.finfo(dtype)
    limits = float(found.eps), float(found.max), float(found.min), float(found.smallest_normal)
    return finfo_object(dtype.itemsize * 8, *limits, dtype)


def iinfo(type: Any, /) -> iinfo_object:
    """Limits of an integer dtype, or of an array's."""
    dtype = _dtype_or_dtype_of(type)
    need("iinfo", "integral", dtype)
    found = np.iinfo(dtype)
    return iinfo_object(dtype.itemsize * 8, int(found.max), int(found.min), dtype)


def isdtype(dtype: DType, kind: Any) -> Any:
    """Whether a dtype is another one, of a kind ('integral', 'real floating', ...), or of one in a tuple of those."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str) and kind in _KINDS:
        return is_kind(dtype_of(dtype), kind)
    return dtype_of(dtype) == dtype_of(kind)
