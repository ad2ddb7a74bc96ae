"""Nodes that give one operator, with the dtype and shape that follow; errors come here, before anything runs."""
from __future__ import annotations

import cmath
import math
from typing import Any, Optional, Sequence, Union

import numpy as np

from . import _index
from ._dtypes import DType, bool as bool_, complex_of, int64, need as need, part_of, promote, uint64
from ._node import Node, PartialShape, Shape, broadcast, literal
from ._operators import BINARY, OTHERS, REDUCTIONS, UNARY

Scalar = Union[bool, int, float, complex]
Axis = Optional[Union[int, tuple[int, ...]]]

MOST_INPUTS = 1000
"""Of concatenate and stack."""


class AxisError(ValueError, IndexError):
    """An axis that the array has not."""


def axis_of(axis: Any, ndim: int) -> int:
    """An axis from 0 up."""
    at = int(axis.__index__())
    if not -ndim <= at < ndim:
        raise AxisError(f"axis {at} is out of bounds: the array has {ndim} dimensions")
    return at % ndim


def axes_of(axis: Any, ndim: int) -> list[int]:
    """Axes from 0 up; all of None."""
    if axis is None:
        return list(range(ndim))
    axes = [axis_of(one, ndim) for one in (axis if isinstance(axis, (tuple, list)) else (axis,))]
    if len(set(axes)) != len(axes):
        raise ValueError(f"an axis stands twice in {axis}")
    return axes


# ---- sources ----


def number(value: Scalar, dtype: DType) -> Any:
    """A finite scalar as JSON of graphs."""
    if dtype.kind == "c":
        value = complex(value)
        return f"{value.real!r}{value.imag:+}j"
    assert not isinstance(value, complex)
    if dtype.kind == "f":
        return float(value)
    return int(value) if -(2**63) <= value < 2**63 else str(int(value))


def check_fits(value: Scalar, dtype: DType) -> None:
    """TypeError when a Python scalar is of a larger kind than the dtype, OverflowError when it does not fit."""
    if isinstance(value, bool) or isinstance(value, np.bool_):
        if dtype != bool_:
            raise TypeError(f"a bool beside {dtype}: the standard mixes bools with arrays of bools only")
    elif isinstance(value, (int, np.integer)):
        if dtype == bool_:
            raise TypeError("an integer beside bool: the standard mixes integers with numeric arrays only")
        if dtype.kind in "iu" and not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
            raise OverflowError(f"{value} does not fit {dtype}")
    elif isinstance(value, complex) and dtype.kind not in "fc":
        raise TypeError(f"a complex number beside {dtype}: the standard mixes those with floating arrays only")
    elif dtype.kind not in "fc":
        raise TypeError(f"a float beside {dtype}: the standard mixes floats with floating arrays only")


def full(shape: Shape, value: Scalar, dtype: DType) -> Node:
    """All one value."""
    if isinstance(value, complex) and dtype.kind != "c":
        raise TypeError(f"{value} is no value of {dtype}")
    if dtype.kind in "iu":
        assert not isinstance(value, complex)
        check_fits(int(value), dtype)
    if dtype.kind in "fc" and not cmath.isfinite(value):
        return broadcast_to(literal(np.array(value, dtype)), shape)
    return Node("full", (), {"shape": list(shape), "dtype": dtype.name, "value": number(value, dtype)}, dtype, shape)


# ---- element-wise ----


def unary(name: str, x: Node) -> Node:
    function = UNARY[name]
    need(name, function.takes, x.dtype)
    if name in ("ceil", "floor", "round", "trunc", "positive") and x.dtype.kind in "iu":
        return x
    if name in ("conj", "real") and x.dtype.kind != "c":
        return x
    dtype = bool_ if function.is_predicate else part_of(x.dtype) if function.is_part else x.dtype
    return Node(function.operator, (x,), {}, dtype, x.partial_shape)


def binary(name: str, one: Node, other: Node) -> Node:
    """Of infinities, floor_divide() is not NumPy's in the standard: it is the whole part of what divide() gives."""
    function = BINARY[name]
    need(name, function.takes, one.dtype, other.dtype)
    dtype = promote(one.dtype, other.dtype)
    shape = broadcast(one.shape, other.shape)
    made = Node(function.operator, (one, other), {}, bool_ if function.is_predicate else dtype, shape)
    if name == "floor_divide" and dtype.kind == "f":
        infinite = binary("logical_or", unary("isinf", one), unary("isinf", other))
        return where(infinite, unary("floor", binary("divide", one, other)), made)
    return made


