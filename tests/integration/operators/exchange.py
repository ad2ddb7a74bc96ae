"""Operators in two halves: rows lie in several places, each place runs graphs of its own, and only chunks go from one to another.
Groups, joins, distinct rows, sorts and reductions are then those of all rows in one place, bit for bit."""
import ctypes
import os
import sys

import numpy as np

from damaged_objects import put_object, read_object
from granary_test import Column, GranaryError, Instance, _check, _library, _Result
from random_graphs import check_alive

WORDS = ['', 'a', 'ab', 'é', '🐦 bird', 'longer than seven', 'longer than sevem', 'zwölf']


def random_columns(rng, rows, encoded):
    def holes(share=0.15):
        return rng.random(rows) > share

    return {
        'k': Column('int64', rng.integers(-3, 4, rows), holes()),
        's': Column('string', [WORDS[i] for i in rng.integers(0, len(WORDS), rows)], holes(), encoded),
        'd': Column('date', rng.integers(17000, 17004, rows).astype('i4'), holes()),
        'kf': Column('float64', rng.choice([0.0, -0.0, 1.5, np.nan, -2.25], rows), holes()),
        'i': Column('int32', rng.integers(-1000, 1000, rows).astype('i4'), holes()),
        'f': Column('float64', np.where(rng.random(rows) < 0.1, np.nan, np.round(rng.normal(3, 10, rows), 3) * 10.0 ** rng.integers(-3, 4, rows)), holes()),
        'n': Column('int64', np.arange(rows)),
    }


def chunks_of(granary, key, target):
    result = _Result()
    _check(_library.granary_graph_result(granary.client, key, target.encode(), ctypes.byref(result)))
    try:
        return [bytes(result.chunks[c].bytes).hex() for c in range(result.chunk_count)]
    finally:
        _library.granary_result_free(ctypes.byref(result))


def join_columns(parts):
    def join(columns):
        values = sum([list(c.values) for c in columns], []) if isinstance(columns[0].values, list) else np.concatenate([c.values for c in columns])
        valid = np.concatenate([np.ones(len(c), bool) if c.valid is None else c.valid for c in columns])
        return Column(columns[0].dtype, values, valid, columns[0].encoded)

    return {name: join([p[name] for p in parts]) for name in parts[0]}


class Places:
    """Rows in several places, some without any, cut into chunks in ways of their own; and all of them in one place."""

    def __init__(self, granary, rng, counts, make=random_columns):
        pieces = [make(rng, count, encoded=bool(place % 2)) for place, count in enumerate(counts)]
        for columns in pieces:
            if 'n' in columns:
                columns['n'] = Column('int64', rng.permutation(len(columns['n'])))
        self.granary, self.keys = granary, []
        self.tables = [granary.put(columns, 1 + place % 4) for place, columns in enumerate(pieces)]
        self.all = granary.put(join_columns(pieces), 5)

    def stage(self, nodes, sources):
        """A graph in each place, whose target is `x`; sources: its node `t` in each. The chunks of each."""
        found = []
        for place, source in enumerate(sources):
            own = {name: {k: place if v == 'PLACE' else v for k, v in node.items()} for name, node in nodes.items()}
            self.keys.append(self.granary.submit({'t': source, **own}, ['x']))
            found.append(chunks_of(self.granary, self.keys[-1], 'x'))
        return found

    def parts(self, stage, op='table'):
        """Part j of every place, for the place that has part j."""
        assert len({len(chunks) for chunks in stage}) == 1, stage
        return [{'op': op, 'ids': [chunks[j] for chunks in stage]} for j in range(len(stage[0]))]

    def read(self, stage):
        """The frames of all places, one below the other."""
        return self.granary.run({'t': {'op': 'table', 'ids': sum(stage, [])}, 'x': {'op': 'filter', 'where': 'true', 'input': 't'}}, 'x')

    def clear(self):
        for key in self.keys:
            self.granary.delete(key)
        self.keys = []


def must_be(ours, want, what):
    assert list(ours) == list(want), f'{what}: columns {list(ours)}, not {list(want)}'
    for name in want:
        same = ours[name].dtype == want[name].dtype and repr(ours[name].values) == repr(want[name].values) if want[name].dtype.startswith('list') else ours[name] == want[name]
        assert same, f'{what}: {name}\n{ours[name]!r:.800}\nis not\n{want[name]!r:.800}'


