"""Products, statistics, counts, and tensors put together of others, against NumPy: all dtypes, odd shapes, several cuts."""
import numpy as np

from granary_test import Instance
from tensor_test import Cases

random = np.random.default_rng(21)
DTYPES = ['bool', 'int8', 'uint16', 'int64', 'float32', 'float64']


def of(shape, dtype):
    return random.integers(0, 2 if dtype == 'bool' else 9, shape).astype(dtype)


arrays = {}
for dtype in DTYPES:
    arrays |= {f'v_{dtype}': of(6, dtype), f'm_{dtype}': of((5, 6), dtype), f'n_{dtype}': of((6, 4), dtype), f's_{dtype}': of((3, 2, 4, 6), dtype)}
arrays |= {'stack': of((2, 6, 7), 'float64'), 'square': random.normal(size=(9, 9)), 'none': np.zeros((0, 4)), 'no': np.zeros(0), 'one': np.array(3.5),
           'x': random.normal(size=(4, 300)), 'y': random.normal(size=300), 'odd': np.where(random.random((30, 7)) < .2, np.nan, random.normal(size=(30, 7))),
           'three': random.normal(size=(11, 3)), 'other': random.normal(size=(11, 3)), 'w': random.random(300), 'big': random.integers(0, 50, (400, 9)),
           'u': of(700, 'uint16'), 'heavy': random.normal(size=(400, 9)), 'edges': np.array([-1, 0, .5, 2.0]), 'long': random.normal(size=5000),
           'wrap': np.array([2**62, 2**62 + 1, 3, -2**63]), 'tall': of((40, 3), 'int64'), 'cube': random.normal(size=(4, 5, 6)), 'same': np.full(9, 2.5)}
arrays |= {'rounds': np.linspace(-1.235332948949074, 3.7614778746433633, 4), 'f4': random.normal(size=99).astype('f4'),
           'far': np.array([2**53 + 1, 2**62 + 1, 2**62 - 5]), **{f'sample{i}': random.normal(size=20) for i in range(40)}}
# Integers beyond the blocks in which they are multiplied, and beyond 64 bits.
arrays |= {'i_deep': random.integers(-2**62, 2**62, (5, 131)), 'i_wide': random.integers(-2**62, 2**62, (131, 517))}
A = arrays

