"""Operators that move elements, and those along an axis, against NumPy."""
import warnings

import numpy as np

from granary_test import Instance
from tensor_test import Cases

random = np.random.default_rng(1)
INDICES = {'a': ['1:10:2, -1', '..., 2', 'None, ..., ::-1', '::-1, 3:1:-1, None, 1:', '3,2,1', '1:4:9223372036854775807'], 'b': ['5:5', '-3:, :4', '::3, ::-2', '100:, 2'],
           'v': ['::-3', '4'], 'e': ['..., 1'], 'z': ['...', 'None', ''], 'c': ['10:60:7, ::-1']}
REFUSED = [{'op': 'getitem', 'input': 'a', 'index': index} for index in ('99', '1,1,1,1', 'x', '::0', '..., ...')] + [
    {'op': 'squeeze', 'input': 'a', 'axes': [0]}, {'op': 'take', 'input': 'v', 'indices': [23]}, {'op': 'concatenate', 'inputs': ['a', 'b']},
    {'op': 'stack', 'inputs': ['a', 'b']}, {'op': 'broadcast_to', 'input': 'a', 'shape': [2]}, {'op': 'transpose', 'input': 'a', 'axes': [0, 0, 1]},
    {'op': 'setitem', 'inputs': ['b', 'a'], 'index': '1'}, {'op': 'rechunk', 'input': 'b', 'chunk': [0, 1]}, {'op': 'rechunk', 'input': 'b', 'chunk': [1]},
    {'op': 'reshape', 'input': 'a', 'shape': [2, -1]}, {'op': 'tensor_sort', 'input': 'a', 'axis': 3}, {'op': 'tensor_quantile', 'input': 'a', 'q': 2},
    {'op': 'topk', 'input': 'a', 'k': -1}]


def add_views(cases, name, x):
    def add(op, want, **parameters):
        cases.add({'op': op, 'input': name, **parameters}, want)

    add('transpose', x.T)
    add('flip', np.flip(x))
    add('squeeze', np.squeeze(x))
    add('ravel', x.ravel())
    add('expand_dims', np.expand_dims(x, (0, -1)), axes=[0, -1])
    add('tile', np.tile(x, [2, 1, 3]), repeats=[2, 1, 3])
    cases.add({'op': 'stack', 'inputs': [name] * 3, 'axis': -1}, np.stack([x] * 3, -1))
    if x.ndim > 0:
        add('repeat', np.repeat(x, 3, -1), repeats=3, axis=-1)
        add('roll', np.roll(x, 2, 0), shift=[2], axes=[0])
        add('roll', np.roll(x, -3, -1), shift=[-3], axes=[-1])
        add('split', np.array_split(x, 3)[1], parts=3, part=1)
        cases.add({'op': 'concatenate', 'inputs': [name, name], 'axis': -1}, np.concatenate([x, x], -1))
        if x.shape[0] > 3:
            add('take', np.take(x, [3, 2, 1, 0, -1, -1, 0, 2], 0), indices=[3, 2, 1, 0, -1, -1, 0, 2])
    if x.ndim >= 2:
        add('swapaxes', np.swapaxes(x, 0, -1), axis1=0, axis2=-1)
        add('moveaxis', np.moveaxis(x, 0, -1), source=[0], destination=[-1])
        add('diagonal', np.diagonal(x, 3), offset=3)
        add('diagonal', np.diagonal(x, -2, 1, 0), offset=-2, axis1=1, axis2=0)
        add('rechunk', x, chunk=[3] * x.ndim)
        add('triu', np.triu(x, 1), offset=1)
        add('tril', np.tril(x))


def add_along(cases, name, x):
    def add(op, want, **parameters):
        cases.add({'op': op, 'input': name, **parameters}, want)

    for axis in range(x.ndim):
        add('tensor_sort', np.sort(x, axis), axis=axis)
        add('argsort', np.argsort(x, axis, kind='stable'), axis=axis)
        add('cumsum', np.cumsum(x, axis), axis=axis)
        add('cumprod', np.cumprod(x, axis), axis=axis)
        add('cummax', np.maximum.accumulate(x, axis), axis=axis)
        add('cummin', np.minimum.accumulate(x, axis), axis=axis)
        add('diff', np.diff(x, 2, axis), axis=axis, n=2)
        if not np.isnan(x).any():
            add('topk', np.flip(np.sort(x, axis), axis).take(range(min(3, x.shape[axis])), axis), axis=axis, k=3)
        if x.shape[axis] > 0:
            add('median', np.median(x, axis), axis=axis)
            add('nanmedian', np.nanmedian(x, axis), axis=axis)
            for method in ('linear', 'lower', 'higher', 'nearest', 'midpoint'):
                want = np.quantile(x, 0.37, axis=axis, method=method)
                add('tensor_quantile', np.asarray(want, x.dtype if x.dtype.kind == 'f' else 'f8'), axis=axis, q=0.37, method=method)
    if x.size > 0:
        add('median', np.median(x))


