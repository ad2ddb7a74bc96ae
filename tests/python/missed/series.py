"""Frames whose rows have an order: time, windows, ranks."""
import datetime

import granary.frames as gr

COMPLETE = True

col = gr.col


HOURS = [datetime.datetime(2024, 1, 1, hour) for hour in range(5)]


def spread(values):
    return values.max() - values.min()


def t(**columns):
    return gr.from_dict(columns)


# topic, method, call, answer: a frame's as a dict of lists
ROWS = [
    ('resample with filling', 'LazyFrame.resample', lambda: t(t=[HOURS[0], HOURS[3]], v=[1, 4]).resample('1h', 't').agg(col('v').mean(), fill='linear'),
     {'t': HOURS[:4], 'v': [1.0, 2.0, 3.0, 4.0]}),
    ('resample with filling', 'LazyFrame.group_by_dynamic', lambda: t(t=HOURS, v=[1, 2, 3, 4, 5]).group_by_dynamic('t', every='2h').agg(col('v').sum()),
     {'t': HOURS[::2], 'v': [3, 7, 5]}),
    ('resample with filling', 'LazyFrame.upsample', lambda: t(t=[HOURS[0], HOURS[2]], v=[1, 3]).upsample('t', every='1h', fill='ffill'),
     {'t': HOURS[:3], 'v': [1, 1, 3]}),
    ('rolling by time', 'Expr.rolling', lambda: t(t=HOURS, v=[1, 2, 3, 4, 5]).select(col('v').rolling('2h', on='t').sum()), {'v': [1, 3, 5, 7, 9]}),
    ('rolling by time', 'LazyFrame.rolling', lambda: t(t=HOURS, v=[1, 2, 3, 4, 5]).rolling('2h', on='t', closed='both').sum('v').select('v'), {'v': [1, 3, 6, 9, 12]}),
    ('time zones', 'Expr.dt.tz_localize', lambda: t(t=HOURS[:1]).select(col('t').dt.tz_localize('Europe/Berlin').dt.timezone('Asia/Tokyo')),
     {'t': [HOURS[0] + datetime.timedelta(hours=8)]}),
    ('rolling quantile', 'Expr.rolling_quantile', lambda: t(v=[1, 3, 2]).select(col('v').rolling_quantile(2, 0.5)), {'v': [None, 2.0, 2.5]}),
    ('rolling correlation', 'Expr.rolling_corr', lambda: t(v=[1, 3, 2], w=[1, 3, 4]).select(col('v').rolling_corr('w', 2)), {'v': [None, 1.0, -1.0]}),
    ('rolling apply', 'LazyFrame.rolling', lambda: t(v=[1.0, 3.0, 2.0]).rolling(2).apply(spread, 'v'), {'v': [None, 2.0, 1.0]}),
    ('ewm var, span, halflife', 'Expr.ewm_mean', lambda: t(v=[1.0, 4.0]).select(col('v').ewm_mean(span=3)), {'v': [1.0, 3.0]}),
    ('ewm var, span, halflife', 'Expr.ewm', lambda: t(v=[1.0, 3.0]).select(col('v').ewm(halflife=1).var()), {'v': [None, 2.0]}),
    ('rank as a share', 'Expr.rank', lambda: t(v=[1, 4, 4, None]).select(col('v').rank('max', pct=True)), {'v': [1 / 3, 1.0, 1.0, None]}),
    ('Spearman, Kendall', 'LazyFrame.corr', lambda: t(a=[1, 2, 3], b=[1, 9, 10]).corr(['a', 'b'], method='spearman').select('a'), {'a': [1.0, 1.0]}),
    ('Spearman, Kendall', 'LazyFrame.corr', lambda: t(a=[1, 2, 3], b=[1, 10, 9]).corr(['a', 'b'], method='kendall').select('a'), {'a': [1.0, 1 / 3]}),
    ('interpolate methods', 'LazyFrame.interpolate', lambda: t(v=[1, None, None, None], p=[0, 3, 4, 9]).interpolate(['v'], by='p', limit=2).select('v'),
     {'v': [1.0, 1.0, 1.0, None]}),
    ('interpolate methods', 'LazyFrame.interpolate', lambda: t(v=[1, None, 9], p=[0, 3, 4]).interpolate(['v'], method='nearest', by='p').select('v'), {'v': [1.0, 9.0, 9.0]}),
]
