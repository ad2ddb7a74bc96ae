"""pandas and NumPy: numpy_pandas.py SUITE DIRECTORY RUNS; "KEY SECONDS ROWS CHECK" a line."""
import statistics
import sys
import time

import numpy as np

suite, data, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])


def measure(key, work, check=lambda result: (0, 0)):
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - began)
    print(key, statistics.median(times), *check(result), flush=True)


def column(name):
    return lambda frame: (len(frame), float(frame[name].sum()))


def groupby(x):
    how = dict(as_index=False, sort=False, observed=True)
    measure('q1', lambda: x.groupby('id1', **how).agg({'v1': 'sum'}), column('v1'))
    measure('q2', lambda: x.groupby(['id1', 'id2'], **how).agg({'v1': 'sum'}), column('v1'))
    measure('q3', lambda: x.groupby('id3', **how).agg({'v1': 'sum', 'v3': 'mean'}), column('v3'))
    measure('q4', lambda: x.groupby('id4', **how).agg({'v1': 'mean', 'v2': 'mean', 'v3': 'mean'}), column('v3'))
    measure('q5', lambda: x.groupby('id6', **how).agg({'v1': 'sum', 'v2': 'sum', 'v3': 'sum'}), column('v3'))
    measure('q7', lambda: x.groupby('id3', **how).agg({'v1': 'max', 'v2': 'min'}).eval('r = v1 - v2'), column('r'))


def frame(x):
    measure('filter_sum', lambda: x.loc[(x.v3 > 50) & (x.id4 < 50), ['v1', 'v3']].prod(axis=1).sum(),
            lambda r: (1, float(r)))
    measure('filter', lambda: x.loc[(x.v3 > 50) & (x.id4 < 50), ['id4', 'v1', 'v3']], column('v3'))
    measure('expression', lambda: (x.v1 * x.v3 + x.v2).to_frame('e'), column('e'))
    measure('top_100', lambda: x.nlargest(100, 'v3'), column('v3'))
    measure('distinct', lambda: x[['id2', 'id4']].drop_duplicates(), column('id4'))
    measure('nunique', lambda: x['id6'].nunique(), lambda r: (1, r))
    measure('cumsum', lambda: x['v3'].cumsum().to_frame('r'), column('r'))
    measure('rolling', lambda: x['v3'].rolling(100, min_periods=1).mean().to_frame('r'), column('r'))
    numbers = np.random.default_rng(1).integers(-2**63, 2**63 - 1, 10**7)
    measure('sort_1e7', lambda: np.sort(numbers))


def tensor():
    rng = np.random.default_rng(0)
    a, b, c = (rng.random(10**8) for _ in range(3))
    measure('fused_sum', lambda: (a * b + c).sum())
    measure('fused', lambda: a * b + c)
    del a, b, c
    a, b = (rng.random((4096, 4096)) for _ in range(2))
    measure('matmul', lambda: a @ b)
    a = rng.random((100000, 1000))
    measure('column_stats', lambda: (a.mean(0), a.std(0)))
    a = rng.random((10000, 10000))
    measure('transpose', lambda: np.ascontiguousarray(a.T))
    a = rng.random((1000000, 32))
    measure('svd', lambda: np.linalg.svd(a, full_matrices=False))
    try:
        import numexpr
    except ImportError:
        return
    a, b, c = (rng.random(10**8) for _ in range(3))
    measure('numexpr_fused_sum', lambda: numexpr.evaluate('sum(a * b + c)'))
    measure('numexpr_fused', lambda: numexpr.evaluate('a * b + c'))


if suite == 'tensor':
    tensor()
else:
    import pandas as pd
    text = dict.fromkeys(('id1', 'id2', 'id3'), 'category')
    numbers = dict.fromkeys(('id4', 'id5', 'id6', 'v1', 'v2'), 'int32')
    table = pd.read_csv(f'{data}/groupby.csv', dtype={**text, **numbers, 'v3': 'float64'})
    {'groupby': groupby, 'frame': frame}[suite](table)
