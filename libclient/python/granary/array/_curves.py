"""Curves through points: NumPy's interp, polyfit, polyval and trapezoid."""
from __future__ import annotations

from typing import Any, Optional

from . import _given, _steps
from ._dtypes import float64
from ._node import Node, Shape
from ._object import Array


def interp(x: Any, xp: Any, fp: Any, left: Optional[float] = None, right: Optional[float] = None, period: Optional[float] = None) -> Array:
    """Values on the lines between points (xp, fp), which rise along xp; period: after which x repeats."""
    nodes = [_given.node(one) for one in (x, xp, fp)]
    if any(one.ndim != 1 for one in nodes[1:]) or nodes[1].shape != nodes[2].shape or not nodes[1].size:
        raise ValueError(f"points are two vectors of one length that are not empty, not {nodes[1].shape} and {nodes[2].shape}")
    if period == 0:
        raise ValueError("a period is not 0")
    given = {"left": left, "right": right, "period": period}
    params = {name: float(value) for name, value in given.items() if value is not None}
    return Array(Node("interp", nodes, params, float64, nodes[0].shape))


def polyfit(x: Any, y: Any, deg: int, rcond: Optional[float] = None, *, w: Any = None) -> Array:
    """Coefficients of the polynomial nearest to points, the highest power first; w: a weight for each point."""
    nodes = [_given.node(one) for one in ((x, y) if w is None else (x, y, w))]
    if deg < 0:
        raise ValueError(f"a degree is not negative, unlike {deg}")
    if nodes[0].ndim != 1 or not nodes[0].size or nodes[1].ndim not in (1, 2) or any(one.shape[:1] != nodes[0].shape for one in nodes):
        raise TypeError("x and w are vectors, y one or a matrix, all of one length that is not 0")
    params: dict[str, Any] = {"deg": int(deg)}
    if rcond is not None:
        params["rcond"] = float(rcond)
    return Array(Node("polyfit", nodes, params, float64, (int(deg) + 1, *nodes[1].shape[1:])))


def polyval(p: Any, x: Any) -> Array:
    """The polynomial with these coefficients, the highest power first, of each element of x."""
    one, other = _given.node(p), _given.node(x)
    if one.ndim != 1:
        raise ValueError(f"coefficients are a vector, not an array of {one.ndim} dimensions")
    dtype = _given.together(one.dtype, other.dtype) if one.size else other.dtype
    if not one.size:
        return Array(_steps.full(other.shape, 0, dtype))
    return Array(Node("polyval", (one, other), {}, dtype, other.shape))


def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Array:
    """The area below the lines between points along an axis; x: their places."""
    nodes, at = _points(y, x, axis)
    dtype = _dtype(nodes)
    return Array(Node("trapezoid", nodes, {"dx": float(dx), "axis": at}, dtype, _given.without(nodes[0].shape, at)))


def cumulative_trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Array:
    """The area up to each point from the second on: SciPy's."""
    nodes, at = _points(y, x, axis)
    shape: Shape = tuple(side - 1 if i == at else side for i, side in enumerate(nodes[0].shape))
    return Array(Node("cumulative_trapezoid", nodes, {"dx": float(dx), "axis": at}, _dtype(nodes), shape))


def _dtype(nodes: list[Node]) -> Any:
    own = _given.floating(nodes[0].dtype)
    return own if len(nodes) == 1 else _given.together(own, nodes[1].dtype)


def _points(y: Any, x: Any, axis: int) -> tuple[list[Node], int]:
    nodes = [_given.node(y)] if x is None else [_given.node(y), _given.node(x)]
    at = _steps.axis_of(axis, nodes[0].ndim)
    if not nodes[0].shape[at]:
        raise ValueError(f"no points along axis {axis} of an array of shape {nodes[0].shape}")
    if x is not None and nodes[1].shape not in (nodes[0].shape, (nodes[0].shape[at],)):
        raise ValueError(f"places of shape {nodes[1].shape} do not fit axis {axis} of an array of shape {nodes[0].shape}")
    return nodes, at


trapz = trapezoid