NUMBERS = ['sum', 'mean', 'var', 'std', 'sem', 'median', 'prod', 'skew', 'kurtosis', 'mad', 'any', 'all']
ANY = ['count', 'min', 'max', 'nunique', 'first', 'last', 'mode', 'mode_count', 'entropy', 'list', 'array', 'unique']
AGGREGATES = {
    'rows': 'size', **{f'{f} {c}': f'{f}({c})' for f in NUMBERS for c in ('i', 'f') if (f, c) != ('prod', 'i')}, **{f'{f} {c}': f'{f}({c})' for f in ANY for c in ('i', 'f', 's', 'd')},
    'quantile': 'quantile(f, 0.3)', 'corr': 'corr(i, f)', 'cov': 'cov(f, i)', 'least': 'arg_least(s, f)', 'most': 'arg_most(n, i)', 'bits': 'bit_xor(i)',
    'computed': 'sum(i * 2 + n)', 'or': 'bit_or(i)', 'and': 'bit_and(i)',
}
SCHEMA = {'k': 'int64', 's': 'string', 'd': 'date', 'kf': 'float64', 'i': 'int32', 'f': 'float64', 'n': 'int64'}
ROWS = {'columns': list(SCHEMA), 'dtypes': list(SCHEMA.values())}


def check_groups(granary, rng):
    for keys, parts, dropna, sort, counts in ((['k'], 3, True, False, (700, 0, 333)), (['s', 'k'], 4, False, False, (900, 1200)), (['s'], 1, False, True, (50, 60, 0)),
                                              (['d', 'kf'], 5, False, False, (40, 2, 300)), (['kf'], 2, True, False, (0, 0)), ([], 1, True, True, (300, 40))):
        places = Places(granary, rng, counts)
        for aggregate in (AGGREGATES, {'v': 'largest(f, 3)'}):
            group = {'keys': keys, 'aggregate': aggregate, 'dropna': dropna}
            want = granary.run({'t': places.all, 'x': {'op': 'groupby', 'input': 't', 'sort': sort, **group}}, 'x')
            tables = places.stage({'x': {'op': 'groupby_partial', 'input': 't', 'parts': parts, **group}}, places.tables)
            assert all(len(t) == parts for t in tables)
            found = places.stage({'x': {'op': 'groupby_combine', 'input': 't', 'sort': sort, **group, **ROWS}}, places.parts(tables, 'object'))
            must_be(places.read(found), want, f'groups by {keys}')
        places.clear()


def check_filtered_groups(granary, rng):
    """What comes before the first half is computed in it."""
    places = Places(granary, rng, (400, 500))
    group = {'keys': ['w'], 'aggregate': {'m': 'sum(i)', 'v': 'mean(v)'}}
    below = {'a': {'op': 'assign', 'input': 't', 'columns': {'w': 'upper(s)', 'v': 'f * 2', 'unread': 'i + n'}}, 'b': {'op': 'filter', 'input': 'a', 'where': 'i > 0 and n < 390'}}
    want = granary.run({'t': places.all, **below, 'x': {'op': 'groupby', 'input': 'b', **group}}, 'x')
    tables = places.stage({**below, 'x': {'op': 'groupby_partial', 'input': 'b', **group}}, places.tables)
    combine = {'op': 'groupby_combine', 'input': 't', **group, 'columns': ['w', 'i', 'v'], 'dtypes': ['string', 'int32', 'float64']}
    must_be(places.read(places.stage({'x': combine}, places.parts(tables, 'object'))), want, 'filtered')
    one = granary.run({'t': places.all, **below, 'p': {'op': 'groupby_partial', 'input': 'b', **group}, 'x': {**combine, 'input': 'p'}}, 'x')
    must_be(one, want, 'both halves in one graph')
    places.clear()


def check_shuffles(granary, rng):
    """Equal keys meet, whatever their dictionaries; order is kept; joins and distinct rows are those of one place."""
    for keys, parts, counts in ((['k'], 3, (500, 0, 321)), (['s'], 4, (300, 700)), (['s', 'kf', 'd'], 2, (400, 300, 100)), (['kf'], 1, (20, 30)), (['k'], 3, (0, 0))):
        places = Places(granary, rng, counts)
        dealt = places.stage({'x': {'op': 'shuffle', 'input': 't', 'keys': keys, 'parts': parts, 'number': '#n', 'part': 'PLACE'}}, places.tables)
        assert all(len(chunks) == parts for chunks in dealt)
        of = {}
        for part, table in enumerate(places.parts(dealt)):
            frame = granary.run({'t': table, 'x': {'op': 'head', 'rows': 10**6, 'input': 't'}}, 'x')
            for row in range(len(frame['k'])):
                key = tuple('null' if frame[k].valid is not None and not frame[k].valid[row] else 'nan' if frame[k].values[row] != frame[k].values[row]
                            else frame[k].values[row] + 0.0 if k == 'kf' else frame[k].values[row] for k in keys)
                assert of.setdefault(key, part) == part, f'{key} is in two parts'
            assert np.all(np.diff(frame['#n'].values) > 0)
        assert of.get(('null',) * len(keys), 0) == 0 and (parts == 1 or sum(counts) < 10 or len(set(of.values())) > 1)
        whole = {name: c for name, c in granary.run({'t': {'op': 'table', 'ids': sum(dealt, [])}, 'x': {'op': 'sort', 'by': '#n', 'input': 't'}}, 'x').items()}
        at = np.concatenate([(place << 40) + np.arange(count) for place, count in enumerate(counts)])
        assert np.array_equal(whole.pop('#n').values, at)
        must_be(whole, granary.run({'t': places.all, 'x': {'op': 'head', 'rows': 10**6, 'input': 't'}}, 'x'), 'order')

        once = places.stage({'x': {'op': 'distinct', 'subset': keys, 'input': 't'}}, places.parts(dealt))
        ours = granary.run({'t': {'op': 'table', 'ids': sum(once, [])}, 'o': {'op': 'sort', 'by': '#n', 'input': 't'}, 'x': {'op': 'drop', 'columns': ['#n'], 'input': 'o'}}, 'x')
        must_be(ours, granary.run({'t': places.all, 'x': {'op': 'distinct', 'subset': keys, 'input': 't'}}, 'x'), 'distinct')
        places.clear()


