"""Random numbers: the same for the same seed, however they are computed. Names are NumPy's, the numbers are not."""
from __future__ import annotations

import math
import operator
from typing import Any, Optional, Union

import numpy as np

from . import _given, _steps
from ._creation import shape_of
from ._dtypes import DType, dtype_of, float64, int64
from ._elementwise import node_of
from ._node import Node, Shape
from ._object import Array

Size = Union[int, Shape]


def _draw(distribution: str, shape: Size, seed: int, dtype: Optional[DType], drawn: DType, **params: Any) -> Array:
    sides = shape_of(shape)
    # The operator has at least one axis.
    given = {"shape": list(sides) or [1], "seed": seed, "distribution": distribution, **params}
    node = Node("random", (), given, drawn, sides or (1,))
    return Array(_steps.astype(_steps.reshape(node, sides), drawn if dtype is None else dtype_of(dtype)))


def uniform(shape: Size, low: float = 0.0, high: float = 1.0, *, seed: int = 0, dtype: Optional[DType] = None) -> Array:
    """Evenly from low to below high."""
    return _draw("uniform", shape, seed, dtype, float64, low=float(low), high=float(high))


def integers(shape: Size, low: int, high: int, *, seed: int = 0, dtype: Optional[DType] = None) -> Array:
    """Whole numbers from low to below high."""
    return _draw("integers", shape, seed, dtype, int64, low=int(low), high=int(high))


def normal(shape: Size, loc: float = 0.0, scale: float = 1.0, *, seed: int = 0, dtype: Optional[DType] = None) -> Array:
    """Of a normal distribution: its mean and standard deviation."""
    return _draw("normal", shape, seed, dtype, float64, loc=float(loc), scale=float(scale))


_FLOATING = ("lognormal", "laplace", "logistic", "gumbel", "cauchy", "exponential", "gamma", "weibull", "rayleigh", "beta",
             "pareto", "power", "chisquare", "standard_t")  # fmt: skip
_WHOLE = ("poisson", "binomial", "geometric")


def draw(distribution: str, shape: Size, *, seed: int = 0, dtype: Optional[DType] = None, **params: float) -> Array:
    """Of any distribution that the operator `random` has (docs/operators.md), with its parameters: draw('gamma', 9, alpha=2)."""
    if distribution in ("uniform", "normal"):
        return _draw(distribution, shape, seed, dtype, float64, **params)
    if distribution in ("integers", *_WHOLE):
        return _draw(distribution, shape, seed, dtype, int64, **params)
    if distribution not in _FLOATING:
        known = ", ".join(sorted(("uniform", "normal", "integers", *_WHOLE, *_FLOATING)))
        raise ValueError(f"distribution {distribution!r}: there are {known}")
    return _draw(distribution, shape, seed, dtype, float64, **params)


def permutation(x: Union[int, Array], *, seed: int = 0) -> Array:
    """The first axis in a random order; of a number: the numbers below it."""
    if isinstance(x, Array):
        if not x.ndim:
            raise ValueError("permutation() takes arrays with at least one dimension")
        return Array(Node("permutation", (x._node,), {"seed": seed}, x.dtype, x.shape))
    return Array(Node("permutation", (), {"n": x, "seed": seed}, int64, (x,)))


def choice(x: Array, size: int = 1, *, replace: bool = True, p: Optional[Array] = None, seed: int = 0) -> Array:
    """Elements drawn along the first axis; p: their chances."""
    nodes = [node_of("choice", one) for one in ([x] if p is None else [x, p])]
    if not x.ndim or not x.shape[0] and size:
        raise ValueError(f"nothing to draw from in an array of shape {x.shape}")
    return Array(Node("choice", nodes, {"size": size, "replace": replace, "seed": seed}, x.dtype, (size, *x.shape[1:])))


def multivariate_normal(mean: Any, cov: Any, size: Optional[Size] = None, *, method: str = "eigh", seed: int = 0) -> Array:
    """Rows of normal numbers that vary together. method: 'eigh', or 'cholesky', which needs positive definite covariances."""
    one, other = _given.node(mean), _given.node(cov)
    if one.ndim != 1 or not one.size or other.shape != (one.size, one.size):
        raise ValueError(f"means of shape {one.shape} do not fit covariances of shape {other.shape}")
    if method not in ("eigh", "cholesky"):
        raise ValueError(f"method {method!r}: it is 'eigh' or 'cholesky'")
    sides = () if size is None else shape_of(size)
    params = {"size": math.prod(sides), "seed": seed, "method": method}
    made = Node("multivariate_normal", (one, other), params, float64, (math.prod(sides), one.size))
    return Array(_steps.reshape(made, (*sides, one.size)))


def multinomial(n: int, pvals: Any, size: Optional[Size] = None, *, seed: int = 0) -> Array:
    """How often each of some outcomes came of n trials; the last one's chance is what is left of 1."""
    chances = _numbers("pvals", pvals)
    return _rows("multinomial", len(chances), size, seed, int64, n=operator.index(n), pvals=chances)


def dirichlet(alpha: Any, size: Optional[Size] = None, *, seed: int = 0) -> Array:
    """Shares that add up to 1; alpha: their shapes."""
    shapes = _numbers("alpha", alpha)
    return _rows("dirichlet", len(shapes), size, seed, float64, alphas=shapes)


def _numbers(name: str, values: Any) -> list[float]:
    made = np.asarray(values, dtype=float)
    if made.ndim != 1 or not made.size:
        raise ValueError(f"{name} is a list of numbers, not of shape {made.shape}")
    return [float(one) for one in made]


def _rows(distribution: str, width: int, size: Optional[Size], seed: int, dtype: DType, **params: Any) -> Array:
    sides = (*(() if size is None else shape_of(size)), width)
    return Array(Node("random", (), {"shape": list(sides), "seed": seed, "distribution": distribution, **params}, dtype, sides))


__all__ = ["choice", "dirichlet", "draw", "integers", "multinomial", "multivariate_normal", "normal", "permutation", "uniform"]
