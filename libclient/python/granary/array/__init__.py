"""Arrays that granary computes: the Python array API standard 2021.12, lazily.

    import granary.array as xp

    x = xp.random.normal((100_000, 3), seed=1)
    spread = xp.std(x - xp.mean(x, axis=0), axis=0)   # nothing has run
    numpy.asarray(spread)                             # one graph runs

docs/python-arrays.md is the manual.
"""
from __future__ import annotations

import math as _math

from . import fft as fft, linalg as linalg, random as random
from ._creation import (
    arange as arange, asarray as asarray, empty as empty, empty_like as empty_like, eye as eye, from_dlpack as from_dlpack,
    full as full, full_like as full_like, linspace as linspace, meshgrid as meshgrid, ones as ones, ones_like as ones_like,
    tril as tril, triu as triu, zeros as zeros, zeros_like as zeros_like,
)  # fmt: skip
from ._curves import (
    cumulative_trapezoid as cumulative_trapezoid, interp as interp, polyfit as polyfit, polyval as polyval, trapezoid as
    trapezoid, trapz as trapz,
)  # fmt: skip
from ._dtypes import (
    bool as bool, can_cast as can_cast, complex64 as complex64, complex128 as complex128, finfo as finfo, float32 as float32, float64 as float64, iinfo as iinfo, int8 as
    int8, int16 as int16, int32 as int32, int64 as int64, isdtype as isdtype, result_type as result_type, uint8 as uint8,
    uint16 as uint16, uint32 as uint32, uint64 as uint64,
)  # fmt: skip
from ._edits import append as append, delete as delete, insert as insert
from ._elementwise import (
    abs as abs, acos as acos, acosh as acosh, add as add, angle as angle, asin as asin, asinh as asinh, atan as atan, atan2 as atan2, atanh
    as atanh, bitwise_and as bitwise_and, bitwise_invert as bitwise_invert, bitwise_left_shift as bitwise_left_shift,
    bitwise_or as bitwise_or, bitwise_right_shift as bitwise_right_shift, bitwise_xor as bitwise_xor, ceil as ceil, conj as conj, cos as
    cos, cosh as cosh, divide as divide, equal as equal, exp as exp, expm1 as expm1, floor as floor, floor_divide as
    floor_divide, greater as greater, greater_equal as greater_equal, imag as imag, isfinite as isfinite, isinf as isinf, isnan as isnan,
    less as less, less_equal as less_equal, log as log, log10 as log10, log1p as log1p, log2 as log2, logaddexp as
    logaddexp, logical_and as logical_and, logical_not as logical_not, logical_or as logical_or, logical_xor as logical_xor,
    multiply as multiply, negative as negative, not_equal as not_equal, positive as positive, pow as pow, real as real, remainder as
    remainder, round as round, sign as sign, sin as sin, sinh as sinh, sqrt as sqrt, square as square, subtract as subtract,
    tan as tan, tanh as tanh, trunc as trunc,
)  # fmt: skip
from ._engine import Engine as Engine, Result as Result, use as use
from ._histograms import histogram as histogram, histogram2d as histogram2d, histogram_bin_edges as histogram_bin_edges
from ._linear import (
    matmul as matmul, matrix_transpose as matrix_transpose, tensordot as tensordot, vecdot as vecdot,
)  # fmt: skip
from ._manipulation import (
    astype as astype, broadcast_arrays as broadcast_arrays, broadcast_to as broadcast_to, concat as concat, expand_dims as
    expand_dims, flip as flip, permute_dims as permute_dims, reshape as reshape, roll as roll, squeeze as squeeze, stack as
    stack, where as where,
)  # fmt: skip
from ._object import Array as Array, compute as compute, computed as computed, from_object as from_object, stored as stored
from ._quantiles import (
    median as median, nanmedian as nanmedian, nanpercentile as nanpercentile, nanquantile as nanquantile, percentile as
    percentile, quantile as quantile,
)  # fmt: skip
from ._reductions import (
    all as all, any as any, argmax as argmax, argmin as argmin, argsort as argsort, max as max, mean as mean, min as min,
    nonzero as nonzero, prod as prod, sort as sort, std as std, sum as sum, var as var,
)  # fmt: skip
from ._run import set_chunk_bytes as set_chunk_bytes
from ._sets import (
    unique as unique, unique_all as unique_all, unique_counts as unique_counts, unique_inverse as unique_inverse, unique_values as
    unique_values,
)  # fmt: skip
from ._vectors import (
    convolve as convolve, correlate as correlate, put_along_axis as put_along_axis, take_along_axis as take_along_axis,
)  # fmt: skip

__array_api_version__ = "2021.12"

e = _math.e
inf = _math.inf
nan = _math.nan
pi = _math.pi
newaxis = None

__all__ = [
    "Array", "Engine", "Result", "abs", "acos", "acosh", "add", "all", "angle", "any", "append", "arange", "argmax",
    "argmin", "argsort", "asarray", "asin", "asinh", "astype", "atan", "atan2", "atanh", "bitwise_and",
    "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "bool",
    "broadcast_arrays", "broadcast_to", "can_cast", "ceil", "complex128", "complex64", "compute", "computed",
    "concat", "conj", "convolve", "correlate", "cos", "cosh", "cumulative_trapezoid", "delete", "divide", "e",
    "empty", "empty_like", "equal", "exp", "expand_dims", "expm1", "eye", "fft", "finfo", "flip", "float32",
    "float64", "floor", "floor_divide", "from_dlpack", "from_object", "full", "full_like", "greater", "greater_equal",
    "histogram", "histogram2d", "histogram_bin_edges", "iinfo", "imag", "inf", "insert", "int16", "int32", "int64",
    "int8", "interp", "isdtype", "isfinite", "isinf", "isnan", "less", "less_equal", "linalg", "linspace", "log",
    "log10", "log1p", "log2", "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor", "matmul",
    "matrix_transpose", "max", "mean", "median", "meshgrid", "min", "multiply", "nan", "nanmedian", "nanpercentile",
    "nanquantile", "negative", "newaxis", "nonzero", "not_equal", "ones", "ones_like", "percentile", "permute_dims",
    "pi", "polyfit", "polyval", "positive", "pow", "prod", "put_along_axis", "quantile", "random", "real",
    "remainder", "reshape", "result_type", "roll", "round", "set_chunk_bytes", "sign", "sin", "sinh", "sort", "sqrt",
    "square", "squeeze", "stack", "std", "stored", "subtract", "sum", "take_along_axis", "tan", "tanh", "tensordot",
    "trapezoid", "trapz", "tril", "triu", "trunc", "uint16", "uint32", "uint64", "uint8", "unique", "unique_all",
    "unique_counts", "unique_inverse", "unique_values", "use", "var", "vecdot", "where", "zeros", "zeros_like",
]  # fmt: skip
