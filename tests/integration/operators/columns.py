"""What is put comes back: every dtype, nulls, dictionaries, empty frames, tensors of every width."""
import ctypes

import numpy as np

import granary_test
from granary_test import NUMPY, Column, Instance, _Id

rng = np.random.default_rng(1)


def some(dtype, rows):
    if dtype == 'bool':
        return rng.integers(0, 2, rows).astype(bool)
    if dtype == 'string':
        return [rng.choice(['', 'a', 'ä€😀', 'long ' * 20, "quote '\""]) for _ in range(rows)]
    if dtype == 'binary':
        return [rng.bytes(int(rng.integers(0, 40))) for _ in range(rows)]
    if dtype == 'time':
        return rng.integers(0, 86400 * 10**6, rows)
    if dtype.startswith('decimal'):
        return [int(v) * 10**12 for v in rng.integers(-2**62, 2**62, rows)]
    if dtype.startswith('float'):
        values = rng.normal(size=rows).astype(NUMPY[dtype])
        values[::7] = np.nan
        return values
    if dtype.startswith('complex'):  # of tensors only
        return (rng.normal(size=rows) + 1j * rng.normal(size=rows)).astype(NUMPY[dtype])
    kind = np.dtype(NUMPY[dtype])
    limits = np.iinfo(kind)
    if dtype == 'time':  # within a day
        return rng.integers(0, 86400 * 10**6, rows, dtype=kind)
    return rng.integers(limits.min, limits.max, rows, dtype=kind, endpoint=True)


def frame_of(rows):
    columns = {}
    for dtype in [*(d for d in NUMPY if not d.startswith('complex')), 'bool', 'string', 'binary', 'decimal(2)']:
        columns[dtype] = Column(dtype, some(dtype, rows))
        columns[dtype + '?'] = Column(dtype, some(dtype, rows), rng.random(rows) < 0.7)
    columns['encoded bytes'] = Column('binary', [[b'', b'\0', b'\xff\xfe'][int(rng.integers(3))] for _ in range(rows)], rng.random(rows) < 0.7, encoded=True)
    columns['encoded'] = Column('string', some('string', rows), rng.random(rows) < 0.7, encoded=True)
    return columns


def identity(text):
    result = _Id()
    result.bytes[:] = bytes.fromhex(text)
    return result


with Instance() as granary:
    for rows in (0, 1, 7, 1000):
        columns = frame_of(rows)
        back = granary._read(identity(granary.put_piece(columns)), False)
        assert list(back) == list(columns), list(back)
        for name, column in columns.items():
            assert back[name] == column, f'{rows} rows, {name}: {back[name]}, not {column}'
    for dtype in [*NUMPY, 'bool']:
        if dtype not in granary_test.MOMENTS:
            for shape in ((), (0, 3), (5,), (2, 3, 4)):
                array = np.asarray(some(dtype, int(np.prod(shape)))).reshape(shape)
                back = granary._read(identity(granary.put_tensor(array)), True)
                assert back.dtype == array.dtype and np.array_equal(back, array, equal_nan=array.dtype.kind == 'f'), (dtype, shape)
    bad = granary_test._Filled('x', Column('int64', [1]))
    bad.struct.dtype = 99
    err = granary_test._library.granary_frame_put(granary.client, ctypes.byref(bad.struct), ctypes.c_size_t(1), ctypes.c_int64(1),
                                                  ctypes.byref(_Id()))
    assert err != 0 and b"'x'" in granary_test._library.granary_error_message()
