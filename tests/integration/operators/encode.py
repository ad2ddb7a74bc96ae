"""encode: values stay, chunks share one dictionary in ascending order, and what does not pay stays plain."""
import ctypes

import numpy as np

import granary_test
from granary_test import Column, Instance, _array, _check, _library, _read_text, _Result, _View

rng = np.random.default_rng(3)
ROWS = 2000


def dictionaries(granary, key, target, name):
    """The dictionary of each chunk's column; None: it is plain."""
    result = _Result()
    _check(_library.granary_graph_result(granary.client, key, target.encode(), ctypes.byref(result)))
    found = []
    for i in range(result.chunk_count):
        view, frame = _View(), ctypes.c_void_p()
        _check(_library.granary_object_get(granary.client, result.chunks[i], -1, ctypes.byref(view)))
        _check(_library.granary_frame_open(ctypes.byref(view), ctypes.byref(frame)))
        columns = [_library.granary_frame_column(frame, c).contents for c in range(_library.granary_frame_columns(frame))]
        column = next(c for c in columns if c.name.decode() == name)
        found.append(_read_text(column.dictionary.contents, column.dictionary.contents.rows) if column.dictionary else None)
        _library.granary_frame_close(frame)
        _library.granary_object_release(granary.client, ctypes.byref(view))
    _library.granary_result_free(ctypes.byref(result))
    return found


with Instance() as granary:
    words = ['b', 'ä', '', 'a', 'zz', '€' * 30]
    nulls = rng.random(ROWS) < 0.8
    columns = {'plain': Column('string', [str(rng.choice(words)) for _ in range(ROWS)], nulls),
               'coded': Column('string', [str(rng.choice(words)) for _ in range(ROWS)], nulls, encoded=True),
               'unique': Column('string', [f'{i:05}' for i in range(ROWS)]),
               'none': Column('string', [''] * ROWS, np.zeros(ROWS, bool)),
               'n': Column('int64', np.arange(ROWS))}
    for pieces in (1, 3, 7):
        table = granary.put(columns, pieces)
        nodes = {'x': table, 'e': {'op': 'encode', 'input': 'x'}, 's': {'op': 'encode', 'input': 'x', 'columns': ['plain']}}
        key = granary.submit(nodes, ['e', 's'])
        for target in ('e', 's'):
            back = granary.result(key, target)
            for name, column in columns.items():
                assert back[name] == column, (pieces, target, name, back[name], column)
        for name in ('plain', 'coded'):
            want = sorted({v for v, ok in zip(columns[name].values, nulls) if ok}, key=str.encode)
            assert dictionaries(granary, key, 'e', name) == [want] * pieces, name
        assert pieces > 1 or dictionaries(granary, key, 'e', 'unique') == [None]
        assert dictionaries(granary, key, 's', 'plain')[0] is not None
        granary.delete(key)
        grouped = [granary.run({**nodes, 'g': {'op': 'groupby', 'input': x, 'keys': ['plain', 'coded'],
                                               'aggregate': {'n': 'sum(n)'}}}, 'g') for x in ('x', 'e')]
        assert all(grouped[0][c] == grouped[1][c] for c in grouped[0])
    empty = granary.put({'s': Column('string', [])}, 1)
    assert len(granary.run({'x': empty, 'e': {'op': 'encode', 'input': 'x'}}, 'e')['s']) == 0
    granary.fails({'x': granary.put(columns), 'e': {'op': 'encode', 'input': 'x', 'columns': ['n']}}, 'e', "'e'", "'n'", 'int64')
    granary.fails({'x': granary.put(columns), 'e': {'op': 'encode', 'input': 'x', 'columns': ['m']}}, 'e', "'e'", "'m'")
