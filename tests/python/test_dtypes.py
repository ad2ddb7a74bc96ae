"""Every dtype in every format, by each way there is: Python, SQL and the command line write a file, and read it.

The dtypes are asked of the library: one that is new fails here until VALUES has some of it.
"""
import ctypes
import datetime
import decimal
import math
import os
import unittest

import numpy as np
import pandas as pd

from frames_test import FramesTest, gr
from granary_test import _library
from granary.frames import _columns
from granary.frames._sources import put

UTC = datetime.timezone.utc
DAY = datetime.datetime
# Of each dtype some values, its ends among them, as to_dict() gives them.
VALUES = {
    'bool': [True, False],
    'float32': [0.0, -1.5, float(np.float32(3.4028235e38))],
    'float64': [0.0, 0.1, -1e300, math.inf],
    'string': ['', 'a,b', 'two\nlines', 'é€😀', '12:00:00', '\\x00'],
    'binary': [b'', b'\0\xff', b'\\x41', bytes(range(256))],
    'date': [datetime.date(1, 1, 1), datetime.date(1970, 1, 1), datetime.date(9999, 12, 31)],
    'time': [datetime.time(0), datetime.time(12, 34, 56, 7), datetime.time(23, 59, 59, 999999)],
    'timestamp': [DAY(1, 1, 1), DAY(1969, 12, 31, 23, 59, 59, 999999), DAY(9999, 12, 31, 23, 59, 59, 999999)],
    'timestamptz': [DAY(1, 1, 1, tzinfo=UTC), DAY(2024, 2, 29, 12, 0, 0, 1, UTC), DAY(9999, 12, 31, 23, 59, 59, 999999, UTC)],
    'duration': [datetime.timedelta(0), datetime.timedelta(microseconds=-1), datetime.timedelta(days=100000, hours=3)],
    'decimal(0)': [decimal.Decimal(0), decimal.Decimal('-' + '9' * 38)],
    'decimal(2)': [decimal.Decimal('0.01'), decimal.Decimal('-' + '9' * 36 + '.99')],
    'decimal(38)': [decimal.Decimal('0.' + '9' * 38), decimal.Decimal('-0.' + '0' * 37 + '1')],
}
for bits in (8, 16, 32, 64):
    VALUES[f'int{bits}'] = [-2**(bits - 1), 0, 2**(bits - 1) - 1]
    VALUES[f'uint{bits}'] = [0, 2**bits - 1]
FORMATS = ('csv', 'ndjson', 'arrow', 'parquet')
TYPED = ('csv', 'ndjson')  # their text has no dtypes


def names_of_library():
    """Each dtype once, decimals at three scales."""
    _library.granary_dtype_name.restype = ctypes.c_char_p
    for number in range(1, 0xff):
        name = _library.granary_dtype_name(number).decode()
        if name.startswith('decimal'):
            yield from ('decimal(0)', 'decimal(2)', 'decimal(38)')
        elif name not in ('?', 'an unsupported type') and not name.startswith('complex'):  # those are of tensors only
            yield name


