"""Element-wise functions and reductions of every dtype, against NumPy."""
import warnings

import numpy as np

from granary_test import Instance
from tensor_test import Cases

DTYPES = ['bool', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'float32', 'float64']
UNARY = '''negative positive absolute sign square sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan
    sinh cosh tanh arcsinh arccosh arctanh deg2rad rad2deg floor ceil trunc rint isnan isfinite isinf signbit logical_not
    invert'''.split()
BINARY = '''add subtract multiply divide floor_divide mod fmod power float_power arctan2 hypot logaddexp logaddexp2 copysign
    nextafter heaviside maximum minimum fmax fmin equal not_equal less less_equal greater greater_equal logical_and logical_or
    logical_xor bitwise_and bitwise_or bitwise_xor left_shift right_shift gcd lcm'''.split()
REDUCTIONS = '''sum prod max min all any count_nonzero mean nansum nanprod nanmax nanmin nanmean var std nanvar nanstd argmax
    argmin'''.split()
WHOLE = ['floor', 'ceil', 'trunc']
FLOAT16_OVERFLOWS = ['exp', 'exp2', 'expm1', 'sinh', 'cosh']

random = np.random.default_rng(1)


def values(dtype, shape):
    if dtype == 'bool':
        return random.integers(0, 2, shape).astype(bool)
    if dtype.startswith('float'):
        strange = random.choice([np.nan, np.inf, -np.inf, 0.0, 1.0], shape)
        return np.where(random.random(shape) < 0.15, strange, random.standard_normal(shape) * 10).astype(dtype)
    limits = np.iinfo(dtype)
    return random.integers(max(limits.min, -200), min(limits.max, 200), shape, dtype=dtype)


def add_unary(cases):
    for function in UNARY:
        for dtype in DTYPES:
            if function in FLOAT16_OVERFLOWS and dtype in ('int8', 'uint8'):
                continue
            node = {'op': function, 'input': dtype}
            if function in WHOLE and not dtype.startswith('float'):
                cases.add(node, cases.arrays[dtype])  # as NumPy 2 has it; NumPy 1 makes floats of them
                continue
            try:
                cases.add(node, getattr(np, function)(cases.arrays[dtype]))
            except TypeError:
                cases.refuse(node) if dtype == 'bool' else None


def add_binary(cases):
    for function in BINARY:
        for left in DTYPES:
            right = DTYPES[random.integers(0, len(DTYPES))]
            for a, b in ((left, right), (left + '_row', right + '_column')):
                x, y = cases.arrays[a], cases.arrays[b]
                if function == 'power' and np.result_type(x, y).kind == 'i' and (y < 0).any():
                    continue
                try:
                    cases.add({'op': function, 'inputs': [a, b]}, getattr(np, function)(x, y))
                except TypeError:
                    pass


def add_reductions(cases):
    for function in REDUCTIONS:
        for dtype in DTYPES:
            for axes in (None, [0], [1], [-1], [0, 1]):
                keepdims = bool(random.integers(0, 2))
                node = {'op': function, 'input': dtype, 'keepdims': keepdims}
                options = {'keepdims': keepdims, 'axis': None if axes is None else tuple(axes)}
                if function.startswith('arg') and axes is not None:
                    if len(axes) > 1:
                        continue
                    options['axis'] = axes[0]
                if function.endswith(('var', 'std')):
                    options['ddof'] = node['ddof'] = int(random.integers(0, 3))
                if axes is not None:
                    node['axes'] = axes
                cases.add(node, getattr(np, function)(cases.arrays[dtype], **options))


def add_others(cases):
    a, i, b = (cases.arrays[name] for name in ('float64', 'int32', 'bool'))
    cases.add({'op': 'astype', 'input': 'int32', 'dtype': 'int8'}, i.astype('int8'))
    cases.add({'op': 'astype', 'input': 'float64', 'dtype': 'bool'}, a.astype(bool))
    cases.add({'op': 'astype', 'input': 'float64', 'dtype': 'float32'}, a.astype('float32'))
    cases.add({'op': 'where', 'inputs': ['bool', 'float64', 'int32']}, np.where(b, a, i))
    cases.add({'op': 'where', 'inputs': ['int32', 'float64'], 'otherwise': 7.5}, np.where(i, a, 7.5))
    cases.add({'op': 'where', 'input': 'float64', 'then': 1, 'otherwise': 0}, np.where(a, 1, 0))
    cases.add({'op': 'clip', 'input': 'int32', 'min': -5, 'max': 10}, i.clip(-5, 10))
    cases.add({'op': 'clip', 'input': 'float64', 'max': 1.5}, a.clip(None, 1.5))
    cases.add({'op': 'nan_to_num', 'input': 'float64'}, np.nan_to_num(a))
    cases.add({'op': 'nan_to_num', 'input': 'float64', 'nan': 1, 'posinf': 2, 'neginf': -3}, np.nan_to_num(a, nan=1, posinf=2, neginf=-3))
    cases.add({'op': 'round', 'input': 'float64', 'decimals': 2}, a.round(2))
    cases.add({'op': 'round', 'input': 'int32', 'decimals': -1}, i.round(-1))
    cases.add({'op': 'isclose', 'inputs': ['float64', 'float64'], 'equal_nan': True}, np.ones(a.shape, bool))
    cases.add({'op': 'subtract', 'input': 'int8', 'value': 100}, cases.arrays['int8'] - np.int8(100))
    cases.add({'op': 'subtract', 'input': 'uint8', 'value': 5.5, 'left': True}, 5.5 - cases.arrays['uint8'].astype('f8'))
    cases.add({'op': 'sum', 'input': 'empty', 'axes': [0]}, np.zeros(4))
    cases.add({'op': 'mean', 'input': 'empty'}, np.nan)
    for node in ({'op': 'add', 'input': 'int8', 'value': 1000}, {'op': 'max', 'input': 'empty'}, {'op': 'add', 'input': 'int8'},
                 {'op': 'bitwise_and', 'inputs': ['float64', 'int8']}, {'op': 'add', 'inputs': ['float64', 'empty']},
                 {'op': 'argmax', 'input': 'int8', 'axes': [0, 1]}, {'op': 'astype', 'input': 'int8', 'dtype': 'string'}):
        cases.refuse(node)


