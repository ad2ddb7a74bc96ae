"""The extension `linalg` of the standard. granary's operators take one matrix: stacks are taken apart, and put together."""
from __future__ import annotations

import itertools
import math
from typing import Any, Callable, NamedTuple, Optional, Sequence, Union

import numpy as np

from . import _given, _reductions, _steps
from ._dtypes import DType, complex128, complex_of, float64, int64, need, part_of, promote
from ._elementwise import node_of
from ._linear import matmul as matmul, matrix_transpose as matrix_transpose, tensordot as tensordot, vecdot as vecdot
from ._node import Node, Shape, broadcast
from ._object import Array

Axis = Optional[Union[int, tuple[int, ...]]]


class EigResult(NamedTuple):
    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    sign: Array
    logabsdet: Array


class SVDResult(NamedTuple):
    U: Array
    S: Array
    Vh: Array


def _matrices(name: str, x: Array, square: bool = False, kind: str = "real floating") -> Node:
    node = node_of(name, x)
    need(name, kind, node.dtype)
    if node.ndim < 2:
        raise ValueError(f"{name}() takes matrices, not an array of {node.ndim} dimensions")
    if square and node.shape[-1] != node.shape[-2]:
        raise ValueError(f"{name}() takes square matrices, not {node.shape[-2]} x {node.shape[-1]}")
    return node


def _each(compute: Callable[..., Node], stack: Shape, nodes: Sequence[Node], shape: Shape, dtype: DType) -> Node:
    """compute() of each matrix of stacks, with results of a shape: as one stack in the dtype asked for."""
    if math.prod(stack) * math.prod(shape) == 0:
        return _steps.full((*stack, *shape), 0, dtype)
    if not stack:
        return _steps.astype(compute(*nodes), dtype)
    spread = [_steps.broadcast_to(node, (*stack, *node.shape[-2:])) for node in nodes]
    made = [compute(*[_steps.getitem(node, place) for node in spread]) for place in _places(stack)]
    return _steps.astype(_steps.reshape(_steps.stack(made, 0), (*stack, *shape)), dtype)


def _places(stack: Shape) -> list[tuple[int, ...]]:
    return list(itertools.product(*[range(side) for side in stack]))


def _operator(op: str, shape: Shape, **params: Any) -> Callable[..., Node]:
    """An operator of matrices, which gives float64 of a shape, or complex128."""

    def made(*nodes: Node) -> Node:
        is_complex = op == "eig" or op + params.get("part", "") != "eighw" and any(node.dtype.kind == "c" for node in nodes)
        return Node(op, nodes, params, complex128 if is_complex else float64, shape)

    return made


def _conjugated(node: Node) -> Node:
    return _steps.unary("conj", _steps.transpose(node))


def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """l of x = l l': lower triangular; or its (conjugate) transpose."""
    node = _matrices("cholesky", x, square=True, kind="floating")
    made = _each(_operator("cholesky", node.shape[-2:]), node.shape[:-2], [node], node.shape[-2:], node.dtype)
    return Array(_conjugated(made) if upper else made)


