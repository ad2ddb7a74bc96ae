"""Tables to be written as Parquet files: the ends of every dtype, and columns of every shape."""
import numpy as np

from edges import edges
from granary_test import Column

DTYPES = ['bool', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'float32', 'float64', 'decimal(0)', 'decimal(2)',
          'decimal(18)', 'decimal(38)', 'string', 'date', 'timestamp', 'duration', 'time', 'timestamptz', 'binary']
CODECS = ['zstd', 'snappy', 'gzip', 'lz4_raw', 'none']


def repeated(dtype, rows, valid=None):
    values = edges(dtype)
    some = [values[i % len(values)] for i in range(rows)]
    return Column(dtype, some if isinstance(values, list) else np.array(some, values.dtype), valid)


def wild(rows, random):
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
        # Few digits, but for the last row.
        'late': Column('decimal(2)', [int(v) for v in random.integers(-10**6, 10**6, rows - 1)] + [-10**20], np.arange(rows) % 11 != rows % 11),
        'flag': Column('bool', random.random(rows) < 0.5, nulls()), 'money': Column('decimal(2)', [int(v) for v in random.integers(-10**6, 10**6, rows)], nulls()),
        'a.b': Column('duration', random.integers(-10**12, 10**12, rows), nulls()), 'ä`" ': Column('date', random.integers(-10**5, 10**5, rows).astype(np.int32), nulls()),
    }
