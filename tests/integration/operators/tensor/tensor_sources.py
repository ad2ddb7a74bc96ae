"""Tensors from nothing against NumPy, and random numbers: the same whatever the chunks, with the moments they should have."""
import math

import numpy as np

from granary_test import Instance
from tensor_test import Cases

# parameters, mean, variance
DISTRIBUTIONS = {
    'uniform': ({'low': 2, 'high': 5}, 3.5, .75), 'normal': ({'loc': 1, 'scale': 2}, 1, 4), 'integers': ({'low': -3, 'high': 4}, 0, 4),
    'exponential': ({'scale': 2}, 2, 4), 'gamma': ({'alpha': .5, 'scale': 2}, 1, 2), 'beta': ({'alpha': 2, 'beta': 3}, .4, .04),
    'poisson': ({'lam': 50}, 50, 50), 'binomial': ({'n': 100, 'p': .3}, 30, 21), 'geometric': ({'p': .25}, 4, 12),
    'lognormal': ({'scale': .5}, math.exp(.125), (math.exp(.25) - 1) * math.exp(.25)), 'chisquare': ({'df': 3}, 3, 6),
    'standard_t': ({'df': 9}, 0, 9 / 7), 'laplace': ({}, 0, 2), 'logistic': ({}, 0, math.pi**2 / 3), 'gumbel': ({}, .5772, math.pi**2 / 6),
    'weibull': ({'alpha': 2}, math.gamma(1.5), 1 - math.pi / 4), 'pareto': ({'alpha': 5}, .25, 5 / 48),
    'rayleigh': ({}, math.sqrt(math.pi / 2), 2 - math.pi / 2), 'power': ({'alpha': 2}, 2 / 3, 1 / 18)}


def check_random(granary):
    count = 200000
    nodes = {name: {'op': 'random', 'shape': [400, 500], 'seed': 7, 'distribution': name, **parameters}
             for name, (parameters, _, _) in DISTRIBUTIONS.items()}
    whole = granary.run(nodes, list(nodes))
    cut = granary.run(nodes, list(nodes), chunk_bytes=100000)
    for name, a, b in zip(nodes, whole, cut):
        _, mean, variance = DISTRIBUTIONS[name]
        assert a.tobytes() == b.tobytes(), name
        assert abs(a.mean() - mean) < 5 * math.sqrt(variance / count) and abs(a.var() - variance) < .06 * variance, name


def main():
    with Instance(executors=2) as granary:
        cases = Cases(granary, {'a': np.arange(12, dtype='i2').reshape(3, 4)})
        for dtype in ('bool', 'int8', 'uint16', 'int64', 'float32', 'float64'):
            cases.add({'op': 'ones', 'shape': [3, 50], 'dtype': dtype}, np.ones((3, 50), dtype))
            cases.add({'op': 'full', 'shape': [60], 'dtype': dtype, 'value': 5}, np.full(60, 5, dtype))
            cases.add({'op': 'eye', 'rows': 20, 'columns': 30, 'offset': -3, 'dtype': dtype}, np.eye(20, 30, -3, dtype))
            cases.add({'op': 'tri', 'rows': 20, 'columns': 13, 'offset': 1, 'dtype': dtype}, np.tri(20, 13, 1, dtype))
        for value in (7, 7.5, -2**63):
            cases.add({'op': 'full', 'shape': [5], 'value': value}, np.full(5, value))
        cases.add({'op': 'full', 'shape': [5], 'value': 2.9, 'dtype': 'uint8'}, np.full(5, 2.9, 'u1'))
        cases.add({'op': 'full', 'shape': [5], 'value': 1e19, 'dtype': 'uint64'}, np.full(5, 10**19, 'u8'))
        cases.add({'op': 'zeros', 'shape': []}, np.zeros(()))
        cases.add({'op': 'zeros', 'shape': [0, 3]}, np.zeros((0, 3)))
        cases.add({'op': 'zeros_like', 'input': 'a'}, np.zeros((3, 4), 'i2'))
        cases.add({'op': 'full_like', 'input': 'a', 'value': 2.5, 'dtype': 'float32'}, np.full((3, 4), 2.5, 'f4'))
        for start, stop, count, endpoint in ((0.1, 7.7, 101, True), (5, -7, 33, False), (5, -7, 1, True), (5, -7, 0, True)):
            cases.add({'op': 'linspace', 'start': start, 'stop': stop, 'count': count, 'endpoint': endpoint},
                      np.linspace(start, stop, count, endpoint))
        for node in ({'op': 'random', 'shape': [3], 'distribution': 'norml'}, {'op': 'random', 'shape': [3], 'distribution': 'gamma', 'alpha': -1},
                     {'op': 'random', 'shape': [3], 'distribution': 'integers', 'low': 3, 'high': 3}, {'op': 'zeros', 'shape': [-1]},
                     {'op': 'full', 'shape': [2], 'dtype': 'uint8', 'value': 300}, {'op': 'full', 'shape': [2], 'dtype': 'int8', 'value': -129.5},
                     {'op': 'full', 'shape': [2], 'dtype': 'uint64', 'value': -1}, {'op': 'full', 'shape': [2], 'dtype': 'int64', 'value': 1e19},
                     {'op': 'full_like', 'input': 'a', 'value': 40000},
                     {'op': 'zeros', 'shape': [2], 'dtype': 'string'}, {'op': 'eye', 'rows': -1},
                     {'op': 'array', 'ids': ['0' * 31 + '1'], 'shape': [4, 4], 'dtype': 'int8', 'chunk': [2, 2]}):
            cases.refuse(node)
        cases.check()
        check_random(granary)


main()
