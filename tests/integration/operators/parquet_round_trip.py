"""write_parquet and read_parquet: every value of every dtype comes back, with every codec, however the rows are cut; statistics leave out
nothing that is wanted; what cannot be written is refused by name."""
import itertools
import os

import numpy as np

from edges import edges, same
from granary_test import Column, Instance

random = np.random.default_rng(11)
DTYPES = ['bool', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'float32', 'float64', 'decimal(0)', 'decimal(2)',
          'decimal(18)', 'decimal(38)', 'string', 'date', 'timestamp', 'duration']
CODECS = ['zstd', 'snappy', 'gzip', 'lz4_raw', 'none']


def repeated(dtype, rows, valid=None):
    values = edges(dtype)
    some = [values[i % len(values)] for i in range(rows)]
    return Column(dtype, some if isinstance(values, list) else np.array(some, values.dtype), valid)


def wild(rows):
    """Few and many different values, rising ones, text that is short, long, or the same; nulls in stretches and here and there."""
    def nulls():
        kind = random.integers(4)
        return [None, random.random(rows) < 0.9, np.arange(rows) // 700 % 2 == 0, np.zeros(rows, bool)][kind]

    words = [''.join(chr(c) for c in random.choice([65, 122, 228, 0x6f22, 0x1f600, 0xd7ff, 0x10ffff], random.integers(0, 90))) for _ in range(300)]
    reals = random.choice([0.0, -0.0, 1.5, -2.25, np.inf, -np.inf, np.nan], rows)
    return {
        'few': Column('int64', random.integers(-3, 3, rows), nulls()), 'many': Column('int64', random.integers(-2**62, 2**62, rows), nulls()),
        'rising': Column('int32', (np.arange(rows) * 3).astype(np.int32), nulls()), 'same': Column('string', ['same'] * rows, nulls()),
        'falling': Column('timestamp', np.arange(rows)[::-1] * 10**6, nulls()), 'real': Column('float64', reals, nulls()),
        'nan': Column('float32', np.full(rows, np.nan, np.float32), nulls()), 'byte': Column('uint8', random.integers(0, 256, rows).astype(np.uint8), nulls()),
        'word': Column('string', [words[i] for i in random.integers(0, 300, rows)], nulls()),
        'key': Column('string', [f'{i * 7919 % rows:040d}{i}' for i in range(rows)], nulls()),
        'flag': Column('bool', random.random(rows) < 0.5, nulls()), 'money': Column('decimal(2)', [int(v) for v in random.integers(-10**6, 10**6, rows)], nulls()),
        'a.b': Column('duration', random.integers(-10**12, 10**12, rows), nulls()), 'ä`" ': Column('date', random.integers(-10**5, 10**5, rows).astype(np.int32), nulls()),
    }


with Instance() as granary:
    path = os.path.join(granary.directory, 'x.parquet')
    read = {'op': 'read_parquet', 'path': path}

    def write(columns, pieces=1, chunk_bytes=0, **options):
        made = granary.run({'t': granary.put(columns, pieces=pieces), 'w': {'op': 'write_parquet', 'input': 't', 'path': path, **options}}, 'w', chunk_bytes)
        assert made['bytes'].values[0] == os.path.getsize(path) and made['path'].values[0] == path, made

    def check(columns, what):
        for chunk_bytes in (0, 4096):
            frame = granary.run({'x': read}, 'x', chunk_bytes)
            assert list(frame) == list(columns), (list(frame), list(columns))
            for name, column in columns.items():
                assert frame[name].dtype == column.dtype, (what, name, frame[name].dtype)
                same(frame[name], column, f'{name!r}: {what}')

    # The ends of every dtype, with and without nulls, together and alone.
    rows = 2 * max(len(edges(d)) for d in DTYPES)
    for valid in (None, np.arange(rows) % 5 != 3, np.zeros(rows, bool)):
        columns = {d: repeated(d, rows, valid) for d in DTYPES}
        for pieces, codec in itertools.product((1, 3), CODECS):
            write(columns, pieces, compression=codec)
            check(columns, f'{pieces} pieces, {codec}')
        for name, column in columns.items():
            write({name: column})
            check({name: column}, 'alone')
    for rows in (0, 1, 7, 8, 9):
        columns = {d: repeated(d, rows, np.arange(rows) % 2 == 0) for d in DTYPES}
        write(columns)
        check(columns, f'{rows} rows')
    for options in ({'level': 19}, {'compression': 'gzip', 'level': 1}):
        write(columns, **options)
        check(columns, options)
