"""searchsorted, digitize, isin and take_at against NumPy, for all pairs of dtypes."""
import itertools

import numpy as np

from granary_test import Instance
from tensor_test import Cases

random = np.random.default_rng(12)
DTYPES = ['bool', 'int8', 'uint8', 'int16', 'int64', 'uint64', 'float32', 'float64']

tables = {f't_{dtype}': np.sort(random.integers(0, 2 if dtype == 'bool' else 60, 40)).astype(dtype) for dtype in DTYPES}
sought = {f's_{dtype}': random.integers(-0 if dtype[0] in 'bu' else -9, 2 if dtype == 'bool' else 70, (23, 7)).astype(dtype) for dtype in DTYPES}
sought['s_float64'][3, 2] = np.nan
sought['s_float32'][4] = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1.5, 3e38]
tables['t_uint64'][-2:] = [2**64 - 1, 2**64 - 1]
tables['t_int64'][:2] = -2**63
tables['t_float64'][-1] = np.nan
sought['s_uint64'][0, :2] = [2**64 - 1, 2**63]
arrays = {**tables, **sought, 'none': np.zeros(0), 'fall': np.array([9.5, 3, 3, -1]), 'mixed': np.array([1.0, 3, 2]), 'one': np.array(7),
          'big': random.normal(size=5000), 'edges': np.linspace(-3, 3, 300), 'box': random.integers(0, 99, (11, 3, 2)).astype('i2'),
          'at': random.integers(-11, 11, (31, 4)), 'at8': random.integers(0, 11, 9).astype('u8'), 'far': np.array([0, 11]), 'low': np.array([-12])}

with Instance() as granary:
    cases = Cases(granary, arrays)
    for (t, table), (s, x) in itertools.product(tables.items(), sought.items()):
        for side in ('left', 'right'):
            cases.add({'op': 'searchsorted', 'inputs': [t, s], 'side': side}, np.searchsorted(table, x, side))
        common = np.result_type(table, x)
        cases.add({'op': 'isin', 'inputs': [s, t]}, np.isin(x.astype(common), table.astype(common)))
    for name in ('big', 's_float64', 's_int8', 'one'):
        for bins, right in itertools.product(('edges', 'fall', 'none', 't_int16'), (False, True)):
            cases.add({'op': 'digitize', 'inputs': [name, bins], 'right': right}, np.digitize(arrays[name], arrays[bins], right))
        cases.add({'op': 'isin', 'inputs': [name, 'box'], 'invert': True}, np.isin(arrays[name], arrays['box'], invert=True))
        cases.add({'op': 'isin', 'inputs': [name, 'none']}, np.isin(arrays[name], []))
        cases.add({'op': 'searchsorted', 'inputs': ['none', name]}, np.searchsorted([], arrays[name]))
    for name, at in itertools.product(('box', 'edges', 't_bool'), ('at', 'at8', 'one')):
        cases.add({'op': 'take_at', 'inputs': [name, at]}, np.take(arrays[name], arrays[at].astype('i8'), 0))
    for node in ({'op': 'digitize', 'inputs': ['big', 'mixed']}, {'op': 'digitize', 'inputs': ['big', 'box']},
                 {'op': 'searchsorted', 'inputs': ['at', 'big']}, {'op': 'searchsorted', 'inputs': ['edges', 'big'], 'side': 'middle'},
                 {'op': 'take_at', 'inputs': ['box', 'far']}, {'op': 'take_at', 'inputs': ['box', 'low']}, {'op': 'take_at', 'inputs': ['box', 'edges']},
                 {'op': 'take_at', 'inputs': ['one', 'at']}):
        cases.refuse(node)
    cases.check((0, 200))
