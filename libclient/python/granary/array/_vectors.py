"""Vectors along one another, and positions along an axis."""
from __future__ import annotations

from typing import Any

from . import _given, _steps
from ._node import Node, Shape, broadcast
from ._object import Array


def convolve(a: Any, v: Any, mode: str = "full") -> Array:
    """Sums of products of a vector with another one that runs backwards along it. mode: 'full', 'same' or 'valid'."""
    return _two("convolve", a, v, mode)


def correlate(a: Any, v: Any, mode: str = "valid") -> Array:
    """Sums of products of a vector with another one that runs along it."""
    return _two("correlate", a, v, mode)


def _two(name: str, a: Any, v: Any, mode: str) -> Array:
    one, other = [_given.node(value) for value in (a, v)]
    one, other = [_steps.reshape(node, (1,)) if not node.ndim else node for node in (one, other)]
    if one.ndim != 1 or other.ndim != 1 or not one.size or not other.size:
        raise ValueError(f"{name}() takes two vectors that are not empty, not arrays of shapes {one.shape} and {other.shape}")
    least, most = sorted((one.size, other.size))
    sizes = {"full": most + least - 1, "same": most, "valid": most - least + 1}
    if mode not in sizes:
        raise ValueError(f"mode {mode!r}: it is 'full', 'same' or 'valid'")
    return Array(Node(name, (one, other), {"mode": mode}, _given.together(one.dtype, other.dtype), (sizes[mode],)))


def take_along_axis(arr: Any, indices: Any, axis: int = -1) -> Array:
    """Elements at positions along an axis, which each line has of its own: those of argsort(), for instance."""
    one, other = _given.node(arr), _given.node(indices)
    at, shape = _lines("take_along_axis", one, other, axis)
    return Array(Node("take_along_axis", (one, other), {"axis": at}, one.dtype, shape))


def put_along_axis(arr: Array, indices: Any, values: Any, axis: int = -1) -> None:
    """Sets elements of an array at positions along an axis; of equal positions the last counts."""
    if not isinstance(arr, Array):
        raise TypeError(f"put_along_axis() sets elements of an array, not of {type(arr).__name__}")
    one, other, given = arr._node, _given.node(indices), _given.node(values)
    at, shape = _lines("put_along_axis", one, other, axis)
    if _given.together(one.dtype, given.dtype) != one.dtype:
        raise TypeError(f"elements of {one.dtype} cannot be set to {given.dtype}: use astype()")
    if broadcast(given.shape, shape) != shape or any(side != own for i, (side, own) in enumerate(zip(shape, one.shape)) if i != at):
        raise ValueError(f"values of shape {given.shape} at positions of shape {other.shape} do not fit an array of shape {one.shape}")
    if 0 not in shape and one.size:
        arr._node = Node("put_along_axis", (one, other, _steps.astype(given, one.dtype)), {"axis": at}, one.dtype, one.shape)


def _lines(name: str, one: Node, other: Node, axis: int) -> tuple[int, Shape]:
    """The axis, and the shape of the positions as they stretch to the array."""
    if other.dtype.kind not in "iu":
        raise IndexError(f"positions are integers, not {other.dtype}")
    if one.ndim != other.ndim:
        raise ValueError(f"{name}(): positions of {other.ndim} dimensions for an array of {one.ndim}")
    at = _steps.axis_of(axis, one.ndim)
    shape = broadcast(*[tuple(1 if i == at else side for i, side in enumerate(node.shape)) for node in (one, other)])
    return at, (*shape[:at], other.shape[at], *shape[at + 1 :])
