"""Random frames through every operator of frames, with every parameter, against pandas and a model of what the page says.

A third of the cases are chains: operators of rows before it, behind it, or both, so that what the planner moves is seen to be the same.
"""
import decimal
import json

import numpy as np

import frame_model as m
from compare import same_rows
from draw import to_array, to_column, to_list
from frame_ops import OPERATORS
from granary_test import GranaryError

NAMES = sorted(OPERATORS)
OFTEN = ['groupby', 'window', 'window', 'join', 'sort', 'fillna']
WHOLE_INPUT = ('to_tensor', 'update', 'combine_first')  # what a parameter or pandas knows of the input's rows
KEYED = ('groupby', 'value_counts', 'pivot_table', 'idxmax', 'idxmin')  # -0.0 is 0.0 as a key: which of the two is told is left open
UNORDERED = {'groupby': lambda p: p.get('sort') is False, 'join': lambda p: p.get('order') == 'any'}


def operator_of(name):
    """Of op:NAME, param:NAME.PARAMETER, agg:FUNCTION, window:FUNCTION the operator that hits it."""
    kind, rest = name.split(':')
    return {'agg': 'groupby', 'window': 'window'}.get(kind, rest.split('.')[0])


def row_operator(draw, names, keys, kept=None):
    """[operator, parameters] that keeps the columns of a frame: of a kept one, or of these names; keys have values that are exact."""
    op = draw.choice(['filter', 'filter', 'head', 'tail', 'slice', 'dropna', 'rebalance'] + (['sort', 'sort', 'distinct'] if keys else []))
    if op in ('head', 'tail'):
        return [op, {'rows': draw.choice([0, 1, 3, 10, 100])}]
    if op == 'rebalance':
        return [op, {'rows': draw.randint(1, 9)}]
    if op == 'slice':
        return [op, {'start': draw.randint(-12, 12), 'step': draw.choice([1, 2, -1, -3])}]
    if op == 'filter':
        return [op, {'where': m.condition(draw, kept) if kept else f'`{draw.choice(names)}` is {draw.choice(["not ", "not ", ""])}null'}]
    chosen = draw.some(names if op == 'dropna' else keys, 3)
    if op == 'sort':
        return [op, {'by': chosen, 'descending': [draw.chance(0.5) for _ in chosen], 'nulls': [draw.choice(['first', 'last']) for _ in chosen]}]
    return [op, {'subset': chosen}]


def through(frame, steps):
    """The columns and dtypes stay."""
    for op, parameters in steps:
        made = OPERATORS[op][1]([frame], parameters)
        frame = {n: m.Values(frame[n].dtype, values) for n, values in made.items()}
    return frame


