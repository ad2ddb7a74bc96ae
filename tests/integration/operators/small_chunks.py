"""Tables of very many small chunks are read in larger ones; results are those of the same rows in a few chunks."""
import json
import os

import numpy as np

from granary_test import Column, Instance

rng = np.random.default_rng(3)
ROWS = 2000
WORDS = ['', 'one', 'two', 'zwölf', 'a longer text than others']


def columns_of(rows, encoded):
    present = rng.random(rows) < 0.9
    return {
        'k': Column('int32', rng.integers(0, 50, rows).astype('i4'), rng.random(rows) < 0.9),
        'x': Column('float64', np.where(rng.random(rows) < 0.1, np.nan, rng.normal(size=rows))),
        's': Column('string', [WORDS[i] if ok else '' for i, ok in zip(rng.integers(0, 5, rows), present)], present, encoded),
        'n': Column('int64', np.arange(rows)),
        'unread': Column('uint64', rng.integers(0, 2**63, rows).astype('u8')),
    }


GRAPHS = {
    'group': {'x': {'op': 'groupby', 'input': 't', 'keys': ['k', 's'], 'aggregate': {'m': 'sum(x)', 'f': 'first(n)', 'c': 'size'}}},
    'filter and sort': {'f': {'op': 'filter', 'input': 't', 'where': "x > 0.5 and s != 'one'"},
                        'x': {'op': 'sort', 'input': 'f', 'by': ['s', 'x']}},
    'join': {'d': {'op': 'groupby', 'input': 't', 'keys': ['k'], 'aggregate': {'m': 'mean(x)'}},
             'j': {'op': 'join', 'inputs': ['t', 'd'], 'on': ['k']}, 'x': {'op': 'select', 'input': 'j', 'columns': ['n', 's', 'm']}},
    'window': {'w': {'op': 'window', 'input': 't', 'columns': {'c': 'cumsum(n)', 'b': 'shift(s, 3)'}},
               'x': {'op': 'head', 'input': 'w', 'rows': 1500}},
    'two readers': {'a': {'op': 'aggregate', 'input': 't', 'aggregate': {'m': 'max(n)'}},
                    'b': {'op': 'filter', 'input': 't', 'where': 'n % 7 = 0'}, 'x': {'op': 'join', 'inputs': ['b', 'a'], 'how': 'cross'}},
    'the table itself': {'x': {'op': 'select', 'input': 't', 'columns': ['n', 's', 'x', 'k', 'unread']}},
}

with Instance(memory='256M') as granary:
    for encoded in (False, True):
        columns = columns_of(ROWS, encoded)
        few, many = granary.put(columns, 3), granary.put(columns, 200)
        parts = {f'p{i}': granary.put({n: c.slice(i * 50, (i + 1) * 50) for n, c in columns.items()}) for i in range(40)}
        for what, nodes in GRAPHS.items():
            want = granary.run({'t': few, **nodes}, 'x')
            below = {**parts, 't': {'op': 'concat', 'inputs': list(parts)}}
            for table, chunk_bytes in (({'t': many}, 0), ({'t': many}, 5000), (below, 0)):
                ours = granary.run({**table, **nodes}, 'x', chunk_bytes=chunk_bytes)
                assert list(ours) == list(want), what
                assert all(ours[name] == want[name] for name in want), f'{what}: {ours} instead of {want}'
        assert granary.run({'t': many}, 't') == granary.run({'t': few}, 't')

    path = os.path.join(granary.directory, 'graph.json')
    with open(path, 'w') as file:
        json.dump({'nodes': {'t': many, **GRAPHS['group']}, 'targets': ['x']}, file)
    plan = granary.command('run', '--explain', path)
    assert "small-chunks: 't' puts 200 chunks together to" in plan, plan
