"""Functions that move elements, and change dtypes and shapes."""
from __future__ import annotations

from typing import Any, Optional, Sequence, Union

from . import _steps
from ._creation import shape_of
from ._dtypes import DType, dtype_of, result_type
from ._elementwise import node_of
from ._node import Node, Shape, broadcast
from ._object import Array

Axis = Optional[Union[int, tuple[int, ...]]]


def astype(x: Array, dtype: DType, /, *, copy: bool = True) -> Array:
    """Another dtype: floats are cut towards 0, integers wrap."""
    return x if dtype_of(dtype) == x.dtype and not copy else Array(_steps.astype(node_of("astype", x), dtype_of(dtype)))


def broadcast_to(x: Array, /, shape: Shape) -> Array:
    """Stretched to a shape."""
    return Array(_steps.broadcast_to(node_of("broadcast_to", x), shape_of(shape)))


def broadcast_arrays(*arrays: Array) -> list[Array]:
    """Stretched to the shape that all of them have together."""
    shape = broadcast(*[one.shape for one in arrays])
    return [Array(_steps.broadcast_to(one._node, shape)) for one in arrays]


def _of_one_dtype(name: str, arrays: Sequence[Array]) -> list[Node]:
    nodes = [node_of(name, one) for one in arrays]
    if not nodes:
        raise ValueError(f"{name}() needs at least one array")
    dtype = result_type(*nodes)
    return [_steps.astype(node, dtype) for node in nodes]


def concat(arrays: Union[tuple[Array, ...], list[Array]], /, *, axis: Optional[int] = 0) -> Array:
    """Behind one another along an axis; None: all of them flat."""
    nodes = _of_one_dtype("concat", arrays)
    if axis is None:
        nodes, axis = [_steps.flatten(node) for node in nodes], 0
    return Array(_steps.concat(nodes, _steps.axis_of(axis, nodes[0].ndim)))


def stack(arrays: Union[tuple[Array, ...], list[Array]], /, *, axis: int = 0) -> Array:
    """Side by side along a new axis."""
    nodes = _of_one_dtype("stack", arrays)
    return Array(_steps.stack(nodes, _steps.axis_of(axis, nodes[0].ndim + 1)))


def expand_dims(x: Array, /, *, axis: int = 0) -> Array:
    """A new axis of one element."""
    return Array(_steps.expand(node_of("expand_dims", x), axis))


def squeeze(x: Array, /, axis: Union[int, tuple[int, ...]]) -> Array:
    """Without axes of one element."""
    return Array(_steps.squeeze(node_of("squeeze", x), _steps.axes_of(axis, x.ndim)))


def flip(x: Array, /, *, axis: Axis = None) -> Array:
    """Backwards along axes."""
    return Array(_steps.flip(node_of("flip", x), _steps.axes_of(axis, x.ndim)))


def permute_dims(x: Array, /, axes: tuple[int, ...]) -> Array:
    """Axes in another order."""
    return Array(_steps.permute(node_of("permute_dims", x), axes))


def reshape(x: Array, /, shape: Shape, *, copy: Optional[bool] = None) -> Array:
    """The same elements, row-major, in another shape; one side may be -1."""
    sides: Any = shape if isinstance(shape, (tuple, list)) else (shape,)
    return Array(_steps.reshape(node_of("reshape", x), sides))


def roll(x: Array, /, shift: Union[int, tuple[int, ...]], *, axis: Axis = None) -> Array:
    """Moved round along axes; None: along all elements."""
    node = node_of("roll", x)
    if axis is None:
        if isinstance(shift, tuple):
            raise ValueError("several shifts need axes")
        return Array(_steps.reshape(_roll(_steps.flatten(node), [shift], [0]), x.shape))
    axes = [_steps.axis_of(one, x.ndim) for one in (axis if isinstance(axis, tuple) else (axis,))]
    shifts = list(shift) if isinstance(shift, tuple) else [shift] * len(axes)
    if len(shifts) != len(axes):
        raise ValueError(f"{len(shifts)} shifts for {len(axes)} axes")
    return Array(_roll(node, shifts, axes))


def _roll(node: Node, shifts: Sequence[int], axes: Sequence[int]) -> Node:
    total = dict.fromkeys(axes, 0)
    for axis, shift in zip(axes, shifts):
        total[axis] += int(shift)
    total = {axis: shift % node.shape[axis] for axis, shift in total.items() if node.shape[axis] and shift % node.shape[axis]}
    if not total:
        return node
    return Node("roll", (node,), {"shift": list(total.values()), "axes": list(total)}, node.dtype, node.shape)


def where(condition: Array, x1: Array, x2: Array, /) -> Array:
    """Elements of x1 where the condition is true, else of x2."""
    return Array(_steps.where(node_of("where", condition), node_of("where", x1), node_of("where", x2)))
