"""What array-api-tests use of the package ndindex, which Debian has not: iter_indices(), of shapes and axes to skip."""
from __future__ import annotations

from itertools import product
from typing import Any, Iterator, Optional, Sequence, Tuple, Union


class Index:
    """An index into an array; raw is what goes between the brackets."""

    def __init__(self, raw: Tuple[Any, ...]) -> None:
        self.raw = raw


def iter_indices(*shapes: Sequence[int], skip_axes: Optional[Union[int, Sequence[int]]] = ()) -> Iterator[Tuple[Index, ...]]:
    """Indices of all elements of shapes that broadcast, one of each shape; skipped axes stay whole."""
    skipped = (skip_axes,) if isinstance(skip_axes, int) else tuple(skip_axes or ())
    ndim = max((len(shape) for shape in shapes), default=0)
    whole = [[axis % len(shape) if len(shape) else axis for axis in skipped] for shape in shapes]
    taken = [[axis for axis in range(len(shape)) if axis not in own] for shape, own in zip(shapes, whole)]
    most = max((len(axes) for axes in taken), default=0)
    sides = [1] * most
    for shape, axes in zip(shapes, taken):
        for i, axis in enumerate(axes):
            at = most - len(axes) + i
            sides[at] = shape[axis] if sides[at] == 1 else sides[at]
    assert ndim <= 64
    for place in product(*[range(side) for side in sides]):
        indices = []
        for shape, axes in zip(shapes, taken):
            raw: list[Any] = [slice(None)] * len(shape)
            for i, axis in enumerate(axes):
                raw[axis] = place[most - len(axes) + i] if shape[axis] != 1 else 0
            indices.append(Index(tuple(raw)))
        yield tuple(indices)