def with_scalar(name: str, x: Node, value: Scalar, is_left: bool = False) -> Node:
    """A function of an array and a Python scalar, which takes the array's dtype."""
    function = BINARY[name]
    need(name, function.takes, x.dtype)
    check_fits(value, x.dtype)
    if isinstance(value, complex) and x.dtype.kind == "f":
        x = astype(x, complex_of(x.dtype))
    if x.dtype == bool_ or not cmath.isfinite(value):
        operand = full((), value, x.dtype)
        return binary(name, operand, x) if is_left else binary(name, x, operand)
    params: dict[str, Any] = {"value": number(value, x.dtype)}
    if is_left:
        params["left"] = True
    made = Node(function.operator, (x,), params, bool_ if function.is_predicate else x.dtype, x.partial_shape)
    if name == "floor_divide" and x.dtype.kind == "f":
        return where(unary("isinf", x), unary("floor", with_scalar("divide", x, value, is_left)), made)
    return made


def astype(x: Node, dtype: DType) -> Node:
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        raise TypeError(f"an array of {x.dtype} does not become {dtype}: take its real(), imag() or abs()")
    return x if x.dtype == dtype else Node(OTHERS["astype"], (x,), {"dtype": dtype.name}, dtype, x.partial_shape)


def where(condition: Node, one: Node, other: Node) -> Node:
    need("where", "bool", condition.dtype)
    dtype = promote(one.dtype, other.dtype)
    shape = broadcast(condition.shape, one.shape, other.shape)
    return Node(OTHERS["where"], (condition, astype(one, dtype), astype(other, dtype)), {}, dtype, shape)


# ---- reductions ----


def reduced_shape(x: Node, axes: Sequence[int], keepdims: bool) -> PartialShape:
    if len(axes) == x.ndim:
        return (1,) * x.ndim if keepdims else ()
    shape = x.shape
    return tuple(1 if i in axes else side for i, side in enumerate(shape) if keepdims or i not in axes)


def reduction(name: str, x: Node, axis: Axis, keepdims: bool, **params: Any) -> Node:
    """As granary gives it: sums and products of integers as 64 bits, positions as int64."""
    axes = axes_of(axis, x.ndim)
    shape = reduced_shape(x, axes, keepdims)
    if not x.ndim and name in ("argmax", "argmin"):
        return full((), 0, int64)
    if not x.ndim and name in ("max", "min"):
        return x
    if name in ("sum", "prod"):
        dtype = x.dtype if x.dtype.kind in "fc" else uint64 if x.dtype.kind == "u" else int64
    elif name in ("var", "std"):
        dtype = part_of(x.dtype)
    elif name in ("argmax", "argmin"):
        dtype = int64
    else:
        dtype = bool_ if name in ("all", "any") else x.dtype
    if name in ("max", "min", "argmax", "argmin") and any(x.shape[i] == 0 for i in axes):
        raise ValueError(f"{name}() of nothing: the array has shape {x.shape}")
    if not axes:
        x = reshape(x, (1, *x.shape))  # no axes given would be all of them
        axes, shape = [0], (shape if not keepdims else x.shape[1:])
        keepdims = False
    given: dict[str, Any] = {"axes": axes, "keepdims": keepdims, **params}
    if axis is None and name in ("argmax", "argmin"):
        del given["axes"]  # a position among all elements
    return Node(REDUCTIONS[name], (x,), given, dtype, shape)


# ---- moves ----


def reshape(x: Node, shape: Sequence[int]) -> Node:
    sides = [int(side.__index__()) for side in shape]
    if sides.count(-1) > 1 or any(side < -1 for side in sides):
        raise ValueError(f"a shape has no negative sides but one -1, unlike {tuple(sides)}")
    known = math.prod(side for side in sides if side != -1)
    if -1 in sides and known and x.size % known == 0:
        sides[sides.index(-1)] = x.size // known
    if math.prod(sides) != x.size or -1 in sides:
        raise ValueError(f"an array of shape {x.shape} has {x.size} elements, unlike one of shape {tuple(shape)}")
    if tuple(sides) == x.shape:
        return x
    return Node(OTHERS["reshape"], (x,), {"shape": sides}, x.dtype, tuple(sides))


def broadcast_to(x: Node, shape: Shape) -> Node:
    if x.shape == shape:
        return x
    if broadcast(x.shape, shape) != shape:
        raise ValueError(f"an array of shape {x.shape} does not stretch to {shape}")
    return Node(OTHERS["broadcast_to"], (x,), {"shape": list(shape)}, x.dtype, shape)


def permute(x: Node, axes: Sequence[int]) -> Node:
    order = axes_of(tuple(axes), x.ndim)
    if len(order) != x.ndim:
        raise ValueError(f"{tuple(axes)} does not name each of {x.ndim} axes")
    if order == sorted(order):
        return x
    return Node(OTHERS["permute_dims"], (x,), {"axes": order}, x.dtype, tuple(x.shape[i] for i in order))


def transpose(x: Node) -> Node:
    """Of matrices: the last two axes change places."""
    if x.ndim < 2:
        raise ValueError(f"a matrix has two dimensions or more, not {x.ndim}")
    return permute(x, [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2])


