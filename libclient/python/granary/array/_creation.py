"""Arrays from values, other arrays, and nothing."""
from __future__ import annotations

import math
from typing import Any, Optional, Union

import numpy as np

from .. import _dlpack
from . import _dtypes, _steps
from ._dtypes import DType, bool as bool_, complex128, dtype_of, float64, int64
from ._node import Node, Shape
from ._object import Array, _node_of_numpy

Number = Union[int, float]
Scalar = Union[bool, int, float, complex]


def shape_of(shape: Any) -> Shape:
    sides = tuple(int(side.__index__()) for side in (shape if isinstance(shape, (tuple, list)) else (shape,)))
    if any(side < 0 for side in sides):
        raise ValueError(f"a shape has no negative sides, unlike {sides}")
    return sides


def check_device(device: Any) -> None:
    if device not in (None, "cpu"):
        raise ValueError(f"device {device!r}: there is 'cpu'")


def asarray(obj: Any, /, *, dtype: Optional[DType] = None, device: Optional[str] = None, copy: Optional[bool] = None) -> Array:
    """An array of numbers, nested lists, a NumPy array, or whatever NumPy takes. Large ones are put into the store at once.

    float16 becomes float32.
    """
    check_device(device)
    wanted = None if dtype is None else dtype_of(dtype)
    if isinstance(obj, Array):
        if wanted in (None, obj.dtype):
            return Array(obj._node) if copy else obj
        if copy is False:
            raise ValueError("another dtype needs a copy")
        assert wanted is not None
        return Array(_steps.astype(obj._node, wanted))
    if copy is False:
        raise ValueError("values of this process have to be copied into the store")
    if wanted is None and isinstance(obj, int) and not -(2**63) <= obj < 2**63:
        raise OverflowError(f"{obj} does not fit int64: give a dtype")
    value = np.asarray(obj, dtype=wanted)
    if value.dtype == np.float16:
        value = value.astype(np.float32)
    if value.dtype.name not in _dtypes.ALL:
        raise TypeError(f"there are no arrays of {value.dtype}; dtypes are: {', '.join(_dtypes.ALL)}")
    return Array(_node_of_numpy(value.astype(value.dtype.newbyteorder("="), copy=False)))


def from_dlpack(x: Any, /) -> Array:
    """Another library's tensor in the CPU's memory: it is read where it lies, and copied once, into the store."""
    return Array(x._node) if isinstance(x, Array) else asarray(_dlpack.borrowed(x))


def full(
    shape: Union[int, Shape],
    fill_value: Scalar,
    *,
    dtype: Optional[DType] = None,
    device: Optional[str] = None,
) -> Array:
    """All one value."""
    check_device(device)
    if dtype is None:
        kinds: list[tuple[type, DType]] = [(bool, bool_), (int, int64), (complex, complex128)]
        dtype = next((one for kind, one in kinds if isinstance(fill_value, kind)), float64)
    return Array(_steps.full(shape_of(shape), fill_value, dtype_of(dtype)))


def zeros(shape: Union[int, Shape], *, dtype: Optional[DType] = None, device: Optional[str] = None) -> Array:
    """All 0."""
    return _source("zeros", shape, dtype, device)


def ones(shape: Union[int, Shape], *, dtype: Optional[DType] = None, device: Optional[str] = None) -> Array:
    """All 1."""
    return _source("ones", shape, dtype, device)


def empty(shape: Union[int, Shape], *, dtype: Optional[DType] = None, device: Optional[str] = None) -> Array:
    """All 0, too: nothing is left unset."""
    return _source("zeros", shape, dtype, device)


def _source(operator: str, shape: Any, dtype: Any, device: Any) -> Array:
    check_device(device)
    sides, kind = shape_of(shape), float64 if dtype is None else dtype_of(dtype)
    return Array(Node(operator, (), {"shape": list(sides), "dtype": kind.name}, kind, sides))


def full_like(x: Array, /, fill_value: Any, *, dtype: Optional[DType] = None, device: Optional[str] = None) -> Array:
    """All one value, of an array's shape and dtype."""
    return full(x.shape, fill_value, dtype=x.dtype if dtype is None else dtype, device=device)


def zeros_like(x: Array, /, *, dtype: Optional[DType] = None, device: Optional[str] = None) -> Array:
    """All 0, of an array's shape and dtype."""
    return zeros(x.shape, dtype=x.dtype if dtype is None else dtype, device=device)