class Dtypes(FramesTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.rows = max(len(v) for v in VALUES.values()) + 2
        cls.table = {}
        columns = {}
        for name, some in VALUES.items():
            cls.table[name] = [None if i % 4 == 2 else some[i % len(some)] for i in range(cls.rows - 1)] + [None]
            columns[name] = cls.column(name, cls.table[name])
        cls.plan = put(list(columns.values()), cls.rows, 2)
        cls.plan.persist('all_dtypes', replace=True)

    @staticmethod
    def column(name, values):
        """A Column of just that dtype."""
        if name.startswith('decimal'):
            scale = _columns.scale_of(name)
            there = np.array([v is not None for v in values])
            raw = b''.join(int((v or decimal.Decimal(0)).scaleb(scale, decimal.Context(prec=60))).to_bytes(16, 'little', signed=True) for v in values)
            return _columns._column(name, name, np.frombuffer(raw, 'u1'), len(values), there)
        if name == 'bool':
            there = np.array([v is not None for v in values])
            return _columns._column(name, name, np.packbits([bool(v) for v in values], bitorder='little'), len(values), there)
        if name.startswith(('int', 'uint', 'float')):
            there = np.array([v is not None for v in values])
            return _columns._column(name, name, np.array([v or 0 for v in values], _columns.NUMPY[name]), len(values), there)
        return _columns.from_series(name, pd.Series(values, dtype=object))

    def path(self, name):
        return os.path.join(self.instance.directory, name)

    def dtypes_for(self, ending):
        return {'dtypes': {n: n for n in VALUES}} if ending in TYPED else {}

    def same(self, frame, what):
        self.assertEqual(dict(frame.schema), {n: n for n in VALUES}, what)
        for name, values in frame.to_dict().items():
            self.assertEqual(values, self.table[name], f'{what}: {name}')

    def test_the_table_is_whole(self):
        self.assertEqual(sorted(VALUES), sorted(names_of_library()))
        self.same(self.plan.collect(), 'put')

    def test_python_writes_and_reads(self):
        for ending in FORMATS:
            path = self.path(f'python.{ending}')
            getattr(self.plan, f'sink_{ending}')(path)
            self.same(getattr(gr, f'scan_{ending}')(path, **self.dtypes_for(ending)).collect(), ending)

    def test_sql_writes_and_reads(self):
        for ending in FORMATS:
            path = self.path(f'sql.{ending}')
            gr.sql(f"COPY (SELECT * FROM all_dtypes) TO '{path}'")
            told = ', dtypes => ARRAY[' + ', '.join(f"'{n} {n}'" for n in VALUES) + ']' if ending in TYPED else ''
            self.same(gr.sql(f"SELECT * FROM read_{ending}('{path}'{told})"), ending)
            if ending not in TYPED:
                self.same(gr.sql(f"SELECT * FROM '{path}'"), ending)

    def test_the_command_line_writes_and_reads(self):
        for ending in FORMATS:
            path = self.path(f'line.{ending}')
            self.instance.command('sql', '-o', path, 'SELECT * FROM all_dtypes')
            told = [word for n in VALUES for word in ('--dtype', f'{n}={n}')] if ending in TYPED else []
            self.instance.command('load', '--replace', *told, f'from_{ending}', path)
            self.same(gr.sql(f'SELECT * FROM from_{ending}'), ending)

    def test_arrow_takes_and_gives(self):
        self.same(gr.from_arrow(self.plan.collect()).collect(), 'arrow C stream')

    def test_casts_to_text_and_back(self):
        names = [n for n in VALUES if n != 'string']
        texts = ', '.join(f'CAST("{n}" AS text) AS "{n}"' for n in names)
        back = gr.sql(f'SELECT {texts} FROM all_dtypes').to_dict()
        again = gr.from_dict(back).assign(**{n: gr.col(n).cast(n) for n in names}).collect()
        self.assertEqual(dict(again.schema), {n: n for n in names})
        for name, values in again.to_dict().items():
            self.assertEqual(values, self.table[name], name)

    def test_groups_joins_and_sorts(self):
        for name, values in self.table.items():
            groups = gr.sql(f'SELECT "{name}" AS k, count(*) AS n FROM all_dtypes GROUP BY 1 ORDER BY 1').to_dict()
            there = sorted({v for v in values if v is not None})
            self.assertEqual(groups['k'], there + [None], name)
            self.assertEqual(groups['n'], [values.count(v) for v in groups['k']], name)
            joined = gr.sql(f'SELECT count(*) AS n FROM all_dtypes a JOIN all_dtypes b ON a."{name}" = b."{name}"').item()
            self.assertEqual(joined, sum(values.count(v)**2 for v in there), name)
            if name != 'bool':
                ends = gr.sql(f'SELECT min("{name}") AS a, max("{name}") AS z FROM all_dtypes').to_dict()
                self.assertEqual([ends['a'][0], ends['z'][0]], [there[0], there[-1]], name)


class Moments(FramesTest):
    def test_python_values_are_literals(self):
        t = gr.from_dict({'t': [datetime.time(1), None], 'z': [DAY(2024, 1, 31, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=2))), None]})
        self.assertEqual(dict(t.schema), {'t': 'time', 'z': 'timestamptz'})
        found = t.filter((gr.col('t') == datetime.time(1)) & (gr.col('z') == DAY(2024, 1, 31, 10, tzinfo=UTC))).collect()
        self.assertEqual(found.to_dict(), {'t': [datetime.time(1)], 'z': [DAY(2024, 1, 31, 10, tzinfo=UTC)]})

    def test_numpy_and_pandas(self):
        numbers = gr.from_dict({'i': [1, None, 2**60 + 1], 'f': [0.5, float('nan'), None], 'b': [True, None, False]}).collect()
        self.assertEqual(numbers.schema, {'i': 'int64', 'f': 'float64', 'b': 'bool'})
        told = numbers.to_dict()
        self.assertEqual((told['i'], told['b']), ([1, None, 2**60 + 1], [True, None, False]))
        self.assertEqual((told['f'][0], told['f'][2]), (0.5, None))
        self.assertNotEqual(told['f'][1], told['f'][1], 'NaN is a value')
        with self.assertRaisesRegex(TypeError, 'dropn=False is no key.*dropna'):
            gr.from_dict({'k': [1]}).group_by('k', dropn=False)
        frame = gr.from_dict({'t': [datetime.time(1), None], 'z': [DAY(2024, 1, 31, 12, tzinfo=UTC), None]}).collect()
        self.assertEqual(frame['t'].tolist(), [datetime.time(1), None])
        self.assertEqual(str(frame['z'].dtype), 'datetime64[us]')
        made = frame.to_pandas()
        self.assertEqual(str(made['z'].dtype), 'datetime64[ns, UTC]')
        self.assertEqual(made['t'].tolist(), [datetime.time(1), None])
        berlin = made.assign(z=made['z'].dt.tz_convert('Europe/Berlin'))
        self.assertEqual(gr.from_pandas(berlin).collect().to_dict(), frame.to_dict())

    def test_what_cannot_be_is_named(self):
        with self.assertRaisesRegex(TypeError, "'m': some of its datetimes have a zone"):
            gr.from_dict({'m': [DAY(2024, 1, 1), DAY(2024, 1, 1, tzinfo=UTC)]})
        with self.assertRaisesRegex(TypeError, "'m': granary's times of day have no zone"):
            gr.from_dict({'m': [datetime.time(1, tzinfo=UTC)]})


if __name__ == '__main__':
    unittest.main()
