"""Windows, intervals of time, ranks and fills of frames, groups and expressions, beside pandas."""
import datetime
import unittest

import numpy as np
import pandas as pd

from frames_test import HOSTED, FramesTest, gr

c = gr.col
CLOSED = (None, 'left', 'both', 'neither')


def frame(seed=1, rows=60):
    draw = np.random.default_rng(seed)
    x = draw.normal(size=rows)
    x[draw.random(rows) < 0.2] = np.nan
    times = pd.to_datetime('2024-01-01') + pd.to_timedelta(draw.permutation(40 * 24 * 60)[:rows], unit='min')
    return pd.DataFrame({'t': times, 'x': x, 'y': draw.normal(size=rows), 'k': draw.integers(0, 3, rows)})


class Times(FramesTest):
    def setUp(self):
        self.df = frame()
        self.f = gr.from_pandas(self.df)
        self.timed = self.df.set_index('t').sort_index()

    def same(self, ours, theirs):
        ours = np.array([np.nan if v is None else v for v in ours], float)
        theirs = np.asarray(theirs, float)
        self.assertEqual(ours.shape, theirs.shape)
        self.assertTrue(np.allclose(ours, theirs, equal_nan=True), np.c_[ours, theirs])

    def one(self, expression):
        return self.f.select(v=expression).collect().to_dict()['v']

    def by_time(self, expression):
        return self.f.with_columns(v=expression).sort('t').collect().to_dict()['v']

    def test_rows(self):
        for window, least, center, closed in ((3, None, False, None), (3, 1, True, None), (7, 2, False, 'left'), (4, None, True, 'both'), (7, None, False, 'neither')):
            with self.subTest(window=window, least=least, center=center, closed=closed):
                ours = c('x').rolling(window, min_periods=least, center=center, closed=closed)
                theirs = self.df.x.rolling(window, min_periods=least, center=center, closed=closed)
                for name in ('sum', 'mean', 'min', 'max', 'median', 'std', 'var', 'skew', 'kurt'):
                    self.same(self.one(getattr(ours, name)()), getattr(theirs, name)())
                self.same(self.one(ours.quantile(0.3)), theirs.quantile(0.3))
                self.same(self.one(ours.corr('y')), theirs.corr(self.df.y))
                self.same(self.one(ours.cov('y')), theirs.cov(self.df.y))
                self.same(self.one(ours.count()), self.df.x.rolling(window, min_periods=least or 0, center=center, closed=closed).count())

    def test_durations(self):
        for closed in CLOSED:
            for name in ('sum', 'mean', 'min', 'max', 'median', 'std', 'var'):
                self.same(self.by_time(getattr(c('x').rolling('5d', on='t', closed=closed), name)()), getattr(self.timed.x.rolling('5d', closed=closed), name)())
        self.same(self.by_time(c('x').rolling('5d', on='t', center=True).mean()), self.timed.x.rolling('5d', center=True).mean())
        self.same(self.by_time(c('x').rolling_mean_by('t', datetime.timedelta(5), min_periods=2)), self.timed.x.rolling('5d', min_periods=2).mean())
        ours = self.f.with_columns(v=c('x').rolling('5d', on='t').mean().over('k')).sort('k', 't').collect().to_dict()['v']
        self.same(ours, self.timed.groupby('k').x.rolling('5d').mean())
        dates = gr.from_dict({'t': [datetime.date(2024, 1, d) for d in (1, 2, 4)] + [None], 'v': [1, 2, 3, 4]})
        self.assertEqual(dates.select(c('v').rolling('2d', on='t').sum()).collect().to_dict()['v'], [1, 3, 3, None])
        equal = gr.from_dict({'t': [datetime.datetime(2024, 1, 1)] * 2, 'v': [1, 2]})
        self.assertEqual(equal.select(c('v').rolling('2d', on='t').sum()).collect().to_dict()['v'], [3, 3])

    def test_expanding_and_weights(self):
        for name in ('sum', 'mean', 'min', 'max', 'std', 'var', 'median', 'count'):
            self.same(self.one(getattr(c('x').expanding(3), name)()), getattr(self.df.x.expanding(3), name)())
        for form in ({'span': 5}, {'com': 1.5}, {'halflife': 2}, {'alpha': 0.3}):
            for adjust, ignore, least in ((True, False, 0), (False, True, 4), (True, True, 2)):
                given = {**form, 'adjust': adjust, 'ignore_na': ignore, 'min_periods': least}
                self.same(self.one(c('x').ewm(**given).mean()), self.df.x.ewm(**given).mean())
                for bias in (True, False):
                    self.same(self.one(c('x').ewm(**given).var(bias)), self.df.x.ewm(**given).var(bias=bias))
                    self.same(self.one(c('x').ewm_std(bias=bias, **given)), self.df.x.ewm(**given).std(bias=bias))

    def test_ranks_and_other_rows(self):
        groups = self.df.groupby('k')
        for method in ('average', 'min', 'max', 'first', 'dense'):
            for down in (True, False):
                self.same(self.one(c('x').rank(method, down, True).over('k')), groups.x.rank(method=method, pct=True, ascending=not down))
        for n in (1, 2, -1, 0, 100):
            self.same(self.one(c('y').shift(n, fill_value=7.0)), self.df.y.shift(n, fill_value=7.0))
            self.same(self.one(c('y').shift(n, fill_value=7.0).over('k')), groups.y.shift(n, fill_value=7.0))
            self.same(self.one(c('y').diff(n).over('k')), groups.y.diff(n))
        self.same(self.one(c('y').pct_change(2).over('k')), groups.y.pct_change(2))
        for name in ('cumsum', 'cummax', 'cummin', 'cumprod'):
            self.same(self.one(getattr(c('y'), name)().over('k')), getattr(groups.y, name)())
        self.same(self.one(c('x').cum_count().over('k')), self.df.x.notna().astype(int).groupby(self.df.k).cumsum())

    def test_frames(self):
        def values(plan, name):
            return plan.collect().to_dict()[name]
        self.same(values(self.f.rolling('5d', on='t').mean('x').sort('t'), 'x'), self.timed.x.rolling('5d').mean())
        self.same(values(self.f.rolling(3).sum(), 'y'), self.df.y.rolling(3).sum())
        groups = self.df.groupby('k').y
        for ours, theirs in ((self.f.group_by('k').rolling(3), groups.rolling(3)), (self.f.group_by('k').expanding(), groups.expanding()),
                             (self.f.group_by('k').ewm(span=3), groups.ewm(span=3))):
            self.same(values(ours.mean('y'), 'y'), theirs.mean().droplevel(0).sort_index())
        both = self.f.rolling(index_column='t', period='5d').agg(r=c('y').max() - c('y').min(), n='size').sort('t')
        self.same(values(both, 'r'), self.timed.y.rolling('5d').max() - self.timed.y.rolling('5d').min())
        self.assertEqual(both.columns, ['t', 'r', 'n'])
        self.same(values(self.f.rolling(4).corr('x', 'y'), 'corr'), self.df.x.rolling(4).corr(self.df.y))
        if HOSTED:
            self.same(values(self.f.rolling(3, min_periods=1).apply(np.nanmax, 'x'), 'x'), self.df.x.rolling(3, min_periods=1).max())

    def test_intervals(self):
        def values(plan, name):
            return plan.collect().to_dict()[name]
        for every in ('1D', '6h', '7h', '1MS', '1W'):
            ours = self.f.resample(every, 't').agg(m=c('x').mean(), n='size').collect().to_pandas()
            rule = {'1MS': 'MS', '1W': 'W-MON'}.get(every, every)
            theirs = self.timed.resample(rule, **({'closed': 'left', 'label': 'left'} if every == '1W' else {})).x
            self.same(ours.m, theirs.mean())
            self.same(ours.n, theirs.size())
            self.assertEqual(ours.t.tolist(), theirs.mean().index.tolist())
        hours = self.timed.resample('6h').x.mean()
        self.same(values(self.f.resample('6h', 't').agg(c('x').mean(), fill='ffill', limit=2), 'x'), hours.ffill(limit=2))
        self.same(values(self.f.resample('6h', 't').agg(c('x').mean()).bfill(), 'x'), hours.bfill())
        self.same(values(self.f.resample('6h', 't').agg(c('x').mean(), fill='linear'), 'x'), hours.interpolate())
        self.same(values(self.f.group_by('k').resample('1D', 't').mean('y'), 'y'), self.timed.groupby('k').resample('1D').y.mean())
        self.same(values(self.f.resample('2h', 't', closed='right', label='right', offset='30min').sum('y'), 'y'),
                  self.timed.resample('2h', closed='right', label='right', offset='30min').y.sum())
        for how in ('ffill', 'bfill', 'nearest', 'asfreq', 'interpolate'):
            self.same(values(getattr(self.f.resample('2h', 't'), how)(), 'y'), getattr(self.timed[['y']].resample('2h'), how)().y)
        days = self.timed.y.groupby(self.timed.index.floor('D')).sum()
        self.same(values(self.f.group_by_dynamic('t', every='1d').agg(c('y').sum()), 'y'), days)
        made = self.f.upsample(time_column='t', every='1h', group_by='k').select('k', 't').collect()
        self.assertEqual(len(made), sum(len(pd.date_range(g.index.min(), g.index.max(), freq='h')) for _, g in self.timed.groupby('k')))

    def test_ranked_correlation(self):
        ours = self.f.corr(['x', 'y', 'k'], method='spearman').drop('column').collect().to_pandas()
        self.same(ours.to_numpy(float).ravel(), self.df[['x', 'y', 'k']].corr('spearman').to_numpy().ravel())
        draw = np.random.default_rng(3)
        a, b = draw.integers(0, 9, 300), draw.integers(0, 9, 300)
        signs = np.sign(a[:, None] - a) * np.sign(b[:, None] - b)
        tau = signs.sum() / np.sqrt((a[:, None] != a).sum()) / np.sqrt((b[:, None] != b).sum())
        self.same(gr.from_dict({'a': a, 'b': b}).corr(['a', 'b'], method='kendall').select('a').collect().to_dict()['a'], [1, tau])

    def test_zones(self):
        berlin = [datetime.datetime(2024, 1, 1, 12), datetime.datetime(2024, 7, 1, 12), datetime.datetime(1910, 5, 5), None]
        f = gr.from_dict({'d': berlin})
        here = c('d').dt.tz_localize('Europe/Berlin')
        theirs = pd.Series(berlin).dt.tz_localize('Europe/Berlin')
        done = f.select(i=here, tokyo=here.dt.timezone('Asia/Tokyo'), utc=here.dt.tz_localize(None), same=here.dt.tz_convert('UTC')).collect()
        self.assertEqual(done.schema['i'], 'timestamptz')
        table = done.to_pandas()
        self.assertEqual(table.i.dropna().tolist(), theirs.dt.tz_convert('UTC').dropna().tolist())
        self.assertEqual(table.tokyo.dropna().tolist(), theirs.dt.tz_convert('Asia/Tokyo').dt.tz_localize(None).dropna().tolist())
        self.assertEqual(table.utc.dropna().tolist(), theirs.dt.tz_convert('UTC').dt.tz_localize(None).dropna().tolist())
        self.assertEqual(table.same.dropna().tolist(), table.i.dropna().tolist())
        for moment in (datetime.datetime(2024, 3, 31, 2, 30), datetime.datetime(2024, 10, 27, 2, 30)):  # never, and twice
            with self.assertRaisesRegex(gr.GranaryError, 'never or twice'):
                gr.from_dict({'d': [moment]}).select(here).collect()
        with self.assertRaisesRegex(gr.GranaryError, 'no instant yet'):
            f.select(here.dt.tz_localize('Europe/Berlin')).collect()
        with self.assertRaisesRegex(TypeError, 'keeps no zone'):
            c('d').dt.convert_time_zone('Asia/Tokyo')

    def test_refusals(self):
        for words, call in (('needs on=', lambda: c('x').rolling('7d')), ('calls no Python function', lambda: c('x').rolling(3).apply(sum)),
                            ('one of com, span', lambda: c('x').ewm(span=3, com=1)), ('span 1 or more', lambda: c('x').ewm_mean(span=0.5)),
                            ('closed', lambda: self.f.rolling(3, closed='x')), ('leave order_by out', lambda: c('x').rolling('7d', on='t').mean().over(order_by='y')),
                            ('more than the window', lambda: c('x').rolling(3, min_periods=4)), ('units are', lambda: c('x').rolling('7 parsecs', on='t')),
                            ('a number of rows', lambda: c('x').rolling(2.5)), ('do not overlap', lambda: self.f.group_by_dynamic('t', every='1h', period='2h')),
                            ("'t' is a key", lambda: self.f.resample('1h', 't').agg(t=c('x').mean())),
                            ('from 0 to 1', lambda: c('x').rolling(3).quantile(2)), ('no offset', lambda: self.f.rolling(3, offset='1h')),
                            ('no column of numbers', lambda: self.f.select('t').resample('1h', 't').mean())):
            with self.subTest(words), self.assertRaisesRegex((TypeError, ValueError), words):
                call()
        for words, plan in (('MS, QS or YS', self.f.resample('1M', 't').mean('x')), ('dates or timestamps', self.f.resample('1h', 'x').mean('y')),
                            ('months differ', self.f.rolling('1MS', on='t').mean('x')), ("needs 'on'", self.f.rolling('1h').mean('x')),
                            ('has several values', self.f.resample('1h', 't').agg(x='largest(x, 2)'))):
            with self.subTest(words), self.assertRaisesRegex(gr.GranaryError, words):
                plan.collect()


if __name__ == '__main__':
    unittest.main()
