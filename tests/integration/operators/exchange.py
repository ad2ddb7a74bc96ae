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
    tensor = granary.put_tensor(np.arange(5.0))
    group = {'keys': ['s'], 'aggregate': {'v': 'sum(i)'}}
    key = granary.submit({'t': table, 'x': {'op': 'groupby_partial', 'input': 't', **group}}, ['x'])
    made = chunks_of(granary, key, 'x')
    rows = {'columns': ['s', 'i'], 'dtypes': ['string', 'int32']}

    def combine(ids, words, **other):
        granary.fails({'o': {'op': 'object', 'ids': ids}, 'x': {'op': 'groupby_combine', 'input': 'o', **group, **rows, **other}}, 'x', *words)

    combine(table['ids'], ['no partial result of groupby'])
    combine(made + [tensor], ['no partial result of groupby'])
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
        check_refusals(granary, rng)
        check_damage(granary, rng)


if __name__ == '__main__':
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
