"""Methods of frames that pandas and Polars have and that ask for something first, beside pandas; selectors; samples."""
import collections
import math
import random
import unittest

import numpy as np
import pandas as pd

from frames_test import FramesTest, gr

col = gr.col
cs = gr.selectors
WORDS = ['a', 'b', 'it\'s', '`', 'ü', ' ']


def drawn(seed, rows):
    """A plan and the DataFrame it is of: keys with nulls, numbers without."""
    draw = random.Random(seed)
    data = {'k': [draw.choice(WORDS[:3] + [None]) for _ in range(rows)], 'j': [draw.randrange(3) for _ in range(rows)],
            'c': [draw.choice(WORDS + [None]) for _ in range(rows)], 'v': [draw.randrange(-5, 50) for _ in range(rows)],
            'x': [draw.choice([0.5, 1.25, -3.0, 8.0]) for _ in range(rows)]}
    return gr.from_dict(data, pieces=draw.randint(1, 3)), pd.DataFrame(data)


def listed(frame, index=False):
    """A DataFrame as a dict of lists: nan is None."""
    frame = frame.reset_index() if index else frame
    return {str(name): [None if v is None or v != v else v for v in frame[name].tolist()] for name in frame.columns}


class Found(FramesTest):
    def same(self, plan, want):
        got = plan.collect().to_dict()
        self.assertEqual(list(got), list(want))
        for name, values in want.items():
            self.assertEqual(len(got[name]), len(values), name)
            for a, b in zip(got[name], values):
                if isinstance(a, float) and b is not None:
                    self.assertAlmostEqual(a, b, places=9, msg=name)
                else:
                    self.assertEqual(a, b, name)

    def test_pivot_table_beside_pandas(self):
        for seed, hows in enumerate((('mean', 'sum'), ('count', 'max'))):
            plan, df = drawn(seed, 60)
            for how in hows:
                with self.subTest(seed=seed, how=how):
                    self.same(plan.pivot_table('k', 'c', 'v', aggfunc=how), listed(df.pivot_table('v', 'k', 'c', how), True))
                    self.same(plan.pivot_table(['j', 'k'], 'c', 'x', aggregate=how), listed(df.pivot_table('x', ['j', 'k'], 'c', how), True))
                    self.same(plan.pivot_table('k', 'j', 'x', aggregate=how, fill_value=0), listed(df.pivot_table('x', 'k', 'j', how, fill_value=0), True))
                    whole = df.dropna(subset=['k', 'c']).pivot_table('v', 'k', 'c', how, margins=True)
                    self.same(plan.pivot_table('k', 'c', 'v', aggregate=how, margins=True), listed(whole, True))

    def test_pivots_of_several_values_and_of_one(self):
        plan, df = drawn(1, 40)
        want = df.pivot_table(['v', 'x'], 'k', 'c', 'sum')
        want.columns = [f'{a}_{b}' for a, b in want.columns]
        self.same(plan.pivot_table('k', 'c', ['v', 'x'], aggregate='sum'), listed(want, True))
        once = plan.unique(subset=['k', 'c'])
        theirs = df.drop_duplicates(['k', 'c']).dropna(subset=['k', 'c'])
        self.same(once.pivot('k', 'c', 'v'), listed(theirs.pivot(index='k', columns='c', values='v'), True))
        self.same(once.pivot(on='c', index='k', values='v'), listed(theirs.pivot(index='k', columns='c', values='v'), True))
        self.same(once.unstack('k', 'c', 'v', fill_value=0), listed(theirs.set_index(['k', 'c'])['v'].unstack(fill_value=0), True))
        with self.assertRaisesRegex(gr.GranaryError, 'two rows for one place'):
            plan.pivot('k', 'c', 'v').collect()

    def test_what_cannot_be_columns(self):
        many = gr.from_dict({'k': list(range(1001)), 'v': [1] * 1001})
        for call in (lambda: many.pivot_table('v', 'k', 'v'), lambda: many.get_dummies('k'), lambda: many.crosstab('v', 'k'), many.transpose):
            with self.assertRaisesRegex(ValueError, '1000'):
                call()
        self.assertEqual(len(many.head(1000).pivot_table('v', 'k', 'v').collect().columns), 1001)
        none = gr.from_dict({'k': pd.Series([None, None], dtype='string'), 'v': [1, 2]})
        for call in (lambda: none.pivot_table('v', 'k', 'v'), lambda: none.crosstab('v', 'k')):
            with self.assertRaisesRegex(ValueError, 'no value'):
                call()
        self.assertEqual(none.get_dummies('k').collect().to_dict(), {'v': [1, 2]})
        with self.assertRaisesRegex(gr.GranaryError, "column 'All' already"):
            gr.from_dict({'k': ['All', 'b'], 'v': [1, 2]}).pivot_table('v', 'k', 'v', margins=True).collect()
        with self.assertRaisesRegex(TypeError, "needs 'values'"):
            many.pivot_table('v', 'k')

    def test_get_dummies_beside_pandas(self):
        plan, df = drawn(3, 50)
        for given in ({}, {'dummy_na': True}, {'drop_first': True}):
            want = listed(pd.get_dummies(df, columns=['k', 'c'], dtype=bool, **given))
            self.same(plan.get_dummies(['k', 'c'], **given), want)
            self.same(plan.get_dummies(**given), want)
        self.same(plan.get_dummies('j', prefix='p'), listed(pd.get_dummies(df, columns=['j'], prefix='p', dtype=bool)))
        dates = gr.from_dict({'d': pd.to_datetime(['2020-02-29', '2019-01-01', None])}).astype_columns({'d': 'date'})
        self.same(dates.get_dummies('d'), {'d_2019-01-01': [False, True, False], 'd_2020-02-29': [True, False, False]})

    def test_crosstab_beside_pandas(self):
        for seed in range(2):
            plan, df = drawn(seed, 50)
            there = df.dropna(subset=['k', 'c'])
            self.same(plan.crosstab('k', 'c'), listed(pd.crosstab(there.k, there.c), True))
            self.same(plan.crosstab('k', 'c', margins=True, margins_name='n'), listed(pd.crosstab(there.k, there.c, margins=True, margins_name='n'), True))
            self.same(plan.crosstab('k', 'c', 'v', aggfunc='sum'), listed(pd.crosstab(there.k, there.c, there.v, aggfunc='sum'), True))
            for how in (True, 'all', 'index', 'columns'):
                self.same(plan.crosstab('k', 'c', normalize=how), listed(pd.crosstab(there.k, there.c, normalize=how), True))
        with self.assertRaisesRegex(ValueError, 'normalize'):
            plan.crosstab('k', 'c', normalize='rows')

    def test_stack_and_transpose(self):
        df = pd.DataFrame({'a': [1.0, None, 3.0], 'b': [4.0, 5.0, None]})
        plan = gr.from_pandas(df)
        self.assertEqual(plan.stack().collect().to_dict()['value'], df.stack().tolist())
        self.assertEqual(plan.stack().collect().to_dict()['variable'], [b for _, b in df.stack().index])
        turned = plan.transpose(include_header=True, column_names=['x', 'y', 'z']).collect().to_dict()
        nan = turned['y'].pop(0)
        self.assertTrue(nan is None or math.isnan(nan))
        self.assertEqual(turned['column'], ['a', 'b'])
        self.assertEqual(turned['x'], [1.0, 4.0])
        wide = gr.from_dict({f'c{i}': [i, -i] for i in range(30)})
        self.assertEqual(wide.transpose().collect().to_dict(), {'column_0': list(range(30)), 'column_1': [-i for i in range(30)]})
        with self.assertRaisesRegex(ValueError, 'different names'):
            wide.transpose(column_names=['a', 'a'])
        with self.assertRaisesRegex(ValueError, 'not 0'):
            wide.head(0).transpose()
        with self.assertRaisesRegex(gr.GranaryError, 'one dtype'):
            gr.from_dict({'a': [1], 'b': ['x']}).stack().collect()

    def test_cut_beside_pandas(self):
        draw = random.Random(5)
        for values in ([1, 2, 3, 4, 5], [7], [0, 0], [-3.25, 1e-3, 12345.678], [1e-9, 2e-9], [draw.gauss(0, 1e6) for _ in range(50)],
                       [draw.randrange(100) for _ in range(50)] + [None]):
            for bins in (1, 7):
                for right in (True, False):
                    with self.subTest(values=values[:5], bins=bins, right=right):
                        theirs = pd.cut(pd.Series(values, dtype='float64'), bins, right=right)
                        want = [None if isinstance(v, float) else str(v) for v in theirs.astype(object)]
                        plan = gr.from_dict({'v': pd.Series(values, dtype='Float64' if None in values else None)})
                        self.assertEqual(plan.cut('v', bins, right=right).collect().to_dict()['v'], want)
                        codes = [None if c < 0 else c for c in theirs.cat.codes]
                        self.assertEqual(plan.cut('v', bins, labels=False, right=right).collect().to_dict()['v'], codes)
        self.assertEqual(gr.from_dict({'v': [1, 5]}).cut('v', np.array([0, 2, 6]), labels=False).collect().to_dict(), {'v': [0, 1]})
        with self.assertRaisesRegex(gr.GranaryError, 'infinity'):
            gr.from_dict({'v': [1.0, math.inf]}).cut('v', 2).collect()
        with self.assertRaisesRegex((gr.GranaryError, ValueError), '1'):
            gr.from_dict({'v': [1.0]}).cut('v', 0).collect()
        self.assertEqual(gr.from_dict({'v': pd.Series([None], dtype='Float64')}).cut('v', 2).collect().to_dict(), {'v': [None]})

    def test_describe_beside_pandas(self):
        plan, df = drawn(7, 30)
        got = plan.describe(include='all').collect().to_dict()
        want = df.describe(include='all')
        self.assertEqual(got['statistic'], want.index.tolist())
        for name in ('j', 'v', 'x'):
            for a, b in zip(got[name], want[name]):
                self.assertTrue(a is None and b != b or math.isclose(a, b), name)
        self.assertEqual(got['k'][:2], [str(df.k.count()), str(df.k.nunique())])
        counts = df.k.value_counts()
        self.assertEqual(got['k'][2:4], [min(counts.index[counts == counts.max()]), str(counts.max())])
        self.assertEqual(plan.describe(include=object).collect().columns, ['statistic', 'k', 'c'])
        self.assertEqual(plan.nunique().collect().to_dict(), {n: [v] for n, v in df.nunique().items()})
        self.assertEqual(plan.null_count().collect().to_dict(), {n: [v] for n, v in df.isna().sum().items()})

    def test_groups_beside_pandas(self):
        plan, df = drawn(11, 40)
        groups = df.groupby('k')
        self.assertEqual(plan.group_by('k').ngroup().collect().to_dict()['ngroup'], [None if v < 0 or v != v else int(v) for v in groups.ngroup()])
        for up in (True, False):
            ours = plan.group_by('j').cumcount(ascending=up, name='n').collect().to_dict()['n']
            self.assertEqual(ours, df.groupby('j').cumcount(ascending=up).tolist())
        for n in (1, -2):
            self.assertEqual(plan.group_by('j').shift(n, 'v', fill_value=99).collect().to_dict()['v'], df.groupby('j')['v'].shift(n, fill_value=99).tolist())
            self.assertEqual(plan.select(col('v').shift(n, fill_value=7).over('j')).collect().to_dict()['v'], df.groupby('j')['v'].shift(n, fill_value=7).tolist())
            self.assertEqual(plan.shift(n, ['v'], fill_value=5).collect().to_dict()['v'], df['v'].shift(n, fill_value=5).tolist())
        self.assertEqual(plan.group_by('k').agg(t=col('c').str.join('-')).collect().to_dict()['t'], [g.dropna().str.cat(sep='-') for _, g in df.groupby('k')['c']])
        self.assertEqual(plan.group_by('j').agg(a=('c', list), b=('v', set), n=('v', len), s=('v', sum)).collect().to_dict()['a'],
                         [[None if v is None else v for v in g] for _, g in df.groupby('j')['c']])
        for name in ('sum', 'mean', 'median', 'std', 'var', 'min', 'max', 'first', 'last', 'count', 'nunique'):
            kept = ['k', 'j', 'v', 'x'] + (['c'] if name in ('first', 'last', 'count', 'nunique') else [])
            want = getattr(df[kept].groupby('k'), name)()
            self.same(getattr(plan.select(*kept).group_by('k'), name)(), listed(want, True))
        want = df.groupby('k').agg({'v': ['min', 'max'], 'x': 'sum'})
        self.same(plan.group_by('k').agg({'v': ['min', max], 'x': 'sum'}), dict(zip(['k', 'v_min', 'v_max', 'x'], listed(want, True).values())))
        self.same(plan.group_by('k').agg(v=sum, n='size'), listed(df.groupby('k').agg(v=('v', 'sum'), n=('v', 'size')), True))
        self.assertEqual(plan.select(col('c').approx_n_unique()).collect().item(), df.c.nunique())

    def test_selectors(self):
        plan, df = drawn(2, 10)
        for selector, want in ((cs.numeric(), ['j', 'v', 'x']), (cs.string(), ['k', 'c']), (cs.float(), ['x']), (cs.all() - cs.first(), ['j', 'c', 'v', 'x']),
                               (~cs.numeric(), ['k', 'c']), (cs.matches('^[cv]$') | cs.last(), ['c', 'v', 'x']), (cs.by_name('v', 'k'), ['k', 'v']),
                               (cs.exclude('k', cs.float()), ['j', 'c', 'v']), (cs.by_dtype('int64', str), ['k', 'j', 'c', 'v']),
                               (cs.starts_with('k', 'x') & cs.string(), ['k']), (cs.contains('j') ^ cs.integer(), ['v'])):
            self.assertEqual(plan.select(selector).collect().columns, want, repr(selector))
        self.assertEqual(plan.drop(cs.string()).collect().columns, ['j', 'v', 'x'])
        self.assertEqual(plan.select('k', cs.integer() * 2 + 1).collect().to_dict()['v'], (df.v * 2 + 1).tolist())
        self.assertEqual(plan.group_by('j').agg(cs.integer().max() - cs.integer().min()).collect().columns, ['j', 'v'])
        got = plan.with_columns(cs.float() - cs.float().mean().over('j')).collect()['x']
        np.testing.assert_allclose(got, df.x - df.groupby('j').x.transform('mean'))
        self.assertEqual(plan.sort(cs.by_name('v')).collect().to_dict()['v'], sorted(df.v))
        self.assertEqual(plan.fillna('?', columns=cs.string()).collect().to_dict()['k'], df.k.fillna('?').tolist())
        self.assertEqual(plan.filter(regex='^[kc]').collect().columns, ['k', 'c'])
        self.assertEqual(plan.filter(items=['x', 'none']).collect().columns, ['x'])
        self.assertEqual(plan.select_dtypes('number').collect().columns, list(df.select_dtypes('number').columns))
        self.assertEqual(plan.select_dtypes(exclude=[np.number]).collect().columns, ['k', 'c'])
        with self.assertRaisesRegex(KeyError, 'no column'):
            plan.select(cs.by_name('none'))
        with self.assertRaisesRegex(ValueError, 'two different selectors'):
            plan.select(cs.float() + cs.integer())
        with self.assertRaisesRegex(ValueError, 'would be called'):
            plan.select(cs.numeric().sum().alias('s'))
        with self.assertRaisesRegex(gr.GranaryError, 'no column has such a dtype'):
            plan.select_dtypes('decimal').collect()

    def test_a_sample_is_drawn_by_weight(self):
        """Of 3000 draws of one row, those of each weight are as many as chance allows (5 standard deviations)."""
        weights = [1.0, 0.0, 2.0, None, 5.0]
        plan = gr.from_dict({'i': list(range(5)), 'w': pd.Series(weights, dtype='Float64')})
        many = gr.from_dict({'g': np.repeat(np.arange(3000), 5), 'i': list(range(5)) * 3000, 'w': pd.Series(weights * 3000, dtype='Float64')}, pieces=3)
        seen = collections.Counter(many.group_by('g').sample(n=1, weights='w').collect().to_dict()['i'])
        for i, share in ((0, 1 / 8), (2, 2 / 8), (4, 5 / 8)):
            self.assertLess(abs(seen[i] - 3000 * share), 5 * math.sqrt(3000 * share * (1 - share)), seen)
        self.assertEqual(set(seen), {0, 2, 4})
        self.assertEqual(sorted(plan.sample(n=3, weights='w').collect().to_dict()['i']), [0, 2, 4])
        first = [plan.sample(n=1, weights='w', seed=s).collect().to_dict()['i'][0] for s in range(40)]
        self.assertGreater(len(set(first)), 1)
        for frac, want in ((0.5, 2), (0.3, 2), (0.1, 0)):  # of five rows: 2.5 goes to the even number
            self.assertEqual(len(plan.sample(frac=frac, weights='w').collect()), want)
        with self.assertRaisesRegex(gr.GranaryError, 'fewer rows'):
            plan.sample(n=4, weights='w').collect()
        for given in ({'n': 1}, {'frac': 1.5}):
            with self.assertRaisesRegex(gr.GranaryError, 'fewer rows'):
                plan.filter('i > 9' if 'n' in given else 'i >= 0').sample(weights='w', **given).collect()
        self.assertEqual(plan.filter('i > 9').sample(n=0, weights='w').collect().to_dict(), {'i': [], 'w': []})
        with self.assertRaisesRegex(gr.GranaryError, 'negative or infinite'):
            gr.from_dict({'w': [1.0, -1.0]}).sample(n=1, weights='w').collect()
        with self.assertRaisesRegex(gr.GranaryError, "does not go with 'replace'"):
            plan.sample(n=1, weights='w', replace=True).collect()

    def test_a_sample_of_each_group(self):
        rows = [g for g in range(20) for _ in range(g)]
        plan = gr.from_dict({'g': rows, 'i': list(range(len(rows)))}, pieces=4)
        for seed in (0, 1):
            got = plan.filter('g >= 3').group_by('g').sample(n=3, seed=seed).collect().to_dict()
            self.assertEqual(got['g'], [g for g in range(3, 20) for _ in range(3)])
            self.assertEqual(len(set(got['i'])), len(got['i']))
            self.assertTrue(all(rows[i] == g for i, g in zip(got['i'], got['g'])))
        half = plan.group_by('g').sample(frac=0.5).collect().to_dict()['g']
        self.assertEqual(half, [g for g in range(20) for _ in range(round(g / 2))])
        again = plan.rebalance(7).filter('g >= 3').group_by('g').sample(n=3, seed=1).collect().to_dict()
        self.assertEqual(again, got)  # however the rows are cut
        with self.assertRaisesRegex(gr.GranaryError, 'fewer rows'):
            plan.group_by('g').sample(n=2).collect()


if __name__ == '__main__':
    unittest.main()
