"""Every operator of frames as a method, on random frames, against pandas and the model of tests/differ.

The cases and their answers are those of tests/differ/frame_ops.py. What has none there is compared here, or stands in NOT_COMPARED.
GRANARY_SEED, GRANARY_CASES: another seed, other numbers of cases.
"""
import inspect
import os
import re
import unittest

import numpy as np
import pandas as pd

from frames_test import FramesTest, gr
import draw as d
import frame_model as m
from compare import same_rows
from frame_ops import OPERATORS
from graphs_frame import KEYED, UNORDERED
from granary.frames import _columns, _made
from granary.frames._tables import VALUES, functions, operators
from granary.frames._sources import put

SEED = int(os.environ.get('GRANARY_SEED', 1))
CASES = int(os.environ.get('GRANARY_CASES', 25))
ODD = ['a b', '`', 'a`b', 'ü', 'select', '漢字', '%', "it's", 'x"y', 'a.b', '1', 'and', 'true', '\\', 'size', 'k0+1', ' ']
NOT_COMPARED = {
    'append_to': 'test_ends.py appends to a table', 'read_csv': 'test_ends.py: round trips of files', 'write_csv': 'test_ends.py',
    'read_ndjson': 'test_ends.py', 'write_ndjson': 'test_ends.py', 'read_arrow': 'test_ends.py', 'write_arrow': 'test_ends.py',
    'recurse': 'the rows of its round are a node of the body: no method of a frame', 'round_rows': 'the same',
    'read_parquet': 'tests/golden/parquet', 'read_sqlite': 'test_ends.py', 'write_parquet': 'test_ends.py', 'from_tensor': 'its input is a tensor: no method of a frame',
    'write_npy': 'its input is a tensor: no method of a frame', 'sample': 'rows of its own choice: test_sample() here',
    'map_chunk': 'a function of the user', 'groupby_combine': 'operators_exchange: its input are objects', 'shuffle': 'operators_exchange',
    'sort_sample': 'the same', 'shuffle_sorted': 'the same'}


def to_columns(kept, encoded):
    """Columns as the package puts them into the store, of a kept frame."""
    made = []
    for name, column in kept.items():
        dtype, values = column['dtype'], column['values']
        there = np.array([v is not None for v in values], bool)
        if dtype == 'string' and encoded and there.any():
            made.append(_columns.from_series(name, pd.Series(pd.Categorical(values))))
        elif dtype == 'string':
            made.append(_columns._from_objects(name, values))
        elif dtype.startswith('decimal'):
            raw = b''.join((v or 0).to_bytes(16, 'little', signed=True) for v in values)
            made.append(_columns._column(name, dtype, np.frombuffer(raw, 'u1'), len(values), there))
        elif dtype == 'bool':
            made.append(_columns._column(name, dtype, np.packbits(np.array([bool(v) for v in values], bool), bitorder='little'), len(values), there))
        else:
            kind = {'date': 'i4', 'timestamp': 'i8', 'duration': 'i8'}.get(dtype, dtype)
            made.append(_columns._column(name, dtype, np.array([0 if v is None else v for v in values], kind), len(values), there))
    return made


def to_pandas(kept):
    """A DataFrame that from_pandas() makes the same columns of; None when pandas has no such values."""
    made = {}
    for name, column in kept.items():
        dtype, values = column['dtype'], column['values']
        gone = np.array([v is None for v in values], bool)
        if dtype in ('date', 'timestamp', 'duration') or dtype.startswith('decimal') or dtype == 'string' and gone.all():
            return None
        if dtype == 'string':
            made[name] = pd.Series(values, dtype=object)
        elif dtype == 'bool':
            made[name] = pd.Series(pd.arrays.BooleanArray(np.array([bool(v) for v in values], bool), gone))
        else:
            array = pd.arrays.FloatingArray if dtype.startswith('float') else pd.arrays.IntegerArray
            made[name] = pd.Series(array(np.array([0 if v is None else v for v in values], dtype), gone))
    return pd.DataFrame(made)