with Instance() as granary, np.errstate(all='ignore'):
    cases = Cases(granary, arrays)
    add = lambda op, inputs, want, **params: cases.add({'op': op, 'inputs': [inputs] if isinstance(inputs, str) else inputs, **params}, want)
    for p in DTYPES:
        for q in DTYPES:
            if p == q or (p, q) in (('bool', 'int8'), ('uint16', 'int8'), ('int64', 'float32'), ('float32', 'float64')):
                a, b, v, w, s = A[f'm_{p}'], A[f'n_{q}'], A[f'v_{p}'], A[f'v_{q}'], A[f's_{p}']
                exact = np.result_type(a, b)
                add('matmul', [f'm_{p}', f'n_{q}'], a @ b)
                add('matmul', [f's_{p}', f'n_{q}'], s @ b)
                add('matmul', [f'v_{p}', f'n_{q}'], v @ b)
                add('matmul', [f's_{p}', f'v_{q}'], s @ w)
                add('matmul', [f'v_{p}', f'v_{q}'], v @ w)
                add('dot', [f's_{p}', f'n_{q}'], np.dot(s, b))
                add('inner', [f's_{p}', f'm_{q}'], np.inner(s, A[f'm_{q}']))
                add('outer', [f'v_{p}', f'n_{q}'], np.outer(v, b))
                add('vdot', [f'm_{p}', f'm_{q}'], np.dot(a.ravel(), A[f'm_{q}'].ravel()).astype(exact))
                add('kron', [f'm_{p}', f'v_{q}'], np.kron(a, w))
                add('tensordot', [f's_{p}', f'n_{q}'], np.tensordot(s, b, 1), axes=1)
                add('tensordot', [f's_{p}', f'n_{q}'], np.tensordot(s, b, ([3, 2], [0, 1])), axes_a=[3, -2], axes_b=[0, 1])
                add('einsum', [f'm_{p}', f'n_{q}'], np.einsum('ij,jk->ki', a, b), subscripts='ij,jk->ki')
    add('matmul', ['i_deep', 'i_wide'], A['i_deep'] @ A['i_wide'])
    add('outer', ['wrap', 'tall'], np.outer(A['wrap'], A['tall']))
    cases.refuse({'op': 'matmul', 'inputs': ['none', 'square']})
    cases.refuse({'op': 'matmul', 'inputs': ['one', 'square']})
    cases.refuse({'op': 'matmul', 'inputs': ['stack', 'cube']})
    for letters, inputs in {'ii->i': ['square'], 'ii': ['square'], 'ij->ji': ['x'], 'ij->': ['x'], 'bij,jk->bik': ['cube', 'n_float64'], 'ij,ij->i': ['three', 'other'],
                            'ij,kj->ik': ['three', 'other'], 'bij,bjk->bik': ['stack', 'stack2'], 'i,j->ij': ['y', 'v_int8'], 'ij,ij': ['three', 'other'],
                            'ijj->i': ['cubic'], 'abc,c': ['cube', 'v_float64'], 'bij,bkj->kbi': ['cube', 'cube'], ',ij->ji': ['one', 'three']}.items():
        if 'stack2' in inputs:
            A['stack2'] = of((2, 7, 3), 'float64')
            cases.inputs['stack2'] = cases.source(A['stack2'])
        if 'cubic' in inputs:
            A['cubic'] = random.normal(size=(3, 5, 5))
            cases.inputs['cubic'] = cases.source(A['cubic'])
        add('einsum', inputs, np.einsum(letters, *[A[i] for i in inputs]), subscripts=letters)
    for letters in ('ij,jk->il', 'ij->iij', 'i,jk', 'ij;jk', 'ij,jk->ii', ''):
        cases.refuse({'op': 'einsum', 'inputs': ['square', 'square'], 'subscripts': letters})
    cases.refuse({'op': 'tensordot', 'inputs': ['x', 'x'], 'axes': 1})
    cases.refuse({'op': 'tensordot', 'inputs': ['x', 'x'], 'axes_a': [0, 0], 'axes_b': [0, 1]})

    add('cross', ['three', 'other'], np.cross(A['three'], A['other']))
    add('trace', 'cube', np.trace(A['cube'], 1, 2, 0), offset=1, axis1=2, axis2=0)
    add('trace', 'm_int8', np.trace(A['m_int8']))
    for ord in (0, 1, 2, 3, -1, .5):
        add('norm', 'x', np.linalg.norm(A['x'], ord, 1, True), ord=ord, axis=1, keepdims=True)
        add('norm', 'v_float32', np.linalg.norm(A['v_float32'], ord), ord=ord)
    add('norm', 'cube', np.linalg.norm(A['cube']))
    add('pinv', 'three', np.linalg.pinv(A['three']))
    add('matrix_rank', 'tall', np.linalg.matrix_rank(A['tall']))

    for axis in (None, 0, 1, -1):
        given = {} if axis is None else {'axis': axis}
        add('ptp', 'big', np.ptp(A['big'], axis), **given)
        off = A['x'] - A['x'].mean(axis, keepdims=True)
        mean = lambda k: (off**k).mean(axis)
        add('moment', 'x', mean(4), order=4, **given)
        add('skew', 'x', mean(3) / mean(2)**1.5, **given)
        add('kurtosis', 'x', mean(4) / mean(2)**2 - 3, **given)
        add('sem', 'x', A['x'].std(axis, ddof=1) / np.sqrt(A['x'].size if axis is None else A['x'].shape[axis]), **given)
        add('average', ['x', 'x'], np.average(A['x'], axis, A['x']), **given)
        add('average', 'big', np.average(A['big'], axis), **given)
        add('nanargmax', 'odd', np.nanargmax(A['odd'], axis), **given)
        add('nanargmin', 'odd', np.nanargmin(A['odd'], axis), **given)
    cases, exact = Cases(granary, {}), cases
    cases.inputs = exact.inputs
    for name, rowvar in (('x', True), ('x', False), ('three', False), ('y', True), ('tall', False)):
        add('tensor_cov', name, np.cov(A[name], rowvar=rowvar), rowvar=rowvar)
        add('corrcoef', name, np.corrcoef(A[name], rowvar=rowvar), rowvar=rowvar)
    add('tensor_cov', ['x', 'y'], np.cov(A['x'], A['y'], ddof=0), ddof=0)
    add('einsum', ['x', 'x'], np.einsum('ij,kj', A['x'], A['x']), subscripts='ij,kj')
    add('matmul', ['long', 'long'], A['long'] @ A['long'])
    cases.check((0, 300), 1e-9, same=False)
    cases = exact
    add('average', ['x', 'w'], np.average(A['x'], 1, A['w']), axis=1)
    for dtype in ('int8', 'uint8', 'int64', 'float32', 'float64', 'bool'):  # products of small integers must not wrap
        for weights in ('int8', 'uint8', 'float32', 'float64'):
            A[f'l_{dtype}'] = np.arange(90, 96).astype(dtype) if dtype != 'bool' else np.arange(6) % 2 == 0
            A[f'l_{weights}'] = np.arange(90, 96).astype(weights)
            cases.inputs |= {name: cases.source(A[name]) for name in (f'l_{dtype}', f'l_{weights}')}
            add('average', [f'l_{dtype}', f'l_{weights}'], np.average(A[f'l_{dtype}'], weights=A[f'l_{weights}']))
    for offset in (-2, 0, 3):
        add('diag', 'v_bool', np.diag(A['v_bool'], offset), offset=offset)
    cases.refuse({'op': 'average', 'inputs': ['x', 'w'], 'axis': 0})
    add('nancumsum', 'odd', np.nancumsum(A['odd'], 0), axis=0)
    add('nancumprod', 'odd', np.nancumprod(A['odd'], 1))
    for a, b in (('x', 'x'), ('x', 'w'), ('odd', 'odd')):
        add('allclose', [a, b], np.allclose(A[a], A[b]))
        add('array_equal', [a, b], np.array_equal(A[a], A[b]))
    add('allclose', ['odd', 'odd'], True, equal_nan=True)
    add('array_equal', ['x', 'three'], False)

    add('bincount', 'big', np.bincount(A['big'].ravel(), minlength=50), length=50)
    add('bincount', ['big', 'heavy'], np.bincount(A['big'].ravel(), A['heavy'].ravel(), 60), length=60)
    add('bincount', ['u', 'u'], np.bincount(A['u'], A['u'], 9), length=9)
    cases.refuse({'op': 'bincount', 'input': 'big', 'length': 49})
    cases.refuse({'op': 'bincount', 'input': 'wrap', 'length': 9})
    cases.refuse({'op': 'bincount', 'input': 'x', 'length': 9})
    for bins, density in ((1, False), (7, False), (30, True)):
        for name in ('long', 'big', 'same'):
            counts, edges = np.histogram(A[name], bins, density=density)
            add('histogram', name, counts, bins=bins, density=density)
            add('histogram', name, edges, bins=bins, part='edges')
        add('histogram', 'odd', np.histogram(A['odd'], bins, (-1, 1), density)[0], bins=bins, low=-1, high=1, density=density)
    add('histogram', ['long', 'edges'], np.histogram(A['long'], A['edges'])[0])
    # The largest element is in the last bin, however edges round: of samples, of float32, of integers that no float64 holds.
    for name in ('rounds', *(f'sample{i}' for i in range(40)), 'f4', 'far'):
        for bins in (3, 7, 10):
            counts, edges = np.histogram(A[name], bins)
            assert counts.sum() == A[name].size, name
            add('histogram', name, counts, bins=bins)
            add('histogram', name, edges, bins=bins, part='edges')
    add('histogram', 'f4', np.histogram(A['f4'], 5, (-1, 1))[1], bins=5, low=-1, high=1, part='edges')
    cases.refuse({'op': 'histogram', 'input': 'long', 'bins': 0})
    cases.refuse({'op': 'histogram', 'input': 'long', 'low': 0})

    for k in range(-1, 5):
        add('rot90', 'cube', np.rot90(A['cube'], k, (2, 0)), k=k, axis1=2, axis2=0)
        add('rot90', 'x', np.rot90(A['x'], k), k=k)
    add('fliplr', 'cube', np.fliplr(A['cube']))
    add('flipud', 'v_bool', np.flipud(A['v_bool']))
    for stack in ('vstack', 'hstack', 'dstack', 'column_stack'):
        add(stack, ['v_int8', 'v_float32', 'v_bool'], getattr(np, stack)([A['v_int8'], A['v_float32'], A['v_bool']]))
        add(stack, ['three', 'other'], getattr(np, stack)([A['three'], A['other']]))
    grid = ['v_int8', 'y', 'edges']
    for indexing in ('xy', 'ij'):
        for part in range(3):
            add('meshgrid', grid, np.meshgrid(*[A[g] for g in grid], indexing=indexing)[part], part=part, indexing=indexing)
    add('meshgrid', 'y', A['y'], part=0)
    cases.refuse({'op': 'meshgrid', 'inputs': grid, 'part': 3})
    add('indices', [], np.indices((3, 0)), shape=[3, 0])
    add('indices', [], np.indices((7, 5, 3)), shape=[7, 5, 3])
    for axis in range(3):
        add('gradient', 'cube', np.gradient(A['cube'], .5, axis=axis), spacing=.5, axis=axis)
    add('gradient', 'v_int8', np.gradient(A['v_int8'].astype('f8')))
    for before, after in ((2, 0), ([1, 0, 3], [0, 2, 1])):
        both = [(b, a) for b, a in zip(np.broadcast_to(before, 3), np.broadcast_to(after, 3))]
        add('pad', 'cube', np.pad(A['cube'], both, constant_values=7.5), before=before, after=after, value=7.5)
        add('pad', 'cube', np.pad(A['cube'], both, 'edge'), before=before, after=after, mode='edge')
    add('pad', 'm_int8', np.pad(A['m_int8'], 1), before=1, after=1)
    for offset in (0, 2, -3):
        add('diag', 'v_int8', np.diag(A['v_int8'], offset), offset=offset)
        add('diag', 'square', np.diag(A['square'], offset), offset=offset)
    add('partition', 'x', np.sort(A['x']))
    add('argpartition', 'big', np.argsort(A['big'], 0, kind='stable'), axis=0)
    add('logspace', [], np.logspace(-2, 3, 17, base=2), start=-2, stop=3, count=17, base=2)
    add('choice', 'no', np.zeros(0), size=0)
    cases.refuse({'op': 'choice', 'input': 'no', 'size': 1})
    cases.refuse({'op': 'choice', 'input': 'y', 'size': 301, 'replace': False})
    cases.check((0, 300), 1e-9)

    nodes = {**cases.inputs, 'p': {'op': 'permutation', 'n': 1000, 'seed': 4}, 'rows': {'op': 'permutation', 'input': 'x', 'seed': 1},
             'drawn': {'op': 'choice', 'input': 'y', 'size': 4000, 'seed': 2}, 'few': {'op': 'choice', 'input': 'y', 'size': 200, 'replace': False},
             'likely': {'op': 'choice', 'inputs': ['edges', 'w4'], 'size': 9000}, 'w4': cases.source(np.array([0, .5, .25, .25]))}
    targets = ['p', 'rows', 'drawn', 'few', 'likely']
    p, rows, drawn, few, likely = granary.run(nodes, targets)
    assert sorted(p) == list(range(1000)) and (p != np.arange(1000)).any()
    assert sorted(map(tuple, rows)) == sorted(map(tuple, A['x']))
    assert np.isin(drawn, A['y']).all() and len(set(drawn)) > 250 and len(set(few)) == 200 and np.isin(few, A['y']).all()
    shares = [(likely == edge).mean() for edge in A['edges']]
    assert np.allclose(shares, [0, .5, .25, .25], atol=.03), shares
    again = granary.run(nodes, targets, chunk_bytes=300)
    assert [x.tobytes() for x in again] == [x.tobytes() for x in (p, rows, drawn, few, likely)]
