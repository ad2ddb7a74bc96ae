"""Indices as the standard has them, and as granary's getitem and setitem take them."""
from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from ._node import Shape


@dataclass(frozen=True)
class Part:
    """What an index means along one axis of the array."""

    start: int
    step: int
    count: int
    is_integer: bool


@dataclass(frozen=True)
class Index:
    """An index of integers, slices, ... and None for a shape."""

    text: str
    """As getitem and setitem take it."""
    key: tuple[Any, ...]
    """As NumPy takes it."""
    shape: Shape
    """Of what it gives."""
    parts: list[Part]
    """For each axis of the array."""

    @property
    def is_all(self) -> bool:
        """Whether it leaves an array as it is."""
        return all(one is Ellipsis or one == slice(None) for one in self.key)


def parse(key: Any, shape: Shape) -> Index:
    """IndexError when it does not fit the shape."""
    entries = list(key) if isinstance(key, tuple) else [key]
    taken = sum(one is not None and one is not Ellipsis for one in entries)
    if sum(one is Ellipsis for one in entries) > 1:
        raise IndexError("an index has one ellipsis at most")
    if taken > len(shape):
        raise IndexError(f"{taken} indices for an array of {len(shape)} dimensions")
    if not any(one is Ellipsis for one in entries):
        entries.append(Ellipsis)
    text: list[str] = []
    numpy_key: list[Any] = []
    result: list[int] = []
    parts: list[Part] = []
    for entry in entries:
        if entry is None:
            text.append("None")
            numpy_key.append(None)
            result.append(1)
        elif entry is Ellipsis:
            skipped = shape[len(parts) : len(parts) + len(shape) - taken]
            text.append("...")
            numpy_key.append(Ellipsis)
            result.extend(skipped)
            parts.extend(Part(0, 1, side, False) for side in skipped)
        else:
            axis = len(parts)
            part, written, as_given = slice_of(entry, shape[axis]) if isinstance(entry, slice) else integer_of(entry, axis, shape)
            text.append(written)
            numpy_key.append(as_given)
            parts.append(part)
            if not part.is_integer:
                result.append(part.count)
    return Index(", ".join(text), tuple(numpy_key), tuple(result), parts)


def integer_of(entry: Any, axis: int, shape: Shape) -> tuple[Part, str, Any]:
    if isinstance(entry, bool):
        raise IndexError("a bool is no index; arrays of bools are")
    try:
        at = operator.index(entry)
    except TypeError:
        raise IndexError(
            f"{type(entry).__name__} is no index: integers, slices, ..., None, or one array of bools are. take() has positions"
        ) from None
    side = shape[axis]
    if not -side <= at < side:
        raise IndexError(f"index {at} is out of bounds: axis {axis} has {side} elements")
    at %= side
    return Part(at, 1, 1, True), str(at), at


def slice_of(entry: slice, side: int) -> tuple[Part, str, Any]:
    start, stop, step = entry.indices(side)
    count = len(range(start, stop, step))
    step = 1 if count == 1 else step
    if count == side and step == 1:
        return Part(0, 1, side, False), ":", slice(None)
    if count == 0:
        return Part(0, 1, 0, False), "0:0", slice(0, 0)
    last = start + (count - 1) * step  # the bounds as they are used: stop must not lie before the first element
    written = f"{start}:{last + 1}" if step > 0 else f"{start}:{last - 1 if last > 0 else ''}"
    key = slice(start, last + 1 if step > 0 else (last - 1 if last > 0 else None), step)
    return Part(start, step, count, False), written if step == 1 else f"{written}:{step}", key