def check_sorts(granary, rng):
    """Samples of all places cut the sort; parts are about even, equal rows are together, and sorted parts are the whole."""
    orders = [(['s'], {}, (700, 0, 321)), (['kf', 'k'], {'descending': [True, False]}, (900, 30)), (['kf'], {'nan_largest': True, 'nulls': ['first']}, (300, 200)),
              (['d', 's'], {'nulls': ['first', 'last'], 'descending': [False, True]}, (10, 600)), (['n'], {'descending': [True]}, (2000, 100, 100)), (['i'], {}, (0, 0))]
    for by, order, counts in orders:
        parts = 1 + len(by) + len(counts)
        places = Places(granary, rng, counts)
        samples = places.stage({'x': {'op': 'sort_sample', 'input': 't', 'by': by, 'rows': 200, **order}}, places.tables)
        assert all(len(chunks) == 1 for chunks in samples)
        seen = granary.run({'t': {'op': 'table', 'ids': sum(samples, [])}, 'x': {'op': 'head', 'rows': 10**6, 'input': 't'}}, 'x')
        assert list(seen) == [*by, '#rows'] and seen['#rows'].values.sum() == sum(counts) and len(seen['#rows']) <= 260 * len(counts)
        dealt = places.stage({'samples': {'op': 'table', 'ids': sum(samples, [])}, 'x': {'op': 'shuffle_sorted', 'inputs': ['t', 'samples'], 'by': by, 'parts': parts, **order}},
                             places.tables)
        assert all(len(chunks) == parts for chunks in dealt)
        ordered = places.stage({'x': {'op': 'sort', 'input': 't', 'by': by, **order}}, places.parts(dealt))
        want = granary.run({'t': places.all, 'x': {'op': 'sort', 'input': 't', 'by': by, **order}}, 'x')
        must_be(places.read(ordered), want, f'sorted by {by}')
        frames = [granary.run({'t': {'op': 'table', 'ids': ids}, 'x': {'op': 'head', 'rows': 10**6, 'input': 't'}}, 'x') for ids in ordered]
        keys = [{repr([(None if c.valid is not None and not c.valid[r] else c.values[r] + (0.0 if name == 'kf' else c.values[r] * 0 if name != 's' else '')) for name, c in
                       ((name, frame[name]) for name in by)]) for r in range(len(frame['n']))} for frame in frames]
        assert sum(map(len, keys)) == len(set().union(*keys)), 'equal rows are in two parts'
        if by == ['n']:
            assert max(len(frame['n']) for frame in frames) < 1.6 * sum(counts) / parts, [len(frame['n']) for frame in frames]
        places.clear()


def check_hot(granary, rng):
    """A key that most rows have: its rows are dealt to all parts, and a join finds them."""
    def skewed(rng, rows, encoded):
        common = rng.random(rows) < 0.8
        return {'k': Column('string', ['hot' if c else f'k{i}' for c, i in zip(common, rng.integers(0, 40, rows))], rng.random(rows) > 0.05, encoded),
                'n': Column('int64', np.arange(rows))}

    places = Places(granary, rng, (500, 0, 700), skewed)
    other = granary.put({'k': Column('string', ['hot', 'hot'] + [f'k{i}' for i in range(30)]), 'w': Column('int64', np.arange(32))}, 3)
    hot = granary.put({'k': Column('string', ['hot', '']  , [True, False])}, 2)
    shuffle = {'op': 'shuffle', 'keys': ['k'], 'parts': 3, 'inputs': ['t', 'hot']}
    both = granary.put({'k': Column('string', ['hot', 'k1', 'k2']), '#copy': Column('int64', np.array([0, 1, 1]))}, 1)  # k1 and k2 are the other side's
    for how, hot in (('inner', hot), ('inner', both), ('left', hot), ('semi', hot), ('anti', hot)):
        left = places.stage({'hot': hot, 'x': {**shuffle, 'hot': 'deal', 'number': 'at', 'part': 'PLACE'}}, places.tables)
        right = places.stage({'hot': hot, 'x': {**shuffle, 'hot': 'copy'}}, [other])
        rows = [granary.run({'t': t, 'x': {'op': 'count_rows', 'input': 't'}}, 'x') for t in places.parts(left)]
        counts = [int(next(iter(r.values())).values[0]) for r in rows]
        assert (sum(counts) == 1200) == (hot is not both) and max(counts) < 620, counts
        join = {'op': 'join', 'inputs': ['t', 'r'], 'on': ['k'], 'how': how}
        joined = [granary.submit({'t': a, 'r': b, 'x': join}, ['x']) for a, b in zip(places.parts(left), places.parts(right))]
        ids = sum([chunks_of(granary, key, 'x') for key in joined], [])
        ours = granary.run({'t': {'op': 'table', 'ids': ids}, 'o': {'op': 'sort', 'by': 'at', 'input': 't'}, 'x': {'op': 'drop', 'columns': ['at'], 'input': 'o'}}, 'x')
        must_be(ours, granary.run({'t': places.all, 'r': other, 'x': join}, 'x'), how)
        for key in joined:
            granary.delete(key)
        places.clear()


