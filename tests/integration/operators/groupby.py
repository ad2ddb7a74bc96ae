#!/usr/bin/env python3
"""groupby against pandas: random frames with nulls, NaN, infinities of groups' sizes, Unicode; any cut gives the same bytes."""
import sys
from fractions import Fraction

import numpy as np
import pandas as pd

from granary_test import Column, Instance

WORDS = ['', 'a', 'ab', 'é', 'ü€', '🐦 bird', 'longer than seven', 'b', 'longer than sevem']


def random_frame(rng, rows):
    def holes(share=0.15):
        return rng.random(rows) > share

    floats = np.round(rng.normal(3, 10, rows), 3) * 10.0 ** rng.integers(-3, 4, rows)
    floats[rng.random(rows) < 0.1] = np.nan
    return {
        'k': Column('int64', rng.integers(-3, 4, rows), holes()),
        'wide': Column('int64', rng.integers(-2**62, 2**62, 5)[rng.integers(0, 5, rows)], holes()),
        's': Column('string', [WORDS[i] for i in rng.integers(0, len(WORDS), rows)], holes()),
        'e': Column('string', [WORDS[i] for i in rng.integers(0, 4, rows)], holes(), encoded=True),
        'b': Column('bool', rng.integers(0, 2, rows).astype(bool), holes()),
        'd': Column('date', rng.integers(17000, 17004, rows).astype('i4'), holes()),
        'kf': Column('float64', rng.choice([0.0, -0.0, 1.5, np.nan, -2.25], rows), holes()),
        'i8': Column('int8', rng.integers(-100, 100, rows).astype('i1'), holes()),
        'u16': Column('uint16', rng.integers(0, 60000, rows).astype('u2'), holes()),
        'i': Column('int64', rng.integers(-1000, 1000, rows), holes()),
        'f': Column('float64', floats, holes()),
        'g': Column('float32', np.round(rng.normal(0, 1, rows), 2).astype('f4'), holes()),
    }


FUNCTIONS = ['count', 'sum', 'mean', 'min', 'max', 'first', 'last', 'nunique', 'var', 'std', 'sem', 'median', 'prod', 'skew']
NUMBERS = ['i8', 'u16', 'i', 'f']


def to_pandas(columns):
    """Plain float columns with NaN for what is missing: what pandas aggregates."""
    frame = {}
    for name, column in columns.items():
        valid = np.ones(len(column), bool) if column.valid is None else column.valid
        if column.dtype == 'string':
            frame[name] = pd.Series([v if ok else None for v, ok in zip(column.values, valid)], dtype=object)
        elif name in NUMBERS + ['g']:
            frame[name] = pd.Series(np.where(valid, column.values.astype('f8'), np.nan))
        else:
            frame[name] = pd.Series([v if ok else None for v, ok in zip(column.values.tolist(), valid)], dtype=object)
    return pd.DataFrame(frame)


def row_keys(frame, keys):
    """Keys as tuples: nan as a word, one zero, null as None."""
    def value(v):
        if isinstance(v, float):
            return 'nan' if np.isnan(v) else v + 0.0
        return v

    return [tuple(value(v) for v in row) for row in zip(*[frame[k] for k in keys])]


def plain(column, i):
    if column.valid is not None and not column.valid[i]:
        return None
    value = column.values[i]
    value = value.item() if hasattr(value, 'item') else value
    return None if isinstance(value, float) and np.isnan(value) else value


def close(a, b, tolerance=1e-9):
    if a is None or b is None:
        return a is None and b is None
    return a == b or abs(a - b) <= tolerance * max(abs(a), abs(b), 1e-6)


def same(first, second):
    return list(first) == list(second) and all(first[n] == second[n] for n in first)


