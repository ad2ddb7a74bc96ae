"""Exact arithmetic against Python's integers and Fractions: decimals beyond int64, uint64, and comparisons across dtypes."""
import math
from fractions import Fraction

import numpy as np

from granary_test import Column, GranaryError, Instance

rng = np.random.default_rng(12)
ROWS = 4500


def big(digits):
    """Integers of up to so many digits, small ones more often; long runs of small ones only, so that blocks differ."""
    out = []
    for row in range(ROWS):
        size = int(rng.integers(1, digits + 1)) if row % 4096 > 2500 else int(rng.integers(1, 8))
        out.append(int(rng.integers(0, 10**9)) * 10**max(0, size - 9) % 10**size * (1 if rng.random() < 0.5 else -1))
    return out


m, w, n = big(30), big(30), big(6)
j = [int(v) for v in rng.integers(-1000, 1000, ROWS)]
u = [int(v) for v in rng.integers(0, 2**64, ROWS, dtype='u8')]
x = [float(v) for v in rng.normal(size=ROWS) * 10.0 ** rng.integers(0, 20, ROWS)]
x = [float(u[i]) if i % 5 == 0 else x[i] for i in range(ROWS)]
valid = rng.random(ROWS) > 0.1

COLUMNS = {
    'm': Column('decimal(2)', m, valid),
    'w': Column('decimal(4)', w),
    'n': Column('decimal(3)', n),
    'j': Column('int64', np.array(j)),
    'u': Column('uint64', np.array(u, 'u8')),
    'x': Column('float64', np.array(x)),
}


def half_away(value, unit):
    """value in units, rounded to multiples of unit."""
    q, r = divmod(abs(value), unit)
    return (q + (2 * r >= unit)) * unit * (1 if value >= 0 else -1)


def floor(value, unit):
    return value // unit * unit


# expression -> (dtype, value of row i)
WANT = {
    'm + w': ('decimal(4)', lambda i: m[i] * 100 + w[i]),
    'm - w': ('decimal(4)', lambda i: m[i] * 100 - w[i]),
    'm * n': ('decimal(5)', lambda i: m[i] * n[i]),
    'm * j': ('decimal(2)', lambda i: m[i] * j[i]),
    'm * (1 - 0.05)': ('decimal(4)', lambda i: m[i] * 95),
    '-w': ('decimal(4)', lambda i: -w[i]),
    'abs(w)': ('decimal(4)', lambda i: abs(w[i])),
    'sign(w)': ('decimal(4)', lambda i: ((w[i] > 0) - (w[i] < 0)) * 10**4),
    'w // n': ('decimal(4)', lambda i: w[i] // (n[i] * 10) * 10**4 if n[i] else None),
    'w % n': ('decimal(4)', lambda i: w[i] % (n[i] * 10) if n[i] else None),
    'floor(w)': ('decimal(4)', lambda i: floor(w[i], 10**4)),
    'ceil(w)': ('decimal(4)', lambda i: -floor(-w[i], 10**4)),
    'trunc(w)': ('decimal(4)', lambda i: int(math.copysign(1, w[i])) * floor(abs(w[i]), 10**4)),
    'round(w)': ('decimal(4)', lambda i: half_away(w[i], 10**4)),
    'round(w, 2)': ('decimal(4)', lambda i: half_away(w[i], 100)),
    'round(w, -2)': ('decimal(4)', lambda i: half_away(w[i], 10**6)),
    'cast(m as decimal(6))': ('decimal(6)', lambda i: m[i] * 10**4),
    'cast(w as decimal(2))': ('decimal(2)', lambda i: half_away(w[i], 100) // 100),
    'cast(u as decimal(0))': ('decimal(0)', lambda i: u[i]),
    'try_cast(w as int64)': ('int64', lambda i: (lambda v: v if -2**63 <= v < 2**63 else None)(half_away(w[i], 10**4) // 10**4)),
    'try_cast(u as int64)': ('int64', lambda i: u[i] if u[i] < 2**63 else None),
    'm < w': ('bool', lambda i: m[i] * 100 < w[i]),
    'm = 12.5': ('bool', lambda i: m[i] == 1250),
    'm >= 0.005': ('bool', lambda i: m[i] * 10 >= 5),
    'n > j': ('bool', lambda i: n[i] > j[i] * 1000),
    'u > j': ('bool', lambda i: u[i] > j[i]),
    'u < x': ('bool', lambda i: u[i] < Fraction(x[i])),
    'u = x': ('bool', lambda i: u[i] == Fraction(x[i])),
    'j >= x': ('bool', lambda i: j[i] >= Fraction(x[i])),
    'u % 1000': ('uint64', lambda i: u[i] % 1000),
    'u // 3': ('uint64', lambda i: u[i] // 3),
    'greatest(m, w)': ('decimal(4)', lambda i: max(m[i] * 100, w[i]) if valid[i] else w[i]),
    'coalesce(m, n)': ('decimal(3)', lambda i: m[i] * 10 if valid[i] else n[i]),
    'case when j > 0 then m else w end': ('decimal(4)', lambda i: m[i] * 100 if j[i] > 0 else w[i]),
    'nullif(n, 0)': ('decimal(3)', lambda i: n[i] or None),
    'n in (0, 1.5, j)': ('bool', lambda i: n[i] in (0, 1500, j[i] * 1000)),
}


def reads_null(expression, i):
    if valid[i] or 'm' not in expression.replace('decimal', '').replace('greatest(m', '').replace('coalesce(m', ''):
        return False
    return not (expression.startswith('case') and j[i] <= 0)


def check(granary, pieces):
    node = granary.put(COLUMNS, pieces=pieces)
    names = {f'c{k}': text for k, text in enumerate(WANT)}
    frame = granary.run({'in': node, 'out': {'op': 'assign', 'input': 'in', 'columns': names}}, 'out')
    for name, expression in names.items():
        dtype, value = WANT[expression]
        column = frame[name]
        assert column.dtype == dtype, f'{expression}: {column.dtype}'
        for i in range(ROWS):
            want = None if reads_null(expression, i) else value(i)
            got = column.values[i] if column.valid is None or column.valid[i] else None
            assert got == want, f'{expression}: row {i}: {got}, not {want} (m {m[i]}, w {w[i]}, n {n[i]}, u {u[i]}, x {x[i]})'
    kept = granary.run({'in': node, 'out': {'op': 'filter', 'input': 'in', 'where': 'm > 0.5 and w <= 1000000 and u >= 5'}}, 'out')
    want = [i for i in range(ROWS) if valid[i] and m[i] > 50 and w[i] <= 10**10 and u[i] >= 5]
    assert list(kept['w'].values) == [w[i] for i in want]
    for broken in ('w * w', 'cast(m * m * m as float64)'):
        try:
            granary.run({'in': node, 'out': {'op': 'assign', 'input': 'in', 'columns': {'c': broken}}}, 'out')
            raise AssertionError(f'{broken} did not fail')
        except GranaryError as error:
            assert 'decimal overflow (cast one to float64) of' in str(error), error


with Instance(executors=2) as granary:
    check(granary, 1)
    check(granary, 3)
print('ok')
