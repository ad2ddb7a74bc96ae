"""The operator window against pandas: whole frames and partitions, however rows are cut."""
import math
import re
import statistics
from fractions import Fraction

import numpy as np
import pandas as pd

from granary_test import Column, Instance, same_pandas

rng = np.random.default_rng(9)


def frame_of(rows):
    texts = np.array(['', 'a', 'b', 'ä€😀', 'c'], object)
    frame = pd.DataFrame({
        'g': texts[rng.integers(0, len(texts), rows)],
        'h': rng.integers(0, 3, rows),
        'f': np.where(rng.random(rows) < 0.2, np.nan, rng.normal(size=rows).round(3) * 10.0 ** rng.integers(-3, 4, rows)),
        'i': rng.integers(-50, 50, rows),
        'k': pd.array(rng.integers(-5, 5, rows), 'Int64'),
        't': pd.Timestamp('2020-01-01') + pd.to_timedelta(rng.integers(0, 10**6, rows), 's'),
    })
    frame.loc[rng.random(rows) < 0.2, 'k'] = pd.NA
    frame.loc[rng.random(rows) < 0.2, 'g'] = None
    return frame


def std(window):
    """Of one window anew: pandas' running one loses digits when values of very different size pass."""
    values = window[~np.isnan(window)]
    return np.std(values, ddof=1) if len(values) > 1 else np.nan


def of_window(function, values):
    """Of one window's values, in fractions: the exact result, rounded; None: null."""
    if function in ('std', 'var') and (len(values) < 2 or not all(map(np.isfinite, values))) or not values:
        return None
    if not all(map(np.isfinite, values)):
        return sum(values)
    values = [Fraction(v) for v in values]
    mean = sum(values) / len(values)
    spread = float(sum((v - mean) ** 2 for v in values) / max(len(values) - 1, 1))
    return {'sum': float(sum(values)), 'mean': float(sum(values)) / len(values), 'var': spread, 'std': spread ** 0.5}[function]


