"""Random tensors through every operator of tensors, with every parameter, against NumPy: dtype, shape and elements."""
import json
import warnings

import numpy as np

import tensor_complex
from draw import COMPLEX, from_array, to_array
from granary_test import GranaryError
from tensor_ops import OPERATORS, SIGNS

NAMES = sorted(OPERATORS)


def operator_of(name):
    """Of op:NAME or param:NAME.PARAMETER."""
    return name.split(':')[1].split('.')[0]


class Part:
    name = 'graphs_tensor'
    covers = ('op:', 'param:')

    @staticmethod
    def aims(name):
        return name.startswith(Part.covers) and operator_of(name) in OPERATORS

    def make(self, draw, number, want=None):
        op = operator_of(want) if want else NAMES[number % len(NAMES)] if number < 3 * len(NAMES) else draw.choice(NAMES)
        draw.want = want and want.replace('.', ':').split(':')[-1]
        inputs, parameters = OPERATORS[op][0](draw)
        return {'op': op, 'inputs': inputs, 'parameters': parameters, 'chunk_bytes': draw.choice([0, 16, 64, 1000])}

    def hits(self, spec):
        return [f'op:{spec["op"]}', 'op:array'] + [f'param:{spec["op"]}.{name}' for name in spec['parameters']]

    def open(self, engine):
        self.engine = engine
        return True

    def close(self):
        pass

    def nodes(self, spec):
        nodes = {}
        for i, kept in enumerate(spec['inputs']):
            array = to_array(kept)
            nodes[f'in{i}'] = {'op': 'array', 'ids': [self.engine.put_tensor(array)], 'shape': list(array.shape), 'dtype': array.dtype.name}
        if spec['op'] == 'array':
            return nodes, 'in0'
        node = {'op': spec['op'], **spec['parameters']}
        if len(spec['inputs']) == 1:
            node['input'] = 'in0'
        elif spec['inputs']:
            node['inputs'] = [f'in{i}' for i in range(len(spec['inputs']))]
        nodes['out'] = node
        return nodes, 'out'

    def judge(self, specs):
        verdicts = [None] * len(specs)
        for size in sorted({s['chunk_bytes'] for s in specs}):
            which = [i for i, s in enumerate(specs) if s['chunk_bytes'] == size]
            answers = self.engine.run_cases([self.nodes(specs[i]) for i in which], size)
            for i, answer in zip(which, answers):
                verdicts[i] = self.compare(specs[i], answer)
        return verdicts

    def compare(self, spec, ours):
        oracle, tolerance = OPERATORS[spec['op']][1:]
        try:
            with np.errstate(all='ignore'), warnings.catch_warnings():
                warnings.simplefilter('ignore')
                theirs = np.asarray(oracle([to_array(kept) for kept in spec['inputs']], spec['parameters']))
        except Exception as error:  # what NumPy refuses nobody compares
            return ('refused', f'NumPy: {error}')
        if theirs.dtype == np.float16:
            theirs, tolerance = theirs.astype('f4'), 2e-3
        if isinstance(ours, GranaryError):
            return ('differs', f'refused: {ours}, where NumPy gives {told(theirs)}')
        fix = SIGNS.get((spec['op'], spec['parameters'].get('part')))
        if fix:
            ours, theirs = fix(ours), fix(theirs)
        if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
            return ('differs', f'{told(ours)}, not {told(theirs)}')
        if theirs.dtype == np.float32 and (tolerance or tensor_complex.is_complex(spec)):
            tolerance = max(tolerance or 0, 2e-5)
        if theirs.dtype.kind == 'c':
            same = tensor_complex.same(ours, theirs, spec['op'] in tensor_complex.MOVES)
            return None if np.all(same) else ('differs', f'{told(ours)}, not {told(theirs)}')
        if tensor_complex.is_complex(spec) and spec['op'] not in tensor_complex.MOVES:
            tolerance = max(tolerance or 0, 1e-7)
        if theirs.dtype.kind == 'f':
            with np.errstate(all='ignore'):
                same = np.isclose(ours, theirs, rtol=tolerance or 0, atol=tolerance or 0, equal_nan=True)
                if not tolerance:
                    same &= (np.signbit(ours) == np.signbit(theirs)) | np.isnan(theirs)
        else:
            same = ours == theirs
        return None if np.all(same) else ('differs', f'{told(ours)}, not {told(theirs)}')

    def smaller(self, spec):
        for name in spec['parameters']:
            yield {**spec, 'parameters': {k: v for k, v in spec['parameters'].items() if k != name}}
        if spec['chunk_bytes']:
            yield {**spec, 'chunk_bytes': 0}
        for i, kept in enumerate(spec['inputs']):
            for axis, n in enumerate(kept['shape']):
                for part in (slice(0, n // 2), slice(n // 2, n)):
                    # Inputs of the same extent shrink together.
                    inputs = []
                    for other in spec['inputs']:
                        a = to_array(other)
                        places = [k for k, m in enumerate(a.shape) if m == n] if n > 1 else []
                        for k in places:
                            a = np.take(a, range(*part.indices(n)), k)
                        inputs.append(from_array(a))
                    if n > 1:
                        yield {**spec, 'inputs': inputs}
            for plain in (0, 1) if kept['dtype'] not in COMPLEX else ():
                values = [v if v == plain else (bool(plain) if kept['dtype'] == 'bool' else plain) for v in kept['values']]
                for k in range(min(len(values), 30)):
                    if kept['values'][k] != values[k] and kept['values'][k] not in (0, 1):
                        yield {**spec, 'inputs': spec['inputs'][:i] + [{**kept, 'values': kept['values'][:k] + [values[k]] + kept['values'][k + 1:]}] + spec['inputs'][i + 1:]}

    def show(self, spec):
        lines = [f'{spec["op"]} {json.dumps(spec["parameters"], ensure_ascii=False)} chunk_bytes={spec["chunk_bytes"]}']
        return '\n'.join(lines + [f'  input {i}: {told(to_array(kept))}' for i, kept in enumerate(spec['inputs'])])


def told(array):
    return f'{array.dtype}{list(array.shape)} {np.array2string(array, threshold=30, max_line_width=10**6, separator=",")}'