def ones_like(x: Array, /, *, dtype: Optional[DType] = None, device: Optional[str] = None) -> Array:
    """All 1, of an array's shape and dtype."""
    return ones(x.shape, dtype=x.dtype if dtype is None else dtype, device=device)


def empty_like(x: Array, /, *, dtype: Optional[DType] = None, device: Optional[str] = None) -> Array:
    """All 0, too, of an array's shape and dtype."""
    return zeros_like(x, dtype=dtype, device=device)


def eye(
    n_rows: int,
    n_cols: Optional[int] = None,
    /,
    *,
    k: int = 0,
    dtype: Optional[DType] = None,
    device: Optional[str] = None,
) -> Array:
    """1 on a diagonal, else 0; k: how far above the main one."""
    check_device(device)
    kind = float64 if dtype is None else dtype_of(dtype)
    shape = shape_of((n_rows, n_rows if n_cols is None else n_cols))
    params = {"rows": shape[0], "columns": shape[1], "offset": k, "dtype": kind.name}
    return Array(Node("eye", (), params, kind, shape))


def arange(
    start: Number,
    /,
    stop: Optional[Number] = None,
    step: Number = 1,
    *,
    dtype: Optional[DType] = None,
    device: Optional[str] = None,
) -> Array:
    """start, start + step, ... before stop."""
    check_device(device)
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("a step is not 0")
    given = (start, stop, step)
    is_integer = all(isinstance(one, int) for one in given)
    kind = (int64 if is_integer else float64) if dtype is None else dtype_of(dtype)
    count = len(range(*map(int, given))) if is_integer else max(0, math.ceil((stop - start) / step))
    if count == 0:
        return Array(_steps.full((0,), 0, kind))
    if is_integer and all(-(2**62) < one < 2**62 for one in given):
        params = {"start": start, "stop": stop, "step": step}
        return Array(_steps.astype(Node("arange", (), params, int64, (count,)), kind))
    places = _steps.astype(Node("arange", (), {"start": 0, "stop": count}, int64, (count,)), kind if is_integer else float64)
    if count > 1:
        places = _steps.with_scalar("multiply", places, step)
    return Array(_steps.astype(_steps.with_scalar("add", places, start), kind))


def linspace(
    start: Number,
    stop: Number,
    /,
    num: int,
    *,
    dtype: Optional[DType] = None,
    device: Optional[str] = None,
    endpoint: bool = True,
) -> Array:
    """num values at equal distances; endpoint: whether stop is the last."""
    check_device(device)
    (count,) = shape_of(num)
    kind = float64 if dtype is None else dtype_of(dtype)
    params = {"start": float(start), "stop": float(stop), "count": count, "endpoint": bool(endpoint)}
    return Array(_steps.astype(Node("linspace", (), params, float64, (count,)), kind))


def meshgrid(*arrays: Array, indexing: str = "xy") -> list[Array]:
    """Of vectors of one dtype: each stretched to the grid that all of them span."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing {indexing!r}: it is 'xy' or 'ij'")
    if len({one.dtype for one in arrays}) > 1:
        raise ValueError("meshgrid() takes arrays of one dtype")
    if any(one.ndim > 1 for one in arrays):
        raise ValueError("meshgrid() takes vectors")
    nodes = [_steps.flatten(one._node) for one in arrays]
    shape = [node.size for node in nodes]
    if indexing == "xy" and len(shape) > 1:
        shape[:2] = shape[1::-1]
    made = []
    for part, node in enumerate(nodes):
        made.append(Array(Node("meshgrid", nodes, {"part": part, "indexing": indexing}, node.dtype, tuple(shape))))
    return made


def tril(x: Array, /, *, k: int = 0) -> Array:
    """0 above a diagonal of the last two axes."""
    return _band("tril", x, k)


def triu(x: Array, /, *, k: int = 0) -> Array:
    """0 below a diagonal of the last two axes."""
    return _band("triu", x, k)


def _band(operator: str, x: Array, k: int) -> Array:
    if x.ndim < 2:
        raise ValueError(f"{operator}() takes matrices; this array has {x.ndim} dimensions")
    return Array(Node(operator, (x._node,), {"offset": k}, x.dtype, x.shape))


