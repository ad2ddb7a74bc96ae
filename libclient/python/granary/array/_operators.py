"""One table: the standard's names of functions, and the operators of granary that they are.

Functions that are made of several operators are not here but in the modules that define them.
"""
from __future__ import annotations

from typing import NamedTuple


class Function(NamedTuple):
    """An element-wise function."""

    operator: str
    takes: str
    """Dtypes: a kind of _dtypes._KINDS."""
    is_predicate: bool
    """It gives bool; others give the dtype they take."""
    does: str
    is_part: bool = False
    """Of complex numbers it gives floats."""


def _numbers(operator: str, does: str) -> Function:
    return Function(operator, "numeric", False, does)


def _reals(operator: str, does: str) -> Function:
    return Function(operator, "real numeric", False, does)


def _floats(operator: str, does: str) -> Function:
    return Function(operator, "floating", False, does)


UNARY: dict[str, Function] = {
    "abs": Function("absolute", "numeric", False, "|x|", True),
    "acos": _floats("arccos", "inverse cosine"),
    "acosh": _floats("arccosh", "inverse hyperbolic cosine"),
    "angle": Function("angle", "floating", False, "the angle from 1, -pi to pi", True),
    "asin": _floats("arcsin", "inverse sine"),
    "asinh": _floats("arcsinh", "inverse hyperbolic sine"),
    "atan": _floats("arctan", "inverse tangent"),
    "atanh": _floats("arctanh", "inverse hyperbolic tangent"),
    "bitwise_invert": Function("invert", "integral or bool", False, "all bits turned; of bool: not"),
    "ceil": _reals("ceil", "smallest whole number not below x"),
    "conj": _numbers("conj", "the conjugate; a real number stays"),
    "cos": _floats("cos", "cosine"),
    "cosh": _floats("cosh", "hyperbolic cosine"),
    "exp": _floats("exp", "e to the power x"),
    "expm1": _floats("expm1", "exp(x) - 1, exact near 0"),
    "floor": _reals("floor", "largest whole number not above x"),
    "imag": Function("imag", "numeric", False, "the imaginary part: 0 of a real number", True),
    "isfinite": Function("isfinite", "numeric", True, "whether x is neither nan nor infinite"),
    "isinf": Function("isinf", "numeric", True, "whether x is infinite"),
    "isnan": Function("isnan", "numeric", True, "whether x is nan"),
    "log": _floats("log", "natural logarithm"),
    "log10": _floats("log10", "logarithm to base 10"),
    "log1p": _floats("log1p", "log(1 + x), exact near 0"),
    "log2": _floats("log2", "logarithm to base 2"),
    "logical_not": Function("logical_not", "bool", True, "not x"),
    "negative": _numbers("negative", "-x"),
    "positive": _numbers("positive", "x"),
    "real": Function("real", "numeric", False, "the real part; a real number stays", True),
    "round": _numbers("round", "nearest whole number, halves to even"),
    "sign": _numbers("sign", "-1, 0 or 1; of a complex number x / |x|"),
    "sin": _floats("sin", "sine"),
    "sinh": _floats("sinh", "hyperbolic sine"),
    "sqrt": _floats("sqrt", "square root"),
    "square": _numbers("square", "x * x"),
    "tan": _floats("tan", "tangent"),
    "tanh": _floats("tanh", "hyperbolic tangent"),
    "trunc": _reals("trunc", "x cut towards 0"),
}

BINARY: dict[str, Function] = {
    "add": _numbers("add", "x1 + x2"),
    "atan2": Function("arctan2", "real floating", False, "the angle of the point (x2, x1)"),
    "bitwise_and": Function("bitwise_and", "integral or bool", False, "bits of both"),
    "bitwise_left_shift": Function("left_shift", "integral", False, "x1 * 2 to the power x2"),
    "bitwise_or": Function("bitwise_or", "integral or bool", False, "bits of one or both"),
    "bitwise_right_shift": Function("right_shift", "integral", False, "x1 / 2 to the power x2, rounded down"),
    "bitwise_xor": Function("bitwise_xor", "integral or bool", False, "bits of exactly one"),
    "divide": _floats("divide", "x1 / x2"),
    "equal": Function("equal", "any", True, "x1 == x2"),
    "floor_divide": _reals("floor_divide", "largest whole number not above x1 / x2"),
    "greater": Function("greater", "real numeric", True, "x1 > x2"),
    "greater_equal": Function("greater_equal", "real numeric", True, "x1 >= x2"),
    "less": Function("less", "real numeric", True, "x1 < x2"),
    "less_equal": Function("less_equal", "real numeric", True, "x1 <= x2"),
    "logaddexp": Function("logaddexp", "real floating", False, "log(exp(x1) + exp(x2))"),
    "logical_and": Function("logical_and", "bool", True, "x1 and x2"),
    "logical_or": Function("logical_or", "bool", True, "x1 or x2"),
    "logical_xor": Function("logical_xor", "bool", True, "exactly one of them"),
    "multiply": _numbers("multiply", "x1 * x2"),
    "not_equal": Function("not_equal", "any", True, "x1 != x2"),
    "pow": _numbers("power", "x1 to the power x2"),
    "remainder": _reals("mod", "what floor_divide() leaves, with the sign of x2"),
    "subtract": _numbers("subtract", "x1 - x2"),
}

REDUCTIONS: dict[str, str] = {
    "sum": "sum", "prod": "prod", "max": "max", "min": "min", "mean": "mean", "var": "var", "std": "std", "all": "all",
    "any": "any", "argmax": "argmax", "argmin": "argmin",
}  # fmt: skip

OTHERS: dict[str, str] = {
    "arange": "arange", "astype": "astype", "broadcast_to": "broadcast_to", "concat": "concatenate", "expand_dims": "expand_dims",
    "eye": "eye", "flip": "flip", "full": "full", "linspace": "linspace", "matmul": "matmul", "meshgrid": "meshgrid",
    "ones": "ones", "permute_dims": "transpose", "reshape": "reshape", "roll": "roll", "sort": "tensor_sort",
    "argsort": "argsort", "squeeze": "squeeze", "stack": "stack", "tensordot": "tensordot", "tril": "tril", "triu": "triu",
    "where": "where", "zeros": "zeros",
}  # fmt: skip
"""The rest of those that are one operator each."""
