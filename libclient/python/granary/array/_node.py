"""A step of a computation: an operator of granary, its inputs and parameters, with the dtype and shape it gives.

A node never changes. What it has given, once it was computed, is held by it, and the graph's result lives as long as that.
"""
from __future__ import annotations

import math
import weakref
from typing import Any, Callable, Optional, Sequence

import numpy as np

from ._dtypes import DType
from ._engine import Engine, Result

MOST_DIMENSIONS = 8
CACHED_BYTES = 1 << 16
"""Values up to this size stay in the process once they were read; larger ones as long as somebody uses them."""

Shape = tuple[int, ...]
PartialShape = tuple[Optional[int], ...]


class Held:
    """Chunks in the store that this process keeps: a graph's result, or objects that were put. They go with it."""

    def __init__(self, engine: Engine, source: dict[str, Any], result: Result, owner: object) -> None:
        self.engine = engine
        self.source = source
        """The node that reads it, as JSON."""
        self.result = result
        self.owner = owner
        """Ends the chunks when nobody has it any more."""


class Owner:
    """Ends a graph, or objects, when the last array of it has gone."""

    def __init__(self, end: Callable[[str], None], names: Sequence[str]) -> None:
        self.end = weakref.finalize(self, _quietly, end, names)


def _quietly(end: Callable[[str], None], names: Sequence[str]) -> None:
    for one in names:
        try:
            end(one)
        except Exception:
            pass  # the connection or the instance has ended, and what was there with it


class Node:
    """An operator, or (`op` is 'array') a tensor that is there: `known` in this process or `held` in the store."""

    __slots__ = ("op", "inputs", "params", "dtype", "partial_shape", "key", "held", "known", "_cached", "together", "__weakref__")

    def __init__(
        self, op: str, inputs: Sequence["Node"], params: dict[str, Any], dtype: DType, shape: PartialShape, key: Any = None
    ) -> None:
        if len(shape) > MOST_DIMENSIONS:
            raise ValueError(f"{op}: {len(shape)} dimensions; arrays have up to {MOST_DIMENSIONS}")
        if 0 in shape and op != "array":
            op, inputs, params = "zeros", (), {"shape": list(shape), "dtype": dtype.name}
        self.op = op
        self.inputs = tuple(inputs)
        self.params = params
        self.dtype = dtype
        self.partial_shape = shape
        """None stands for a side that is only known when the node was computed."""
        self.key = key
        """Of getitem: the index as NumPy takes it."""
        self.held: Optional[Held] = None
        self.known: Optional[np.ndarray[Any, Any]] = None
        self._cached: Optional[weakref.ref[np.ndarray[Any, Any]]] = None
        self.together: Sequence[weakref.ref[Node]] = ()
        """Nodes to be computed in the same graph as this one, when they are wanted still."""

    @property
    def ndim(self) -> int:
        return len(self.partial_shape)

    @property
    def shape(self) -> Shape:
        """The whole shape; computes the node when that is the only way to know."""
        if None in self.partial_shape:
            from ._run import compute

            compute([self])
        return self.partial_shape  # type: ignore[return-value]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def is_there(self) -> bool:
        """Whether nothing has to be computed."""
        return self.held is not None or self.known is not None

    @property
    def value_at_hand(self) -> Optional[np.ndarray[Any, Any]]:
        """Its elements, when this process has them."""
        if self.known is not None:
            return self.known
        return None if self._cached is None else self._cached()

    def remember(self, value: np.ndarray[Any, Any]) -> None:
        """These are its elements, read-only."""
        if value.nbytes <= CACHED_BYTES:
            self.known = value
        else:
            self._cached = weakref.ref(value)

    def settle(self, held: Held) -> None:
        """It was computed: what it was made of may go."""
        self.held = held
        self.partial_shape = tuple(held.result.shape)
        self.op, self.inputs, self.params, self.key, self.together = "array", (), {}, None, ()


def literal(value: Any) -> Node:
    """A tensor of this process's: read-only elements that nobody else writes."""
    value.flags.writeable = False
    node = Node("array", (), {}, value.dtype, value.shape)
    node.known = value
    return node


def broadcast(*shapes: Shape) -> Shape:
    """The shape that all of them stretch to; ValueError when there is none."""
    ndim = max((len(shape) for shape in shapes), default=0)
    found = [1] * ndim
    for shape in shapes:
        for i, side in enumerate(shape, ndim - len(shape)):
            if side != 1 and found[i] not in (1, side):
                raise ValueError(f"shapes {', '.join(map(str, shapes))} do not broadcast together")
            found[i] = side if side != 1 else found[i]
    return tuple(found)
