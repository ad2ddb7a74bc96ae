"""Reductions of one input over the same axes go through it together: each must be what it is alone, down columns of any width and size."""
import math

import numpy as np

from granary_test import Instance
from tensor_test import Cases

random = np.random.default_rng(8)
ALL = ['sum', 'mean', 'std', 'var', 'max', 'min', 'nansum', 'nanmean', 'nanstd', 'argmax', 'any', 'count_nonzero', 'prod']
arrays = {'near': random.random((700, 37)),
          'wide': random.normal(size=(300, 21)) * 10.0 ** random.integers(-200, 150, (300, 21)),
          'apart': random.normal(size=(400, 19)) * 10.0 ** random.integers(-9, 9, 19) + 1e3,
          'odd': np.where(random.random((200, 17)) < .01, np.nan, random.normal(size=(200, 17))),
          'cube': random.normal(size=(9, 40, 18)), 'ints': random.integers(-99, 99, (150, 16)), 'small': random.normal(size=(90, 33)).astype('f4')}
arrays['odd'][3, :3] = np.inf, -np.inf, 5
arrays['odd'][4, 1:3] = np.inf, 7

with Instance() as granary, np.errstate(all='ignore'):
    cases = Cases(granary, arrays)
    for name, array in arrays.items():
        for axes in ([0], [1], None):
            for function in ALL:
                if name == 'wide' and function in ('std', 'var', 'nanstd', 'prod') or function.startswith('arg') and axes is None and name == 'odd':
                    continue
                axis = None if axes is None else axes[0]
                want = np.asarray(getattr(np, function)(array.astype('f8') if array.dtype == 'f4' else array, axis=axis))
                want = want.astype('f4') if array.dtype == 'f4' and want.dtype == 'f8' else want
                if name == 'odd' and function.endswith('prod'):
                    continue
                node = {'op': function, 'input': name}
                if name == 'wide' and function in ('sum', 'mean', 'nansum', 'nanmean'):
                    lines = [array.ravel()] if axes is None else array.T if axis == 0 else array
                    sums = [math.fsum(line) / (len(line) if 'mean' in function else 1) for line in lines]
                    want = np.array(sums if axes is not None else sums[0])
                cases.add(node if axes is None else {**node, 'axes': axes}, want)
    cases.check((0, 100, 3000), 1e-9)

    # Alone and together: the same bytes.
    alone = [granary.run({'a': cases.inputs['near'], 'x': {'op': function, 'input': 'a', 'axes': [0]}}, 'x') for function in ALL[:6]]
    graph = {'a': cases.inputs['near'], **{function: {'op': function, 'input': 'a', 'axes': [0]} for function in ALL[:6]}}
    together = granary.run(graph, ALL[:6])
    assert [x.tobytes() for x in alone] == [x.tobytes() for x in together]