class Part:
    name = 'graphs_frame'
    covers = ('op:', 'param:', 'agg:', 'window:')

    @staticmethod
    def aims(name):
        return name.startswith(Part.covers) and operator_of(name) in OPERATORS

    def make(self, draw, number, want=None):
        op = operator_of(want) if want else NAMES[number % len(NAMES)] if number < 2 * len(NAMES) else draw.choice(NAMES + OFTEN * 3)
        draw.want = want and want.replace('.', ':').split(':')[-1]
        inputs, parameters = OPERATORS[op][0](draw)
        spec = {'op': op, 'inputs': inputs, 'parameters': parameters, 'pieces': draw.choice([1, 1, 2, 4]), 'chunk_bytes': draw.choice([0, 0, 64, 500]), 'encoded': draw.chance(0.3),
                'before': [], 'after': []}
        return self.chained(draw, spec) if draw.chance(0.33) else spec

    def chained(self, draw, spec):
        framed = spec['inputs'] and 'shape' not in spec['inputs'][0] and spec['parameters'].get('axis') != 1 and spec['op'] not in WHOLE_INPUT
        if framed and draw.chance(0.7):
            kept = spec['inputs'][0]
            spec['before'] = [row_operator(draw, list(kept), list(kept), kept) for _ in range(draw.choice([1, 1, 2]))]
        if not self.unordered(spec) and 'validate' not in spec['parameters'] and (not spec['before'] or draw.chance(0.5)):
            try:
                theirs = self.theirs(spec)
                names = [] if isinstance(theirs, np.ndarray) else list(theirs)
            except (ValueError, IndexError):  # pandas refuses it, or stumbles over no rows
                names = []
            keys = [n for n in names if not any(isinstance(v, float) for v in theirs[n])]
            spec['after'] = [row_operator(draw, names, keys) for _ in range(draw.choice([1, 1, 2]))] if names else []
        return spec

    @staticmethod
    def unordered(spec):
        return UNORDERED.get(spec['op'], lambda p: False)(spec['parameters'])

    def hits(self, spec):
        found = ['op:table', 'param:table.ids']
        for op, parameters in [[spec['op'], spec['parameters']]] + spec['before'] + spec['after']:
            found += [f'op:{op}'] + [f'param:{op}.{name}' for name in parameters]
        p = spec['parameters']
        if spec['op'] in ('groupby', 'aggregate'):
            found += [f'agg:{text.split("(")[0]}' for text in p['aggregate'].values()]
        if spec['op'] == 'window':
            found += [f'window:{text.split("(")[0]}' for text in p['columns'].values()]
        return found

    def open(self, engine):
        self.engine = engine
        return True

    def close(self):
        pass

    def nodes(self, spec):
        nodes = {}
        for i, kept in enumerate(spec['inputs']):
            if 'shape' in kept:
                array = to_array(kept)
                nodes[f'in{i}'] = {'op': 'array', 'ids': [self.engine.put_tensor(array)], 'shape': list(array.shape), 'dtype': array.dtype.name}
                continue
            columns = {n: to_column({**c, 'encoded': spec['encoded']}) for n, c in kept.items()}
            count = len(next(iter(columns.values())))
            nodes[f'in{i}'] = self.engine.put(columns, min(spec['pieces'], max(1, count)))
        names = [f'in{i}' for i in range(len(spec['inputs']))]
        for i, (op, parameters) in enumerate(spec['before']):
            nodes[f'before{i}'] = {'op': op, 'input': names[0], **parameters}
            names[0] = f'before{i}'
        last = names[0] if spec['op'] == 'table' else 'out'  # of a table there is a node
        if last == 'out':
            nodes['out'] = {'op': spec['op'], **spec['parameters'], **({'input': names[0]} if len(names) == 1 else {'inputs': names} if names else {})}
        for i, (op, parameters) in enumerate(spec['after']):
            nodes[f'after{i}'] = {'op': op, 'input': last, **parameters}
            last = f'after{i}'
        return nodes, last

    def judge(self, specs):
        verdicts = [None] * len(specs)
        for size in sorted({s['chunk_bytes'] for s in specs}):
            which = [i for i, s in enumerate(specs) if s['chunk_bytes'] == size]
            answers = self.engine.run_cases([self.nodes(specs[i]) for i in which], size)
            for i, answer in zip(which, answers):
                verdicts[i] = self.compare(specs[i], answer)
        return verdicts

    @staticmethod
    def theirs(spec):
        """Before what stands behind."""
        frames = [to_array(kept) if 'shape' in kept else m.model(kept) for kept in spec['inputs']]
        if spec['before']:
            frames[0] = through(frames[0], spec['before'])
        return OPERATORS[spec['op']][1](frames, spec['parameters'])

    def compare(self, spec, ours):
        try:
            theirs = self.theirs(spec)
            if spec['after']:
                behind = through({n: m.Values('', list(values)) for n, values in theirs.items()}, spec['after'])
                theirs = {n: c.values for n, c in behind.items()}
        except ValueError as error:  # pandas refuses it, or it has to be refused
            return ('refused', str(error)) if isinstance(ours, GranaryError) or spec['op'] != 'join' else ('differs', 'a key repeats, and nobody says so')
        except (KeyError, IndexError, TypeError) as error:  # a parameter is missing: of a case made too small
            return ('refused', f'no model: {error!r}')
        if isinstance(ours, GranaryError):
            return ('differs', f'refused: {ours}')
        if isinstance(theirs, np.ndarray):
            same = ours.dtype == theirs.dtype and ours.shape == theirs.shape and np.array_equal(ours, theirs, equal_nan=theirs.dtype.kind == 'f')
            return None if same else ('differs', f'{ours.dtype}{ours.shape} {ours.tolist()}, not {theirs.dtype}{theirs.shape} {theirs.tolist()}')
        if list(ours) != list(theirs):
            return ('differs', f'columns {list(ours)}, not {list(theirs)}')
        tolerance = 2e-5 if any(c.dtype == 'float32' for c in ours.values()) else 1e-7
        differs = same_rows(rows(ours), [list(row) for row in zip(*theirs.values())], not self.unordered(spec), tolerance, zeros=spec['op'] not in KEYED)
        return ('differs', f'{differs} (columns {list(ours)})') if differs else None

    def smaller(self, spec):
        for name, plain in (('pieces', 1), ('chunk_bytes', 0), ('encoded', False)):
            if spec[name] != plain:
                yield {**spec, name: plain}
        for place in ('before', 'after'):
            for i in range(len(spec[place])):
                yield {**spec, place: spec[place][:i] + spec[place][i + 1:]}
        for i, kept in enumerate(spec['inputs']):
            if 'shape' in kept:
                continue
            count = len(next(iter(kept.values()))['values'])
            used = json.dumps([spec['parameters'], spec['before'], spec['after']])
            for name in kept:
                if len(kept) > 1 and name not in used:
                    yield self.with_input(spec, i, {n: c for n, c in kept.items() if n != name})
            size = count // 2
            while size:
                for start in range(0, count, size):
                    yield self.with_input(spec, i, {n: {**c, 'values': c['values'][:start] + c['values'][start + size:]} for n, c in kept.items()})
                size //= 2
        for name in spec['parameters']:
            yield {**spec, 'parameters': {k: v for k, v in spec['parameters'].items() if k != name}}
            value = spec['parameters'][name]
            if isinstance(value, dict) and len(value) > 1:
                for key in value:
                    yield {**spec, 'parameters': {**spec['parameters'], name: {k: v for k, v in value.items() if k != key}}}

    @staticmethod
    def with_input(spec, i, kept):
        return {**spec, 'inputs': spec['inputs'][:i] + [kept] + spec['inputs'][i + 1:]}

    def show(self, spec):
        lines = [f'  before: {op} {json.dumps(p)}' for op, p in spec['before']] + [f'{spec["op"]} {json.dumps(spec["parameters"], ensure_ascii=False)} pieces={spec["pieces"]} chunk_bytes={spec["chunk_bytes"]} encoded={spec["encoded"]}']
        lines += [f'  behind: {op} {json.dumps(p)}' for op, p in spec['after']]
        for i, kept in enumerate(spec['inputs']):
            lines += [f'  input {i}: {json.dumps(kept)}'] if 'shape' in kept else [f'  input {i}, {n}: {c["dtype"]} {c["values"]}' for n, c in kept.items()]
        return '\n'.join(lines)


def rows(frame):
    lists = []
    for column in frame.values():
        values = to_list(column)
        if column.dtype.startswith('decimal'):
            scale = int(column.dtype[8:-1])
            values = [None if v is None else decimal.Decimal(v).scaleb(-scale, m.EXACT) for v in values]
        lists.append(values)
    return [list(row) for row in zip(*lists)]