def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Cross products of vectors of 3 elements along an axis."""
    one, other = node_of("cross", x1), node_of("cross", x2)
    need("cross", "numeric", one.dtype, other.dtype)
    dtype = promote(one.dtype, other.dtype)
    shape = broadcast(one.shape, other.shape)
    at = _steps.axis_of(axis, len(shape))
    if shape[at] != 3 or one.shape[one.ndim - len(shape) + at] != 3 or other.shape[other.ndim - len(shape) + at] != 3:
        raise ValueError(f"vectors have 3 elements along axis {axis}, unlike {one.shape} and {other.shape}")
    left, right = [_steps.move_axis(_steps.broadcast_to(_steps.astype(node, dtype), shape), at, -1) for node in (one, other)]
    return Array(_steps.move_axis(Node("cross", (left, right), {}, dtype, left.shape), len(shape) - 1, at))


def det(x: Array, /) -> Array:
    """Determinants."""
    node = _matrices("det", x, square=True, kind="floating")
    if node.shape[-1] == 0:
        return Array(_steps.full(node.shape[:-2], 1, node.dtype))
    return Array(_each(_operator("det", ()), node.shape[:-2], [node], (), node.dtype))


def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """The elements of a diagonal of the last two axes."""
    node = node_of("diagonal", x)
    if node.ndim < 2:
        raise ValueError(f"diagonal() takes matrices, not an array of {node.ndim} dimensions")
    return Array(_diagonal(node, offset))


def _diagonal(node: Node, offset: int = 0) -> Node:
    rows, columns = node.shape[-2:]
    length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    params = {"offset": offset, "axis1": node.ndim - 2, "axis2": node.ndim - 1}
    return Node("diagonal", (node,), params, node.dtype, (*node.shape[:-2], length))


def trace(x: Array, /, *, offset: int = 0) -> Array:
    """Sums of diagonals."""
    return _reductions.sum(diagonal(x, offset=offset), axis=-1, dtype=None if x.dtype.kind in "iu" else x.dtype)


def eigh(x: Array, /) -> EighResult:
    """Eigenvalues, ascending, and eigenvectors as columns, of symmetric or Hermitian matrices."""
    node = _matrices("eigh", x, square=True, kind="floating")
    shape, stack = node.shape[-2:], node.shape[:-2]
    values = _each(_operator("eigh", shape[:1], part="w"), stack, [node], shape[:1], part_of(node.dtype))
    return EighResult(Array(values), Array(_each(_operator("eigh", shape, part="v"), stack, [node], shape, node.dtype)))


def eig(x: Array, /) -> EigResult:
    """Eigenvalues, in no order, and eigenvectors as columns, of square matrices: always complex."""
    node = _matrices("eig", x, square=True, kind="floating")
    shape, stack, dtype = node.shape[-2:], node.shape[:-2], complex_of(node.dtype)
    values = _each(_operator("eig", shape[:1], part="w"), stack, [node], shape[:1], dtype)
    return EigResult(Array(values), Array(_each(_operator("eig", shape, part="v"), stack, [node], shape, dtype)))


def eigvals(x: Array, /) -> Array:
    """Eigenvalues of square matrices, in no order: always complex."""
    return eig(x).eigenvalues


def eigvalsh(x: Array, /) -> Array:
    """Eigenvalues of symmetric matrices, ascending."""
    return eigh(x).eigenvalues


def inv(x: Array, /) -> Array:
    """Inverse matrices."""
    node = _matrices("inv", x, square=True, kind="floating")
    return Array(_each(_operator("inv", node.shape[-2:]), node.shape[:-2], [node], node.shape[-2:], node.dtype))


def solve(x1: Array, x2: Array, /) -> Array:
    """y of x1 y = x2; a vector x2 is one column."""
    one, other = _matrices("solve", x1, square=True, kind="floating"), node_of("solve", x2)
    need("solve", "floating", other.dtype)
    dtype = promote(one.dtype, other.dtype)
    is_vector = other.ndim == 1
    if is_vector:
        other = _steps.expand(other, 1)
    if not other.ndim or other.shape[-2] != one.shape[-1]:
        raise ValueError(f"matrices of shape {one.shape} and right sides of shape {other.shape} do not fit")
    stack, shape = broadcast(one.shape[:-2], other.shape[:-2]), other.shape[-2:]
    made = _each(_operator("solve", shape), stack, [one, other], shape, dtype)
    return Array(_steps.squeeze(made, [made.ndim - 1]) if is_vector else made)


def matrix_power(x: Array, n: int, /) -> Array:
    """The matrix times itself; of a negative n its inverse."""
    node = node_of("matrix_power", x)
    need("matrix_power", "numeric", node.dtype)
    if node.ndim < 2 or node.shape[-1] != node.shape[-2]:
        raise ValueError(f"matrix_power() takes square matrices, not {node.shape}")
    if n == 0:
        params = {"rows": node.shape[-1], "columns": node.shape[-1], "dtype": node.dtype.name}
        return Array(_steps.broadcast_to(Node("eye", (), params, node.dtype, node.shape[-2:]), node.shape))
    power = node if n > 0 else inv(x)._node
    result: Optional[Node] = None
    left = abs(n)
    while left:
        if left & 1:
            result = power if result is None else _steps.matmul(result, power)
        left >>= 1
        power = _steps.matmul(power, power) if left else power
    assert result is not None
    return Array(result)


def outer(x1: Array, x2: Array, /) -> Array:
    """Products of all elements of two vectors."""
    one, other = node_of("outer", x1), node_of("outer", x2)
    need("outer", "numeric", one.dtype, other.dtype)
    if one.ndim != 1 or other.ndim != 1:
        raise ValueError(f"outer() takes vectors, not arrays of {one.ndim} and {other.ndim} dimensions")
    return Array(Node("outer", (one, other), {}, promote(one.dtype, other.dtype), (*one.shape, *other.shape)))


def qr(x: Array, /, *, mode: str = "reduced") -> QRResult:
    """x = Q R: columns at right angles, and upper triangular. mode: 'reduced' or 'complete'."""
    if mode not in ("reduced", "complete"):
        raise ValueError(f"mode {mode!r}: it is 'reduced' or 'complete'")
    node = _matrices("qr", x)
    rows, columns = node.shape[-2:]
    if mode == "complete" and rows > columns:
        # Of [x | 1] the first columns of R are those of x, and Q has as many columns as rows.
        unit = _steps.broadcast_to(_unit(rows, node.dtype), (*node.shape[:-2], rows, rows))
        wide = _qr(_steps.concat([node, unit], node.ndim - 1))
        return QRResult(Array(wide[0]), Array(_steps.getitem(wide[1], (..., slice(0, columns)))))
    return QRResult(*[Array(part) for part in _qr(node)])


def _unit(size: int, dtype: DType) -> Node:
    return Node("eye", (), {"rows": size, "columns": size, "dtype": dtype.name}, dtype, (size, size))


def _qr(node: Node) -> tuple[Node, Node]:
    rows, columns = node.shape[-2:]
    least = min(rows, columns)
    shapes = {"q": (rows, least), "r": (least, columns)}
    q, r = [_each(_operator("qr", shape, part=part), node.shape[:-2], [node], shape, node.dtype) for part, shape in shapes.items()]
    return q, r


def slogdet(x: Array, /) -> SlogdetResult:
    """Signs of determinants, and logarithms of what they are without: 0 and -inf of singular matrices."""
    node = _matrices("slogdet", x, square=True)
    stack = node.shape[:-2]
    sign, logs = [_each(_operator("slogdet", (), part=part), stack, [node], (), node.dtype) for part in ("sign", "logabsdet")]
    return SlogdetResult(Array(sign), Array(logs))


def _svd(node: Node, part: str) -> Node:
    rows, columns = node.shape[-2:]
    least = min(rows, columns)
    shape = {"u": (rows, least), "s": (least,), "vt": (least, columns)}[part]
    return _each(_operator("svd", shape, part=part), node.shape[:-2], [node], shape, node.dtype)


def _completed(columns: Node) -> Node:
    """More columns at right angles to those that are there, until the matrix is square."""
    rows, least = columns.shape[-2:]
    if rows == least:
        return columns
    unit = _steps.broadcast_to(_unit(rows, columns.dtype), (*columns.shape[:-2], rows, rows))
    if least == 0:
        return unit
    more = _qr(_steps.concat([columns, unit], columns.ndim - 1))[0]
    return _steps.concat([columns, _steps.getitem(more, (..., slice(least, None)))], columns.ndim - 1)


def svd(x: Array, /, *, full_matrices: bool = True) -> SVDResult:
    """x = U S Vh: singular values, largest first, and their vectors."""
    node = _matrices("svd", x)
    u, s, vh = [_svd(node, part) for part in ("u", "s", "vt")]
    if full_matrices:
        u, vh = _completed(u), _steps.transpose(_completed(_steps.transpose(vh)))
    return SVDResult(Array(u), Array(s), Array(vh))


def svdvals(x: Array, /) -> Array:
    """Singular values, largest first."""
    return Array(_svd(_matrices("svdvals", x), "s"))


def _cut(node: Node, values: Node, rtol: Any, floor: float) -> Node:
    """Singular values up to which they count as 0: a share of the largest one of each matrix."""
    largest = _steps.reduction("max", values, -1, True)
    if rtol is None:
        return _steps.with_scalar("multiply", largest, floor)
    if isinstance(rtol, Array):
        return _steps.binary("multiply", largest, _steps.expand(_steps.astype(rtol._node, node.dtype), -1))
    return _steps.with_scalar("multiply", largest, float(rtol))


def _tolerance(node: Node) -> float:
    return float(np.finfo(node.dtype).eps) * max(node.shape[-2:])


def matrix_rank(x: Array, /, *, rtol: Any = None) -> Array:
    """How many singular values are not 0; rtol: up to which share of the largest they count as 0."""
    node = _matrices("matrix_rank", x)
    if 0 in node.shape[-2:]:
        return Array(_steps.full(node.shape[:-2], 0, int64))
    values = _svd(node, "s")
    counted = _steps.binary("greater", values, _cut(node, values, rtol, _tolerance(node)))
    return Array(_steps.reduction("sum", counted, -1, False))


def pinv(x: Array, /, *, rtol: Any = None) -> Array:
    """Pseudo-inverse matrices; rtol: up to which share of the largest singular values count as 0."""
    node = _matrices("pinv", x)
    if 0 in node.shape[-2:]:
        return Array(_steps.full((*node.shape[:-2], node.shape[-1], node.shape[-2]), 0, node.dtype))
    u, values, vh = [_svd(node, part) for part in ("u", "s", "vt")]
    counts = _steps.binary("greater", values, _cut(node, values, rtol, _tolerance(node)))
    zero = _steps.full((), 0.0, node.dtype)
    inverse = _steps.where(counts, _steps.with_scalar("divide", values, 1.0, is_left=True), zero)
    left = _steps.binary("multiply", _steps.transpose(vh), _steps.expand(inverse, -2))
    return Array(_steps.matmul(left, _steps.transpose(u)))


def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """Norms of matrices: 'fro', 'nuc', 1, 2, inf, and the least ones -1, -2, -inf."""
    node = _matrices("matrix_norm", x, kind="real floating" if ord in ("nuc", 2, -2) else "floating")
    size = _steps.unary("abs", node)
    if ord == "fro":
        squares = _steps.reduction("sum", _steps.unary("square", size), (-2, -1), True)
        made = _steps.unary("sqrt", squares)
    elif ord in ("nuc", 2, -2):
        values = _svd(node, "s")
        made = _steps.expand(_steps.reduction({"nuc": "sum", 2: "max", -2: "min"}[ord], values, -1, True), -1)
    elif ord in (1, -1):
        made = _steps.reduction("max" if ord > 0 else "min", _steps.reduction("sum", size, -2, True), -1, True)
    elif ord in (math.inf, -math.inf):
        made = _steps.reduction("max" if ord > 0 else "min", _steps.reduction("sum", size, -1, True), -2, True)
    else:
        raise ValueError(f"ord {ord!r}: it is 'fro', 'nuc', 1, 2, inf, -1, -2 or -inf")
    return Array(made if keepdims else _steps.squeeze(made, [made.ndim - 2, made.ndim - 1]))


def vector_norm(x: Array, /, *, axis: Axis = None, keepdims: bool = False, ord: Union[int, float] = 2) -> Array:
    """Lengths of vectors: the ord-th root of the sum of powers; inf: the largest; -inf: the least; 0: how many are not 0."""
    node = node_of("vector_norm", x)
    need("vector_norm", "floating", node.dtype)
    size = _steps.unary("abs", node)
    if ord in (math.inf, -math.inf):
        return Array(_steps.reduction("max" if ord > 0 else "min", size, axis, keepdims))
    if ord == 0:
        counted = _steps.reduction("sum", _steps.with_scalar("not_equal", node, 0.0), axis, keepdims)
        return Array(_steps.astype(counted, size.dtype))
    if ord == 1:
        return Array(_steps.reduction("sum", size, axis, keepdims))
    if ord == 2:
        return Array(_steps.unary("sqrt", _steps.reduction("sum", _steps.unary("square", size), axis, keepdims)))
    powers = _steps.reduction("sum", _steps.with_scalar("pow", size, float(ord)), axis, keepdims)
    return Array(_steps.with_scalar("pow", powers, 1.0 / float(ord)))


def norm(x: Any, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> Array:
    """NumPy's: of vectors along one axis, of matrices along two; without ord and axis of all elements."""
    node = _given.node(x)
    array = Array(node if node.dtype.kind in "fc" else _steps.astype(node, float64))
    if axis is None and ord is None:
        return vector_norm(array, keepdims=keepdims)
    axes = _steps.axes_of(axis, node.ndim)
    if len(axes) == 1:
        if isinstance(ord, str):
            raise ValueError(f"ord {ord!r} is of matrices: give two axes")
        return vector_norm(array, axis=axes[0], keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise ValueError(f"a norm is of vectors or matrices, along one axis or two, not {len(axes)}")
    at = _steps.axes_of(axis, node.ndim) if isinstance(axis, tuple) else axes
    order = [i for i in range(node.ndim) if i not in at]
    made = matrix_norm(Array(_steps.permute(array._node, [*order, *at])), ord="fro" if ord is None else ord)
    if not keepdims:
        return made
    return Array(_steps.reshape(made._node, tuple(1 if i in at else side for i, side in enumerate(node.shape))))


def cond(x: Any, p: Any = None) -> Array:
    """How much matrices stretch errors: the norm times that of the inverse; None and 2, -2: by singular values."""
    given = _given.node(x)
    node = _matrices("cond", Array(given if given.dtype.kind == "f" else _steps.astype(given, float64)), square=p not in (None, 2, -2))
    if 0 in node.shape[-2:]:
        raise ValueError("an empty matrix has no condition number")
    kinds = {None: "2", 2: "2", -2: "-2", 1: "1", -1: "-1", math.inf: "inf", -math.inf: "-inf", "fro": "fro", "nuc": "nuc"}
    if p not in kinds:
        raise ValueError(f"p {p!r}: it is None, 'fro', 'nuc', 1, 2, inf, -1, -2 or -inf")
    return Array(_each(_operator("cond", (), ord=kinds[p]), node.shape[:-2], [node], (), node.dtype))


__all__ = [
    "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul",
    "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "norm", "outer", "pinv", "qr", "slogdet",
    "solve", "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip
