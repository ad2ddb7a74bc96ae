"""Products of vectors and matrices."""
from __future__ import annotations

import math
from typing import Sequence, Union

from . import _steps
from ._dtypes import need, promote
from ._elementwise import node_of
from ._node import Node, broadcast
from ._object import Array
from ._operators import OTHERS


def matmul(x1: Array, x2: Array, /) -> Array:
    """Matrix product, of stacks of matrices, too."""
    return Array(_steps.matmul(node_of("matmul", x1), node_of("matmul", x2)))


def matrix_transpose(x: Array, /) -> Array:
    """The last two axes change places."""
    return Array(_steps.transpose(node_of("matrix_transpose", x)))


def tensordot(x1: Array, x2: Array, /, *, axes: Union[int, tuple[Sequence[int], Sequence[int]]] = 2) -> Array:
    """Sums of products along pairs of axes; a number: the last ones of x1 with the first ones of x2."""
    one, other = node_of("tensordot", x1), node_of("tensordot", x2)
    need("tensordot", "numeric", one.dtype, other.dtype)
    dtype = promote(one.dtype, other.dtype)
    if isinstance(axes, int):
        if not 0 <= axes <= min(one.ndim, other.ndim):
            raise ValueError(f"{axes} axes of arrays with {one.ndim} and {other.ndim} dimensions")
        left, right = list(range(one.ndim - axes, one.ndim)), list(range(axes))
    else:
        left, right = _steps.axes_of(tuple(axes[0]), one.ndim), _steps.axes_of(tuple(axes[1]), other.ndim)
    sides = [one.shape[i] for i in left]
    if sides != [other.shape[i] for i in right]:
        raise ValueError(f"axes {left} of {one.shape} and {right} of {other.shape} do not have the same sides")
    rows = [i for i in range(one.ndim) if i not in left]
    columns = [i for i in range(other.ndim) if i not in right]
    shape = (*[one.shape[i] for i in rows], *[other.shape[i] for i in columns])
    if math.prod(sides) == 0:
        return Array(_steps.full(shape, 0, dtype))
    if not left:
        spread = _steps.reshape(one, (*one.shape, *[1] * other.ndim))
        return Array(_steps.binary("multiply", spread, other))
    return Array(Node(OTHERS["tensordot"], (one, other), {"axes_a": left, "axes_b": right}, dtype, shape))


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Sums of products along an axis; of complex numbers the first ones are conjugated."""
    one, other = node_of("vecdot", x1), node_of("vecdot", x2)
    need("vecdot", "numeric", one.dtype, other.dtype)
    one = _steps.unary("conj", one)
    ndim = max(one.ndim, other.ndim)
    at = _steps.axis_of(axis, ndim)
    shapes = [(*[1] * (ndim - node.ndim), *node.shape) for node in (one, other)]
    if shapes[0][at] != shapes[1][at]:
        raise ValueError(f"vectors of {shapes[0][at]} and {shapes[1][at]} elements")
    shape = broadcast(*shapes)
    left, right = [_steps.move_axis(_steps.broadcast_to(node, shape), at, -1) for node in (one, other)]
    product = _steps.matmul(_steps.expand(left, -2), _steps.expand(right, -1))
    return Array(_steps.squeeze(product, [product.ndim - 2, product.ndim - 1]))
