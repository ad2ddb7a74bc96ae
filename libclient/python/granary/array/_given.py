"""What NumPy's functions take: arrays, and whatever becomes one."""
from __future__ import annotations

from typing import Any

import numpy as np

from . import _dtypes
from ._creation import asarray
from ._dtypes import DType, float64
from ._node import Node


def node(value: Any) -> Node:
    """An array's node; numbers, lists and NumPy's arrays become one."""
    return asarray(value)._node


def together(*dtypes: DType) -> DType:
    """The dtype of several as NumPy 2 has it, where integers mix with floats."""
    found = np.result_type(*dtypes)
    return _dtypes.ALL[found.name]


def floating(dtype: DType) -> DType:
    """What means and areas of a dtype have."""
    return dtype if dtype.kind == "f" else float64


def without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])
