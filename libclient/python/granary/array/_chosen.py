"""Indices with arrays: masks and positions, as getitem and setitem of granary take them."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Optional, Union

import numpy as np

from . import _index, _masks, _steps
from ._dtypes import bool as bool_, promote
from ._node import Node, PartialShape, Shape, broadcast

LISTED = 1000
"""Positions along one axis, up to so many, are written into the index: the array is then not gathered."""


@dataclass
class Chosen:
    """An index with arrays for a shape."""

    text: str
    """With $k for arrays."""
    arrays: list[Node]
    shape: PartialShape
    """Of what it gives."""


def nodes_of(key: Any) -> Optional[list[Any]]:
    """The entries of an index in which arrays are nodes; None when there is no array among them."""
    from ._object import Array

    entries = list(key) if isinstance(key, tuple) else [key]
    found = False
    for i, entry in enumerate(entries):
        if isinstance(entry, list):
            entry = np.asarray(entry) if entry else np.empty(0, np.int64)
        if isinstance(entry, np.ndarray):
            entries[i] = entry = _as_node(entry)
        elif isinstance(entry, Array):
            entries[i] = entry = entry._node
        if not isinstance(entry, Node):
            continue
        if entry.dtype.kind not in "iub":
            raise IndexError(f"an array of {entry.dtype} is no index: integers are positions, and bools masks")
        if entry.dtype != bool_ and not entry.ndim:
            entries[i] = Array(entry).__index__()
        else:
            found = True
    return entries if found else None


def _as_node(value: np.ndarray[Any, Any]) -> Node:
    from ._object import _node_of_numpy

    if value.dtype.kind not in "iub":
        raise IndexError(f"an array of {value.dtype} is no index: integers are positions, and bools masks")
    return _node_of_numpy(value)


def getitem(x: Node, entries: list[Any]) -> Node:
    """The elements that an index with arrays chooses."""
    mask = _only_mask(entries)
    if mask is not None and len(entries) == 1:
        return _masks.select(x, mask)
    if mask is not None and mask.ndim and all(one is not None for one in entries):
        plain = (*[slice(None)] * mask.ndim, *entries[1:])
        return _masks.select(_steps.getitem(x, plain), mask)
    chosen = _read(x, _without_masks(x, entries), 1)
    return Node("getitem", (x, *chosen.arrays), {"index": chosen.text}, x.dtype, chosen.shape)


def setitem(x: Node, entries: list[Any], value: Node) -> Node:
    """The array in which the elements of an index with arrays have other values; of equal positions the last counts."""
    mask = _only_mask(entries)
    if mask is not None and len(entries) == 1:
        return _masks.assign(x, None, mask, value)
    if promote(x.dtype, value.dtype) != x.dtype:
        raise TypeError(f"elements of {x.dtype} cannot be set to {value.dtype}: use astype()")
    for entry in entries:
        if entry is None or (isinstance(entry, slice) and entry.step not in (None, 1, -1)):
            raise IndexError("beside arrays, slices with steps and None cannot be set: set a part of the array, and that in it")
    chosen = _read(x, _without_masks(x, entries), 2)
    shape: Shape = tuple(side for side in chosen.shape if side is not None)
    if None in chosen.shape:
        raise IndexError("positions whose number is counted cannot be set: compute() them first")
    if value.ndim > len(shape):
        value = _steps.reshape(value, _masks.without_leading_ones(value.shape, len(shape)))
    if broadcast(value.shape, shape) != shape:
        raise ValueError(f"an array of shape {value.shape} does not stretch to {shape}")
    if 0 in shape or 0 in x.shape:
        return x
    return Node("setitem", (x, _steps.astype(value, x.dtype), *chosen.arrays), {"index": chosen.text}, x.dtype, x.shape)


def _only_mask(entries: list[Any]) -> Optional[Node]:
    """The mask, when the index begins with one and has no other arrays."""
    first = entries[0]
    others = any(isinstance(one, Node) for one in entries[1:])
    return first if isinstance(first, Node) and first.dtype == bool_ and not others else None


def _without_masks(x: Node, entries: list[Any]) -> list[Any]:
    """Masks as the positions of what is true, a vector for each axis: their number is counted, which computes them."""
    made: list[Any] = []
    takes = [entry.ndim if isinstance(entry, Node) and entry.dtype == bool_ else entry is not None and entry is not Ellipsis
             for entry in entries]  # fmt: skip
    for i, entry in enumerate(entries):
        if not isinstance(entry, Node) or entry.dtype != bool_:
            made.append(entry)
            continue
        after = any(one is Ellipsis for one in entries[:i])
        axis = x.ndim - sum(takes[i:]) if after else sum(takes[:i])
        sides = x.shape[axis : axis + entry.ndim]
        if not entry.ndim or entry.shape != sides:
            raise IndexError(f"a mask of shape {entry.shape} does not fit axis {axis} of an array of shape {x.shape}")
        made.extend(_axes_of(_masks.positions(entry), entry.shape))
    return made


def _axes_of(flat: Node, shape: Shape) -> list[Node]:
    """Row-major positions, taken apart."""
    flat.shape  # counts them
    found = []
    for axis, side in enumerate(shape):
        below = math.prod(shape[axis + 1 :])
        place = _steps.with_scalar("floor_divide", flat, below) if below > 1 else flat
        found.append(_steps.with_scalar("remainder", place, side) if axis > 0 and side > 0 else place)
    return found


def _read(x: Node, entries: list[Any], first: int) -> Chosen:
    taken = sum(one is not None and one is not Ellipsis for one in entries)
    if sum(one is Ellipsis for one in entries) > 1:
        raise IndexError("an index has one ellipsis at most")
    if taken > x.ndim:
        raise IndexError(f"{taken} indices for an array of {x.ndim} dimensions")
    alone = sum(isinstance(one, Node) for one in entries) == 1
    text: list[str] = []
    arrays: list[Node] = []
    others: list[int] = []
    chosen: list[PartialShape] = []
    target, run = 0, 0
    axis = 0
    for entry in entries:
        chooses = False
        if entry is None:
            text.append("None")
            others.append(1)
        elif entry is Ellipsis:
            text.append("...")
            others.extend(x.shape[axis : axis + x.ndim - taken])
            axis += x.ndim - taken
        elif isinstance(entry, slice):
            part, written, _ = _index.slice_of(entry, x.shape[axis])
            text.append(written)
            others.append(part.count)
            axis += 1
        else:
            chooses = True
            if isinstance(entry, Node):
                written = _positions(entry, x.shape[axis], axis, alone and first == 1)
                chosen.append(entry.partial_shape)
                if not written:
                    written = f"${first + len(arrays)}"
                    arrays.append(entry)
            else:
                written = _index.integer_of(entry, axis, x.shape)[1]
            text.append(written)
            axis += 1
        if chooses:
            target = 0 if run == 2 else len(others) if run == 0 else target
            run = 3 if run in (2, 3) else 1
        elif run == 1:
            run = 2
    target = 0 if run == 3 else target
    others.extend(x.shape[axis:])
    block: PartialShape = chosen[0]
    if len(chosen) > 1 or target > 0:
        block = broadcast(*[_counted(one, entries) for one in chosen])
    return Chosen(", ".join(text), arrays, (*others[:target], *block, *others[target:]))


def _counted(shape: PartialShape, entries: list[Any]) -> Shape:
    if None in shape:
        for entry in entries:
            if isinstance(entry, Node) and entry.partial_shape == shape:
                return entry.shape
    return shape  # type: ignore[return-value]


def _positions(entry: Node, side: int, axis: int, alone: bool) -> str:
    """What this process knows of positions: those beyond are an error at once, and a few are written into the index."""
    value: Union[np.ndarray[Any, Any], None] = entry.value_at_hand
    if value is None or not value.size:
        return ""
    least, most = int(value.min()), int(value.max())
    if least < -side or most >= side:
        beyond = least if least < -side else most
        raise IndexError(f"index {beyond} is out of bounds: axis {axis} has {side} elements")
    return str(value.tolist()) if alone and value.ndim == 1 and value.size <= LISTED else ""