# name -> (function, what pandas does to a column (a Series, or its groups))
SAME = {
    'cumsum_f': ('cumsum(f)', 'f', lambda s: s.cumsum()),
    'cummean': ('cummean(f)', 'f', lambda s: s.expanding().mean().where(s.notna())),
    'cummean_true': ('cummean(k, true)', 'k', lambda s: s.expanding().mean()),
    'moving_mean': ('moving_mean(f, 3)', 'f', lambda s: s.rolling(3, min_periods=1).mean()),
    'moving_mean_i': ('moving_mean(i, 4)', 'i', lambda s: s.rolling(4, min_periods=1).mean()),
    'cumsum_true': ('cumsum(f, true)', 'f', lambda s: s.cumsum().ffill()),
    'cumprod_true': ('cumprod(f, true)', 'f', lambda s: s.cumprod().ffill()),
    'cummax_true': ('cummax(i, true)', 'i', lambda s: s.cummax().ffill()),
    'cumsum_k_true': ('cumsum(k, true)', 'k', lambda s: s.cumsum().ffill()),
    'cumsum_i': ('cumsum(i)', 'i', lambda s: s.cumsum()),
    'cumsum_k': ('cumsum(k)', 'k', lambda s: s.cumsum()),
    'cumprod': ('cumprod(f)', 'f', lambda s: s.cumprod()),
    'cummax': ('cummax(f)', 'f', lambda s: s.cummax()),
    'cummin': ('cummin(i)', 'i', lambda s: s.cummin()),
    'shift': ('shift(f, 2)', 'f', lambda s: s.shift(2)),
    'shift_t': ('shift(t)', 't', lambda s: s.shift()),
    'nth': ('nth(f, 2)', 'f', lambda s: s.iloc[1] if len(s) > 1 else np.nan),
    'nth_last': ('nth(i, -1)', 'i', lambda s: s.iloc[-1] if len(s) > 0 else np.nan),
    'lead': ('lead(k)', 'k', lambda s: s.shift(-1)),
    'diff': ('diff(f, 3)', 'f', lambda s: s.diff(3)),
    'diff_t': ('diff(t)', 't', lambda s: s.diff()),
    'pct': ('pct_change(i)', 'i', lambda s: s.pct_change()),
    'ffill': ('ffill(f)', 'f', lambda s: s.ffill()),
    'ffill1': ('ffill(k, 1)', 'k', lambda s: s.ffill(limit=1)),
    'bfill': ('bfill(f, 2)', 'f', lambda s: s.bfill(limit=2)),
    'rank': ('rank(f)', 'f', lambda s: s.rank()),
    'rank_min': ("rank(i, 'min', true)", 'i', lambda s: s.rank(method='min', ascending=False)),
    'rank_max': ("rank(i, 'max')", 'i', lambda s: s.rank(method='max')),
    'rank_first': ("rank(i, 'first')", 'i', lambda s: s.rank(method='first')),
    'rank_dense': ("rank(i, 'dense')", 'i', lambda s: s.rank(method='dense')),
}
FRAME = {
    'r_sum': ('rolling_sum(f, 3)', 'f', lambda s: s.rolling(3).sum()),
    'r_mean': ('rolling_mean(f, 4, 1)', 'f', lambda s: s.rolling(4, min_periods=1).mean()),
    'r_min': ('rolling_min(f, 3, 1)', 'f', lambda s: s.rolling(3, min_periods=1).min()),
    'r_max': ('rolling_max(i, 5)', 'i', lambda s: s.rolling(5).max()),
    'r_std': ('rolling_std(f, 5, 2)', 'f', lambda s: s.rolling(5, min_periods=2).apply(std, raw=True)),
    'r_var': ('rolling_var(i, 4)', 'i', lambda s: s.rolling(4).apply(std, raw=True) ** 2),
    'r_count': ('rolling_count(f, 3)', 'f', lambda s: s.rolling(3).count()),
    'r_median': ('rolling_median(f, 5, 1)', 'f', lambda s: s.rolling(5, min_periods=1).median()),
    'r_center': ('rolling_sum(i, 5, 1, true)', 'i', lambda s: s.rolling(5, min_periods=1, center=True).sum()),
    'e_sum': ('expanding_sum(f)', 'f', lambda s: s.expanding().sum()),
    'e_mean': ('expanding_mean(f, 3)', 'f', lambda s: s.expanding(3).mean()),
    'e_min': ('expanding_min(f)', 'f', lambda s: s.expanding().min()),
    'e_max': ('expanding_max(i)', 'i', lambda s: s.expanding().max()),
    'e_std': ('expanding_std(f)', 'f', lambda s: s.expanding().std()),
    'e_count': ('expanding_count(f)', 'f', lambda s: s.expanding().count()),
    'ewm': ('ewm_mean(f, 0.3)', 'f', lambda s: s.ewm(alpha=0.3).mean()),
    'ewm_plain': ('ewm_mean(f, 0.5, false, true)', 'f', lambda s: s.ewm(alpha=0.5, adjust=False, ignore_na=True).mean()),
}
WHOLE = {
    'sum': ('sum(f)', 'f', 'sum'), 'sum_i': ('sum(i)', 'i', 'sum'), 'mean': ('mean(f)', 'f', 'mean'),
    'std': ('std(f)', 'f', 'std'), 'var': ('var(i)', 'i', 'var'), 'min': ('min(f)', 'f', 'min'), 'max': ('max(k)', 'k', 'max'),
    'count': ('count(f)', 'f', 'count'), 'size': ('size()', 'f', 'size'), 'first': ('first(f)', 'f', 'first'),
    'last': ('last(k)', 'k', 'last'),
}


def columns_of(table):
    return {name: entry[0] for name, entry in table.items()}