def check_functions(granary, rng):
    """Every function of every number, by every kind of key, with and without null keys."""
    key_sets = [['k'], ['s'], ['e'], ['b', 'd'], ['kf'], ['wide'], ['e', 's', 'k'], ['d', 'wide', 'kf']]
    for round, rows in enumerate([0, 1, 7, 300, 5000]):
        columns = random_frame(rng, rows)
        data = to_pandas(columns)
        for keys in key_sets:
            aggregate = {'n': 'size'}
            for name in NUMBERS:
                if name not in keys:
                    aggregate.update({f'{f}_{name}': f'{f}({name})' for f in FUNCTIONS if (f, name) != ('prod', 'i') and
                                      f != 'prod' or name == 'f' and f == 'prod'})
            dropna = (round + len(keys)) % 2 == 0
            got = granary.run({'x': granary.put(columns, 1 + round), 'y': {
                'op': 'groupby', 'input': 'x', 'keys': keys, 'aggregate': aggregate, 'dropna': dropna}}, 'y')
            names = row_keys(data, keys)
            expected = {}
            for i, key in enumerate(names):
                if not (dropna and None in key):
                    expected.setdefault(key, []).append(i)
            shown = row_keys({k: [plain_key(got[k], i) for i in range(len(got[k]))] for k in keys}, keys)
            assert len(set(shown)) == len(shown) and set(shown) == set(expected), (keys, shown, list(expected))
            check_groups(got, shown, expected, data, keys, aggregate)


def plain_key(column, i):
    if column.valid is not None and not column.valid[i]:
        return None
    value = column.values[i]
    return value.item() if hasattr(value, 'item') else value


def check_groups(got, shown, expected, data, keys, aggregate):
    ids = np.full(len(data), -1)
    for g, key in enumerate(shown):
        ids[expected[key]] = g
        assert plain(got['n'], g) == len(expected[key])
    used = data[ids >= 0]
    for name in NUMBERS:
        if name in keys or len(used) == 0:
            continue
        grouped = used[name].groupby(ids[ids >= 0])
        for function in FUNCTIONS:
            label = f'{function}_{name}'
            if label not in aggregate:
                continue
            want = getattr(grouped, function)() if function != 'prod' else grouped.prod()
            for g in range(len(shown)):
                w = want.get(g)
                w = None if w is None or pd.isna(w) else float(w)
                v = plain(got[label], g)
                tolerance = 1e-6 if function == 'skew' else 1e-9
                if v is not None and w is not None and function in ('var', 'std', 'sem') and abs(v) < 1e-6:
                    continue  # pandas rounds where we do not
                assert close(v, w, tolerance), (keys, label, g, v, w)


def check_others(granary, rng):
    """quantile, mode, any, all, kurtosis, corr, cov, largest, expressions."""
    columns = random_frame(rng, 2000)
    data = to_pandas(columns)
    source = granary.put(columns, 5)
    got = granary.run({'x': source, 'y': {'op': 'groupby', 'input': 'x', 'keys': ['b'], 'aggregate': {
        'q': 'quantile(f, 0.3)', 'm': 'mode(i8)', 'ms': 'mode(s)', 'any': 'any(i)', 'all': 'all(i)', 'k': 'kurtosis(i)',
        'r': 'corr(i, f)', 'c': 'cov(f, i8)', 'v0': 'var(i, 0)', 'e': 'sum(i * 2 + 1)', 'fs': 'first(s)', 'ls': 'last(e)',
        'lo': 'min(s)', 'hi': 'max(e)', 'us': 'nunique(s)', 'rg': 'corr(i8, i)', 'mg': 'mean(g)'}}}, 'y')
    for g in range(2):
        rows = data[data['b'] == got['b'].values[g].item()]
        want = {'q': rows.f.quantile(0.3), 'm': rows.i8.mode()[0], 'ms': rows.s.dropna().mode().sort_values(key=lambda s: s.map(str.encode)).iloc[0],
                'any': bool((rows.i.fillna(0) != 0).any()), 'all': bool((rows.i.dropna() != 0).all()), 'k': rows.i.kurtosis(),
                'r': rows.i.corr(rows.f), 'c': rows.f.cov(rows.i8), 'v0': rows.i.var(ddof=0), 'e': (rows.i * 2 + 1).sum(),
                'fs': rows.s.dropna().iloc[0], 'ls': rows.e.dropna().iloc[-1], 'us': rows.s.nunique(),
                'lo': min(rows.s.dropna(), key=str.encode), 'hi': max(rows.e.dropna(), key=str.encode), 'rg': rows.i8.corr(rows.i)}
        for name, w in want.items():
            v = plain(got[name], g)
            assert v == w if isinstance(w, (str, bool)) else close(v, float(w)), (name, v, w)
        assert abs(plain(got['mg'], g) - rows.g.mean()) < 1e-6
    got = granary.run({'x': source, 'y': {'op': 'groupby', 'input': 'x', 'keys': ['k'], 'aggregate': {'l': 'largest(f, 3)'}}}, 'y')
    want = data.dropna(subset=['k', 'f']).groupby('k').f.nlargest(3)
    assert got['l'].values.tolist() == want.tolist()
    assert got['k'].values.tolist() == [k for k, _ in want.index]
    got = granary.run({'x': source, 'y': {'op': 'groupby', 'input': 'x', 'keys': [], 'aggregate': {
        'n': 'size', 's': 'sum(f)', 'm': 'median(i)', 'lo': 'min(f)'}}}, 'y')
    assert plain(got['n'], 0) == 2000 and close(plain(got['s'], 0), data.f.sum()) and close(plain(got['m'], 0), data.i.median())
    zeros = granary.put({'f': Column('float64', np.array([-1.0, -1.0, -0.0, 0.0, 0.0]))}, 2)  # -0.0 is 0.0
    got = granary.run({'x': zeros, 'y': {'op': 'groupby', 'input': 'x', 'keys': [], 'aggregate': {'m': 'mode(f)'}}}, 'y')
    assert plain(got['m'], 0) == 0.0
    empty = granary.run({'x': source, 'f': {'op': 'filter', 'input': 'x', 'where': 'i > 5000'}, 'y': {
        'op': 'groupby', 'input': 'f', 'keys': [], 'aggregate': {'n': 'size', 's': 'sum(i)', 'm': 'max(i)'}}}, 'y')
    assert [plain(empty[c], 0) for c in 'nsm'] == [0, 0, None]


