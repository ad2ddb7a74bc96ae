"""What the parts draw: numbers, texts, columns and tensors. All of a case follows from the seed, the part and its number."""
import random

import numpy as np

from granary_test import Column

INTEGERS = ('int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64')
FLOATS = ('float32', 'float64')
WORDS = ['', 'a', 'ab', 'b', 'B', 'aB', 'é', 'ü€', 'ǆ漢a', 'ⅷB', '漢字', '🐦 bird', 'longer than seven', 'a,b', "it's", 'x"y', 'a_b', 'a%b', ' pad ', 'ab\nc', '12', '-3.5', '\\N', 'null']
FLOAT_ENDS = [0.0, -0.0, 1e300, -1e300, 5e-324, 9007199254740993.0, 0.1, 1 / 3, float('inf'), float('-inf'), float('nan')]
DAY_ENDS = [-719162, -1, 0, 59, 11016, 18321, 2932896]  # years 1, 1969, 1970, 2000-02-29, 2020-02-29, 9999
US = 86400 * 10**6


class Draw(random.Random):
    """random.Random with a few shorter words."""
    want = None  # the parameter or function that a case is drawn for

    def chance(self, p):
        return self.random() < p

    def likely(self, p, *names):
        """Chance, but mostly true when one of these is wanted."""
        return self.random() < (0.85 if self.want in names else p)

    def prefer(self, among):
        """One of these: mostly what is wanted."""
        return self.want if self.want in among and self.chance(0.85) else self.choice(among)

    def some(self, among, most=3, least=1):
        among = list(among)
        return self.sample(among, min(len(among), self.randint(least, max(least, most))))


def ends(dtype):
    info = np.iinfo(dtype)
    return [int(info.min), int(info.max), int(info.max) - 1, 0]


