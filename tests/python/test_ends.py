"""Where plans begin and end: files, tables, pandas, sinks, explain; how frames are printed; and what is refused at once."""
import contextlib
import datetime
import decimal
import importlib.util
import inspect
import io
import os
import sqlite3
import tempfile
import unittest

import numpy as np
import pandas as pd

from frames_test import FramesTest, gr

GOLDEN = '''\
name                  n          x  when                 day         long long name that is cut of...
string            int64    float64  timestamp            date        string
it's                  1        1.5  2020-01-31 12:00:00  2020-02-29  <b>
漢字                  2       -0.0  NULL                 1999-12-31  a\\nb
""                 NULL        nan  2020-01-01 00:00:00  NULL        "NULL"
NULL    123456789012345  123456.75  2020-01-01 00:00:01  2000-01-01  xxxxxxxxxxxxxxxxxxxxxxxxxxxxx...
(4 rows, 6 columns)'''


class Ends(FramesTest):
    maxDiff = None

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix='granary-test-')
        self.addCleanup(self.directory.cleanup)

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def frame(self, rows=200):
        random = np.random.default_rng(1)
        made = pd.DataFrame({'a b': random.integers(-9, 9, rows), 'x': random.normal(size=rows), 's': random.choice(['', 'é"q', "it's", 'a,b\n', 'NULL'], rows),
                             't': pd.to_datetime('2020-01-01') + pd.to_timedelta(random.integers(0, 10**9, rows), unit='us'), 'b': random.random(rows) < 0.5})
        made.loc[3, 's'] = None
        made.loc[4, 't'] = pd.NaT
        return made

    # ---- files ----

    def test_files_come_back(self):
        frame = self.frame()
        plan = gr.from_pandas(frame, pieces=3)
        for kind in ('csv', 'ndjson', 'arrow', 'parquet'):
            with self.subTest(kind=kind):
                path = self.path(f'a.{kind}')
                done = getattr(plan, f'sink_{kind}')(path)
                self.assertEqual(done, {'path': path, 'bytes': os.path.getsize(path)})
                back = getattr(gr, f'scan_{kind}')(path).collect(chunk_bytes=500).to_pandas()
                pd.testing.assert_frame_equal(back, frame)
        theirs = pd.read_csv(self.path('a.csv'), keep_default_na=False, na_values={'t': ['']}, parse_dates=['t'])
        self.assertEqual(theirs['a b'].tolist(), frame['a b'].tolist())

    def test_parameters_of_files(self):
        with open(self.path('p.txt'), 'w', encoding='utf-8') as out:
            out.write('1;x;-\n2;-;2020-01-01\n')
        done = gr.scan_csv(self.path('p.txt'), delimiter=';', header=False, null_values='-', dtypes={'c0': np.int8, 'c1': str}).collect()
        self.assertEqual(done.schema, {'c0': 'int8', 'c1': 'string', 'c2': 'date'})
        self.assertEqual(done.to_dict(), {'c0': [1, 2], 'c1': ['x', None], 'c2': [None, datetime.date(2020, 1, 1)]})
        with self.assertRaisesRegex(TypeError, "did you mean 'delimiter'"):
            gr.scan_csv('x.csv', delimeter=';')
        with self.assertRaisesRegex(gr.GranaryError, 'nowhere.parquet'):
            gr.scan_parquet(self.path('nowhere.parquet')).collect()
        with self.assertRaisesRegex(gr.GranaryError, 'nowhere.csv'):
            gr.scan_csv(self.path('nowhere.csv')).collect()
        self.assertEqual(gr.scan_arrow.__name__, 'scan_arrow')
        self.assertIn('delimiter', inspect.signature(gr.scan_csv).parameters)

    def test_databases(self):
        with contextlib.closing(sqlite3.connect(self.path('shop.db'))) as database:
            database.execute('CREATE TABLE orders (n INTEGER, day DATE)')
            database.execute("INSERT INTO orders VALUES (1, '2024-02-29'), (2, NULL)")
            database.commit()
            rows = {'n': [1, 2], 'day': [datetime.date(2024, 2, 29), None]}
            self.assertEqual(gr.scan_sqlite(self.path('shop.db')).collect().to_dict(), rows)
            self.assertEqual(gr.scan_sqlite(self.path('shop.db'), table='orders', dtypes={'n': str}).select('n').collect().to_dict(), {'n': ['1', '2']})
            database.execute('CREATE TABLE other (n)')
            database.commit()
            with self.assertRaisesRegex(gr.GranaryError, "'table' must say which one; it has: orders, other"):
                gr.scan_sqlite(self.path('shop.db')).collect()

    def test_folders(self):
        frame = gr.from_dict({'k': ['a', 'b', 'a', None], 'n': [1, 2, 3, 4]})
        told = frame.sink_parquet(self.path('out'), partition_by=['k'])
        self.assertEqual([os.path.dirname(path)[-3:] for path in sorted(told['path'])[1:]], ['k=a', 'k=b'])
        self.assertEqual([os.path.getsize(path) for path in told['path']], told['bytes'])
        nothing = frame.filter('n > 9').sink_parquet(self.path('nothing'), partition_by=['k'])
        self.assertEqual(nothing, {'path': [], 'bytes': []})
        self.assertEqual(sorted(os.listdir(self.path('out'))), ['k=__HIVE_DEFAULT_PARTITION__', 'k=a', 'k=b'])
        self.assertEqual(gr.scan_parquet(self.path('out')).sort('n').collect().to_dict(), {'n': [1, 2, 3, 4], 'k': ['a', 'b', 'a', None]})
        with self.assertRaisesRegex(gr.GranaryError, 'is there, and not empty'):
            frame.sink_parquet(self.path('out'), partition_by=['k'])
        frame.sink_csv(self.path('out'), partition_by=['k'], existing='overwrite')
        self.assertEqual(os.listdir(self.path('out') + '/k=a'), ['part-0.csv'])

    # ---- tables ----

    def test_tables(self):
        plan = gr.from_dict({'n': [3, 1, 2]})
        table = plan.sort('n').persist('kept')
        self.addCleanup(self.engine.delete, 'kept')
        self.assertEqual(gr.table('kept').collect().to_dict(), {'n': [1, 2, 3]})
        self.assertEqual(gr.sql('SELECT sum(n) AS s FROM kept').item(), 6)
        with self.assertRaisesRegex(gr.GranaryError, 'kept'):
            plan.persist('kept')
        self.assertEqual(table.collect().to_dict(), {'n': [1, 2, 3]})
        plan.head(1).persist('kept', replace=True)
        self.assertEqual(gr.table('kept').collect().to_dict(), {'n': [3]})
        self.assertEqual(gr.sql('CREATE TABLE changing (n bigint)')['command'], 'CREATE TABLE')
        self.assertEqual(plan.append_to('changing')['rows'], 3)
        self.assertEqual(gr.sql('INSERT INTO changing VALUES (10), (20)')['rows'], 2)
        self.assertEqual(sorted(gr.sql('SELECT n FROM changing').to_dict()['n']), [1, 2, 3, 10, 20])
        self.assertEqual(gr.table('changing').agg(s='sum(n)').collect().item(), 36)
        gr.sql('DROP TABLE changing')

    # ---- pandas, NumPy, Python ----

    def test_pandas_round_trip(self):
        nulls = pd.DataFrame({
            'i': pd.array([1, None, -2**63], 'Int64'), 'u': np.array([1, 2, 2**64 - 1], 'u8'), 'i1': pd.array([1, None, 3], 'Int8'), 'f': [1.5, np.nan, np.inf], 'f4': np.array([1, 2, 3], 'f4'),
            'b': pd.array([True, None, False], 'boolean'), 's': ['x', None, 'é'], 't': pd.to_datetime(['2020-01-01 00:00:00.000001', None, '1677-09-21 00:12:44']),
            'd': pd.to_timedelta(['1d', None, '-1us']), 'c': pd.Categorical(['u', None, 'v']), 'dec': [decimal.Decimal('1.5'), None, decimal.Decimal('-0.25')],
            'day': [datetime.date(2020, 1, 1), None, datetime.date(1, 1, 1)]})
        for pieces in (1, 3):
            done = gr.from_pandas(nulls, pieces=pieces).collect()
            self.assertEqual(list(done.schema.values()), ['int64', 'uint64', 'int8', 'float64', 'float32', 'bool', 'string', 'timestamp', 'duration', 'string', 'decimal(2)', 'date'])
            with self.assertRaisesRegex(OverflowError, "'day', row 2: pandas' nanoseconds do not reach 0001-01-01"):
                done.to_pandas()
            self.assertEqual(done['day'].tolist(), [datetime.date(2020, 1, 1), None, datetime.date(1, 1, 1)])
            back = done.lazy().drop('day').collect().to_pandas()
            expected = nulls.drop(columns='day').assign(c=nulls.c.astype(object).where(nulls.c.notna(), None))
            pd.testing.assert_frame_equal(back, expected)
            again = done.lazy().select('c', 's').collect().to_pandas(categories=True)
            self.assertEqual((again.c.dtype.name, again.s.dtype.name, again.s.isna().tolist()), ('category', 'category', [False, True, False]))
            self.assertEqual(again.c.astype(object).tolist()[::2], ['u', 'v'])
            self.assertEqual(str(done.lazy().select('u', 'f').collect().to_pandas(nullable=True).dtypes.tolist()), '[UInt64Dtype(), Float64Dtype()]')
            self.assertIsInstance(done['i'], np.ma.MaskedArray)
            self.assertEqual(done['i'].tolist(), [1, None, -2**63])
        for wrong, words in ((pd.DataFrame({'o': [1, 'x']}), "'o': objects of int, str"),
                             (pd.DataFrame({'n': [pd.Timestamp(1)]}), 'nanoseconds'), (pd.DataFrame([[1, 2]], columns=['x', 'x']), 'one name'), (pd.DataFrame(), 'at least one column'),
                             (pd.DataFrame({'c': [1j]}), 'complex')):
            with self.subTest(words=words), self.assertRaisesRegex((TypeError, ValueError), words):
                gr.from_pandas(wrong)
        empty = gr.from_pandas(nulls.iloc[:0]).collect()
        self.assertEqual((empty.shape, empty.to_pandas().shape, empty['i'].dtype), ((0, 12), (0, 12), np.dtype('i8')))

    def test_a_column_is_not_copied(self):
        done = gr.from_dict({'n': np.arange(1000.0), 't': pd.to_datetime(np.arange(1000), unit='s')}).collect()
        first, again = done['n'], done['n']
        self.assertEqual(first.__array_interface__['data'][0], again.__array_interface__['data'][0])
        self.assertFalse(first.flags.writeable)
        with self.assertRaises(ValueError):
            first[0] = 1
        self.assertEqual(done['t'].dtype, np.dtype('M8[us]'))
        del done, again
        self.assertEqual(first.sum(), 499500.0)  # the array holds its lease

    def test_frames(self):
        done = gr.from_dict({'n': list(range(10)), 's': list('abcdefghij')}, pieces=1).rebalance(rows=4).collect()
        self.assertEqual((done.shape, len(done), done.columns, done.dtypes, done.chunk_count), ((10, 2), 10, ['n', 's'], ['int64', 'string'], 3))
        self.assertEqual([len(c) for c in done], [4, 4, 2])
        self.assertEqual([c.to_dict()['n'] for c in done.chunks()], [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]])
        self.assertEqual(done['s'].tolist(), list('abcdefghij'))
        self.assertTrue('n' in done and 'm' not in done)
        self.assertEqual(pd.api.interchange.from_dataframe(done.lazy().select('n').collect())['n'].tolist(), list(range(10)))
        with self.assertRaisesRegex(KeyError, "did you mean 'n'"):
            done['nn']
        for wrong in (lambda: bool(done), lambda: done[0], lambda: done.item(), lambda: bool(done.lazy()), lambda: len(done.lazy()), lambda: list(done.lazy())):
            with self.assertRaises((TypeError, ValueError)):
                wrong()

    # ---- print ----

    def test_printing(self):
        data = pd.DataFrame({'name': ["it's", '漢字', '', None], 'n': pd.array([1, 2, None, 123456789012345], 'Int64'), 'x': [1.5, -0.0, np.nan, 123456.75],
                             'when': pd.to_datetime(['2020-01-31 12:00', None, '2020-01-01', '2020-01-01 00:00:01']),
                             'day': [datetime.date(2020, 2, 29), datetime.date(1999, 12, 31), None, datetime.date(2000, 1, 1)], 'long long name that is cut off somewhere': ['<b>', 'a\nb', 'NULL', 'x' * 50]})
        done = gr.from_pandas(data).collect()
        self.assertEqual(repr(done), GOLDEN)
        html = done._repr_html_()
        self.assertIn('&lt;b&gt;', html)
        self.assertNotIn('<b>', html)
        many = gr.from_dict({'n': list(range(100))}, pieces=7).collect()
        self.assertEqual([line.strip() for line in repr(many).splitlines()], ['n', 'int64', '0', '1', '2', '3', '4', '...', '95', '96', '97', '98', '99', '(100 rows, 1 column)'])
        wide = gr.from_dict({f'c{i}': [i] for i in range(40)}).collect()
        self.assertEqual(repr(wide).splitlines()[0].split(), ['c0', 'c1', 'c2', 'c3', 'c4', 'c5', '...', 'c34', 'c35', 'c36', 'c37', 'c38', 'c39'])
        self.assertEqual([line.strip() for line in repr(many.lazy().head(0).collect()).splitlines()], ['n', 'int64', '(0 rows, 1 column)'])

    def test_repr_reads_ten_rows(self):
        many = gr.from_dict({'n': list(range(1000))}, pieces=5).collect()
        read, real = [], self.engine.read_chunk

        def watched(chunk, start=0, rows=None, columns=None):
            read.append(rows)
            return real(chunk, start, rows, columns)

        self.engine.read_chunk = watched
        try:
            repr(many)
        finally:
            del self.engine.read_chunk
        self.assertNotIn(None, read)
        self.assertLessEqual(sum(read), 11)  # and one for the dtypes

    # ---- nothing runs before an end ----

    def test_plans_run_nothing(self):
        before = self.engine.submit
        self.engine.submit = None
        try:
            plan = gr.scan_csv('/nowhere.csv').filter(gr.col('x') > 1).group_by('k').agg(n='size').sort('n', descending=True).head(3)
            self.assertEqual(repr(plan).splitlines()[1:], ['  read_csv = read_csv() path="/nowhere.csv"', '  filter = filter(read_csv) where="`x` > 1"',
                                                           '  groupby = groupby(filter) keys=["k"] aggregate={"n": "size"}', '  sort = sort(groupby) by=["n"] descending=[true]',
                                                           '  head = head(sort) rows=3>'])
            self.assertEqual(plan.explain(optimized=False).count('\n'), 4)
        finally:
            self.engine.submit = before

    def test_explain(self):
        plan = gr.from_dict({'n': [1, 2], 'm': [1, 2]}).sort('n').head(1).select('n')
        self.assertIn('head-into-sort', plan.explain())
        self.assertIn('rows', plan.analyze())

    def test_schema(self):
        plan = gr.from_dict({'n': [1, 2], 's': ['x', 'y']}).with_columns(h=gr.col('n') / 2).group_by('s').agg(gr.col('h').max())
        self.assertEqual((plan.schema, plan.columns, plan.dtypes), ({'s': 'string', 'h': 'float64'}, ['s', 'h'], ['string', 'float64']))
        gr.from_dict({'n': [1]}).sink_csv(self.path('n.csv'))
        files = gr.scan_csv(self.path('n.csv')).with_columns(m='n + 1')
        with self.assertRaisesRegex(gr.GranaryError, 'collect_schema'):
            files.schema
        self.assertEqual(files.collect_schema(), {'n': 'int64', 'm': 'int64'})
        self.assertEqual(files.columns, ['n', 'm'])

    def test_progress_and_timeout(self):
        shares = []
        gr.from_dict({'n': [1]}).collect(progress=shares.append)
        self.assertEqual(shares[-1], 1.0)
        self.assertEqual(shares, sorted(shares))
        for bar, shows in (('plain', '100%'), ('tqdm', '100%') if importlib.util.find_spec('tqdm') else ('plain', '#'), (True, '100%')):
            with contextlib.redirect_stderr(io.StringIO()) as told:
                gr.from_dict({'n': [1]}).collect(progress=bar)
            self.assertIn(shows, told.getvalue())
        with self.assertRaisesRegex(ValueError, "progress='fancy': it is True, a function, or one of 'plain', 'tqdm', 'notebook'"):
            gr.from_dict({'n': [1]}).collect(progress='fancy')
        self.assertEqual(self.graphs(), [])
        slow = gr.from_dict({'n': list(range(8000))})
        slow = slow.join(slow.rename(n='m'), how='cross').agg(s='sum(n * m % (n + m + 1))')
        with self.assertRaises(TimeoutError):
            slow.collect(timeout=0.05, recall=False, chunk_bytes=1000)
        self.assertEqual(self.graphs(), [])

    # ---- errors ----

    def test_errors_at_once(self):
        plan = gr.from_dict({'n': [1], 'm': [2]})
        for wrong, words in ((lambda: plan.rebalance(row=3), "rebalance() has no parameter 'row'; did you mean 'rows'?; it has: rows"), (lambda: plan.rebalance(), 'rows'), (lambda: plan.rebalance(rows=2.5), 'an int, not float 2.5'),
                             (lambda: plan.rebalance(rows=True), 'an int, not True'), (lambda: plan.distinct(keep='frist'), "did you mean 'first'"), (lambda: plan.head('x'), 'an int'), (lambda: plan.head(-1), 'not from 0'),
                             (lambda: plan.join(3, on='n'), 'a frame, not int 3'), (lambda: plan.join(plan, on='n', hw='left'), "did you mean 'how'"), (lambda: plan.join(plan, on='n', how='lef'), "did you mean 'left'"),
                             (lambda: plan.sort(3), "a column's name or an expression, not int 3"), (lambda: plan.dropna(subset=3), 'a str, not int 3'), (lambda: plan.quantile(q='x'), "a number, not 'x'"),
                             (lambda: plan.rename({'n': 3}), 'a str, not int 3'), (lambda: plan.value_counts(normalize=1), 'True or False'), (lambda: plan.select(), 'needs a column'), (lambda: plan.filter(), 'needs a condition'),
                             (lambda: plan.melt(id_vars=[gr.col('n') + 1]), 'a name, not an expression'), (lambda: plan.clip_columns(lower=float('nan')), 'finite'), (lambda: gr.concat([]), 'needs a frame'),
                             (lambda: plan.append_to(), "missing a required argument: 'name'"), (lambda: gr.date_range('2020-01-01', -1), 'not from 0'), (lambda: gr.nothing, 'nothing')):
            with self.subTest(words=words):
                with self.assertRaises((TypeError, ValueError, AttributeError)) as caught:
                    wrong()
                self.assertIn(words, str(caught.exception))

    def test_errors_at_collect(self):
        plan = gr.from_dict({'number': [1, 2**62]})
        with self.assertRaisesRegex(gr.GranaryError, r"node 'filter' \(filter\).*no column 'numbr'; did you mean 'number'"):
            plan.filter(gr.col('numbr') > 1).collect()
        with self.assertRaisesRegex(gr.GranaryError, r"sum\(.*`number` \* 4"):
            plan.with_columns(x=gr.col('number') + (gr.col('number') * 4).sum().over('number')).collect()
        self.assertEqual(self.graphs(), [])


if __name__ == '__main__':
    unittest.main()