def check_zeros(granary):
    """-0.0 and 0.0 are equal: sorting leaves them in their order, with their signs."""
    x = np.array([0.0, 2.0, -0.0, np.nan, 0.0, -1.0, -0.0])
    for dtype in ('f4', 'f8'):
        source = {'op': 'array', 'ids': [granary.put_tensor(x.astype(dtype))], 'shape': [7], 'dtype': np.dtype(dtype).name}
        for node, want in (({'op': 'tensor_sort'}, x[[5, 0, 2, 4, 6, 1, 3]]), ({'op': 'tensor_sort', 'descending': True}, x[[1, 0, 2, 4, 6, 5, 3]]),
                           ({'op': 'partition'}, x[[5, 0, 2, 4, 6, 1, 3]]), ({'op': 'topk', 'k': 3}, x[[1, 0, 2]])):
            got = granary.run({'x': source, 'y': {**node, 'input': 'x'}}, 'y')
            there = ~np.isnan(want)
            assert np.array_equal(got, want, equal_nan=True) and np.array_equal(np.signbit(got)[there], np.signbit(want)[there]), (node, got)


def main():
    nan = random.standard_normal((13, 40))
    nan[3, 5] = nan[4, :3] = np.nan
    arrays = {'a': random.integers(-100, 100, (13, 7, 5)), 'b': random.standard_normal((37, 29)), 'c': random.integers(0, 255, (64, 130)).astype('u1'),
              'v': random.standard_normal(23).astype('f4'), 'e': np.zeros((0, 4)), 'z': np.array(3.5), 'o': random.standard_normal((1, 6, 1)),
              'h': random.integers(0, 9, (90, 33)).astype('i2'), 'n': nan, 'r': np.arange(29),
              'i1': np.arange(-3, 3, dtype='i1'), 'u2': np.arange(6, dtype='u2'), 'f4': np.arange(6, dtype='f4')}
    with Instance(executors=2) as granary:
        cases = Cases(granary, arrays)
        for name, x in arrays.items():
            add_views(cases, name, x)
            add_along(cases, name, x)
        for name, indices in INDICES.items():
            for index in indices:
                cases.add({'op': 'getitem', 'input': name, 'index': index}, eval(f'x[{index or "()"}]', {'x': arrays[name]}))
        a, b = arrays['a'].copy(), arrays['b'].copy()
        a[:, 2:4, 1] = 3
        cases.add({'op': 'setitem', 'inputs': ['a', 'z'], 'index': ':, 2:4, 1'}, a)
        b[3:20, ::-1] = np.arange(29)
        cases.add({'op': 'setitem', 'inputs': ['b', 'r'], 'index': '3:20, ::-1'}, b)
        cases.add({'op': 'concatenate', 'inputs': ['r', 'v']}, np.concatenate([arrays['r'], arrays['v']]))
        for names in (['i1', 'u2', 'f4'], ['f4', 'u2', 'i1'], ['i1', 'u2']):  # with a float among them the integers widen no further
            cases.add({'op': 'concatenate', 'inputs': names}, np.concatenate([arrays[n] for n in names]))
            cases.add({'op': 'stack', 'inputs': names}, np.stack([arrays[n] for n in names]))
        cases.add({'op': 'broadcast_to', 'input': 'o', 'shape': [4, 3, 6, 5]}, np.broadcast_to(arrays['o'], (4, 3, 6, 5)))
        cases.add({'op': 'transpose', 'input': 'a', 'axes': [1, -1, 0]}, arrays['a'].transpose(1, -1, 0))
        cases.add({'op': 'reshape', 'input': 'a', 'shape': [7, -1]}, arrays['a'].reshape(7, -1))
        cases.add({'op': 'reshape', 'input': 'e', 'shape': [2, 0, 3]}, arrays['e'].reshape(2, 0, 3))
        check_zeros(granary)
        for node in REFUSED:
            cases.refuse(node)
        cases.check()


warnings.simplefilter('ignore')
main()
