"""Tensors whose size is counted on the way: masks, positions, values, sets; what reads them, and what must not."""
import numpy as np

from granary_test import Instance
from tensor_test import Cases

random = np.random.default_rng(31)
arrays = {'a': random.normal(size=(40, 30)), 'i': random.integers(-20, 20, (25, 4, 3)), 'b': random.random(300) < .3, 'f': random.integers(0, 9, 500).astype('f4') / 4,
          'u': random.integers(0, 200, 700).astype('u1'), 'none': np.zeros(0), 'zero': np.zeros((5, 3)), 'odd': np.array([3, np.nan, -0.0, 0.0, np.inf, np.nan, -np.inf, 3]),
          'long': random.normal(size=2000), 'far': np.array([2**63, 2**64 - 1, 2**63, 0], dtype='u8'), 'seven': np.arange(7.0)}
masks = {f'm_{name}': random.random(array.shape) < .4 for name, array in arrays.items()}
A = {**arrays, **masks}

with Instance() as granary, np.errstate(all='ignore'):
    cases = Cases(granary, A)
    for name, array in arrays.items():
        mask = A[f'm_{name}']
        cases.add({'op': 'select_where', 'inputs': [name, f'm_{name}']}, array[mask])
        cases.add({'op': 'flatnonzero', 'input': name}, np.flatnonzero(array))
        cases.add({'op': 'argwhere', 'input': name}, np.argwhere(array))
        values, inverse, counts = np.unique(array, return_inverse=True, return_counts=True)
        cases.add({'op': 'unique', 'input': name}, values)
        cases.add({'op': 'unique', 'input': name, 'part': 'counts'}, counts)
        cases.add({'op': 'unique', 'input': name, 'part': 'inverse'}, inverse.reshape(array.shape))
    for x, y in (('i', 'u'), ('u', 'f'), ('f', 'none'), ('none', 'i'), ('b', 'i'), ('f', 'f')):
        cases.add({'op': 'union1d', 'inputs': [x, y]}, np.union1d(A[x], A[y]))
        cases.add({'op': 'setdiff1d', 'inputs': [x, y]}, np.setdiff1d(A[x], A[y]))
        if 'none' not in (x, y):
            cases.add({'op': 'intersect1d', 'inputs': [x, y]}, np.intersect1d(A[x], A[y]))
    cases.add({'op': 'select_where', 'inputs': ['i', 'i']}, A['i'][A['i'] != 0])
    cases.check((0, 300))
    for node in ({'op': 'select_where', 'inputs': ['a', 'b']}, {'op': 'unique', 'input': 'a', 'part': 'places'}):
        cases.refuse(node)

    # What reads them: element-wise, reductions, look-ups, frames.
    nodes = {**cases.inputs, 's': {'op': 'select_where', 'inputs': ['a', 'm_a']}, 'n': {'op': 'select_where', 'inputs': ['long', 'm_long']},
             'twice': {'op': 'multiply', 'input': 's', 'value': 2}, 'both': {'op': 'add', 'inputs': ['twice', 's']}, 'mean': {'op': 'mean', 'input': 'both'},
             'most': {'op': 'max', 'input': 'n'}, 'among': {'op': 'isin', 'inputs': ['f', 's']}, 'where': {'op': 'flatnonzero', 'input': 'm_long'},
             'taken': {'op': 'take_at', 'inputs': ['long', 'where']}, 'rows': {'op': 'argwhere', 'input': 'i'}, 'sums': {'op': 'sum', 'input': 'rows', 'axes': [0]},
             'frame': {'op': 'from_tensor', 'input': 'n', 'columns': ['x']}, 'head': {'op': 'head', 'input': 'frame', 'rows': 5},
             'values': {'op': 'unique', 'input': 'taken'}, 'back': {'op': 'to_tensor', 'input': 'head', 'flat': True}, 'table': {'op': 'to_tensor', 'input': 'frame'}}
    s, n = A['a'][A['m_a']], A['long'][A['m_long']]
    wants = {'both': s * 2 + s, 'mean': (s * 2 + s).mean(), 'most': n.max(), 'among': np.isin(A['f'], s), 'taken': n, 'values': np.unique(n), 'rows': np.argwhere(A['i']),
             'sums': np.argwhere(A['i']).sum(0), 'back': n[:5], 'table': n[:, None]}
    for size in (0, 1000):
        for want, result in zip(wants.values(), granary.run(nodes, list(wants), chunk_bytes=size)):
            assert result.shape == want.shape and np.allclose(result, want), (want, result)
    cases.inputs = {name: nodes[name] for name in [*cases.inputs, 's', 'n']} | {'empty': {'op': 'select_where', 'inputs': ['zero', 'zero']}}
    for node in ({'op': 'reshape', 'input': 's', 'shape': [-1, 1]}, {'op': 'add', 'inputs': ['s', 'seven']}, {'op': 'add', 'inputs': ['s', 'n']},
                 {'op': 'max', 'input': 'empty'}, {'op': 'tensor_sort', 'input': 's'}, {'op': 'matmul', 'inputs': ['s', 's']}):
        cases.refuse(node)

    # A kept tensor by name, also one whose size was counted; it stays while it is read.
    for size in (0, 1000):
        key = granary.submit({**cases.inputs, 'i3': {'op': 'multiply', 'input': 'i', 'value': 3}}, ['s', 'i3'], size, key='kept/one')
        one = granary.submit({'a': cases.source(A['f'])}, ['a'], key='one')
        nodes = {'s': {'op': 'array', 'name': 'kept/one/s'}, 'i': {'op': 'array', 'name': 'kept/one/i3'}, 'f': {'op': 'array', 'name': 'one'},
                 'sorted': {'op': 'tensor_sort', 'input': 's'}, 'sum': {'op': 'sum', 'input': 'i', 'axes': [1]}, 'top': {'op': 'max', 'input': 'f'}}
        ordered, total, top = granary.run(nodes, ['sorted', 'sum', 'top'])
        assert np.array_equal(ordered, np.sort(A['a'][A['m_a']])) and np.array_equal(total, (A['i'] * 3).sum(1)) and top == A['f'].max()
        cases.inputs = {}
        for node in ({'op': 'array', 'name': 'kept/one'}, {'op': 'array', 'name': 'nobody'}, {'op': 'array', 'name': 'kept/one/s', 'dtype': 'int8'}, {'op': 'array'},
                     {'op': 'array', 'ids': ['00'], 'dtype': 'int8'}, {'op': 'table', 'name': 'one'}):
            cases.refuse(node)
        cases.inputs = {name: cases.source(array) for name, array in A.items()} | {'s': {'op': 'select_where', 'inputs': ['a', 'm_a']}}
        granary.delete(key)
        granary.delete(one)
