"""How many elements lie in each of some bins."""
from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence

from . import _given, _steps
from ._dtypes import DType, float64, int64
from ._node import Node
from ._object import Array
from ._reductions import together


class Histogram(NamedTuple):
    hist: Array
    bin_edges: Array


class Histogram2D(NamedTuple):
    H: Array
    xedges: Array
    yedges: Array


def _is_number(bins: Any) -> bool:
    return not isinstance(bins, (list, tuple)) and hasattr(bins, "__index__") and not getattr(bins, "ndim", 0)


def _of_one(a: Any, bins: Any, range: Optional[Sequence[float]], weights: Any, density: bool) -> tuple[list[Node], dict[str, Any], int, DType]:
    """Inputs, parameters, how many bins, and the dtype of edges."""
    node = _given.node(a)
    inputs = [node]
    params: dict[str, Any] = {}
    if isinstance(bins, str):
        raise ValueError(f"bins {bins!r}: give their number, or their edges")
    if _is_number(bins):
        count, dtype = int(bins), _given.floating(node.dtype)
        params["bins"] = count
        if range is not None:
            params["low"], params["high"] = float(range[0]), float(range[1])
        if count < 1:
            raise ValueError(f"there is at least one bin, not {count}")
        if range is None and not node.size:
            params["low"], params["high"] = 0.0, 1.0
    else:
        edges = _given.node(bins)
        if edges.ndim != 1 or edges.size < 2:
            raise ValueError(f"edges are a vector of two or more, not of shape {edges.shape}")
        inputs, count, dtype = [node, edges], edges.size - 1, edges.dtype
    if weights is not None:
        inputs, params = [*inputs, _given.node(weights)], {**params, "weighted": True}
        if inputs[-1].shape != node.shape:
            raise ValueError(f"weights of shape {inputs[-1].shape} for elements of shape {node.shape}")
    if density:
        params["density"] = True
    return inputs, params, count, dtype


def histogram(a: Any, bins: Any = 10, range: Optional[Sequence[float]] = None, density: bool = False, weights: Any = None) -> Histogram:
    """How many elements lie in each bin (with weights their sums, as float64), and where bins begin and end."""
    inputs, params, count, dtype = _of_one(a, bins, range, weights, density)
    kind = float64 if density or weights is not None else int64
    made = Histogram(Array(Node("histogram", inputs, params, kind, (count,))), histogram_bin_edges(a, bins, range))
    together(list(made))
    return made


def histogram_bin_edges(a: Any, bins: Any = 10, range: Optional[Sequence[float]] = None) -> Array:
    """Where the bins of histogram() begin, and where the last one ends."""
    inputs, params, count, dtype = _of_one(a, bins, range, None, False)
    return Array(inputs[1]) if len(inputs) == 2 else Array(Node("histogram", inputs, {**params, "part": "edges"}, dtype, (count + 1,)))


def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None) -> Histogram2D:
    """How many pairs lie in each of a grid of bins, and where these begin and end along x and y."""
    inputs = [_steps.flatten(_given.node(one)) for one in (x, y)]
    if inputs[0].shape != inputs[1].shape:
        raise ValueError(f"{inputs[0].size} elements of x do not meet {inputs[1].size} of y")
    each = list(bins) if isinstance(bins, (list, tuple)) and len(bins) == 2 else [bins, bins]
    params: dict[str, Any] = {"density": True} if density else {}
    if all(_is_number(one) for one in each):
        counts = [int(one) for one in each]
        params["bins"] = counts
        if range is None and not inputs[0].size:
            range = [[0, 1], [0, 1]]
        if range is not None:
            params["range"] = [float(limit) for one in range for limit in one]
        dtypes = [_given.floating(node.dtype) for node in inputs]
        edges: list[Node] = []
    else:
        limits = [None, None] if range is None else range
        edges = [histogram_bin_edges(Array(node), one, limit)._node for node, one, limit in zip(inputs, each, limits)]
        counts, dtypes = [node.size - 1 for node in edges], [node.dtype for node in edges]
    more = edges + ([] if weights is None else [_steps.flatten(_given.node(weights))])
    made = [Array(Node("histogram2d", [*inputs, *more], params, float64, tuple(counts)))]
    for part, count, dtype in zip(("x_edges", "y_edges"), counts, dtypes):
        made.append(Array(Node("histogram2d", [*inputs, *more], {**params, "part": part}, dtype, (count + 1,))))
    together(made)
    return Histogram2D(*made)