with Instance() as granary:
    def check(frame, want, what, pieces, chunk_bytes=0, **node):
        nodes = {'t': granary.put_frame(frame, pieces), 'w': {'op': 'window', 'input': 't', **node}}
        ours = granary.run(nodes, 'w', chunk_bytes)
        for column in ours.values():  # pandas' NaN is null and nan
            if column.dtype == 'float64' and column.valid is not None:
                column.values[~column.valid] = np.nan
                column.valid = None
        ours = pd.DataFrame({name: column.to_pandas() for name, column in ours.items()})
        same_pandas(ours, want, f'{what}, {len(frame)} rows, {pieces} pieces', 1e-9)

    for rows, pieces in ((0, 1), (1, 1), (9, 4), (500, 1), (500, 6)):
        frame = frame_of(rows)
        both = {**SAME, **FRAME}
        plain = frame.assign(k=frame.k.astype('float64'))  # pandas' nullable integers stay null after a null
        check(frame, frame.assign(**{n: f(plain[c]) for n, (_, c, f) in both.items()}), 'frame', pieces, 200,
              columns=columns_of(both))
        back = {n: e for n, e in both.items() if n.split('_')[0] not in ('lead', 'nth', 'bfill', 'rank') and n != 'r_center'}
        check(frame, frame.assign(**{n: f(plain[c]) for n, (_, c, f) in back.items()}), 'chain', pieces, 200,
              columns=columns_of(back))
        if rows == 0:
            continue
        for keys in (['h'], ['g', 'h']):
            groups = plain.groupby(keys)
            want = frame.assign(**{n: groups[c].transform(f) for n, (_, c, f) in both.items()})
            check(frame, want, f'partitions {keys}', pieces, 200, columns=columns_of(both), partition=keys)
            want = frame.assign(**{n: groups[c].transform(f) for n, (_, c, f) in WHOLE.items()})
            check(frame, want, f'whole partitions {keys}', pieces, 200, columns=columns_of(WHOLE), partition=keys)
        ordered = frame.sort_values(['i', 't'], ascending=[False, True], kind='stable')
        want = frame.assign(n=ordered.groupby('h').cumcount() + 1, c=ordered.groupby('h').f.cumsum(),
                            r=ordered.groupby('h').i.rank(method='min', ascending=False))
        check(frame, want, 'by', pieces, 200, columns={'n': 'row_number()', 'c': 'cumsum(f)', 'r': "rank(i, 'min', true)"},
              partition='h', by=['i', 't'], descending=[True, False])

    # The same bytes however it is cut.
    frame = frame_of(2000)
    frame['f'] *= 10.0 ** rng.integers(-12, 12, 2000)
    for partition in ({}, {'partition': ['g']}):
        node = {'op': 'window', 'input': 't', 'columns': columns_of({**SAME, **FRAME}), **partition}
        results = [granary.run({'t': granary.put_frame(frame, pieces), 'w': node}, 'w', 300) for pieces in (1, 3, 20)]
        assert all(r[name] == results[0][name] for r in results for name in results[0])

    # Sums that cancel.
    big = pd.DataFrame({'x': [1e16, 1.0, -1e16, 1.0, 1e300, -1e300, 2.0]})
    sums = granary.run({'t': granary.put_frame(big), 'w': {'op': 'window', 'input': 't', 'columns': {'c': 'cumsum(x)'}}}, 'w')
    assert list(sums['c'].values) == [1e16, 1e16 + 1, 1.0, 2.0, 1e300, 2.0, 4.0], sums['c']
    # Sums beyond the range of a double: infinite, until what has made them so has left the window.
    huge = pd.DataFrame({'x': [1e308, 1e308, -1e308, 1.0, 2.0]})
    for pieces in (1, 3):
        sums = granary.run({'t': granary.put_frame(huge, pieces),
                            'w': {'op': 'window', 'input': 't', 'columns': {
                                'c': 'cumsum(x)', 'r': 'rolling_sum(x, 2, 1)', 'm': 'rolling_mean(x, 2, 1)',
                                's': 'rolling_std(x, 2)', 'e': 'expanding_var(x)'}}}, 'w', 20)
        assert list(sums['c'].values) == [1e308] + [np.inf] * 4, sums['c']
        assert list(sums['r'].values) == [1e308, np.inf, 0.0, -1e308, 3.0], sums['r']
        assert list(sums['m'].values) == [1e308, np.inf, 0.0, -5e307, 1.5], sums['m']
        assert list(sums['s'].values[2:]) == [np.inf, np.inf, 0.5 ** 0.5], sums['s']
        assert list(sums['e'].values[2:]) == [np.inf] * 3, sums['e']
    # A variance beyond the range is infinite, and its root: of groups, partitions and windows.
    vast = {'t': granary.put_frame(pd.DataFrame({'x': [1e200, -1e200, 0.0], 'y': [3e200, 1.0, 2.0]}), 2)}
    for op, key, calls in (('groupby', 'aggregate', ('var(x)', 'std(x)', 'sem(x)', 'std(x, 0)', 'std(y)')),
                           ('window', 'columns', ('var(x)', 'std(x)', 'rolling_std(x, 3)', 'expanding_var(x)', 'std(y)'))):
        node = {'op': op, 'input': 't', key: dict(zip('abcde', calls)), **({'keys': []} if op == 'groupby' else {})}
        got = granary.run({**vast, 'w': node}, 'w')
        assert all(got[name].values[-1] == np.inf for name in 'abcde'), got
    # What is far from the rest, or much larger, has left no trace when it has left the window; however rows are cut.
    far = [1e20, 5.0, 1.0, 2.0, 4.0, np.nan, 4.0, -1e15, 3.0, 3.5, 4.0, 3.92, 3.92, 3.92]
    tiny = [1e30, 1e12, 1e-6, 2e-6, 4e-6, 1e-6, np.inf, 1e-6, -1e25, 1e9, 3e-7, 1e-6, 2e-6, 5e-6]
    calls = {f'{f}{n}{c}': f'rolling_{f}(x, {n}, 1{c})' for f in ('sum', 'mean', 'std', 'var') for n in (2, 3, 5, 50) for c in ('', ', true')}
    for values in (far, tiny):
        for pieces in (1, 2, 5, 14):
            table = granary.put_frame(pd.DataFrame({'x': values}), pieces)
            chain = {name: call for name, call in calls.items() if 'true' not in call}
            for columns in (chain, calls):
                got = granary.run({'t': table, 'w': {'op': 'window', 'input': 't', 'columns': columns}}, 'w', 20)
                for name, call in columns.items():
                    function, size = re.match(r'rolling_(\w+)\(x, (\d+)', call).groups()
                    size = int(size)
                    ahead = (size - 1) // 2 if 'true' in call else 0
                    for i in range(len(values)):
                        rows = [v for v in values[max(0, i + ahead - size + 1):i + ahead + 1] if not np.isnan(v)]
                        want = of_window(function, rows)
                        there = got[name].valid is None or got[name].valid[i]
                        assert there == (want is not None), (name, pieces, i)
                        assert not there or want == got[name].values[i] or abs(got[name].values[i] / want - 1) < 1e-15, (name, pieces, i, want, got[name].values[i])
    # Whole blocks of windows at once and row by row (in a partition) are the same to the bit, whatever breaks the blocks; and exact.
    steps = rng.normal(size=600) * 10.0 ** rng.integers(-8, 8, 600)
    steps[301], steps[[200, 201, 350, 351]] = np.nan, [1e308, 1e308, -1e308, -1e308]
    steps[[440, 450, 461, 470, 477, 515, 550]] = [np.inf, np.inf, np.inf, -np.inf, -np.inf, np.inf, np.inf]
    there = ~np.isin(np.arange(600), [97, 300, 490])
    calls = {f'{f}{n}{c}'.replace(', ', '_'): f'rolling_{f}(x, {n}{c})' for f in ('sum', 'mean') for n in (1, 2, 7, 40) for c in ('', ', 1', ', 1, true')}
    for pieces in (1, 3, 23):
        table = granary.put({'x': Column('float64', steps, there), 'one': Column('int64', np.ones(600, 'i8'))}, pieces)
        node = {'op': 'window', 'input': 't', 'columns': calls}
        chain = {**node, 'columns': {name: call for name, call in calls.items() if 'true' not in call}}
        by_row = granary.run({'t': table, 'w': {**node, 'partition': ['one']}}, 'w', 300)
        for at_once in (granary.run({'t': table, 'w': node}, 'w', 300), granary.run({'t': table, 'w': chain}, 'w', 300)):
            for name in at_once:
                assert at_once[name] == by_row[name] and at_once[name].values.tobytes() == by_row[name].values.tobytes(), (name, pieces)
    for i in (45, 110, 199, 260, 419, 549):
        for n in (2, 7, 40):
            want = of_window('sum', [v for v in steps[i - n + 1:i + 1][there[i - n + 1:i + 1]]])
            assert by_row[f'sum{n}_1'].values[i] == want, (n, i, want)
    spread = pd.DataFrame({'x': 1e9 + rng.normal(size=100)})
    std = granary.run({'t': granary.put_frame(spread), 'w': {'op': 'window', 'input': 't', 'columns': {'s': 'std(x)'}}}, 'w')
    assert abs(std['s'].values[0] / (spread.x - 1e9).std() - 1) < 1e-6

    # Partitions end where their rows do, whatever their size.
    keys = rng.permutation(np.repeat(np.arange(1, 41), np.arange(1, 41)))
    sizes = granary.run({'t': granary.put({'k': Column('int64', keys)}),
                         'w': {'op': 'window', 'input': 't', 'partition': ['k'], 'columns': {'s': 'size()', 'n': 'row_number()'}}}, 'w')
    assert list(sizes['s'].values) == list(keys), sizes['s']
    assert list(sizes['n'].values) == list(pd.Series(keys).groupby(keys).cumcount() + 1), sizes['n']

    ntile = granary.run({'t': granary.put_frame(frame_of(10)), 'w': {'op': 'window', 'input': 't', 'columns': {'n': 'ntile(3)'}}}, 'w')
    assert list(ntile['n'].values) == [1, 1, 1, 1, 2, 2, 2, 3, 3, 3], ntile['n']
    money = granary.put({'d': Column('decimal(2)', [150, -25, 0], [True, True, False])})
    total = granary.run({'t': money, 'w': {'op': 'window', 'input': 't', 'columns': {'c': 'cumsum(d)', 's': 'sum(d)'}}}, 'w')
    assert total['c'] == Column('decimal(2)', [150, 125, 0], [True, True, False]), total['c']
    assert total['s'] == Column('decimal(2)', [125, 125, 125]), total['s']

    table = granary.put_frame(frame_of(5))
    for columns, *words in (({'x': 'cumsums(f)'}, 'cumsums', 'cumsum'), ({'x': 'cumsum(g)'}, 'numbers', 'string'),
                            ({'x': 'rolling_sum(f, 0)'}, "'0'"), ({'x': 'rolling_sum(f, 2, 3)'}, 'min_periods'),
                            ({'x': 'rank()'}, "'by'"), ({'x': 'shift(nix)'}, 'nix'), ({'x': 'ewm_mean(f, 2)'}, 'alpha'),
                            ({'x': 'ewm_mean(f, span 0.5)'}, 'span'), ({'x': 'ewm_var(f, halflife 0)'}, 'halflife'), ({'x': 'ewm_std(f, com -1)'}, 'com'),
                            ({'x': 'rolling_quantile(f, 3, 1.5)'}, 'quantile'), ({'x': "rank(f, 'odd')"}, 'ordinal'),
                            ({'x': "rank(f, 'min', false, 7)"}, 'true'), ({'x': 'rolling_quantile(g, 3, 0.5)'}, 'numbers', 'string'),
                            ({'x': 'cumsum(f'}, 'FUNCTION'), ({'x': 'shift(f, 1, 2, 3, 4)'}, 'shift')):
        granary.fails({'t': table, 'w': {'op': 'window', 'input': 't', 'columns': columns}}, 'w', "'w'", 'window', *words)
    # Sums over frames are exact, whether values lie near to one another or far apart; what has left a spread leaves no trace.
    rows = 'rows between 5 preceding and 3 following'
    odd = rng.normal(size=200)
    odd[50], odd[100:130], odd[150] = 1e12, 7.0, -0.0
    for values in (odd, rng.normal(size=200) * 10.0 ** rng.integers(-250, 250, 200), np.full(30, 5e-324), np.array([1e308] * 9 + [np.inf, 1.0, -np.inf])):
        got = granary.run({'t': granary.put({'f': Column('float64', values)}, 3), 'w': {'op': 'window', 'input': 't', 'columns': {
            's': f'sum(f) {rows}', 'e': 'sum(f) rows between unbounded preceding and 1 following', 'v': f'std(f) {rows}', 'c': f'corr(f, f) {rows}'}}}, 'w')
        for i in range(len(values)):
            inside, before = values[max(0, i - 5):i + 4], values[:i + 2]
            for name, some in (('s', inside), ('e', before)):
                with np.errstate(all='ignore'):
                    want = math.fsum(some) if np.isfinite(some).all() and abs(some).max() < 1e307 else some.sum()
                assert got[name].values[i] == want or np.isnan(want) and np.isnan(got[name].values[i]), (name, i, got[name].values[i], want)
            if values is odd:
                want = statistics.stdev(inside)
                assert abs(got['v'].values[i] - want) <= 1e-12 * want, (i, got['v'].values[i], want)
                assert (got['c'].valid is None or got['c'].valid[i]) == (want > 0), (i, want)
    # Operators that are written as windows and joins: what is wrong with their parameters is told of these.
    far = granary.put({'t': Column('timestamp', np.array([-2**40, 2**55])), 'd': Column('date', np.array([0, 1], 'i4')), 's': Column('string', ['a', 'b'])})
    one = {'columns': {'n': 'size'}}
    for op, parameters, *words in (('rolling', {**one, 'window': '7d'}, "'on'"), ('rolling', {**one, 'window': '0'}, 'rows'), ('rolling', {**one, 'window': '0d', 'on': 't'}, 'unit'),
                                   ('rolling', {**one, 'window': '5 parsecs', 'on': 't'}, 'unit'), ('rolling', {**one, 'window': '1MS', 'on': 't'}, 'days'),
                                   ('rolling', {**one, 'window': '99999999999D', 'on': 't'}, 'unit'), ('rolling', {**one, 'window': '7d', 'on': 's'}, "'s'", 'string'),
                                   ('rolling', {**one, 'window': '3', 'min_periods': 4}, 'min_periods'), ('rolling', {**one, 'window': 'unbounded', 'center': True}, 'center'),
                                   ('rolling', {'columns': {'n': 'largest(d, 2)'}, 'window': '3'}, 'largest'), ('rolling', {'columns': {'n': 'sum(s)'}, 'window': '3'}, 'sum'),
                                   ('resample', {'on': 't', 'every': '1M', 'aggregate': {'n': 'size'}}, 'MS'), ('resample', {'on': 't', 'every': '1h', 'aggregate': {'t': 'size'}}, "'t'"),
                                   ('resample', {'on': 't', 'every': '1h', 'keys': ['t'], 'aggregate': {'n': 'size'}}, "'t'"), ('resample', {'on': 's', 'every': '1h', 'aggregate': {'n': 'size'}}, "'s'"),
                                   ('resample', {'on': 't', 'every': '1MS1D', 'aggregate': {'n': 'size'}}, 'unit'),
                                   ('resample', {'on': 't', 'every': '1h', 'limit': 1, 'aggregate': {'n': 'size'}}, 'limit'),
                                   ('upsample', {'on': 't', 'every': '1h', 'keys': ['t']}, "'t'"),
                                   ('interpolate', {'columns': ['d'], 'by': 's'}, "'s'"), ('interpolate', {'columns': ['t'], 'method': 'ffill', 'limit_direction': 'both'}, 'direction')):
        granary.fails({'t': far, 'w': {'op': op, 'input': 't', **parameters}}, 'w', "'w'", op, *words)
    granary.fails({'t': far, 'w': {'op': 'resample', 'input': 't', 'on': 't', 'every': '5h', 'origin': 'noon', 'aggregate': {'n': 'size'}}}, 'w', 'noon')
    for op, parameters in (('resample', {'aggregate': {'n': 'size'}}), ('upsample', {})):
        granary.fails({'t': far, 'w': {'op': op, 'input': 't', 'on': 't', 'every': '1us', **parameters}}, 'w', 'too long')
    big = granary.put({'i': Column('int64', np.array([2**62, 2**62]))}, 2)
    granary.fails({'t': big, 'w': {'op': 'window', 'input': 't', 'columns': {'x': 'cumsum(i)'}}}, 'w', "'x'", 'int64')

