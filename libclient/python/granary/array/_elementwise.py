"""Element-wise functions: all of them are operators of granary (_operators.py)."""
from __future__ import annotations

from typing import Any, Callable

from . import _steps
from ._node import Node
from ._object import Array
from ._operators import BINARY, UNARY

Unary = Callable[[Array], Array]
Binary = Callable[[Array, Array], Array]


def node_of(name: str, x: Any) -> Node:
    """TypeError unless it is an array: functions of the standard take no Python scalars."""
    if not isinstance(x, Array):
        raise TypeError(f"{name}() takes arrays, not {type(x).__name__}: use asarray()")
    return x._node


def _unary(name: str) -> Unary:
    def function(x: Array, /) -> Array:
        return Array(_steps.unary(name, node_of(name, x)))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Element-wise: {UNARY[name].does}. Takes {UNARY[name].takes} dtypes."
    return function


def _binary(name: str) -> Binary:
    def function(x1: Array, x2: Array, /) -> Array:
        return Array(_steps.binary(name, node_of(name, x1), node_of(name, x2)))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Element-wise: {BINARY[name].does}. Takes {BINARY[name].takes} dtypes."
    return function


abs = _unary("abs")
acos = _unary("acos")
acosh = _unary("acosh")
angle = _unary("angle")
asin = _unary("asin")
asinh = _unary("asinh")
atan = _unary("atan")
atanh = _unary("atanh")
bitwise_invert = _unary("bitwise_invert")
ceil = _unary("ceil")
conj = _unary("conj")
cos = _unary("cos")
cosh = _unary("cosh")
exp = _unary("exp")
expm1 = _unary("expm1")
floor = _unary("floor")
imag = _unary("imag")
isfinite = _unary("isfinite")
isinf = _unary("isinf")
isnan = _unary("isnan")
log = _unary("log")
log10 = _unary("log10")
log1p = _unary("log1p")
log2 = _unary("log2")
logical_not = _unary("logical_not")
negative = _unary("negative")
positive = _unary("positive")
real = _unary("real")
round = _unary("round")
sign = _unary("sign")
sin = _unary("sin")
sinh = _unary("sinh")
sqrt = _unary("sqrt")
square = _unary("square")
tan = _unary("tan")
tanh = _unary("tanh")
trunc = _unary("trunc")
add = _binary("add")
atan2 = _binary("atan2")
bitwise_and = _binary("bitwise_and")
bitwise_left_shift = _binary("bitwise_left_shift")
bitwise_or = _binary("bitwise_or")
bitwise_right_shift = _binary("bitwise_right_shift")
bitwise_xor = _binary("bitwise_xor")
divide = _binary("divide")
equal = _binary("equal")
floor_divide = _binary("floor_divide")
greater = _binary("greater")
greater_equal = _binary("greater_equal")
less = _binary("less")
less_equal = _binary("less_equal")
logaddexp = _binary("logaddexp")
logical_and = _binary("logical_and")
logical_or = _binary("logical_or")
logical_xor = _binary("logical_xor")
multiply = _binary("multiply")
not_equal = _binary("not_equal")
pow = _binary("pow")
remainder = _binary("remainder")
subtract = _binary("subtract")