def move_axis(x: Node, source: int, to: int) -> Node:
    order = [i for i in range(x.ndim) if i != source]
    order.insert(to if to >= 0 else x.ndim + to, source)
    return permute(x, order)


def expand(x: Node, axis: int) -> Node:
    at = axis_of(axis, x.ndim + 1)
    return Node(OTHERS["expand_dims"], (x,), {"axes": [at]}, x.dtype, (*x.shape[:at], 1, *x.shape[at:]))


def squeeze(x: Node, axes: Sequence[int]) -> Node:
    wide = [i for i in axes if x.shape[i] != 1]
    if wide:
        raise ValueError(f"axis {wide[0]} has {x.shape[wide[0]]} elements: squeeze() takes away axes of one")
    if not axes:
        return x
    shape = tuple(side for i, side in enumerate(x.shape) if i not in axes)
    return Node(OTHERS["squeeze"], (x,), {"axes": list(axes)}, x.dtype, shape)


def flip(x: Node, axes: Sequence[int]) -> Node:
    return Node(OTHERS["flip"], (x,), {"axes": list(axes)}, x.dtype, x.shape) if axes else x


def getitem(x: Node, key: Any) -> Node:
    """Of an index of integers, slices, ... and None."""
    index = _index.parse(key, x.shape)
    if index.is_all:
        return x
    return Node("getitem", (x,), {"index": index.text}, x.dtype, index.shape, index.key)


def concat(nodes: Sequence[Node], axis: int) -> Node:
    """Of one dtype; shapes are alike but for the axis."""
    shapes = [node.shape for node in nodes]
    for shape in shapes:
        if len(shape) != len(shapes[0]) or any(i != axis and shape[i] != shapes[0][i] for i in range(len(shape))):
            raise ValueError(f"arrays of shapes {shapes[0]} and {shape} do not fit together along axis {axis}")
    filled = [node for node in nodes if node.shape[axis] or len(nodes) == 1] or [nodes[0]]
    while len(filled) > 1:
        filled = [_concat(filled[i : i + MOST_INPUTS], axis) for i in range(0, len(filled), MOST_INPUTS)]
    return filled[0]


def _concat(nodes: Sequence[Node], axis: int) -> Node:
    shape = list(nodes[0].shape)
    shape[axis] = sum(node.shape[axis] for node in nodes)
    return Node(OTHERS["concat"], nodes, {"axis": axis}, nodes[0].dtype, tuple(shape))


def stack(nodes: Sequence[Node], axis: int) -> Node:
    """Of one dtype and shape."""
    for node in nodes:
        if node.shape != nodes[0].shape:
            raise ValueError(f"stack() takes arrays of one shape, not of {nodes[0].shape} and {node.shape}")
    if len(nodes) > MOST_INPUTS:
        return concat([expand(node, axis) for node in nodes], axis)
    shape = (*nodes[0].shape[:axis], len(nodes), *nodes[0].shape[axis:])
    return Node(OTHERS["stack"], nodes, {"axis": axis}, nodes[0].dtype, shape)


def flatten(x: Node) -> Node:
    return reshape(x, (x.size,))


# ---- along an axis ----


def along(operator: str, x: Node, axis: int, dtype: DType, **params: Any) -> Node:
    return Node(operator, (x,), {"axis": axis, **params}, dtype, x.shape)


# ---- look-ups, of which the second input may have a size that is counted ----


def counted(operator: str, *inputs: Node, dtype: DType, **params: Any) -> Node:
    """A vector whose size is counted when it is computed."""
    if any(node.partial_shape == (0,) for node in inputs):
        return full((0,), 0, dtype)
    return Node(operator, inputs, params, dtype, (None,))


def take_at(x: Node, positions: Node) -> Node:
    """Elements of x along its first axis; positions are a vector."""
    return Node("take_at", (x, positions), {}, x.dtype, (*positions.partial_shape, *x.shape[1:]))


def matmul(one: Node, other: Node) -> Node:
    need("matmul", "numeric", one.dtype, other.dtype)
    dtype = promote(one.dtype, other.dtype)
    if not one.ndim or not other.ndim:
        raise ValueError("matmul() takes vectors and matrices, no arrays without dimensions")
    rows = one.shape[-2:-1]
    columns = other.shape[-1:] if other.ndim > 1 else ()
    inner = other.shape[-2] if other.ndim > 1 else other.shape[0]
    if one.shape[-1] != inner:
        raise ValueError(f"shapes {one.shape} and {other.shape} do not fit: rows of {one.shape[-1]}, columns of {inner}")
    shape = (*broadcast(one.shape[:-2], other.shape[:-2]), *rows, *columns)
    if inner == 0:
        return full(shape, 0, dtype)
    return Node(OTHERS["matmul"], (one, other), {}, dtype, shape)