def listed(frame):
    """A Frame's columns as the model has them: times are whole numbers."""
    made = {}
    for pieces in frame._all():
        values, there = _columns.joined(pieces)
        if pieces[0].dtype in ('date', 'timestamp', 'duration'):
            values = values.astype('i8')
        made[pieces[0].name] = [v if there is None or there[i] else None for i, v in enumerate(values.tolist())]
    return made


def lazy(draw, kept):
    """A kept frame as a plan, in one of the ways there are."""
    pieces = draw.choice([1, 1, 2, 4])
    if draw.chance(0.5):
        frame = to_pandas(kept)
        if frame is not None:
            return gr.from_pandas(frame, pieces=pieces)
    count = len(next(iter(kept.values()))['values'])
    return put(to_columns(kept, draw.chance(0.3)), count, pieces)


def python_value(text):
    """What a str stands for in an expression: as a value where that is what the parameter takes."""
    return gr.expr(text)


def condition(text):
    """The model's condition, made by Python's operators."""
    for word, join in ((' or ', lambda a, b: a | b), (' and ', lambda a, b: a & b)):
        if word in text:
            left, right = text.split(word, 1)
            return join(condition(left), condition(right))
    name, rest = text.split(' ', 1)
    column = gr.col(name.strip('`'))
    if rest in ('is null', 'is not null'):
        return column.is_null() if rest == 'is null' else column.is_not_null()
    sign, other = rest.split(' ', 1)
    value = gr.col(other) if re.fullmatch(r'[a-z]+\d+', other) else m.literal(other)
    return {'<': lambda: column < value, '<=': lambda: column <= value, '=': lambda: column == value, '<>': lambda: column != value,
            '>': lambda: column > value, '>=': lambda: column >= value}[sign]()


def made_by_method(text, free):
    """'sum(c0, 1)' as gr.col('c0').sum(1)."""
    if '(' not in text:
        return getattr(free, text)()
    function, inside = re.fullmatch(r'(\w+)\((.*)\)', text).groups()
    arguments = [a for a in inside.split(', ') if a]
    if not arguments or not re.fullmatch(r'[a-z]+\d*', arguments[0]) or arguments[0] in ('true', 'false'):
        return getattr(free, function)(*[m.literal(a) for a in arguments])
    if function.startswith('ewm') and ' ' in arguments[1]:  # a span, say, in the place of alpha
        word, number = arguments[1].split(' ')
        more = dict(zip(('adjust', 'ignore_na', 'min_periods', 'bias'), (m.literal(a) for a in arguments[2:])))
        return getattr(gr.col(arguments[0]), function)(**{word: float(number)}, **more)
    others = [gr.col(a) if function in ('corr', 'cov', 'cov_pop', 'arg_least', 'arg_most') else m.literal(a) if a.strip("'") != a or a in ('true', 'false') else
              float(a) if '.' in a else int(a) for a in arguments[1:]]
    return getattr(gr.col(arguments[0]), function)(*others)


def call(draw, op, frames, parameters):
    """The method of the operator; half of the time in Python's own way, where there is one."""
    p = {name: value for name, value in parameters.items()}
    for name in list(p):
        if (op, name) in VALUES:
            p[name] = {(python_value(k) if op == 'replace' else k): python_value(v) for k, v in p[name].items()} if isinstance(p[name], dict) else python_value(p[name])
    own = draw.chance(0.5)
    first, others = frames[0] if frames else None, frames[1:]
    if op == 'table':
        return first
    if op == 'date_range':
        return gr.date_range(**p)
    if op == 'concat':
        return gr.concat(frames, how='horizontal') if p.get('axis') == 1 else gr.concat(frames, **{k: v for k, v in p.items() if k in ('join', 'convert')})
    if op == 'select':
        return first.select(p['columns']) if own else first.select(*[gr.col(c) for c in p['columns']])
    if op == 'filter' and own:
        return first.filter(condition(p['where']))
    if op in ('groupby', 'aggregate') and own:
        aggregates = {name: made_by_method(text, gr.functions) for name, text in p['aggregate'].items()}
        keys = p.get('keys', [])
        return first.group_by(*keys, **{k: p[k] for k in ('dropna', 'sort') if k in p}).agg(**aggregates) if op == 'groupby' else first.agg(aggregates)
    if op == 'window' and own and 'dropna' not in p and 'nan_largest' not in p:
        nulls, downs = p.get('nulls', ['last']), p.get('descending', [False])
        if all(n == nulls[0] for n in nulls) and all(re.fullmatch(r'\w+(\([^()]*\))?', text) for text in p['columns'].values()):
            over = [made_by_method(text, gr.functions).over(*p.get('partition', []), order_by=p.get('by'), nulls_last=nulls[0] == 'last',
                                                            descending=downs[0] if len(downs) == 1 else downs) for text in p['columns'].values()]
            return first.with_columns(**dict(zip(p['columns'], over)))
    if op == 'sort' and own and 'nan_largest' not in p:
        return first.sort(*[gr.col(b) for b in p['by']], **{k: v for k, v in p.items() if k != 'by'})
    if op == 'rename' and own:
        return first.rename(**p['columns'])
    return getattr(first, op)(*others, **p)