# Sums and means of whole partitions, and running ones, have the dtypes that groupby gives, and its values.
with Instance() as granary:
    dtypes = ['bool', 'int8', 'uint8', 'int32', 'uint16', 'uint32', 'int64', 'uint64', 'float32', 'float64', 'decimal(2)', 'duration']
    values = [int(v) for v in rng.integers(0, 2, 40)]
    columns = {d: Column(d, values if d.startswith('decimal') else np.array(values, {'bool': bool, 'duration': 'i8'}.get(d, d))) for d in dtypes}
    table = granary.put({'k': Column('int64', np.zeros(40, 'i8')), **columns})
    for function in ('sum', 'mean', 'std', 'var'):
        calls = {d: f'{function}(`{d}`)' for d in dtypes if function == 'sum' or d != 'duration'}
        grouped = granary.run({'t': table, 'x': {'op': 'groupby', 'input': 't', 'keys': ['k'], 'aggregate': calls}}, 'x')
        window = granary.run({'t': table, 'x': {'op': 'window', 'input': 't', 'columns': calls}}, 'x')
        for d in calls:
            assert window[d].dtype == grouped[d].dtype and np.isclose(float(window[d].values[7]), float(grouped[d].values[0])), (function, d, window[d], grouped[d])
    running = granary.run({'t': table, 'x': {'op': 'window', 'input': 't', 'columns': {
        **{f's_{d}': f'cumsum(`{d}`)' for d in dtypes}, **{f'p_{d}': f'cumprod(`{d}`)' for d in dtypes[:10]}, **{f'd_{d}': f'diff(`{d}`)' for d in dtypes if d != 'uint64'}}}}, 'x')
    for d in dtypes:
        whole = 'int64' if d[0] in 'bi' else 'uint64' if d[0] == 'u' else d
        assert running[f's_{d}'].dtype == whole and list(running[f's_{d}'].values) == list(np.cumsum(values)), (d, running[f's_{d}'])
        assert d not in dtypes[:10] or running[f'p_{d}'].dtype == whole, d
        assert d == 'uint64' or running[f'd_{d}'].dtype == ('int64' if d[0] in 'biu' else d), (d, running[f'd_{d}'])

    # What is not filled stays what it is: null, or nan; however rows are cut.
    nan = float('nan')
    column = Column('float64', np.array([nan, 0, nan, 1.5, nan, nan, 0, 2, nan, 0]), [True, False, True, True, True, True, False, True, True, False])
    for pieces in (1, 2, 5, 10):
        table = granary.put({'x': column, 'one': Column('int64', np.ones(10, 'i8'))}, pieces)
        for node, want in (({'op': 'fillna', 'method': 'ffill', 'columns': ['x']}, [nan, None, nan] + 4 * [1.5] + 3 * [2]),
                           ({'op': 'fillna', 'method': 'bfill', 'columns': ['x']}, 4 * [1.5] + 4 * [2] + [nan, None]),
                           ({'op': 'fillna', 'method': 'ffill', 'limit': 1, 'columns': ['x']}, [nan, None, nan, 1.5, 1.5, nan, None, 2, 2, None]),
                           ({'op': 'window', 'columns': {'x': 'bfill(x, 1)'}, 'partition': ['one']}, [nan, None, 1.5, 1.5, nan, nan, 2, 2, nan, None]),
                           ({'op': 'interpolate', 'columns': ['x']}, [nan, None, nan, 1.5, 1.625, 1.75, 1.875, 2, 2, 2])):
            got = granary.run({'t': table, 'w': {**node, 'input': 't'}}, 'w')['x']
            got = [v if got.valid is None or got.valid[i] else None for i, v in enumerate(got.values)]
            assert str([None if v is None else float(v) for v in got]) == str([None if v is None else float(v) for v in want]), (pieces, node, got)