FLOATS = ['sum', 'prod', 'max', 'min', 'mean', 'nansum', 'nanprod', 'nanmax', 'nanmin', 'nanmean', 'var', 'std', 'nanvar', 'nanstd', 'all', 'any', 'count_nonzero']


def tensor(granary, values):
    name = {'f8': 'float64', 'f4': 'float32', 'i8': 'int64', 'i4': 'int32', 'u1': 'uint8', 'b1': 'bool', 'c16': 'complex128'}[values.dtype.str[1:]]
    return {'op': 'array', 'ids': [granary.put_tensor(values)], 'shape': list(values.shape), 'dtype': name}


def check_reductions(granary, rng):
    """Rows of a tensor in several places, cut in other ways than the whole."""
    for shape, axes, dtype, parts in (((37, 5), None, 'f8', 3), ((40, 6, 3), [0], 'f8', 2), ((31, 4, 2), [0, -1], 'f4', 4), ((29,), [0], 'i8', 5), ((12, 7), [0], 'i4', 2),
                                      ((2, 3), None, 'u1', 4), ((23, 5), [0], '?', 2)):
        values = rng.normal(0, 100, shape)
        values = values > 0 if dtype == '?' else np.round(values if dtype[0] == 'f' else abs(values)).astype(dtype)
        if dtype == 'f8':
            values[rng.random(shape) < 0.05] = np.nan
        whole = tensor(granary, values)
        rows = [tensor(granary, part) for part in np.array_split(values, parts)]
        more = {} if axes is None else {'axes': axes}
        functions = FLOATS + (['argmax', 'argmin'] if axes is None or len(axes) == 1 else [])
        for function in functions if dtype == 'f8' else rng.choice(functions, 6, replace=False).tolist():
            given = {'function': function, **more}
            keys = [granary.submit({'t': row, 'x': {'op': 'reduce_partial', 'input': 't', 'shape': list(shape), 'part': p, 'parts': parts, **given}}, ['x'], chunk_bytes=64 * p)
                    for p, row in enumerate(rows)]
            ids = [chunks_of(granary, key, 'x') for key in keys]
            assert all(len(found) == 1 for found in ids)
            result = {'keepdims': bool(rng.integers(2)), **({'ddof': 1} if function in ('var', 'nanstd') else {})}
            ours = granary.run({'o': {'op': 'object', 'ids': sum(ids, [])},
                                'x': {'op': 'reduce_combine', 'input': 'o', 'shape': list(shape), 'dtype': whole['dtype'], **given, **result}}, 'x')
            want = granary.run({'t': whole, 'x': {'op': function, 'input': 't', **more, **result}}, 'x')
            same = ours.dtype == want.dtype and ours.shape == want.shape and np.array_equal(ours, want, equal_nan=ours.dtype.kind == 'f')
            assert same, f'{function} {shape} {axes} {dtype}: {ours} is not {want}'
            for key in keys:
                granary.delete(key)


