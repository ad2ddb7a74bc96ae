"""Distinct values. Each nan is one of its own, as the standard has it, so this is a sort and not granary's operator unique."""
from __future__ import annotations

from typing import Any, NamedTuple, Optional, Union

from . import _given, _steps
from ._dtypes import bool as bool_, int64, uint8
from ._elementwise import node_of
from ._masks import select
from ._node import Node
from ._object import Array
from ._reductions import together


class UniqueAll(NamedTuple):
    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    values: Array
    inverse_indices: Array


class _Distinct:
    """What the functions share: the elements in order, and which of them are the first of their value."""

    def __init__(self, name: str, x: Array) -> None:
        node = node_of(name, x)
        self.shape = node.shape
        self.given = _steps.flatten(node)
        self.sortable = _steps.astype(self.given, uint8) if node.dtype == bool_ else self.given
        self.sorted = _steps.along("tensor_sort", self.sortable, 0, self.sortable.dtype)
        size = self.given.size
        first = _steps.full((min(1, size),), True, bool_)
        if size > 1:
            later = _steps.getitem(self.sorted, slice(1, None))
            differ = _steps.binary("not_equal", later, _steps.getitem(self.sorted, slice(0, size - 1)))
            first = _steps.concat([first, differ], 0)
        self.first = first

    def _order(self) -> Node:
        return _steps.along("argsort", self.sortable, 0, int64)

    def _distinct(self) -> Node:
        return select(self.sorted, self.first)

    def values(self) -> Array:
        return Array(_steps.astype(self._distinct(), self.given.dtype))

    def indices(self) -> Array:
        return Array(select(self._order(), self.first))

    def inverse(self) -> Array:
        if self.given.size == 0:
            return Array(_steps.full(self.shape, 0, int64))
        numbers = _steps.along("cumsum", _steps.astype(self.first, int64), 0, int64)
        places = _steps.along("argsort", self._order(), 0, int64)  # where each element is in the sorted ones
        inverse = _steps.take_at(_steps.with_scalar("subtract", numbers, 1), places)
        return Array(_steps.reshape(inverse, self.shape))

    def counts(self) -> Array:
        if self.given.size == 0:
            return Array(_steps.full((0,), 0, int64))
        values = self._distinct()
        ends = [Node("searchsorted", (self.sorted, values), {"side": side}, int64, (None,)) for side in ("left", "right")]
        counts = Node("subtract", (ends[1], ends[0]), {}, int64, (None,))
        if values.dtype.kind == "f":
            counts = Node("where", (_steps.unary("isnan", values), counts), {"then": 1}, int64, (None,))
        return Array(counts)


def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: Optional[int] = None
) -> Union[Array, tuple[Array, ...]]:
    """NumPy's: distinct values, or distinct parts along an axis, ascending; a nan is like another one.

    Beside them, where each comes first, where each element is among them, and how often each comes.
    """
    node = _given.node(ar)
    at = None if axis is None else _steps.axis_of(axis, node.ndim)
    rows = _steps.flatten(node) if at is None else _steps.move_axis(node, at, 0)
    rest = rows.shape[1:]
    flat = rows if rows.ndim == 1 else _steps.reshape(rows, (rows.shape[0], -1 if rows.size else 0))
    if not flat.size and at is not None:
        raise ValueError(f"an array of shape {node.shape} has no parts that could be compared")
    params: dict[str, Any] = {} if at is None else {"axis": 0}
    shapes = {"values": (None, *flat.shape[1:]), "index": (None,), "inverse": (flat.shape[0],), "counts": (None,)}
    wanted = {"values": True, "index": return_index, "inverse": return_inverse, "counts": return_counts}
    made = [
        Array(Node("unique", (flat,), {**params, "part": part}, flat.dtype if part == "values" else int64, shapes[part]))
        for part, is_wanted in wanted.items()
        if is_wanted
    ]
    together(made)
    if not flat.size:
        made = [Array(_steps.full((0,), 0, one.dtype)) for one in made]
    if at is None and return_inverse:
        i = 1 + return_index
        made[i] = Array(_steps.reshape(made[i]._node, node.shape))
    elif at is not None and (at > 0 or len(rest) != 1):
        own = made[0]._node
        made[0] = Array(_steps.move_axis(_steps.reshape(own, (own.shape[0], *rest)), 0, at))
    return made[0] if len(made) == 1 else tuple(made)


def unique_all(x: Array, /) -> UniqueAll:
    """Distinct values, ascending; where each comes first; where each element is among them; how often each comes."""
    found = _Distinct("unique_all", x)
    made = UniqueAll(found.values(), found.indices(), found.inverse(), found.counts())
    together(list(made))
    return made


def unique_counts(x: Array, /) -> UniqueCounts:
    """Distinct values, ascending, and how often each comes."""
    found = _Distinct("unique_counts", x)
    made = UniqueCounts(found.values(), found.counts())
    together(list(made))
    return made


def unique_inverse(x: Array, /) -> UniqueInverse:
    """Distinct values, ascending, and where each element is among them."""
    found = _Distinct("unique_inverse", x)
    made = UniqueInverse(found.values(), found.inverse())
    together(list(made))
    return made


def unique_values(x: Array, /) -> Array:
    """Distinct values, ascending."""
    return _Distinct("unique_values", x).values()
