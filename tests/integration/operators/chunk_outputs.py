"""Chunk operators with several outputs, in graphs of chunks: each output is named NODE:NUMBER and read."""
import ctypes

import numpy as np

from granary_test import Column, GranaryError, Instance, _check, _library, _Result

rng = np.random.default_rng(3)
rows = 500
k, v = rng.integers(0, 40, rows), rng.normal(size=rows).round(3)
s = [f's{i % 7}' for i in k]


def read(granary, key, target, is_tensor):
    result = _Result()
    _check(_library.granary_graph_result(granary.client, key, target.encode(), ctypes.byref(result)))
    try:
        return granary._read(result.chunks[0], is_tensor)
    finally:
        _library.granary_result_free(ctypes.byref(result))


def run(granary, nodes, targets, are_tensors=False):
    key = granary.submit(nodes, targets, level='chunk')
    try:
        return [read(granary, key, t, are_tensors) for t in targets]
    finally:
        granary.delete(key)


def refused(granary, nodes, words):
    try:
        granary.submit(nodes, ['x'], level='chunk')
    except GranaryError as error:
        assert words in str(error), error
        return
    raise AssertionError(nodes)


with Instance() as granary:
    frame = 'object:' + granary.put_piece({'k': Column('int64', k), 's': Column('string', s, encoded=True), 'v': Column('float64', v)})
    tensor = rng.normal(size=(30, 4))
    a = 'object:' + granary.put_tensor(tensor)
    parts = 3
    want = {key: (int((k == key).sum()), float(v[k == key].max())) for key in np.unique(k)}
    group = {'keys': ['k'], 'aggregate': {'n': 'size', 'most': 'max(v)'}}

    finals = {f'f{i}': {'op': 'groupby_final', **group, 'input': f'm:{i}'} for i in range(parts)}
    found = run(granary, {'m': {'op': 'groupby_map', 'input': frame, 'parts': parts, **group}, **finals}, list(finals))
    groups = {int(key): (int(n), float(most)) for part in found for key, n, most in zip(part['k'].values, part['n'].values, part['most'].values)}
    assert groups == want

    group['keys'] = ['k', 's']
    dealt = {f'f{i}': {'op': 'groupby_part', 'texts': [1], **group, 'inputs': [f'd:{i}', f'd:{parts}']} for i in range(parts)}
    found = run(granary, {'d': {'op': 'groupby_deal', 'input': frame, 'parts': parts, 'texts': [1], **group}, **dealt}, list(dealt))
    groups = {int(key): (int(n), float(most)) for part in found for key, n, most in zip(part['k'].values, part['n'].values, part['most'].values)}
    assert groups == want and all(text == f's{key % 7}' for part in found for key, text in zip(part['k'].values, part['s'].values))

    picked = {f'c{i}': {'op': 'concat', 'input': f'p:{i}'} for i in range(parts)}
    found = run(granary, {'p': {'op': 'shuffle_split', 'input': frame, 'parts': parts, 'keys': ['k'], 'types': ['int64']}, **picked}, list(picked))
    assert sorted(x for part in found for x in part['v'].values) == sorted(v) and sum(len(part['v']) > 0 for part in found) > 1

    q, r, u, sizes, vt = run(granary, {
        'qr': {'op': 'qr', 'input': a}, 'svd': {'op': 'svd', 'input': a},
        **{name: {'op': 'map', 'function': 'positive', 'input': of} for name, of in (('q', 'qr:0'), ('r', 'qr:1'), ('u', 'svd:0'), ('s', 'svd:1'), ('vt', 'svd:2'))},
    }, ['q', 'r', 'u', 's', 'vt'], True)
    assert np.allclose(q @ r, tensor) and np.allclose(u * sizes @ vt, tensor)

    least, most = run(granary, {
        'm': {'op': 'reduce_map', 'input': a, 'functions': ['min', 'max'], 'axes': [0]},
        'least': {'op': 'reduce_final', 'function': 'min', 'count': 30, 'input': 'm:0'},
        'most': {'op': 'reduce_final', 'function': 'max', 'count': 30, 'input': 'm:1'}}, ['least', 'most'], True)
    assert np.array_equal(least, tensor.min(0)) and np.array_equal(most, tensor.max(0))

    refused(granary, {'m': {'op': 'groupby_map', 'input': frame, 'parts': 3, **group}, 'x': {'op': 'groupby_final', **group, 'input': 'm:3'}}, '3 outputs')
    refused(granary, {'m': {'op': 'shuffle_split', 'input': frame, 'parts': 0, 'keys': ['k'], 'types': ['int64']}, 'x': {'op': 'concat', 'input': 'm'}}, "'parts' is 0")
    refused(granary, {'m': {'op': 'qr', 'input': a}, 'x': {'op': 'map', 'function': 'positive', 'input': 'm:2'}}, '2 outputs')