def check_fused_reduction(granary, rng):
    """What comes before the first half is computed in it, also of rows and a column that stretch."""
    a, b = rng.normal(size=(50, 6)), rng.normal(size=6)
    nodes = {'b': tensor(granary, b), 's': {'op': 'multiply', 'inputs': ['t', 'b']}, 'e': {'op': 'exp', 'input': 's'}}
    keys = [granary.submit({'t': tensor(granary, rows), **nodes, 'x': {'op': 'reduce_partial', 'function': 'mean', 'axes': [0], 'input': 'e'}}, ['x'],
                           chunk_bytes=200) for rows in (a[:20], a[20:])]
    ids = sum([chunks_of(granary, key, 'x') for key in keys], [])
    ours = granary.run({'o': {'op': 'object', 'ids': ids}, 'x': {'op': 'reduce_combine', 'function': 'mean', 'axes': [0], 'input': 'o', 'shape': [50, 6], 'dtype': 'float64'}}, 'x')
    want = granary.run({'t': tensor(granary, a), **nodes, 'x': {'op': 'mean', 'axes': [0], 'input': 'e'}}, 'x')
    assert np.array_equal(ours, want) and np.allclose(want, np.exp(a * b).mean(0)), (ours, want)

    def combine(words, ids=ids, **other):
        node = {'op': 'reduce_combine', 'function': 'mean', 'axes': [0], 'input': 'o', 'shape': [50, 6], 'dtype': 'float64', **other}
        granary.fails({'o': {'op': 'object', 'ids': ids}, 'x': node}, 'x', *words)

    combine(['another shape'], shape=[50, 7])
    combine(['float64, and not float32'], dtype='float32')
    combine(["no reduction 'meen'"], function='meen')
    combine(['the first axis'], axes=[1])
    combine(['partial result of max'], function='max')
    combine(['no partial result'], ids=[put_object(granary, b'nothing', b'')])
    combine(["'dtype'"], dtype='string')
    table = {'t': granary.put({'n': Column('int64', np.arange(3))}), 'x': {'op': 'reduce_partial', 'function': 'sum', 'input': 't'}}
    granary.fails(table, 'x', 'works on tensors')
    part = {'t': tensor(granary, a[:20]), 'x': {'op': 'reduce_partial', 'function': 'argmax', 'input': 't', 'part': 0, 'parts': 2}}
    granary.fails(part, 'x', "'shape' is missing")
    granary.fails({**part, 'x': {**part['x'], 'shape': [50, 6]}}, 'x', 'is not part 0 of 2')
    granary.fails({**part, 'x': {**part['x'], 'part': 2}}, 'x', "'part' is 2 of 2")
    good = read_object(granary, ids[0])[0]
    for _ in range(int(os.environ.get('GRANARY_DAMAGED', '15'))):
        data = bytearray(good)
        at = int(rng.integers(0, 24)) * 4 if rng.random() < 0.6 else int(rng.integers(0, len(data) // 4)) * 4
        data[at:at + 4] = int(rng.choice([0, 1, 2**31 - 1, 2**31, 2**32 - 1, 8, rng.integers(0, 2**32)])).to_bytes(4, 'little')
        try:
            granary.run({'o': {'op': 'object', 'ids': [put_object(granary, data, b'')]}, 'x': {'op': 'reduce_combine', 'function': 'mean', 'axes': [0], 'input': 'o', 'shape': [50, 6], 'dtype': 'float64'}}, 'x')
        except GranaryError as error:
            check_alive(error)
    for key in keys:
        granary.delete(key)


def in_parts(granary, values, parts, align):
    """Parts of a tensor as `split` gives them, each an array of its own."""
    units = -(-len(values) // align)
    borders = [min(len(values), (units // parts * p + min(p, units % parts)) * align) for p in range(parts + 1)]
    return [(tensor(granary, np.ascontiguousarray(values[a:b])), b - a) for a, b in zip(borders, borders[1:])]


def kept(granary, nodes, chunk_bytes=0):
    """The result x of a graph, as an array of one chunk that others read."""
    return tensor(granary, np.ascontiguousarray(granary.run(nodes, 'x', chunk_bytes=chunk_bytes)))


def stacked(granary, made):
    return {**{f's{i}': one for i, one in enumerate(made)}, 's': {'op': 'concatenate', 'inputs': [f's{i}' for i in range(len(made))]}}


def check_tall(granary, rng):
    """Products and factorisations whose blocks are in several places, with the bytes of one place."""
    for rows, m, n, block, dtype, parts in ((100, 3, 5, 16, 'f8', 3), (97, 4, 1, 8, 'f4', 4), (64, 2, 3, 64, 'i8', 1), (50, 3, 2, 4, 'c16', 5), (33, 2, 2, 8, '?', 2)):
        left, right = (np.asarray(rng.normal(0, 3, (rows, k)), dtype=dtype if dtype != '?' else 'f8') for k in (m, n))
        left, right = (left > 0, right > 0) if dtype == '?' else (left, right)
        made = []
        for (a, count), (b, _) in zip(in_parts(granary, left, parts, block), in_parts(granary, right, parts, block)):
            nodes = {'a': a, 't': {'op': 'transpose', 'input': 'a'}, 'b': b, 'x': {'op': 'product_partial', 'inputs': ['t', 'b'], 'block': block}}
            made.append(kept(granary, nodes, 64))
            assert made[-1]['shape'] == [-(-count // block) * m, n], made[-1]
        ours = granary.run({**stacked(granary, made), 'x': {'op': 'product_combine', 'input': 's', 'rows': m, 'dtype': left.dtype.name}}, 'x')
        whole = kept(granary, {'a': tensor(granary, left), 't': {'op': 'transpose', 'input': 'a'}, 'b': tensor(granary, right), 'x': {'op': 'product_partial', 'inputs': ['t', 'b'], 'block': block}})
        once = granary.run({'s': whole, 'x': {'op': 'product_combine', 'input': 's', 'rows': m, 'dtype': left.dtype.name}}, 'x')
        assert ours.tobytes() == once.tobytes() and ours.dtype == left.dtype and np.allclose(ours, left.T @ right, rtol=1e-4, atol=1e-4), (dtype, ours, left.T @ right)
    for rows, n, block, align, parts in ((100, 5, 16, 16, 3), (67, 4, 8, 16, 2), (200, 7, 7, 14, 5), (41, 3, 8, 8, 1)):
        values = rng.normal(size=(rows, n))
        split = in_parts(granary, values, parts, align)
        factors = [kept(granary, {'a': a, 'x': {'op': 'qr_partial', 'input': 'a', 'block': block}}, 64) for a, _ in split]
        stack = stacked(granary, factors)
        q, r = (granary.run({**stack, 'x': {'op': 'qr_combine', 'input': 's', 'part': part}}, 'x') for part in 'qr')
        rest = {'op': 'qr_apply', 'inputs': ['a', 'q'], 'block': block, 'rows': rows, 'parts': parts, 'align': align}
        own = [granary.run({'a': a, 'q': tensor(granary, q), 'x': {**rest, 'part': p}}, 'x') for p, (a, _) in enumerate(split)]
        whole = granary.run({'a': tensor(granary, values), 'q': tensor(granary, q), 'x': {**rest, 'part': 0, 'parts': 1}}, 'x')
        assert np.concatenate(own).tobytes() == whole.tobytes(), (rows, n)
        assert np.allclose(whole @ r, values) and np.allclose(whole.T @ whole, np.eye(n)) and np.allclose(np.tril(r, -1), 0)
    a, b = tensor(granary, rng.normal(size=(20, 3))), tensor(granary, rng.normal(size=(20, 2)))
    empty = tensor(granary, np.zeros((0, 3)))
    for words, node in ((['do not fit'], {'op': 'product_partial', 'inputs': ['a', 'b'], 'block': 4}), (["'block'"], {'op': 'product_partial', 'inputs': ['t', 'b'], 'block': 0}),
                        (['no whole products'], {'op': 'product_combine', 'input': 'a', 'rows': 3, 'dtype': 'float64'}), (['no product'], {'op': 'product_combine', 'input': 'a', 'rows': 4, 'dtype': 'int8'}),
                        (["'block' is 2", '3 columns'], {'op': 'qr_partial', 'input': 'a', 'block': 2}), (['not empty'], {'op': 'qr_partial', 'input': 'e', 'block': 4}),
                        (['is not part 1 of 2'], {'op': 'qr_apply', 'inputs': ['a', 'q'], 'block': 4, 'rows': 20, 'part': 1, 'parts': 2}),
                        (["'part' is 2 of 2"], {'op': 'qr_apply', 'inputs': ['a', 'q'], 'block': 4, 'rows': 20, 'part': 2, 'parts': 2}),
                        (['no q'], {'op': 'qr_apply', 'inputs': ['a', 'q'], 'block': 4, 'rows': 20}), (["'part'"], {'op': 'qr_combine', 'input': 'a', 'part': 'u'})):
        granary.fails({'a': a, 'b': b, 'e': empty, 'q': tensor(granary, np.eye(3)), 't': {'op': 'transpose', 'input': 'a'}, 'x': node}, 'x', *words)


def check_rows(granary, rng):
    """Rows of a product in several places: of a small right side, of a large one, and of a long inner dimension; and all dtypes."""
    for m, k, n, dtype, parts, align in ((1000, 20, 30, 'f8', 3, 256), (301, 7, 5, 'f4', 3, 128), (300, 300, 4200, 'f8', 3, 128), (200, 9000, 3, 'f8', 2, 128), (130, 4, 6, 'i4', 2, 128),
                                         (150, 40, 8, 'c16', 2, 128)):
        left, right = rng.normal(0, 30, (m, k)).astype(dtype), rng.normal(0, 30, (k, n)).astype(dtype)
        b = tensor(granary, right)
        whole = granary.run({'a': tensor(granary, left), 'b': b, 'x': {'op': 'matmul', 'inputs': ['a', 'b']}}, 'x')
        split = in_parts(granary, left, parts, align)
        own = [granary.run({'a': a, 'b': b, 'x': {'op': 'product_rows', 'inputs': ['a', 'b'], 'rows': m}}, 'x', chunk_bytes=4096 * p) for p, (a, _) in enumerate(split)]
        assert len(split) == parts and all(count > 0 for _, count in split)
        assert np.concatenate(own).tobytes() == whole.tobytes() and np.allclose(whole, left @ right, rtol=1e-4, atol=1e-2), (m, k, n, dtype)
    a, b, stack = (tensor(granary, np.zeros(shape)) for shape in ((20, 3), (3, 2), (2, 3, 3)))
    for words, node in ((["'rows' is 19", '20 rows'], {'inputs': ['a', 'b'], 'rows': 19}), (['do not fit'], {'inputs': ['b', 'b'], 'rows': 20}),
                        (['two matrices'], {'inputs': ['s', 's'], 'rows': 20}), (["'rows'"], {'inputs': ['a', 'b'], 'rows': 0})):
        granary.fails({'a': a, 'b': b, 's': stack, 'x': {'op': 'product_rows', **node}}, 'x', *words)


def check_axes(granary, rng):
    """A tensor dealt along each of its axes, from several places: what one place has of all is a part of the whole."""
    for shape, axis, parts, align, dtype in (((40, 9), 1, 4, 1, 'f8'), ((31, 6, 5), -1, 3, 2, 'i4'), ((12, 70, 2), 1, 2, 64, 'c16'), ((10, 3), 1, 5, 1, 'u1'), ((9, 4), 0, 2, 1, '?')):
        values = rng.normal(0, 100, shape)
        values = values > 0 if dtype == '?' else abs(values).astype(dtype)
        places = values[:7], values[7:8], values[8:]
        keys = [granary.submit({'t': tensor(granary, rows), 'x': {'op': 'shuffle_axis', 'input': 't', 'axis': axis, 'parts': parts, 'align': align}}, ['x'], chunk_bytes=64 * p)
                for p, rows in enumerate(places)]
        dealt = [chunks_of(granary, key, 'x') for key in keys]
        assert all(len(found) == parts for found in dealt)
        for p in range(parts):
            if axis == 0:  # along which the places are: each has parts of its own, and some are empty
                wanted = [[np.array_split(rows, parts)[p]] for rows in places]
            else:
                split = {'op': 'split', 'input': 't', 'axis': axis, 'parts': parts, 'part': p, 'align': align}
                whole = granary.run({'t': tensor(granary, values), 'x': split}, 'x')
                wanted = [np.split(whole, [7, 8])]
            for pieces, ids in zip(wanted, [[found[p]] for found in dealt] if axis == 0 else [[found[p] for found in dealt]]):
                arrays = [{'op': 'array', 'ids': [one], 'shape': list(piece.shape), 'dtype': piece.dtype.name} for piece, one in zip(pieces, ids)]
                ours = granary.run({**stacked(granary, arrays), 'x': {'op': 'reshape', 'input': 's', 'shape': [-1]}}, 'x')
                assert ours.tobytes() == np.concatenate(pieces).tobytes(), (shape, axis, p)
        for key in keys:
            granary.delete(key)
    t = tensor(granary, np.zeros((4, 3)))
    for words, node in ((["'axis' is 2", '2 dimensions'], {'axis': 2, 'parts': 2}), (["'parts'"], {'axis': 1, 'parts': 0}), (["'align'"], {'axis': 1, 'parts': 2, 'align': 0})):
        granary.fails({'t': t, 'x': {'op': 'shuffle_axis', 'input': 't', **node}}, 'x', *words)


def check_types(granary, rng):
    """Both sides of a join meet when they are dealt in the dtypes that are compared."""
    left = granary.put({'k': Column('int32', rng.integers(0, 50, 400).astype('i4'), rng.random(400) > 0.1), 'v': Column('int64', np.arange(400))}, 3)
    right = granary.put({'k': Column('float64', rng.integers(0, 50, 60) / 2.0), 'w': Column('int64', np.arange(60))}, 2)
    join = {'op': 'join', 'inputs': ['l', 'r'], 'on': ['k'], 'how': 'left'}
    want = granary.run({'l': left, 'r': right, 'x': join}, 'x')
    keys = [granary.submit({'t': t, 'x': {'op': 'shuffle', 'input': 't', 'keys': ['k'], 'types': ['int64'], 'parts': 3, **more}}, ['x'])
            for t, more in ((left, {'number': 'at'}), (right, {}))]
    sides = [chunks_of(granary, key, 'x') for key in keys]
    joined = [granary.submit({'l': {'op': 'table', 'ids': [a]}, 'r': {'op': 'table', 'ids': [b]}, 'x': join}, ['x']) for a, b in zip(*sides)]
    ids = sum([chunks_of(granary, key, 'x') for key in joined], [])
    ours = granary.run({'t': {'op': 'table', 'ids': ids}, 'o': {'op': 'sort', 'by': 'at', 'input': 't'}, 'x': {'op': 'drop', 'columns': ['at'], 'input': 'o'}}, 'x')
    must_be(ours, want, 'join')
    for key in keys + joined:
        granary.delete(key)


def check_refusals(granary, rng):
    table = granary.put(random_columns(rng, 30, True))
    a_tensor = granary.put_tensor(np.arange(5.0))
    group = {'keys': ['s'], 'aggregate': {'v': 'sum(i)'}}
    key = granary.submit({'t': table, 'x': {'op': 'groupby_partial', 'input': 't', **group}}, ['x'])
    made = chunks_of(granary, key, 'x')
    rows = {'columns': ['s', 'i'], 'dtypes': ['string', 'int32']}

    def combine(ids, words, **other):
        granary.fails({'o': {'op': 'object', 'ids': ids}, 'x': {'op': 'groupby_combine', 'input': 'o', **group, **rows, **other}}, 'x', *words)

    combine(table['ids'], ['no partial result of groupby'])
    combine(made + [a_tensor], ['no partial result of groupby'])
    combine([put_object(granary, b'hello, these are no groups, but more bytes than the head of a table of groups would have', b'')], ['it is no partial result'])
    combine(made, ['other aggregates'], aggregate={'v': 'sum(i)', 'w': 'size'})
    combine(made, ['other'], aggregate={'v': 'mean(i)', 'w': 'min(i)'})
    combine(made, ["'s'", 'is string, and not int64'], dtypes=['int64', 'int32'])
    combine(made, ["there is no dtype 'strong'"], dtypes=['strong', 'int32'])
    combine(made, ['2 columns, not 1'], dtypes=['string'])
    combine(made, ["'s' is given twice"], columns=['s', 's'])
    combine(made, ["no column 's'"], columns=['z', 'i'])
    nodes = {'t': table, 'x': {'op': 'groupby_partial', 'input': 't', **group}}
    granary.fails({**nodes, 'x': {**nodes['x'], 'parts': 0}}, 'x', "'parts'")
    granary.fails({**nodes, 'x': {**nodes['x'], 'keys': [], 'parts': 2}}, 'x', "'parts' must be 1")
    granary.fails({**nodes, 'x': {**nodes['x'], 'aggregate': {'v': 'sum(s)'}}}, 'x', "aggregate 'v'")
    granary.fails({**nodes, 'y': {'op': 'groupby_combine', 'input': 't', **group, **rows}}, 'y', 'works on objects', 'yields a frame')
    granary.fails({**nodes, 'y': {'op': 'groupby_partial', 'input': 'x', **group}}, 'y', 'works on frames', 'yields objects')
    shuffle = {'op': 'shuffle', 'input': 't', 'keys': ['s'], 'parts': 2}
    granary.fails({'t': table, 'x': {**shuffle, 'number': 'i'}}, 'x', "column 'i' already")
    granary.fails({'t': table, 'x': {**shuffle, 'types': []}}, 'x', '1 keys, not 0')
    granary.fails({'t': table, 'x': {**shuffle, 'keys': ['z']}}, 'x', "'z'")
    granary.fails({'t': table, 'x': {**shuffle, 'hot': 'deal'}}, 'x', 'second input')
    granary.fails({'t': table, 'x': {'op': 'shuffle_sorted', 'inputs': ['t', 't'], 'by': ['s'], 'parts': 2}}, 'x', "'#rows'", 'sort_sample')
    granary.delete(key)


def check_damage(granary, rng):
    """Bytes from another machine may be anything: a message or some groups, and executors live on."""
    group = {'keys': ['s', 'kf'], 'aggregate': AGGREGATES}
    key = granary.submit({'t': granary.put(random_columns(rng, 40, True)), 'x': {'op': 'groupby_partial', 'input': 't', **group}}, ['x'])
    good = read_object(granary, chunks_of(granary, key, 'x')[0])[0]
    for _ in range(int(os.environ.get('GRANARY_DAMAGED', '15'))):
        data = bytearray(good)
        for _ in range(rng.integers(1, 4)):
            at = int(rng.integers(0, len(data) // 4)) * 4 if rng.random() < 0.7 else int(rng.integers(0, 200)) * 4
            data[at:at + 4] = int(rng.choice([0, 1, 2**31 - 1, 2**31, 2**32 - 1, 7, rng.integers(0, 2**32)])).to_bytes(4, 'little')
        if rng.random() < 0.2:
            data = data[:int(rng.integers(0, len(data)))]
        try:
            granary.run({'o': {'op': 'object', 'ids': [put_object(granary, data, b'')] * int(rng.integers(1, 3))}, 'x': {'op': 'groupby_combine', 'input': 'o', **group, **ROWS}}, 'x')
        except GranaryError as error:
            check_alive(error)
        except UnicodeDecodeError: # texts are not looked at
            pass
    granary.delete(key)


def main(seed):
    rng = np.random.default_rng(seed)
    with Instance(memory='256M') as granary:
        check_groups(granary, rng)
        check_filtered_groups(granary, rng)
        check_shuffles(granary, rng)
        check_types(granary, rng)
        check_sorts(granary, rng)
        check_hot(granary, rng)
        check_reductions(granary, rng)
        check_fused_reduction(granary, rng)
        check_tall(granary, rng)
        check_rows(granary, rng)
        check_axes(granary, rng)
        check_refusals(granary, rng)
        check_damage(granary, rng)


if __name__ == '__main__':
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