class Operators(FramesTest):
    def one(self, op, number):
        draw = d.Draw(f'{SEED}.{op}.{number}')
        make, oracle = OPERATORS[op]
        inputs, parameters = make(draw)
        if any('shape' in kept for kept in inputs):
            return
        frames = [lazy(draw, kept) for kept in inputs]
        chunk_bytes = draw.choice([0, 0, 64, 500])
        what = f'{op}({parameters}) seed {SEED}.{op}.{number} chunk_bytes {chunk_bytes}: {inputs}'
        try:
            theirs = oracle([m.model(kept) for kept in inputs], parameters)
        except ValueError:  # a key repeats; or pandas refuses what we do not
            if op != 'join':
                return
            with self.assertRaises(gr.GranaryError, msg=what):
                call(draw, op, frames, parameters).collect(chunk_bytes=chunk_bytes)
            return
        try:
            frame = call(draw, op, frames, parameters).collect(chunk_bytes=chunk_bytes)
        except Exception as error:
            large = any(isinstance(v, int) and abs(v) > 2**50 for kept in inputs for c in kept.values() for v in c['values'])
            if re.search('does not fit|exceeds', str(error)) and (large or any(isinstance(v, int) and abs(v) >= 2**63 for c in theirs.values() for v in c)):
                return  # Python's integers have no end
            raise AssertionError(f'{error}: {what}') from error
        ours = listed(frame)
        self.assertEqual(list(ours), list(theirs), what)
        tolerance = 2e-5 if 'float32' in frame.dtypes else 1e-7
        ordered = not UNORDERED.get(op, lambda p: False)(parameters)
        rows = [[list(row) for row in zip(*side.values())] for side in (ours, theirs)]
        differs = same_rows(*rows, ordered, tolerance, zeros=op not in KEYED)
        self.assertIsNone(differs, f'{differs}: {what}')
        self.consistent(frame, ours, what)

    def consistent(self, frame, ours, what):
        """to_pandas(), to_numpy(), to_dict() and repr() tell the same."""
        rows = len(next(iter(ours.values())))
        self.assertEqual(frame.shape, (rows, len(ours)), what)
        self.assertEqual(sum(len(c) for c in frame), rows)
        self.assertIn(f'({rows} row', repr(frame))
        arrays = frame.to_numpy()
        for name, values in ours.items():
            array, gone = arrays[name], [v is None for v in values]
            self.assertEqual(len(array), rows)
            if isinstance(array, np.ma.MaskedArray):
                self.assertEqual(np.ma.getmaskarray(array).tolist(), gone, what)
                self.assertEqual(array.tolist(), values, what)
            elif array.dtype.kind in 'iub':
                self.assertEqual(array.tolist(), values, what)
            elif array.dtype.kind in 'mM':
                self.assertEqual(np.isnat(array).tolist(), gone, what)
        try:
            table = frame.to_pandas()
        except OverflowError as error:
            self.assertIn('nanoseconds do not reach', str(error))
            return
        for i, (name, values) in enumerate(ours.items()):
            missing = [m.missing(v) for v in values]
            self.assertEqual(table.iloc[:, i].isna().tolist(), missing, f'{name}: {what}')

    def test_sample(self):
        kept = {'n': {'dtype': 'int64', 'values': list(range(50))}}
        frame = put(to_columns(kept, False), 50, 3)
        some = listed(frame.sample(rows=20, seed=3).collect())['n']
        self.assertEqual((len(some), len(set(some))), (20, 20))
        self.assertEqual(some, listed(frame.sample(rows=20, seed=3).collect(chunk_bytes=64))['n'])
        self.assertNotEqual(some, listed(frame.sample(rows=20, seed=4).collect())['n'])
        self.assertEqual(len(frame.sample(fraction=0.5).collect()), 25)
        self.assertEqual(len(frame.sample(rows=200, replace=True).collect()), 200)

    def test_odd_names_and_texts(self):
        """Names and texts of any characters, through every way an expression names them."""
        kept = {name: {'dtype': 'int64', 'values': [i, 7, None]} for i, name in enumerate(ODD, 100)}
        kept['text'] = {'dtype': 'string', 'values': ["it's", 'a`b\n', '🐦"\\']}
        frame = lazy(d.Draw(1), kept)
        for i, name in enumerate(ODD, 100):
            with self.subTest(name=name):
                done = frame.filter(gr.col(name) == 7).select(gr.col(name), (gr.col(name) + 1).alias(name + '`')).collect()
                self.assertEqual(listed(done), {name: [7], name + '`': [8]})
                done = frame.group_by(name).agg(gr.col(name).sum().alias('s'), gr.col('text').count().alias('m')).collect()
                self.assertEqual(listed(done), {name: sorted([i, 7]), 's': sorted([i, 7]), 'm': [1, 1]})
                done = frame.with_columns(w=gr.col(name).cumsum().over(order_by=name)).sort(name).select('w').collect()
                self.assertEqual(listed(done)['w'][-1], None)
                self.assertEqual(listed(frame.rename({name: 'other'}).select('other').collect())['other'], [i, 7, None])
                self.assertEqual(listed(frame.fillna(5, columns=[name]).select(name).collect())[name], [i, 7, 5])
        for text in kept['text']['values']:
            self.assertEqual(listed(frame.filter(gr.col('text') == text).select('text').collect()), {'text': [text]})
            self.assertEqual(listed(frame.filter(gr.col('text').is_in([text, '?'])).select('text').collect()), {'text': [text]})

    def test_every_operator_is_compared(self):
        frames = {name for name, op in operators().items() if op.section == 'Frames'} | {'map_chunk'}
        known = (set(OPERATORS) - {'from_tensor', 'to_tensor'}) | set(NOT_COMPARED)
        self.assertEqual(sorted(frames - known), [], 'compared with nothing')
        self.assertEqual(sorted(set(NOT_COMPARED) - frames), [], 'listed, and no operator')

    def test_every_operator_is_a_method(self):
        for op in operators().values():
            if op.section != 'Frames' or op.name in _made.NOT_METHODS:
                continue
            with self.subTest(op=op.name):
                owner = gr if _made.is_source(op) else gr.LazyFrame
                name = _made.source_name(op) if _made.is_source(op) else _made.method_name(op)
                method = getattr(owner, name)
                self.assertTrue(method.__doc__)
                if method.__module__ == _made.__name__:
                    self.assertEqual(set(inspect.signature(method).parameters) - {'self'} - ({'other'} - set(op.parameters)), set(op.parameters))
        for alias, name in _made.ALIASES.items():
            self.assertIn(name, operators(), alias)
            self.assertTrue(hasattr(gr.LazyFrame, alias))

    def test_every_aggregate_and_window_is_a_method(self):
        for kind in ('aggregates', 'windows'):
            for function in functions(kind).values():
                if function.arguments and function.arguments[0] == 'x':
                    self.assertTrue(callable(getattr(gr.Expr, {'list': 'implode'}.get(function.name, function.name))), function.name)
                else:
                    self.assertTrue(callable(getattr(gr.functions, function.name)), function.name)


def _add(op):
    def test(self):
        for number in range(CASES):
            self.one(op, number)
    setattr(Operators, f'test_{op}', test)


for _op in sorted(set(OPERATORS) - {'from_tensor', 'to_tensor'}):
    _add(_op)
if __name__ == '__main__':
    unittest.main()
