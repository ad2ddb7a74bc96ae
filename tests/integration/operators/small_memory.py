"""Every family of operators with memory for an eighth of the data: the same bytes as with memory for all of it.

    small_memory.py [WORD]              only the graphs that have this in their name
"""
import sys

import numpy as np

from granary_test import Column, GranaryError, Instance

ROWS = 120000
PIECES = 12
rng = np.random.default_rng(8)


def tables():
    words = np.array([f'word {i:05}' for i in range(3000)], object)
    maybe = rng.random(ROWS) > 0.1
    big = {'k': Column('int64', rng.integers(0, 50, ROWS)), 'id': Column('int64', rng.permutation(ROWS)),
           'm': Column('int32', rng.integers(0, 5000, ROWS).astype('i4'), maybe), 'f': Column('float64', rng.normal(0, 100, ROWS)),
           'g': Column('float64', np.round(rng.normal(0, 5, ROWS), 1), maybe[::-1]), 's': Column('string', list(words[rng.integers(0, 3000, ROWS)])),
           'd': Column('date', rng.integers(0, 20000, ROWS).astype('i4')), 'b': Column('bool', rng.random(ROWS) > 0.5)}
    half = ROWS // 2
    other = {'id': Column('int64', rng.permutation(ROWS)[:half]), 'x': Column('float64', rng.normal(size=half)), 'n': Column('int64', np.arange(half))}
    few = {'k': Column('int64', np.arange(50)), 'name': Column('string', [f'group {i}' for i in range(50)])}
    return {'t': (big, PIECES), 'o': (other, PIECES // 2), 'w': (few, 1)}


def frame_graphs():
    """name: nodes; the last one is the target"""
    def one(op, **parameters):
        return {'r': {'op': op, 'input': 't', **parameters}}

    sums = {'n': 'size', 'a': 'sum(f)', 'b': 'mean(g)', 'c': 'max(m)', 'd': 'min(s)'}
    return {
        'groupby few': one('groupby', keys=['k'], aggregate=sums),
        'groupby many': one('groupby', keys=['id'], aggregate=sums),
        'groupby median': one('groupby', keys=['m'], aggregate={'a': 'median(f)', 'b': 'quantile(g, 0.3)'}),
        'groupby unsorted': one('groupby', keys=['id', 'k'], aggregate={'a': 'sum(f)'}, sort=False),
        'groupby nothing': one('groupby', keys=[], aggregate={'a': 'nunique(s)', 'b': 'median(f)', 'c': 'nunique(id)'}, sort=False),
        'aggregate': one('aggregate', aggregate={'a': 'sum(f)', 'b': 'median(g)', 'c': 'nunique(id)', 'd': 'quantile(f, 0.9)'}),
        'distinct all': one('distinct'),
        'duplicated': one('duplicated', subset=['s', 'b']),
        'value_counts': one('value_counts', columns=['s']),
        'value_counts normalize': one('value_counts', columns=['id'], normalize=True),
        'join broadcast': {'r': {'op': 'join', 'inputs': ['t', 'w'], 'on': ['k'], 'how': 'left'}},
        'join shuffle': {'r': {'op': 'join', 'inputs': ['t', 'o'], 'on': ['id'], 'how': 'inner'}},
        'join outer': {'r': {'op': 'join', 'inputs': ['o', 't'], 'on': ['id'], 'how': 'outer'}},
        'sort': one('sort', by=['g', 's'], descending=[True, False]),
        'nlargest': one('nlargest', rows=1000, columns=['f']),
        'window all': one('window', columns={'c': 'cumsum(f)', 'l': 'lag(m, 3)', 'v': 'rolling_mean(g, 7)'}),
        'window partition': one('window', partition=['m'], by=['f'], columns={'c': 'row_number()', 'v': 'cumsum(g)'}),
        'window head': {'a': {'op': 'window', 'input': 't', 'partition': ['k'], 'by': ['f'], 'columns': {'c': 'rank()'}},
                        'r': {'op': 'head', 'input': 'a', 'rows': 500}},
        'concat': {'a': {'op': 'filter', 'input': 't', 'where': 'f > 0'}, 'r': {'op': 'concat', 'inputs': ['a', 't', 'a']}},
        'filter': {'a': {'op': 'assign', 'input': 't', 'columns': {'y': "f * 2 + g", 'z': "upper(s)"}}, 'r': {'op': 'filter', 'input': 'a', 'where': "z like '%1%'"}},
        'melt': one('melt', id_vars=['id', 's'], value_vars=['f', 'g']),
        'get_dummies': {'a': {'op': 'select', 'input': 't', 'columns': ['b', 'k', 'f']}, 'r': {'op': 'get_dummies', 'input': 'a', 'column': 'k', 'categories': [str(i) for i in range(0, 50, 7)]}},
        'describe': one('describe'),
        'quantile': {'a': {'op': 'select', 'input': 't', 'columns': ['f', 'g', 'm']}, 'r': {'op': 'quantile', 'input': 'a', 'q': 0.25}},
        'sample': one('sample', rows=5000, seed=3),
        'fillna': one('fillna', method='ffill'),
        'explode': {'a': {'op': 'select', 'input': 't', 'columns': ['s', 'id']}, 'r': {'op': 'explode', 'input': 'a', 'column': 's', 'separator': ' '}},
    }


def tensor_graphs():
    big = {'a': {'op': 'random', 'distribution': 'normal', 'shape': [400, 900], 'seed': 5}}

    def one(source, op, **parameters):
        return {**source, 'r': {'op': op, 'input': 'a', **parameters}}

    return {
        'tensor map': {**big, 'e': {'op': 'exp', 'input': 'a'}, 'r': {'op': 'add', 'inputs': ['e', 'a']}},
        'tensor sum': one(big, 'sum', axes=[0]), 'tensor std': one(big, 'std', axes=[1]), 'tensor transpose': one(big, 'transpose'),
        'tensor matmul': {**big, 't': {'op': 'transpose', 'input': 'a'}, 'r': {'op': 'matmul', 'inputs': ['a', 't']}},
        'tensor svd': one({'a': {'op': 'random', 'distribution': 'normal', 'shape': [3000, 10], 'seed': 5}}, 'svd', part='s'),
        'tensor cumsum': one(big, 'cumsum', axis=1),
        'tensor rechunk': one(big, 'rechunk', chunk=[400, 50]), 'tensor reshape': one(big, 'reshape', shape=[900, 400]),
    }


def same(name, a, b):
    if isinstance(a, GranaryError) or isinstance(b, GranaryError):
        return False
    if isinstance(a, np.ndarray):  # sums of a product's bits depend on the chunks
        return a.shape == b.shape and (a.tobytes() == b.tobytes() or 'matmul' in name and np.allclose(a, b, rtol=1e-12))
    return list(a) == list(b) and all(a[n] == b[n] for n in a)


def outcome(granary, sources, nodes):
    """The result, or the error."""
    used = {i for node in nodes.values() for i in node.get('inputs', [node.get('input')])}
    try:
        return granary.run({**{n: s for n, s in sources.items() if n in used}, **nodes}, 'r')
    except GranaryError as error:
        return error


def main():
    word = sys.argv[1] if len(sys.argv) > 1 else ''
    data = tables()
    bad = []
    with Instance(executors=2) as large, Instance(executors=2, memory='1M') as small:
        sources = [{n: granary.put(columns, pieces) for n, (columns, pieces) in data.items()} for granary in (large, small)]
        for name, nodes in {**frame_graphs(), **tensor_graphs()}.items():
            if word not in name:
                continue
            want, got = (outcome(granary, source, nodes) for granary, source in zip((large, small), sources))
            if not same(name, want, got):
                bad.append((name, [r for r in (want, got) if isinstance(r, GranaryError)]))
    assert not bad, bad


if __name__ == '__main__':
    main()
