"""Lists as columns: in and out of Python, of every format, explode, and .list against plain Python."""
import datetime
import decimal
import os
import unittest

import numpy as np
import pandas as pd

from frames_test import FramesTest, gr
from granary.frames import _columns
from granary.frames._sources import put

D = decimal.Decimal
LISTS = {
    'list(int64)': [[1, 2, 3], [], None, [None], [7, None, -9]],
    'list(float64)': [[0.5], [], None, [None, 2.0], []],
    'list(string)': [['a', ''], [], None, [None, "it's, [b]"], ['é€😀']],
    'list(bool)': [[True, False] * 5, [], None, [None], [False]],
    'list(date)': [[datetime.date(2024, 2, 29)], [], None, [None], []],
    'list(timestamp)': [[datetime.datetime(2024, 2, 29, 1, 2, 3, 4)], [], None, [None], []],
    'list(duration)': [[datetime.timedelta(days=-1)], [], None, [None], []],
    'list(time)': [[datetime.time(23, 59, 59, 999999)], [], None, [None], []],
    'list(binary)': [[b'\x00\xff', b''], [], None, [None, b'x'], []],
    'list(timestamptz)': [[datetime.datetime(2024, 2, 29, 1, 2, 3, 4, datetime.timezone.utc)], [], None, [None], []],
    'list(decimal(2))': [[D('0.01'), D('-5.00')], [], None, [None], []],
}


