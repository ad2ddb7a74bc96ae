"""Elements that a mask chooses, and arrays some elements of which are set: of whole arrays, since nodes never change."""
from __future__ import annotations

import math
from typing import Any, Optional

from . import _index, _steps
from ._dtypes import bool as bool_, int64, promote
from ._node import Node, Shape


def select(x: Node, mask: Node) -> Node:
    """x[mask]: the elements (or, of a mask of fewer dimensions, the parts) where it is true."""
    _check(x, mask)
    rest = x.shape[mask.ndim :]
    if 0 in x.shape or 0 in mask.shape:
        if 0 in mask.shape:
            return _steps.full((0, *rest), 0, x.dtype)
        # Parts without elements: they are only counted.
        return _steps.reshape(x, (_count(mask), *rest))
    if not rest:
        return _steps.counted("select_where", _steps.flatten(x), _steps.flatten(mask), dtype=x.dtype)
    return Node("getitem", (x, mask), {"index": "$1"}, x.dtype, (None, *rest))


def positions(mask: Node) -> Node:
    """Row-major positions of what is not 0."""
    return _steps.counted("flatnonzero", _steps.flatten(mask), dtype=int64)


def _count(mask: Node) -> int:
    from ._run import value_of

    return int(value_of(_steps.reduction("sum", mask, None, False)))


def _check(x: Node, mask: Node) -> None:
    sides = x.shape[: mask.ndim]
    if mask.ndim > x.ndim or any(own not in (side, 0) for own, side in zip(mask.shape, sides)):  # 0: it chooses nothing
        raise IndexError(f"a mask of shape {mask.shape} does not fit an array of shape {x.shape}")


def assign(x: Node, key: Any, mask: Optional[Node], value: Node) -> Node:
    """x where elements have other values."""
    if promote(x.dtype, value.dtype) != x.dtype:
        raise TypeError(f"elements of {x.dtype} cannot be set to {value.dtype}: use astype()")
    value = _steps.astype(value, x.dtype)
    if mask is not None:
        return _assign_mask(x, mask, value)
    index = _index.parse(key, x.shape)
    if value.ndim > len(index.shape):  # leading axes of one element may be left out, as in NumPy
        value = _steps.reshape(value, without_leading_ones(value.shape, len(index.shape)))
    value = _steps.broadcast_to(value, index.shape)
    if 0 in index.shape:
        return x
    if not x.ndim or index.is_all and x.shape == index.shape:
        return _steps.reshape(value, x.shape)
    if all(abs(part.step) == 1 for part in index.parts):
        return Node("setitem", (x, value), {"index": index.text}, x.dtype, x.shape)
    return _assign_steps(x, index, value)


def without_leading_ones(shape: Shape, ndim: int) -> Shape:
    extra = len(shape) - ndim
    if any(side != 1 for side in shape[:extra]):
        raise ValueError(f"an array of shape {shape} does not stretch to {ndim} dimensions")
    return shape[extra:]


def _assign_mask(x: Node, mask: Node, value: Node) -> Node:
    _check(x, mask)
    rest = x.shape[mask.ndim :]
    spread = _steps.reshape(mask, (*mask.shape, *[1] * len(rest)))
    if 0 in x.shape or 0 in mask.shape:
        return x
    if value.ndim > len(rest) and value.shape[0] == 1:
        value = _steps.squeeze(value, [0])
    if value.ndim <= len(rest):
        return _steps.where(_steps.broadcast_to(spread, x.shape), _steps.broadcast_to(value, (*mask.shape, *rest)), x)
    # A part for each true element, in their order: that of an element is the number of true ones before it.
    count = value.shape[0]
    if count == 0:
        if _count(mask):
            raise ValueError("no values for elements that a mask chooses")
        return x
    flat = _steps.astype(_steps.flatten(mask), int64)
    places = _steps.with_scalar("subtract", _steps.along("cumsum", flat, 0, int64), 1)
    places = _steps.binary("add", places, _nothing_else(flat, count))
    parts = _steps.take_at(_steps.broadcast_to(value, (count, *rest)), places)
    return _steps.where(_steps.broadcast_to(spread, x.shape), _steps.reshape(parts, x.shape), x)


def _nothing_else(flat: Node, count: int) -> Node:
    """0 when so many elements are true. Of another number it becomes an error: a position that is not there."""
    surplus = _steps.with_scalar("subtract", _steps.reduction("sum", flat, None, True), count)
    return _steps.take_at(_steps.full((1,), 0, int64), _steps.with_scalar("multiply", surplus, 2))


def _assign_steps(x: Node, index: _index.Index, value: Node) -> Node:
    """With steps: setitem of granary has none, so the values are spread over the whole, and chosen where they belong."""
    sides = [1 if part.is_integer else part.count for part in index.parts]
    value = _steps.reshape(value, sides)
    chosen: Optional[Node] = None
    for axis, part in enumerate(index.parts):
        side = x.shape[axis]
        first, step = part.start, abs(part.step)
        if part.step < 0:
            value = _steps.flip(value, [axis])
            first = part.start + (part.count - 1) * part.step
        if part.count == side:
            continue
        if part.count > 1:
            value = _spread(value, axis, step, first, side)
        places = Node("arange", (), {"start": 0, "stop": side}, int64, (side,))
        last = first + (part.count - 1) * step
        distance = _steps.with_scalar("subtract", places, first)
        own = _steps.binary("logical_and", _steps.with_scalar("equal", _steps.with_scalar("remainder", distance, step), 0),
                            _steps.binary("logical_and", _steps.with_scalar("greater_equal", places, first),
                                          _steps.with_scalar("less_equal", places, last)))
        own = _steps.reshape(own, [side if i == axis else 1 for i in range(x.ndim)])
        chosen = own if chosen is None else _steps.binary("logical_and", chosen, own)
    assert chosen is not None and chosen.dtype == bool_ and math.prod(sides) > 0
    return _steps.where(_steps.broadcast_to(chosen, x.shape), value, x)


def _spread(value: Node, axis: int, step: int, first: int, side: int) -> Node:
    """Each element `step` times, the first one at `first`, as many as the axis has; what is between them does not matter."""
    if step > 1:
        shape = tuple(n * step if i == axis else n for i, n in enumerate(value.shape))
        value = Node("repeat", (value,), {"repeats": step, "axis": axis}, value.dtype, shape)
    room = side - first
    if value.shape[axis] > room:
        value = _steps.getitem(value, (*[slice(None)] * axis, slice(0, room)))
    before = [first if i == axis else 0 for i in range(value.ndim)]
    after = [side - first - value.shape[axis] if i == axis else 0 for i in range(value.ndim)]
    if not any(before) and not any(after):
        return value
    shape = tuple(side if i == axis else n for i, n in enumerate(value.shape))
    return Node("pad", (value,), {"before": before, "after": after, "mode": "edge"}, value.dtype, shape)
