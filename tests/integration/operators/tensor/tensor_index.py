"""Indices with arrays, and NumPy's functions that graphs write as others: sizes that are counted, and what is refused."""
import numpy as np

from granary_test import GranaryError, Instance
from tensor_test import Cases

random = np.random.default_rng(5)
A = {'x': random.normal(size=(60, 7)), 'cube': random.integers(-9, 9, (8, 5, 6)), 'wide': random.normal(size=(20, 70)), 'flags': random.random((9, 4)) < .5,
     'rows': random.random(60) < .4, 'plane': random.random((8, 5)) < .4, 'twenty': random.random(20) < .5, 'nine': random.random(9) < .5, 'none': np.zeros(60, bool),
     'at': random.integers(-60, 60, (4, 3)), 'far': np.array([60]), 'near': np.array([-61]), 'unsigned': np.array([59, 0], dtype='u8'), 'beyond': np.array([2**64 - 1], dtype='u8'),
     'half': np.array([0.5]), 'nothing': np.zeros(0, dtype='i8'), 'vector': np.arange(5.0), 'matrix': random.normal(size=(3, 3)) + 9 * np.eye(3), 'two': np.arange(2.0),
     'empty': np.zeros(0), 'three': np.arange(3.0), 'scalar': np.array(2)}

with Instance() as granary, np.errstate(all='ignore'):
    cases = Cases(granary, A)

    def refuse(node):
        """It must be refused, or fail, with its name or that of a node it is written as."""
        try:
            granary.run({**cases.inputs, 'refused': node}, 'refused')
        except GranaryError as error:
            assert "'refused" in str(error), error
        else:
            raise AssertionError(f'{node} was not refused')

    # Rows of any dtype, by filters and by look-ups; masks of several dimensions; none.
    for inputs, index, want in ((['x', 'rows'], '$1', A['x'][A['rows']]), (['x', 'none'], '$1', A['x'][A['none']]), (['x', 'rows'], '$1, ::2', A['x'][A['rows'], ::2]),
                                (['wide', 'twenty'], '$1', A['wide'][A['twenty']]), (['flags', 'nine'], '$1, ...', A['flags'][A['nine']]),
                                (['cube', 'plane'], '$1', A['cube'][A['plane']]), (['cube', 'plane'], '$1, 2', A['cube'][A['plane'], 2]),
                                (['x', 'at'], '$1, 1:3', A['x'][A['at'], 1:3]), (['x', 'unsigned'], ' $1 ', A['x'][A['unsigned']]), (['x', 'nothing'], '$1', A['x'][A['nothing'].astype(int)]),
                                (['x'], '[3, -1, 3]', A['x'][[3, -1, 3]]), (['cube'], '0, :, [ 1,2 ]', A['cube'][0, :, [1, 2]]), (['cube'], ':, [4], 1', A['cube'][:, [4], 1]),
                                (['cube', 'scalar'], ':, $1', A['cube'][:, 2]), (['cube', 'scalar', 'scalar'], '$1, :, $2', A['cube'][2, :, 2])):
        cases.add({'op': 'getitem', 'input' if len(inputs) == 1 else 'inputs': inputs[0] if len(inputs) == 1 else inputs, 'index': index}, want)
    changed = A['x'].copy()
    changed[A['at'], 2:] = A['vector']
    cases.add({'op': 'setitem', 'inputs': ['x', 'vector', 'at'], 'index': '$2, 2:'}, changed)
    changed = A['cube'].copy()
    changed[:, A['scalar']] = 1
    cases.add({'op': 'setitem', 'inputs': ['cube', 'rows1', 'scalar'], 'index': ':, $2'}, changed)
    cases.inputs['complex'] = {'op': 'astype', 'input': 'two', 'dtype': 'complex128'}
    cases.inputs['rows1'] = {'op': 'full', 'shape': [], 'value': 1}
    cases.check((0, 100, 1000))
    for inputs, index in ((['x', 'far'], '$1'), (['x', 'near'], '$1'), (['x', 'beyond'], '$1'), (['x', 'half'], '$1'), (['x', 'rows'], ':, $1'), (['x', 'rows', 'at'], '$1, $2'),
                          (['x', 'nine'], '$1'), (['x', 'rows'], 'None, $1'), (['x', 'at'], '$2'), (['x', 'at'], '$'), (['x', 'at'], '$x'), (['x', 'at'], ':'), (['x', 'at'], '$1, $1, $1'),
                          (['x', 'at'], '$99999999999'), (['x', 'at', 'far'], '$1, [1]'), (['x', 'at'], ', '.join(['None'] * 30 + ['$1'])), (['x', 'complex'], '$1'),
                          (['cube', 'at', 'vector'], '$1, $2'), (['x', 'at'], '$1, 7')):
        refuse({'op': 'getitem', 'inputs': inputs, 'index': index})
    for index in ('[', '[1', '[a]', '[1 2]', '[60]', '[1,]]', '[99999999999999999999]', '[[1]]', f'[{", ".join(["1"] * 5000)}]'):
        refuse({'op': 'getitem', 'input': 'x', 'index': index})
    for inputs, index in ((['x', 'three', 'at'], '$2'), (['x', 'vector', 'far'], '$2'), (['x', 'two', 'rows'], '$2, 0'), (['x', 'vector', 'at'], '$1'), (['x', 'vector'], '[1]'),
                          (['x', 'vector', 'at'], 'None, $2'), (['x', 'vector', 'at'], '$2, ::2')):
        refuse({'op': 'setitem', 'inputs': inputs, 'index': index})

    # Sizes that are counted, among themselves: positions of one mask along two axes.
    nodes = {**cases.inputs, 'p': {'op': 'flatnonzero', 'input': 'rows'}, 'q': {'op': 'mod', 'input': 'p', 'value': 7}, 'pq': {'op': 'getitem', 'inputs': ['x', 'p', 'q'], 'index': '$1, $2'},
             'kept': {'op': 'delete', 'inputs': ['x', 'rows'], 'axis': 0}, 'different': {'op': 'unique', 'input': 'cube_rows', 'axis': 0}, 'cube_rows': {'op': 'reshape', 'input': 'cube', 'shape': [-1, 1]},
             'sum': {'op': 'sum', 'input': 'kept', 'axes': [0]}}
    p = np.flatnonzero(A['rows'])
    for size in (0, 200):
        pq, kept, total, different = granary.run(nodes, ['pq', 'kept', 'sum', 'different'], chunk_bytes=size)
        assert np.array_equal(pq, A['x'][p, p % 7]) and np.array_equal(kept, A['x'][~A['rows']]) and np.allclose(total, kept.sum(0))
        assert np.array_equal(different, np.unique(A['cube'].reshape(-1, 1), axis=0))
    cases.inputs['p'] = nodes['p']
    for node in ({'op': 'getitem', 'input': 'p', 'index': '1:'}, {'op': 'getitem', 'inputs': ['p', 'far'], 'index': '$1'}, {'op': 'setitem', 'inputs': ['p', 'far'], 'index': '0'},
                 {'op': 'setitem', 'inputs': ['x', 'vector', 'p'], 'index': '$2'}, {'op': 'getitem', 'inputs': ['x', 'p'], 'index': ':, $1'}):
        refuse(node)

    # What does not fit.
    cases.inputs['zeros'] = {'op': 'zeros', 'shape': [3, 3]}
    for node in ({'op': 'interp', 'inputs': ['x', 'vector', 'two']}, {'op': 'interp', 'inputs': ['x', 'empty', 'empty']}, {'op': 'interp', 'inputs': ['x', 'matrix', 'matrix']},
                 {'op': 'interp', 'inputs': ['x', 'vector', 'vector'], 'period': 0}, {'op': 'polyfit', 'inputs': ['vector', 'two'], 'deg': 1}, {'op': 'polyfit', 'inputs': ['empty', 'empty'], 'deg': 1},
                 {'op': 'polyfit', 'inputs': ['vector', 'vector'], 'deg': -1}, {'op': 'polyfit', 'inputs': ['vector', 'vector'], 'deg': 10**9}, {'op': 'polyval', 'inputs': ['matrix', 'x']},
                 {'op': 'trapezoid', 'inputs': ['x', 'vector']}, {'op': 'trapezoid', 'input': 'empty'}, {'op': 'trapezoid', 'input': 'x', 'axis': 2}, {'op': 'trapezoid', 'input': 'scalar'},
                 {'op': 'convolve', 'inputs': ['vector', 'empty']}, {'op': 'convolve', 'inputs': ['vector', 'x']}, {'op': 'convolve', 'inputs': ['vector', 'vector'], 'mode': 'wrap'},
                 {'op': 'convolve', 'inputs': ['vector', 'complex']}, {'op': 'correlate', 'inputs': ['scalar', 'scalar']},
                 {'op': 'take_along_axis', 'inputs': ['x', 'x']}, {'op': 'take_along_axis', 'inputs': ['x', 'far']}, {'op': 'take_along_axis', 'inputs': ['vector', 'far']},
                 {'op': 'take_along_axis', 'inputs': ['vector', 'beyond']}, {'op': 'take_along_axis', 'inputs': ['vector', 'scalar']}, {'op': 'take_along_axis', 'inputs': ['x', 'at'], 'axis': 5},
                 {'op': 'put_along_axis', 'inputs': ['vector', 'far', 'vector']}, {'op': 'put_along_axis', 'inputs': ['vector', 'unsigned', 'three']},
                 {'op': 'slogdet', 'input': 'x', 'part': 'sign'}, {'op': 'cond', 'input': 'x', 'ord': '1'}, {'op': 'cond', 'input': 'empty'}, {'op': 'cond', 'input': 'matrix', 'ord': '3'},
                 {'op': 'matrix_power', 'input': 'x', 'n': 2}, {'op': 'norm', 'input': 'cube', 'kind': 'fro'}, {'op': 'norm', 'input': 'x', 'kind': 'fro', 'ord': 1},
                 {'op': 'norm', 'input': 'x', 'axes': [0, 0]}, {'op': 'norm', 'input': 'x', 'axes': [0, 5]}, {'op': 'norm', 'input': 'vector', 'kind': 'nuc'}, {'op': 'norm', 'input': 'cube', 'kind': '2', 'axes': [0, 1]},
                 {'op': 'insert', 'inputs': ['vector', 'two'], 'indices': [6]}, {'op': 'insert', 'inputs': ['x', 'three'], 'indices': [0], 'axis': 0}, {'op': 'insert', 'inputs': ['vector', 'vector'], 'indices': [0] * 700},
                 {'op': 'delete', 'input': 'vector'}, {'op': 'delete', 'input': 'vector', 'indices': [5]}, {'op': 'delete', 'inputs': ['x', 'rows'], 'axis': 1}, {'op': 'delete', 'inputs': ['vector', 'rows']},
                 {'op': 'append', 'inputs': ['x', 'vector'], 'axis': 0}, {'op': 'unique', 'input': 'x', 'axis': 1}, {'op': 'unique', 'input': 'cube', 'axis': 0},
                 {'op': 'histogram2d', 'inputs': ['vector', 'two']}, {'op': 'histogram2d', 'inputs': ['vector', 'vector'], 'bins': [0]}, {'op': 'histogram2d', 'inputs': ['vector', 'vector'], 'bins': [1, 2, 3]},
                 {'op': 'histogram2d', 'inputs': ['vector', 'vector'], 'bins': [10000, 10000]}, {'op': 'histogram2d', 'inputs': ['vector', 'vector'], 'range': [0, 1]},
                 {'op': 'histogram2d', 'inputs': ['vector', 'vector'], 'range': [3, 1, 0, 1]}, {'op': 'histogram', 'input': 'vector', 'weighted': True}, {'op': 'histogram', 'inputs': ['vector', 'vector', 'vector']},
                 {'op': 'tensor_quantile', 'input': 'x', 'q': []}, {'op': 'tensor_quantile', 'input': 'x', 'q': [0.5, 2]}, {'op': 'tensor_quantile', 'input': 'x', 'q': ['half']},
                 {'op': 'multivariate_normal', 'inputs': ['two', 'matrix']}, {'op': 'multivariate_normal', 'inputs': ['three', 'matrix'], 'size': -1}, {'op': 'multivariate_normal', 'inputs': ['three', 'zeros'], 'method': 'cholesky'},
                 {'op': 'random', 'distribution': 'multinomial', 'shape': [3, 2]}, {'op': 'random', 'distribution': 'multinomial', 'shape': [3, 3], 'pvals': [0.5, 0.5]},
                 {'op': 'random', 'distribution': 'multinomial', 'shape': [2], 'pvals': [1.5, 0]}, {'op': 'random', 'distribution': 'multinomial', 'shape': [3], 'pvals': [0.7, 0.7, 0]},
                 {'op': 'random', 'distribution': 'multinomial', 'shape': [2], 'pvals': [0.5, 0.5], 'n': -1}, {'op': 'random', 'distribution': 'dirichlet', 'shape': [2], 'alphas': [1, 0]},
                 {'op': 'random', 'distribution': 'dirichlet', 'shape': [], 'alphas': [1]}, {'op': 'random', 'distribution': 'dirichlet', 'shape': [5000], 'alphas': [1] * 5000}):
        refuse(node)