class Lists(FramesTest):

    def test_there_and_back(self):
        for pieces in (1, 3, 5):
            made = gr.from_dict(LISTS, pieces=pieces).collect()
            self.assertEqual(made.schema, {name: name for name in LISTS})
            self.assertEqual(made.to_dict(), LISTS)
            self.assertEqual(made.to_pandas()['list(int64)'].tolist(), LISTS['list(int64)'])
            self.assertEqual(made['list(string)'].tolist(), LISTS['list(string)'])

    def test_what_is_taken(self):
        arrays = [np.array([1, 2], 'i2'), np.array([], 'i2'), None]
        made = gr.from_dict({'a': arrays, 't': [(1,), (), (2, 3)], 'w': np.arange(6.0).reshape(3, 2),
                             'd': [np.array(['2024-01-02'], 'M8[ns]'), None, []]}).collect()
        self.assertEqual(made.schema, {'a': 'list(int16)', 't': 'list(int64)', 'w': 'list(float64)', 'd': 'list(timestamp)'})
        self.assertEqual(made.to_dict()['a'], [[1, 2], [], None])
        self.assertEqual(made.to_dict()['w'], [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
        for bad, word in (([[[1]]], 'one level'), ([[1, 'a']], 'one dtype'), ([np.zeros((2, 2))], 'dimensions'), ([[1], 2], 'one dtype')):
            with self.assertRaisesRegex(TypeError, word):
                gr.from_dict({'x': bad})
        with self.assertRaisesRegex(ValueError, 'items'):
            column = _columns.from_series('x', pd.Series([[1]]))
            column.items = None
            put([column], 1)
        column = _columns.from_series('x', pd.Series([[1, 2], [3]]))
        for offsets in ([0, 2, 4], [0, 3, 2], [-1, 2, 3], [0, 2**31 - 1, 3]):
            column.offsets = np.array(offsets, 'i4')
            with self.assertRaises(gr.GranaryError, msg=str(offsets)):
                put([column], 2)

    def test_formats(self):
        whole = gr.from_dict({'k': list(range(5)), **{name[5:-1]: values for name, values in LISTS.items()}}, pieces=2)
        want = whole.collect().to_dict()
        for kind in ('parquet', 'arrow'):
            path = os.path.join(self.instance.directory, 'lists.' + kind)
            getattr(whole, 'sink_' + kind)(path)
            read = getattr(gr, 'scan_' + kind)(path).collect()
            self.assertEqual(read.to_dict(), want, kind)
        path = os.path.join(self.instance.directory, 'lists.ndjson')
        whole.sink_ndjson(path)
        read = gr.scan_ndjson(path).collect().to_dict()
        for name in ('int64', 'float64', 'string', 'bool', 'date', 'timestamp'):
            self.assertEqual(read[name], want[name])
        path = os.path.join(self.instance.directory, 'lists.csv')
        whole.select('k', 'int64', 'string').sink_csv(path)
        self.assertEqual(gr.scan_csv(path).collect().to_dict()['int64'], ['[1, 2, 3]', '[]', None, '[NULL]', '[7, NULL, -9]'])

    def test_shown(self):
        text = repr(gr.from_dict({'x': LISTS['list(int64)'], 's': LISTS['list(string)']}).collect())
        for word in ('list(int64)', '[7, NULL, -9]', '[]', 'NULL'):
            self.assertIn(word, text)

    def test_explode(self):
        data = {'k': [0, 1, 2, 3, 4], 'l': LISTS['list(int64)'], 'm': [['a', 'b', 'c'], None, [], [None], ['x', 'y', 'z']]}
        for pieces in (1, 2, 5):
            frame = gr.from_dict(data, pieces=pieces)
            for outer in (True, False):
                want = [(k, v) for k, l in zip(data['k'], data['l']) for v in (l or ([None] if outer else []))]
                made = frame.drop('m').explode('l', outer=outer).collect().to_dict()
                self.assertEqual(list(zip(made['k'], made['l'])), want)
            both = frame.explode('l', 'm').collect().to_dict()
            self.assertEqual(both['l'], [1, 2, 3, None, None, None, 7, None, -9])
            self.assertEqual(both['m'], ['a', 'b', 'c', None, None, None, 'x', 'y', 'z'])
        with self.assertRaisesRegex(gr.GranaryError, 'has 2 items'):
            gr.from_dict({'l': [[1, 2]], 'm': [[1]]}).explode(['l', 'm']).collect()
        with self.assertRaisesRegex(gr.GranaryError, 'int64'):
            gr.from_dict({'l': [1, 2]}).explode('l').collect()

    def test_functions(self):
        lists = [[3, 1, 2, 3], [], None, [None], [None, 5], [-1] * 3, [4]]
        texts = [['b', 'a', 'b'], [], None, [None], [None, 'x'], ['', 'é'], ['z']]
        frame = gr.from_dict({'l': lists, 't': texts, 'i': [0, 1, -1, 5, 1, -2, 0]}, pieces=2)
        l, t = gr.col('l').list, gr.col('t').list

        def at(v, i):
            return v[i] if v is not None and -len(v) <= i < len(v) else None

        def known(f):
            return lambda v: None if v is None else f([x for x in v if x is not None])

        def some(f):
            return known(lambda v: f(v) if v else None)

        def whole(f):
            return lambda v: None if v is None else f(v)

        cases = {
            'len': (l.len(), whole(len)), 'first': (l.first(), lambda v: at(v, 0)), 'last': (l.last(), lambda v: at(v, -1)),
            'get': (l.get(1), lambda v: at(v, 1)), 'sum': (l.sum(), some(sum)), 'min': (l.min(), some(min)), 'max': (l.max(), some(max)),
            'mean': (l.mean(), some(lambda v: sum(v) / len(v))), 'contains': (l.contains(3), known(lambda v: 3 in v)),
            'reverse': (l.reverse(), whole(lambda v: v[::-1])), 'unique': (l.unique(), known(lambda v: list(dict.fromkeys(v)))),
            'sort': (l.sort(), whole(lambda v: sorted(v, key=lambda x: (x is None, x or 0)))),
            'descending': (l.sort(descending=True), whole(lambda v: sorted(v, key=lambda x: (x is None, -(x or 0))))),
            'head': (l.head(2), whole(lambda v: v[:2])), 'tail': (l.tail(2), whole(lambda v: v[-2:])), 'none': (l.tail(0), whole(lambda v: [])),
            'slice': (l.slice(1, 2), whole(lambda v: v[1:3])), 'rest': (l.slice(-3), whole(lambda v: v[-3:])),
        }
        for start in range(-4, 5):
            for length in (0, 1, 2, 9):
                cases[f'{start} {length}'] = (l.slice(start, length), whole(
                    lambda v, a=start, n=length: v[max(a + len(v), 0) if a < 0 else a:][:max(0, n + min(0, a + len(v))) if a < 0 else n]))
        made = frame.select(**{name: e for name, (e, _) in cases.items()}).collect().to_dict()
        for name, (_, model) in cases.items():
            self.assertEqual(made[name], [model(v) for v in lists], name)
        texted = frame.select(j=t.join('-'), s=t.sort(), c=t.contains('x'), m=t.max(), g=l.get(gr.col('i'))).collect().to_dict()
        self.assertEqual(texted['j'], [None if v is None else '-'.join(x for x in v if x is not None) for v in texts])
        self.assertEqual(texted['m'], ['b', None, None, None, 'x', 'é', 'z'])
        self.assertEqual(texted['g'], [3, None, None, None, 5, -1, 4])
        parts = gr.from_dict({'s': ['a,b', '', None]}).select(p=gr.col('s').str.split(',')).collect().to_dict()['p']
        self.assertEqual(parts, [['a', 'b'], [''], None])
        self.assertEqual(gr.from_dict({'a': [1]}).select(x=gr.lit([1, 2]), y=gr.lit(('a', None))).collect().to_dict(), {'x': [[1, 2]], 'y': [['a', None]]})

    def test_rows_move(self):
        rows = 10_000
        rng = np.random.default_rng(7)
        lists = [None if n == 6 else rng.integers(0, 99, n).tolist() for n in rng.integers(0, 7, rows)]
        frame = gr.from_dict({'k': rng.permutation(rows), 'l': lists, 's': [None if v is None else [str(x) for x in v] for v in lists]}, pieces=4)
        plain = pd.DataFrame(frame.collect().to_dict())
        back = frame.sort('k').collect().to_dict()
        want = plain.sort_values('k')
        self.assertEqual(back['l'], want.l.tolist())
        self.assertEqual(back['s'], want.s.tolist())
        some = frame.filter(gr.col('l').list.len() > 3).slice(11, 2011).collect().to_dict()
        self.assertEqual(some['s'], plain[plain.l.map(lambda v: v is not None and len(v) > 3)].s.tolist()[11:2011])
        joined = frame.join(gr.from_dict({'k': list(range(0, rows, 3)), 'x': list(range(0, rows, 3))}), on='k', how='left').sort('k').collect().to_dict()
        self.assertEqual(joined['l'], want.l.tolist())
        again = gr.concat([frame, frame.head(10)]).collect().to_dict()
        self.assertEqual(again['l'], lists + lists[:10])
        self.assertEqual(frame.tail(7).collect().to_dict()['l'], lists[-7:])

    def test_gathered_and_told_of(self):
        frame = gr.from_dict({'k': [1, 2, 1, 1], 'x': ['3', '4', None, '1'], 's': ['a', None, 'c', 'a'], 'b': [True, None, False, True]}, pieces=2)
        made = frame.group_by('k').agg(a=gr.col('x').array(), u=gr.col('s').unique(), j=gr.col('s').implode().list.join('-'),
                                       m=gr.col('s').arg_most(gr.col('x')), n=gr.col('s').arg_least('x')).sort('k').collect().to_dict()
        self.assertEqual(made, {'k': [1, 2], 'a': [['3', None, '1'], ['4']], 'u': [['a', 'c'], None], 'j': ['a-c-a', None], 'm': ['a', None], 'n': ['a', None]})
        self.assertEqual(frame.n_unique().collect().to_dict(), {'k': [2], 'x': [3], 's': [2], 'b': [2]})
        self.assertEqual(frame.null_count().collect().to_dict(), {'k': [0], 'x': [1], 's': [1], 'b': [1]})
        lists = gr.from_dict({'l': [[3, 1, None, 1], [], None], 'm': [[1, 2, 3, 4], [], None], 'b': [[True, None], [False], []]})
        told = lists.select(n=gr.col('l').list.n_unique(), m=gr.col('l').list.median(), v=gr.col('l').list.var(), w=gr.col('l').list.var(0),
                            s=gr.col('m').list.std(0) > 1.1, a=gr.col('b').list.all(), o=gr.col('b').list.any(), c=gr.col('l').list.concat(gr.col('m')),
                            i=gr.col('l').list.set_intersection(gr.col('m')), d=gr.col('m').list.sort_by(gr.col('l'), descending=True)).collect().to_dict()
        self.assertEqual(told['n'], [2, 0, None])
        self.assertEqual(told['m'], [1.0, None, None])
        self.assertAlmostEqual(told['v'][0], 4 / 3)
        self.assertAlmostEqual(told['w'][0], 8 / 9)
        self.assertEqual(told['s'], [True, None, None])
        self.assertEqual((told['a'], told['o']), ([True, False, None], [True, False, None]))
        self.assertEqual(told['c'], [[3, 1, None, 1, 1, 2, 3, 4], [], None])
        self.assertEqual(told['i'], [[3, 1], [], None])
        self.assertEqual(told['d'], [[1, 2, 4, 3], [], None])
        with self.assertRaisesRegex(ValueError, 'ddof'):
            gr.col('l').list.var(2)


if __name__ == '__main__':
    unittest.main()