def check_cuts(granary, rng):
    """However it is cut, in tree or in parts, the same bytes."""
    columns = random_frame(rng, 3000)
    aggregate = {'n': 'size', 'fs': 'sum(f)', 'm': 'mean(g)', 'v': 'var(f)', 'q': 'quantile(f, 0.7)', 'u': 'nunique(s)', 'a': 'first(s)',
                 'z': 'last(i)', 'lo': 'min(f)', 'c': 'corr(f, i)', 'p': 'prod(g)', 'o': 'mode(e)', 't': 'sum(u16)'}
    for keys in (['k', 's'], ['e'], []):
        for sort in (True, False):
            results = [granary.run({'x': granary.put(columns, pieces), 'y': {
                'op': 'groupby', 'input': 'x', 'keys': keys, 'aggregate': aggregate, 'sort': sort}}, 'y') for pieces in (1, 3, 20)]
            assert same(results[0], results[1]) and same(results[0], results[2]), (keys, sort)


def check_integer_keys(granary, rng):
    """Keys of every width, at the ends of their ranges, null last."""
    for dtype, code, low, high in (('int8', 'i1', -128, 127), ('int16', 'i2', -300, 300), ('uint8', 'u1', 0, 255),
                                   ('uint16', 'u2', 65000, 65535), ('uint32', 'u4', 2**32 - 50, 2**32 - 1),
                                   ('uint64', 'u8', 2**63 - 5, 2**63 + 5), ('duration', 'i8', -5, 5)):
        values = rng.integers(low, high, 2000, endpoint=True, dtype=code)
        valid = rng.random(2000) > 0.1
        keys, counts = np.unique(values[valid], return_counts=True)
        for pieces in (1, 4):
            got = granary.run({'x': granary.put({'k': Column(dtype, values, valid)}, pieces), 'y': {
                'op': 'groupby', 'input': 'x', 'keys': ['k'], 'dropna': False, 'aggregate': {'n': 'size'}}}, 'y')
            assert got['k'].dtype == dtype and got['k'].values[:-1].tolist() == keys.tolist(), (dtype, pieces)
            assert got['n'].values.tolist() == counts.tolist() + [int((~valid).sum())], (dtype, pieces)


def check_many(granary, rng):
    """About as many groups as rows: rows are dealt to parts. Against one chunk, which is grouped as a whole."""
    rows = 400000
    names = np.array(['name %d é' % i for i in range(1000)], dtype=object)
    columns = {
        'a': Column('int64', rng.integers(0, 10**6, rows)),
        'b': Column('int64', rng.integers(-10**6, 10**6, rows), rng.random(rows) > 0.1),
        's': Column('string', names[rng.integers(0, 1000, rows)].tolist(), encoded=True),
        'x': Column('float64', rng.choice([0.0, -0.0, np.nan, 1.5, 2.5, -1e300], rows)),
        'v': Column('float64', np.exp(rng.normal(0, 30, rows))),
        'i': Column('int64', rng.integers(0, 10**9, rows)),
    }
    groupby = {'op': 'groupby', 'input': 'f', 'keys': ['a', 's', 'b', 'x'], 'sort': False,
               'aggregate': {'n': 'size', 't': 'sum(v * 2.0)', 'l': 'last(i)', 'm': 'max(x)'}}
    results = []
    for pieces in (1, 4):
        nodes = {'x': granary.put(columns, pieces), 'f': {'op': 'filter', 'input': 'x', 'where': 'i % 10 != 3'}, 'y': groupby}
        key = granary.submit(nodes, ['y'])
        results.append(granary.result(key, 'y'))
        assert (granary.chunk_count(key, 'y') > 1) == (pieces > 1), pieces
        granary.delete(key)
    assert len(results[0]['n']) > 300000 and same(results[0], results[1])


