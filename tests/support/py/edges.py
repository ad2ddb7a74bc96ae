"""Values of each dtype that are easily lost on the way through a file."""
import numpy as np

from granary_test import NUMPY

TEXTS = ['', '\\N', 'NA', 'nan', '0', 'true', ' ', 'a,b', 'a;b', '"', '""', 'say "x"', 'two\nlines', 'cr\rcr', '\r\n', '\ufeffmark', 'é€😀', '2020-01-01', '-', 'x' * 300]


def edges(dtype):
    """Values of a dtype, its smallest and largest among them."""
    if dtype == 'bool':
        return np.array([False, True])
    if dtype.startswith('float'):
        limits = np.finfo(dtype)
        return np.array([0.0, -0.0, 0.1, -1.5, 1e-5, 123456789.125, limits.max, limits.min, limits.tiny, limits.smallest_subnormal, np.inf, -np.inf, np.nan], dtype)
    if dtype.startswith('decimal'):
        return [0, 1, -1, 10**37, -10**38 + 1, 10**38 - 1]
    if dtype == 'string':
        return TEXTS
    if dtype == 'binary':
        return [b'', b'\0', b'\xff' * 70, bytes(range(256)), b'\\x41', b'a,"b"\n', 'é€'.encode()]
    if dtype == 'time':
        return np.array([0, 1, 86399999999, 43200000000, 3600000000, 59999999], 'i8')
    limits = np.iinfo(NUMPY[dtype])
    return np.array([0, 1, limits.min + (dtype in ('timestamp', 'timestamptz', 'duration')), limits.max, limits.max // 2, 86400000000 % limits.max], NUMPY[dtype])


def same(read, column, what):
    """-0.0 is not 0.0 here, and nan is nan."""
    assert read == column, f'{what}: {read}, not {column}'
    if column.dtype.startswith('float'):
        keep = np.ones(len(column), bool) if column.valid is None else column.valid
        assert np.array_equal(np.signbit(read.values[keep]), np.signbit(column.values[keep])), what
