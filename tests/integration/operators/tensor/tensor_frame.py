"""Frames out of tensors and tensors out of frames, however both are cut."""
import numpy as np
import pandas as pd

from granary_test import Instance, same_pandas
from tensor_test import Cases

random = np.random.default_rng(11)
DTYPES = ['bool', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'float32', 'float64']


def from_tensor(granary, cases):
    for name, x in cases.arrays.items():
        columns = [f'c{c}' for c in range(x.shape[1] if x.ndim == 2 else 1)]
        want = pd.DataFrame(x.reshape(len(x), len(columns)), columns=columns)
        nodes = {**cases.inputs, 'f': {'op': 'from_tensor', 'input': name, 'columns': columns}}
        for size in (0, 100):
            same_pandas(granary.run_pandas(nodes, 'f', chunk_bytes=size), want.convert_dtypes(convert_floating=False, convert_string=False), name)
        nodes['t'] = {'op': 'to_tensor', 'input': 'f', 'rows': len(x)}
        for size in (0, 100):
            back = granary.run(nodes, 't', chunk_bytes=size)
            assert back.dtype == x.dtype and (back == x.reshape(back.shape)).all(), (name, size, back)


def to_tensor(granary):
    for rows, pieces in ((1, 1), (7, 3), (1500, 5)):
        frame = pd.DataFrame({dtype: (random.random(rows) * 100 - (0 if dtype[0] in 'ub' else 50)).astype(dtype) for dtype in DTYPES})
        frame['nulls'] = pd.array(np.where(random.random(rows) < 0.3, None, random.integers(0, 9, rows)), 'Int32')
        table = granary.put_frame(frame, pieces)
        for columns in [[d] for d in DTYPES] + [['int8', 'uint8'], ['uint64', 'int64'], ['bool', 'int16'], ['float32', 'int8'], ['int8', 'uint16', 'float32'], ['uint32', 'nulls', 'float32']]:
            want = frame[columns].astype({'nulls': 'float64'} if 'nulls' in columns else {}).to_numpy()
            want = want.astype(np.result_type(*[np.int32 if c == 'nulls' else np.dtype(c) for c in columns]))
            for size in (0, 100):
                ours = granary.run({'f': table, 't': {'op': 'to_tensor', 'input': 'f', 'rows': rows, 'columns': columns}}, 't', chunk_bytes=size)
                assert ours.dtype == want.dtype and np.array_equal(ours, want, equal_nan=want.dtype.kind == 'f'), (columns, ours, want)
        # of rows that were chosen, through other operators
        kept = frame[frame.int8 > 0]
        nodes = {'f': table, 'k': {'op': 'filter', 'input': 'f', 'where': 'int8 > 0'},
                 't': {'op': 'to_tensor', 'input': 'k', 'rows': len(kept), 'columns': ['float64', 'int32']},
                 's': {'op': 'sum', 'input': 't', 'axes': [0]}}
        assert np.allclose(granary.run(nodes, 's'), kept[['float64', 'int32']].to_numpy().sum(0)), rows
        granary.fails({**nodes, 't': {**nodes['t'], 'rows': len(kept) + 1}}, 't', "'t'", 'rows')
        granary.fails({'f': table, 't': {'op': 'to_tensor', 'input': 'f', 'rows': rows, 'columns': ['missing']}}, 't', 'missing')
    granary.fails({'f': table, 't': {'op': 'to_tensor', 'input': 'f', 'rows': rows, 'columns': ['nulls']}}, 't', "'nulls'", 'null')
    texts = granary.put_frame(pd.DataFrame({'s': ['a']}))
    granary.fails({'f': texts, 't': {'op': 'to_tensor', 'input': 'f', 'rows': 1}}, 't', "'s'", 'string')
    granary.fails({'f': texts, 't': {'op': 'negative', 'input': 'f'}}, 't', 'tensors')


with Instance() as granary:
    arrays = {f'{dtype}_{dims}': (random.random((97, 5)[:dims]) * 100).astype(dtype) for dtype in DTYPES for dims in (1, 2)}
    arrays.update(none=np.zeros((0, 2)), wide=random.integers(0, 9, (3, 300)))
    cases = Cases(granary, arrays)
    from_tensor(granary, cases)
    cases.refuse({'op': 'from_tensor', 'input': 'wide', 'columns': ['a']})
    cases.refuse({'op': 'from_tensor', 'input': 'int8_2', 'columns': ['a', 'b', 'a', 'c', 'd']})
    to_tensor(granary)
