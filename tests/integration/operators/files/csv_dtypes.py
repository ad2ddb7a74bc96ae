"""read_csv with every dtype it can be told: values, nulls, and what does not fit."""
import os
import random
from decimal import Decimal

import numpy as np

from granary_test import NUMPY, Instance

random.seed(1)
ROWS = 3000


def number(dtype):
    if dtype == 'decimal(2)':
        digits = random.choice([1, 5, 9, 20])
        return f'{random.choice(["", "-"])}{random.randrange(10**digits)}{random.choice(["", ".5", ".25", ".10", ".700"])}'
    if dtype.startswith('float'):
        return random.choice([repr(random.gauss(0, 1e3)), '1e-40', '3.4e38', '16777217', '0.1'])
    limits = np.iinfo(NUMPY[dtype])
    return str(random.choice([limits.min, limits.max, random.randint(int(limits.min), int(limits.max)), 7]))


with Instance() as granary:
    dtypes = ['int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'float32', 'float64', 'decimal(2)']
    rows = [[number(d) if random.random() < 0.9 else '' for d in dtypes] for _ in range(ROWS)]
    path = os.path.join(granary.directory, 'x.csv')
    with open(path, 'w') as file:
        file.write(','.join(dtypes) + '\n' + ''.join(','.join(row) + '\n' for row in rows))
    read = {'op': 'read_csv', 'path': path, 'dtypes': {d: d for d in dtypes}}
    for chunk_bytes in (0, 20000):
        frame = granary.run({'x': read}, 'x', chunk_bytes)
        for place, dtype in enumerate(dtypes):
            column, texts = frame[dtype], [row[place] for row in rows]
            assert column.dtype == dtype and np.array_equal(column.valid, [t != '' for t in texts]), dtype
            for value, text in zip(column.values, texts):
                if text != '' and dtype == 'decimal(2)':
                    assert Decimal(value) / 100 == Decimal(text), (value, text)
                elif text != '':
                    assert value == np.dtype(NUMPY[dtype]).type(text), (dtype, value, text)
    # Integers beyond int64 keep all their digits, wherever the file is cut; only beside fractions are they floats.
    for texts, dtype in ((['-7', '9223372036854775809', '', '9' * 38], 'decimal(0)'), (['9223372036854775808', '0.5'], 'float64'),
                         (['9223372036854775807', '-9223372036854775808'], 'int64'), (['1' * 39], 'float64')):
        with open(path, 'w') as file:
            file.write('a,b\n' + ''.join(f'{text},x\n' for text in texts * 500))
        for chunk_bytes in (0, 2000):
            column = granary.run({'x': {'op': 'read_csv', 'path': path}}, 'x', chunk_bytes)['a']
            assert column.dtype == dtype, (texts, column.dtype)
            if dtype != 'float64':
                assert [int(v) if ok else None for v, ok in zip(column.values, column.valid if column.valid is not None else [True] * len(column.values))] == [int(t) if t else None for t in texts] * 500, texts
    for dtype, text in (('int8', '128'), ('uint8', '-1'), ('uint64', '18446744073709551616'), ('decimal(1)', '0.25'),
                        ('decimal(0)', '1' * 39), ('float32', 'x'), ('int32', '2147483648')):
        with open(path, 'w') as file:
            file.write(f'a\n1\n{text}\n')
        granary.fails({'x': {'op': 'read_csv', 'path': path, 'dtypes': {'a': dtype}}}, 'x', 'x.csv:3', "'a'", dtype)
    granary.fails({'x': {'op': 'read_csv', 'path': path, 'dtypes': {'a': 'object'}}}, 'x', "'object'", 'duration')
