"""Sums and other statistics, positions of the largest and smallest, and order."""
from __future__ import annotations

import builtins
import math
from typing import Any, Optional, Union

from . import _dtypes, _steps
from ._dtypes import DType, complex128, dtype_of, float64, int64, need
from ._elementwise import node_of
from ._masks import positions
from ._node import Node
from ._object import Array

Axis = Optional[Union[int, tuple[int, ...]]]


def _total(name: str, x: Array, axis: Axis, dtype: Any, keepdims: builtins.bool) -> Array:
    node = node_of(name, x)
    need(name, "numeric", node.dtype)
    if dtype is None:
        wanted = complex128 if node.dtype.kind == "c" else float64 if node.dtype.kind == "f" else _dtypes.uint64 if node.dtype.kind == "u" else int64
    else:
        wanted = dtype_of(dtype)
    # In the wanted dtype when that is a wider one: a sum of integers has 64 bits before it becomes something narrower.
    source = _steps.astype(node, wanted) if wanted.kind != node.dtype.kind or wanted.kind in "fc" else node
    return Array(_steps.astype(_steps.reduction(name, source, axis, keepdims), wanted))


def sum(x: Array, /, *, axis: Axis = None, dtype: Optional[DType] = None, keepdims: builtins.bool = False) -> Array:
    """Sum over axes. One that its dtype cannot hold is an error when it is computed, not another number."""
    return _total("sum", x, axis, dtype, keepdims)


def prod(x: Array, /, *, axis: Axis = None, dtype: Optional[DType] = None, keepdims: builtins.bool = False) -> Array:
    """Product over axes."""
    return _total("prod", x, axis, dtype, keepdims)


def _reduce(name: str, kind: str, x: Array, axis: Axis, keepdims: builtins.bool, **params: Any) -> Array:
    node = node_of(name, x)
    need(name, kind, node.dtype)
    return Array(_steps.reduction(name, node, axis, keepdims, **params))


def max(x: Array, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Array:
    """Largest over axes; nan when there is one."""
    return _reduce("max", "real numeric", x, axis, keepdims)


def min(x: Array, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Array:
    """Smallest over axes; nan when there is one."""
    return _reduce("min", "real numeric", x, axis, keepdims)


def mean(x: Array, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Array:
    """Mean over axes."""
    return _reduce("mean", "floating", x, axis, keepdims)


def var(x: Array, /, *, axis: Axis = None, correction: Union[int, float] = 0.0, keepdims: builtins.bool = False) -> Array:
    """Variance over axes; correction: what the count is lessened by."""
    return _reduce("var", "floating", x, axis, keepdims, ddof=float(correction))


def std(x: Array, /, *, axis: Axis = None, correction: Union[int, float] = 0.0, keepdims: builtins.bool = False) -> Array:
    """Standard deviation over axes; correction: what the count is lessened by."""
    return _reduce("std", "floating", x, axis, keepdims, ddof=float(correction))


def all(x: Array, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Array:
    """Whether none is 0."""
    return _reduce("all", "any", x, axis, keepdims)


def any(x: Array, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Array:
    """Whether one is not 0."""
    return _reduce("any", "any", x, axis, keepdims)


def argmax(x: Array, /, *, axis: Optional[int] = None, keepdims: builtins.bool = False) -> Array:
    """Position of the first largest; of the first nan when there is one."""
    return _reduce("argmax", "real numeric", x, axis, keepdims)


def argmin(x: Array, /, *, axis: Optional[int] = None, keepdims: builtins.bool = False) -> Array:
    """Position of the first smallest; of the first nan when there is one."""
    return _reduce("argmin", "real numeric", x, axis, keepdims)


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """Positions of what is not 0: a vector for each axis."""
    node = node_of("nonzero", x)
    if not node.ndim:
        node = _steps.flatten(node)
    flat = positions(node)
    found = []
    for axis, side in enumerate(node.shape):
        place: Node = flat
        below = math.prod(node.shape[axis + 1 :])
        if below > 1:
            place = _steps.with_scalar("floor_divide", place, below)
        if axis > 0 and side > 0:
            place = _steps.with_scalar("remainder", place, side)
        found.append(Array(place))
    together(found)
    return tuple(found)


def together(arrays: list[Array]) -> None:
    """When one is computed, those that are wanted still are computed in the same graph."""
    from weakref import ref

    references = [ref(one._node) for one in arrays]
    for one in arrays:
        one._node.together = references


def sort(x: Array, /, *, axis: int = -1, descending: builtins.bool = False, stable: builtins.bool = True) -> Array:
    """In order along an axis; nan last."""
    return _ordered("sort", "tensor_sort", x, axis, descending)


def argsort(x: Array, /, *, axis: int = -1, descending: builtins.bool = False, stable: builtins.bool = True) -> Array:
    """Positions in order along an axis; equal elements keep theirs."""
    return _ordered("argsort", "argsort", x, axis, descending)


def _ordered(name: str, operator: str, x: Array, axis: int, descending: builtins.bool) -> Array:
    node = node_of(name, x)
    need(name, "real numeric or bool", node.dtype)
    sortable = _steps.astype(node, _dtypes.uint8) if node.dtype == _dtypes.bool else node
    dtype = int64 if name == "argsort" else sortable.dtype
    ordered = _steps.along(operator, sortable, _steps.axis_of(axis, node.ndim), dtype, descending=builtins.bool(descending))
    return Array(ordered if name == "argsort" else _steps.astype(ordered, node.dtype))
