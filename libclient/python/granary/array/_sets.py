"""Distinct values. Each nan is one of its own, as the standard has it, so this is a sort and not granary's operator unique."""
from __future__ import annotations

from typing import NamedTuple

from . import _steps
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
