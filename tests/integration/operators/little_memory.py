"""Sorts and windows of partitions, with memory for a third of the data: parts are read without the rest."""
import numpy as np
import pandas as pd

from granary_test import Instance

rng = np.random.default_rng(4)
rows = 10**6
frame = pd.DataFrame({'x': rng.integers(0, 10**5, rows), 'f': rng.normal(size=rows), 's': rng.integers(-2**62, 2**62, rows)})

with Instance(memory='8M') as granary:
    table = granary.put_frame(frame, 24)
    result = granary.run({'t': table, 's': {'op': 'sort', 'input': 't', 'by': ['x', 'f']}}, 's')
    assert np.array_equal(result['s'].values, frame.s.to_numpy()[np.lexsort((frame.f, frame.x))])
    columns = {'c': 'cumcount()', 'm': 'max(s)'}
    result = granary.run({'t': table, 'w': {'op': 'window', 'input': 't', 'partition': 'x', 'columns': columns}}, 'w')
    groups = frame.groupby('x')
    assert np.array_equal(result['c'].values, groups.cumcount())
    assert np.array_equal(result['m'].values, groups.s.transform('max'))