def check_moments(granary, rng):
    """Quantiles of what a double has too few digits for; the largest of decimals."""
    rows = 400
    k = rng.integers(0, 9, rows)
    valid = rng.random(rows) > 0.2
    valid[k == 4] = False
    days = rng.integers(-40000, 40000, rows)
    times = {'t': 2**53 + rng.integers(0, 10**6, rows), 'u': rng.integers(-2**60, 2**60, rows)}
    decimals = [int(v) * 10**20 + 1 for v in rng.integers(-50, 50, rows)]
    columns = {'k': Column('int64', k), 'd': Column('date', days.astype('i4'), valid), 't': Column('timestamp', times['t'], valid),
               'u': Column('duration', times['u'], valid), 'm': Column('decimal(2)', decimals, valid)}
    calls = {f'{name}{i}': f'{call.format(name)}' for name in 'dtu' for i, call in enumerate(('median({})', 'quantile({}, 0.25)', 'quantile({}, 1)'))}

    def between(values, fraction):
        values = sorted(int(v) for v in values)
        place = Fraction(len(values) - 1) * Fraction(fraction)
        low = int(place)
        high = min(low + 1, len(values) - 1)
        return values[low] + round((values[high] - values[low]) * (place - low))

    for pieces in (1, 5):
        source = granary.put(columns, pieces)
        frame = granary.run({'x': source, 'y': {'op': 'groupby', 'input': 'x', 'keys': ['k'], 'aggregate': calls}}, 'y')
        for name in calls:
            values = days.astype('i8') * 86400 * 10**6 if name[0] == 'd' else times[name[0]]
            assert frame[name].dtype == ('duration' if name[0] == 'u' else 'timestamp'), (name, frame[name])
            for g in range(9):
                assert (frame[name].valid is None or frame[name].valid[g]) == (g != 4), name
                if g != 4:
                    want = between(values[valid & (k == g)], ('1/2', '1/4', '1')[int(name[1])])
                    assert frame[name].values[g] == want, (name, g, frame[name].values[g], want)
        for function, order in (('largest', -1), ('smallest', 1)):
            frame = granary.run({'x': source, 'y': {'op': 'groupby', 'input': 'x', 'keys': ['k'], 'aggregate': {'v': f'{function}(m, 3)'}}}, 'y')
            want = [v for g in range(9) for v in sorted((decimals[i] for i in range(rows) if k[i] == g and valid[i]), key=lambda v: order * v)[:3]]
            assert frame['v'] == Column('decimal(2)', want), (function, frame['v'])
    granary.fails({'x': source, 'y': {'op': 'groupby', 'input': 'x', 'keys': [], 'aggregate': {'n': 'var(d)'}}}, 'y', "'n'", 'date')


def check_refusals(granary):
    source = granary.put({'a': Column('int64', np.arange(3)), 's': Column('string', ['x', 'y', 'z'])})

    def refused(aggregate, *words, keys=('a',)):
        granary.fails({'x': source, 'y': {'op': 'groupby', 'input': 'x', 'keys': list(keys), 'aggregate': aggregate}}, 'y', *words)

    refused({'n': 'sum(s)'}, "'y'", "'n'", 'string')
    refused({'n': 'smu(a)'}, "'y'", 'sum')
    refused({'n': 'sum(b)'}, "'y'", "'b'")
    refused({'n': 'sum(a + )'}, "'y'", "'n'")
    refused({'n': 'quantile(a, 2)'}, "'y'", 'fraction')
    refused({'n': 'largest(a, 0)'}, "'y'", 'rows')
    refused({'n': 'corr(a)'}, "'y'", 'second')
    refused({'n': 'corr(a, s)'}, "'y'", 'string')
    refused({'n': 'largest(a, 2)', 'm': 'size'}, "'y'", 'alone')
    refused({'a': 'size'}, "'y'", 'key')
    refused({'n': 'size'}, "'y'", "'b'", keys=('b',))
    big = granary.put({'a': Column('int64', np.array([2**62, 2**62, 2**62]))})
    granary.fails({'x': big, 'y': {'op': 'groupby', 'input': 'x', 'keys': [], 'aggregate': {'n': 'sum(a)'}}}, 'y', "'n'", 'int64')


