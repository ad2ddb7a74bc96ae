"""Groups of clustered keys that only semi and anti joins look into: each range of keys is grouped by itself."""
import json
import os

import numpy as np

from granary_test import Column, Instance

rng = np.random.default_rng(18)
PIECE = 180000
PIECES = 6


def table(order, dtype, least):
    """Keys ascending within and across pieces, borders in the middle of groups; the pieces in another order."""
    keys = (least + np.sort(rng.integers(0, 300000, PIECE * PIECES))).reshape(PIECES, PIECE)[order].ravel().astype(dtype)
    return {'k': Column(dtype, keys), 'v': Column('int64', rng.integers(-50, 50, len(keys))),
            'w': Column('int64', np.arange(len(keys)))}


def sums_of(keys, values):
    names, places = np.unique(keys, return_inverse=True)
    return names, np.bincount(places, values)


def check(granary, columns, clustered, where=None, **groupby):
    keys, values = columns['k'].values, columns['v'].values
    kept = values % 3 == 0 if where else np.ones(len(keys), bool)
    names, sums = sums_of(keys[kept], values[kept] + columns['w'].values[kept] % 2)
    found = names[sums > 60]
    asked = np.arange(keys.min() - 5, keys.max() + 5, 7)
    read = {'t': granary.put(columns, PIECES), 'l': granary.put({'a': Column('int64', asked)})}
    nodes = {'f': {'op': 'filter', 'input': 't', 'where': where or 'true'},
             'g': {'op': 'groupby', 'input': 'f' if where else 't', 'keys': ['k'], 'aggregate': {'s': 'sum(v + w % 2)'}, **groupby},
             'h': {'op': 'filter', 'input': 'g', 'where': 's > 60'}}
    for how in ('semi', 'anti'):
        join = {'x': {'op': 'join', 'inputs': ['l', 'h'], 'left_on': ['a'], 'right_on': ['k'], 'how': how}}
        got = granary.run({**read, **nodes, **join}, 'x')['a'].values
        assert np.array_equal(got, asked[np.isin(asked, found) == (how == 'semi')]), (how, where, groupby)
    path = os.path.join(granary.directory, 'graph.json')
    with open(path, 'w') as file:
        json.dump({'nodes': {**read, **nodes, **join}, 'targets': ['x']}, file)
    plan = granary.command('run', '--explain', path)
    assert (f'g (groupby): {PIECES}\n' in plan) == clustered, plan


with Instance(memory='512M') as granary:
    ascending = table(np.arange(PIECES), 'int32', -1000)
    check(granary, ascending, True, sort=False)
    check(granary, ascending, True, where='v % 3 = 0', sort=False)
    check(granary, table(np.array([3, 5, 0, 1, 4, 2]), 'int64', 10**12), True, sort=False)
    mixed = rng.permutation(PIECE * PIECES)
    check(granary, {n: Column(c.dtype, c.values[mixed]) for n, c in ascending.items()}, False, sort=False)
    holes = {**ascending, 'k': Column('int32', ascending['k'].values, np.arange(PIECE * PIECES) > 0)}
    read = {'t': granary.put(holes, PIECES), 'l': granary.put({'a': Column('int32', holes['k'].values[:1])})}
    group = {'op': 'groupby', 'input': 't', 'keys': ['k'], 'aggregate': {'s': 'count(v)', 'm': 'max(w)'}, 'sort': False, 'dropna': False}
    join = {'op': 'join', 'inputs': ['l', 'g'], 'left_on': ['a'], 'right_on': ['k'], 'how': 'semi'}
    assert len(granary.run({**read, 'g': group, 'x': join}, 'x')['a'].values) == 1