def value(draw, dtype, wild=0.1):
    """One value of a frame's dtype as JSON has it; decimals as whole numbers of their last digit."""
    rare = draw.chance(wild)
    if dtype in INTEGERS:
        if rare:
            return draw.choice(ends(dtype) + ([2**53 + 1, 2**53 - 1] if dtype in ('int64', 'uint64') else []))
        return draw.randint(0 if dtype[0] == 'u' else -4, 6)
    if dtype in FLOATS:
        x = draw.choice(FLOAT_ENDS) if rare else draw.choice([0.5, -1.5, 2.0, 3.25, -7.0, 0.0, 100.125, round(draw.gauss(0, 10), 2)])
        with np.errstate(over='ignore'):
            return float(np.float32(x)) if dtype == 'float32' else x
    if dtype == 'string':
        return draw.choice(WORDS if rare or draw.chance(0.3) else WORDS[:6])
    if dtype == 'bool':
        return draw.chance(0.5)
    if dtype == 'date':
        return draw.choice(DAY_ENDS) if rare else draw.randint(10950, 10980)
    if dtype == 'timestamp':
        return draw.choice(DAY_ENDS) * US + draw.choice([0, 1, -1, 43200 * 10**6]) if rare else draw.randint(10950, 10955) * US + draw.choice([0, 1, 3600 * 10**6 * draw.randint(0, 23)])
    if dtype == 'timestamptz':
        return value(draw, 'timestamp', wild)
    if dtype == 'time':
        return draw.choice([0, 1, US - 1, US // 2]) if rare else draw.randint(0, 23) * 3600 * 10**6 + draw.choice([0, 1, 1800 * 10**6])
    if dtype == 'binary':  # its bytes, as characters
        return draw.choice(['\0', '\xff\xfe', '\\x', '\0\0', 'a' * 300, 'Ã©']) if rare else draw.choice(['', 'a', 'ab', 'b\0', '\x80'])
    if dtype == 'duration':
        return draw.choice([0, 1, -1, 2**53 + 1, -US]) if rare else draw.randint(-5, 5) * 10**6
    if dtype.startswith('decimal'):
        return draw.choice([10**17 - 1, -10**17 + 1, 9007199254740993, 0]) if rare else draw.randint(-500, 500)
    raise KeyError(dtype)


def column(draw, dtype, rows, nulls=None, wild=None):
    """A column as a case keeps it: {dtype, values}; None is null."""
    nulls = draw.choice([0, 0, 0.1, 0.5, 1.0 if draw.chance(0.1) else 0.2]) if nulls is None else nulls
    wild = draw.choice([0, 0, 0.1, 0.4]) if wild is None else wild
    pool = [value(draw, dtype, wild) for _ in range(draw.choice([1, 3, 8]))] if draw.chance(0.4) else None
    values = [None if draw.random() < nulls else draw.choice(pool) if pool else value(draw, dtype, wild) for _ in range(rows)]
    return {'dtype': dtype, 'values': values}


def rows(draw):
    return draw.choice([0, 1, 2, 3, 5, 8, 8, 13, 20, 40, 65])


def to_column(kept):
    """The Column of a kept one."""
    values = kept['values']
    valid = [v is not None for v in values]
    dtype = kept['dtype']
    if dtype == 'string':
        return Column(dtype, ['' if v is None else v for v in values], valid, kept.get('encoded', False))
    if dtype == 'binary':
        return Column(dtype, [b'' if v is None else v.encode('latin-1') for v in values], valid, kept.get('encoded', False))
    if dtype.startswith('decimal'):
        return Column(dtype, [0 if v is None else v for v in values], valid)
    code = {'bool': '?', 'date': 'i4', 'timestamp': 'i8', 'timestamptz': 'i8', 'time': 'i8', 'duration': 'i8', 'null': 'i8'}.get(dtype, dtype)
    return Column(dtype, np.array([0 if v is None else v for v in values], dtype=code), valid)


def to_list(column):
    """A Column's values in Python; None is null."""
    values = column.values if isinstance(column.values, list) else np.asarray(column.values).tolist()
    if column.valid is None:
        return list(values)
    return [v if ok else None for v, ok in zip(values, column.valid)]


# ---- tensors ----

DTYPES = ('bool',) + INTEGERS + FLOATS
COMPLEX = ('complex64', 'complex128')


def tensor(draw, shape, dtype=None, wild=None, low=None, high=None):
    """A tensor as a case keeps it: {dtype, shape, values}."""
    dtype = dtype or draw.choice(DTYPES)
    wild = draw.choice([0, 0, 0.1, 0.3]) if wild is None else wild
    count = int(np.prod(shape))

    def one():
        if low is not None:
            return draw.randint(low, high) if dtype not in FLOATS else draw.uniform(low, high)
        return value(draw, dtype, wild)

    return {'dtype': dtype, 'shape': list(shape), 'values': [one() for _ in range(count)]}


def complexed(draw, kept, among=None):
    """The tensor with imaginary parts: a complex value is kept as a list of both."""
    if kept['dtype'] in COMPLEX:
        return kept
    dtype = 'complex64' if kept['dtype'] == 'float32' else 'complex128' if kept['dtype'] == 'float64' else draw.choice(COMPLEX)
    pool = among or [float(v) for v in kept['values']] + [0.0, 1.0, -0.5]
    with np.errstate(over='ignore'):
        values = [[float(np.float32(part)) if dtype == 'complex64' else float(part) for part in (draw.choice(among) if among else v, draw.choice(pool))]
                  for v in kept['values']]
    return {'dtype': dtype, 'shape': kept['shape'], 'values': values}


def from_array(array):
    values = array.ravel().tolist()
    return {'dtype': array.dtype.name, 'shape': list(array.shape), 'values': [[v.real, v.imag] for v in values] if array.dtype.kind == 'c' else values}


def to_array(kept):
    if kept['dtype'] in COMPLEX:
        parts = np.array(kept['values'], 'f8').reshape(-1, 2)
        return parts.reshape(-1).view('c16').astype(kept['dtype']).reshape(kept['shape'])
    return np.array(kept['values'], dtype=kept['dtype']).reshape(kept['shape'])


def shape(draw, least=1, most=3, empty=True):
    sizes = [1, 2, 3, 4, 5, 7] + ([0] if empty and draw.chance(0.15) else [])
    return [draw.choice(sizes) for _ in range(draw.randint(least, most))]