def check_constants(granary):
    """Values that are all the same vary by nothing, whatever their mean is rounded to."""
    functions = {name: f'{name}(a)' for name in ('var', 'std', 'skew', 'kurtosis')}
    for x, count in ((3.92, 5), (-3.39, 5), (0.1, 7), (1 / 3, 49), (1e100, 6)):
        table = granary.put({'a': Column('float64', np.full(count, x))}, 2)
        found = granary.run({'x': table, 'y': {'op': 'groupby', 'input': 'x', 'keys': [], 'aggregate': functions}}, 'y')
        assert all(found[name].values[0] == 0 for name in functions), (x, found)
        found = granary.run({'x': table, 'y': {'op': 'window', 'input': 'x', 'columns': {'s': 'std(a)', 'v': 'var(a)'}}}, 'y')
        assert found['s'].values[0] == 0 and found['v'].values[0] == 0, (x, found)


def check_distinct(granary, rng):
    """Different values without keys: near each other, far apart, at the ends of their dtype; holes; any cut."""
    near = rng.integers(-70000, 50000, 3000)
    ends = np.array([-2**63, 2**63 - 1, -2**63 + 1, 0, -1, 2**63 - 2])[rng.integers(0, 6, 3000)]
    edges = (np.array([5, 5 - 2**22, 4 - 2**22, 4 + 2**22, 5 + 2**22, 5 + 2**23, -2**23]))[np.r_[0, rng.integers(0, 7, 2999)]]
    mixed = np.where(rng.random(3000) < 0.99, near, rng.integers(-2**62, 2**62, 3000))
    late = np.r_[near[:1500], 2**40 + near[:1500]]
    cases = {'near': near, 'ends': ends, 'edges': edges, 'mixed': mixed, 'late': late, 'same': np.full(3000, -2**63), 'own': np.arange(-1500, 1500)}
    cases = {name: Column('int64', values) for name, values in cases.items()}
    cases['unsigned'] = Column('uint64', np.array([2**64 - 1, 0, 2**63, 2**63 - 1], 'u8')[rng.integers(0, 4, 3000)])
    cases['small'] = Column('int32', rng.integers(-2**31, 2**31, 30).astype('i4')[rng.integers(0, 30, 3000)])
    cases['real'] = Column('float64', np.array([0.5, -1.0, 3.0, 1e300])[rng.integers(0, 4, 3000)])
    cases['holes'] = Column('int64', near, rng.random(3000) > 0.3)
    cases['half'] = Column('int64', near, np.r_[np.ones(1500, bool), rng.random(1500) > 0.5])
    calls = {name: f'nunique({name})' for name in cases}
    want = {name: len({v for k, v in enumerate(c.values.tolist()) if c.valid is None or c.valid[k]}) for name, c in cases.items()}
    for pieces in (1, 2, 7, 40):
        node = {'op': 'groupby', 'input': 'x', 'keys': [], 'aggregate': calls}
        source = {'x': granary.put(cases, pieces)}
        for nodes, count in (({}, want), ({'f': {'op': 'filter', 'input': 'x', 'where': 'own > 5000'}}, dict.fromkeys(cases, 0))):
            got = granary.run({**source, **nodes, 'y': {**node, 'input': 'f' if nodes else 'x'}}, 'y')
            assert {name: int(got[name].values[0]) for name in cases} == count, (pieces, got)


def main():
    rng = np.random.default_rng(5)
    with Instance(executors=2) as granary:
        check_functions(granary, rng)
        check_others(granary, rng)
        check_cuts(granary, rng)
        check_integer_keys(granary, rng)
        check_many(granary, rng)
        check_distinct(granary, rng)
        check_moments(granary, rng)
        check_constants(granary)
        check_refusals(granary)


if __name__ == '__main__':
    sys.exit(main())
