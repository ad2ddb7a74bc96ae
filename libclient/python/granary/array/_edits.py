"""insert, delete, append: arrays with more elements, or fewer."""
from __future__ import annotations

import operator
from typing import Any, Optional

import numpy as np

from . import _given, _steps
from ._dtypes import bool as bool_
from ._node import Node, Shape, broadcast
from ._object import Array


def append(arr: Any, values: Any, axis: Optional[int] = None) -> Array:
    """Values behind an array along an axis; without it both are flat."""
    one, other = _with_axis(_given.node(arr), axis), _with_axis(_given.node(values), axis)
    dtype = _given.together(one.dtype, other.dtype)
    return Array(_steps.concat([_steps.astype(one, dtype), _steps.astype(other, dtype)], _axis(one, axis)))


def _with_axis(node: Node, axis: Optional[int]) -> Node:
    return _steps.flatten(node) if axis is None else node


def _axis(node: Node, axis: Optional[int]) -> int:
    return 0 if axis is None else _steps.axis_of(axis, node.ndim)


def _places(obj: Any, side: int, name: str) -> tuple[list[int], bool]:
    """Positions from 0 up, and whether a number was given: of a slice, a list or an array, whose values are read."""
    if isinstance(obj, slice):
        return list(range(*obj.indices(side))), False
    is_number = not isinstance(obj, (list, tuple)) and not np.ndim(obj)
    value = np.asarray(obj) if not is_number else np.asarray([operator.index(obj)])
    if not value.size:
        return [], False
    if value.dtype == bool and value.shape == (side,):
        return [int(one) for one in np.flatnonzero(value)], False
    if value.ndim != 1 or value.dtype.kind not in "iu":
        raise IndexError(f"{name}() takes a number, a slice, or a vector of integers or of a bool for each element")
    least, most = int(value.min()), int(value.max())
    last = side if name == "insert" else side - 1
    if least < -side or most > last:
        raise IndexError(f"index {least if least < -side else most} is out of bounds of {side} elements")
    return [int(one) % side if one < 0 else int(one) for one in value], is_number


def delete(arr: Any, obj: Any, axis: Optional[int] = None) -> Array:
    """Without some elements: those at a number, a slice, a list of positions, or where a mask is true."""
    node = _with_axis(_given.node(arr), axis)
    at = _axis(node, axis)
    side = node.shape[at]
    if isinstance(obj, Array) and obj.dtype == bool_ and obj.shape == (side,) and at == 0 and node.size:
        return Array(Node("delete", (node, obj._node), {"axis": 0}, node.dtype, (None, *node.shape[1:])))
    gone = sorted(set(_places(obj, side, "delete")[0]))
    if not gone:
        return Array(node)
    shape = (*node.shape[:at], side - len(gone), *node.shape[at + 1 :])
    if gone[-1] - gone[0] + 1 == len(gone):  # one run: however long it is
        before = (*[slice(None)] * at, slice(0, gone[0]))
        behind = (*[slice(None)] * at, slice(gone[-1] + 1, None))
        return Array(_steps.concat([_steps.getitem(node, before), _steps.getitem(node, behind)], at))
    return Array(Node("delete", (node,), {"indices": gone, "axis": at}, node.dtype, shape))


def insert(arr: Any, obj: Any, values: Any, axis: Optional[int] = None) -> Array:
    """Values in front of some elements: all in front of one, or each in front of its own."""
    node, given = _with_axis(_given.node(arr), axis), _given.node(values)
    at = _axis(node, axis)
    places, is_number = _places(obj, node.shape[at], "insert")
    if _given.together(node.dtype, given.dtype) != node.dtype:
        raise TypeError(f"{given.dtype} cannot be put among {node.dtype}: use astype()")
    if axis is None:
        given = _steps.flatten(given)
    if not places:
        return Array(node)
    if is_number and given.ndim:  # NumPy's rule: as a[:, 1] = values, and not as a[:, [1]] = values
        given = _steps.reshape(given, (*[1] * (node.ndim - given.ndim), *given.shape))
        given = _steps.move_axis(given, 0, at) if node.ndim > 1 else given
    wide = given.shape[at - node.ndim] if given.ndim >= node.ndim - at else 1
    many = wide if len(places) == 1 else len(places)
    spread: Shape = (*node.shape[:at], many, *node.shape[at + 1 :])
    if broadcast(given.shape, spread) != spread:
        raise ValueError(f"values of shape {given.shape} do not stretch to {spread}")
    shape = (*node.shape[:at], node.shape[at] + many, *node.shape[at + 1 :])
    params = {"indices": places, "axis": at}
    return Array(Node("insert", (node, _steps.astype(given, node.dtype)), params, node.dtype, shape))
