"""Values below which a part of the elements lies: one, or several at once."""
from __future__ import annotations

from typing import Any, Optional

import numpy as np

from . import _given, _steps
from ._node import Node
from ._object import Array

METHODS = ("linear", "lower", "higher", "nearest", "midpoint")


def quantile(a: Any, q: Any, axis: Optional[int] = None, *, method: str = "linear", keepdims: bool = False) -> Array:
    """The value below which a part of the elements lies; several parts are side by side along a new first axis."""
    return _of("tensor_quantile", a, q, axis, method, keepdims)


def nanquantile(a: Any, q: Any, axis: Optional[int] = None, *, method: str = "linear", keepdims: bool = False) -> Array:
    """The quantile without nan."""
    return _of("nanquantile", a, q, axis, method, keepdims)


def percentile(a: Any, q: Any, axis: Optional[int] = None, *, method: str = "linear", keepdims: bool = False) -> Array:
    """The quantile, of 100."""
    return _of("percentile", a, q, axis, method, keepdims)


def nanpercentile(a: Any, q: Any, axis: Optional[int] = None, *, method: str = "linear", keepdims: bool = False) -> Array:
    """The percentile without nan."""
    return _of("nanpercentile", a, q, axis, method, keepdims)


def median(a: Any, axis: Optional[int] = None, *, keepdims: bool = False) -> Array:
    """The middle element, or the mean of both; nan when there is one."""
    return _of("median", a, None, axis, None, keepdims)


def nanmedian(a: Any, axis: Optional[int] = None, *, keepdims: bool = False) -> Array:
    """The median without nan."""
    return _of("nanmedian", a, None, axis, None, keepdims)


def _of(operator: str, a: Any, q: Any, axis: Optional[int], method: Optional[str], keepdims: bool) -> Array:
    node = _given.node(a)
    at = None if axis is None else _steps.axis_of(axis, node.ndim)
    kept = () if at is None else _given.without(node.shape, at)
    params: dict[str, Any] = {} if at is None else {"axis": at}
    several: tuple[int, ...] = ()
    if method is not None:
        parts = np.asarray(q, dtype=float)
        most = 100 if "percentile" in operator else 1
        if method not in METHODS:
            raise ValueError(f"method {method!r}: it is {', '.join(METHODS)}")
        if parts.ndim > 1 or not parts.size or not ((parts >= 0) & (parts <= most)).all():
            raise ValueError(f"parts are a number of 0 to {most}, or a list of such numbers")
        several = parts.shape
        params.update(q=parts.tolist(), method=method)
    made = Node(operator, (node,), params, _given.floating(node.dtype), (*several, *kept))
    if keepdims:
        own = (1,) * node.ndim if at is None else (*node.shape[:at], 1, *node.shape[at + 1 :])
        made = _steps.reshape(made, (*several, *own))
    return Array(made)