def check_short_rows(granary):
    """A row that goes to each of many short ones, over the edges of blocks of 1024; small chunks take it row by row."""
    shapes = [(rows, width) for width in (2, 3, 7, 127, 128, 129) for rows in (1024 // width, 1024 // width + 1, 2048 // width + 3)]
    cases = Cases(granary, {f'{dtype}{rows}x{width}': values(dtype, (rows, width)) for dtype in ('float64', 'int16', 'bool')
                            for rows, width in shapes + [(1, width) for _, width in shapes]})
    a = cases.arrays
    for rows, width in shapes:
        tall, row = f'{rows}x{width}', f'1x{width}'
        for left, right in (('float64', 'float64'), ('int16', 'float64'), ('float64', 'int16'), ('int16', 'int16')):
            cases.add({'op': 'add', 'inputs': [left + tall, right + row]}, a[left + tall] + a[right + row])
        cases.add({'op': 'subtract', 'inputs': ['int16' + row, 'int16' + tall]}, a['int16' + row] - a['int16' + tall])
        cases.add({'op': 'where', 'inputs': ['bool' + row, 'float64' + tall, 'int16' + row]},
                  np.where(a['bool' + row], a['float64' + tall], a['int16' + row]))
        cases.add({'op': 'where', 'inputs': ['bool' + tall, 'float64' + row], 'otherwise': 7.5},
                  np.where(a['bool' + tall], a['float64' + row], 7.5))
    cases.inputs['one'] = cases.source(np.array([[2.5]]))
    for rows, width in shapes:
        cases.add({'op': 'where', 'inputs': [f'bool{rows}x{width}', f'float641x{width}', 'one']},
                  np.where(a[f'bool{rows}x{width}'], a[f'float641x{width}'], 2.5))
    cases.check(chunk_bytes=(0, 700))


def check_fusion(granary):
    """A chain with one reader each is one program; as targets of their own its nodes give the same bytes."""
    a, b, c = (random.standard_normal((50, 30)) for _ in range(3))
    cases = Cases(granary, {'a': a, 'b': b[:, :1].copy(), 'c': c[0].copy()})
    graph = {**cases.inputs, 'p': {'op': 'multiply', 'inputs': ['a', 'b']}, 's': {'op': 'add', 'inputs': ['p', 'c']},
             'e': {'op': 'maximum', 'inputs': ['s', 's']}, 't': {'op': 'sum', 'input': 'e', 'axes': [0]}}
    want = (a * b[:, :1] + c[0]).sum(0)
    fused = granary.run(graph, 't')
    apart = granary.run(graph, ['p', 's', 'e', 't'], chunk_bytes=500)[3]
    assert np.allclose(fused, want) and fused.tobytes() == apart.tobytes()
    directory = granary.directory
    with open(f'{directory}/graph.json', 'w') as file:
        import json
        json.dump({'nodes': graph, 'targets': ['t']}, file)
    assert 'fuse-map' in granary.command('run', f'{directory}/graph.json', '--explain')


def main():
    arrays = {'empty': np.zeros((0, 4))}
    for dtype in DTYPES:
        arrays.update({dtype: values(dtype, (7, 5)), dtype + '_row': values(dtype, 5), dtype + '_column': values(dtype, (7, 1))})
    with Instance(executors=2) as granary:
        cases = Cases(granary, arrays)
        add_unary(cases)
        add_binary(cases)
        add_reductions(cases)
        add_others(cases)
        cases.check(chunk_bytes=(0, 100), tolerance=1e-11)
        check_short_rows(granary)
        check_fusion(granary)


warnings.simplefilter('ignore')
main()
