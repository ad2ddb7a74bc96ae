"""join and concat against pandas: kinds, keys of all dtypes with nulls, NaN, duplicates, unicode and empty sides; however
the sides are cut and however little memory there is, the rows are the same."""
import os
import pathlib
import sys

import numpy as np
import pandas as pd

from granary_test import Column, Instance

RANDOM = np.random.default_rng(5)
WORDS = ['', 'a', 'ä', 'naïve', '日本', 'x' * 40, 'b']


def side(rows, keys, name, encoded):
    """Columns with duplicates, nulls and NaN; `row` tells which row it is."""
    def nulls():
        return RANDOM.random(rows) > 0.15
    floats = RANDOM.integers(0, keys, rows).astype('f8') / 2
    floats[RANDOM.random(rows) < 0.1] = np.nan
    floats[floats == 0] *= -1
    return {
        'i': Column('int32' if name == 'l' else 'int64', RANDOM.integers(-keys, keys, rows), nulls()),
        'f': Column('float64', floats, nulls()),
        's': Column('string', [WORDS[i % len(WORDS)] + str(i // len(WORDS)) for i in RANDOM.integers(0, keys, rows)], nulls(), encoded),
        'wide': Column('int64', RANDOM.integers(-keys, keys, rows) * 10**15, nulls()),
        'flag': Column('bool', RANDOM.random(rows) > 0.5, nulls()),
        'day': Column('date', RANDOM.integers(0, keys, rows)),
        'money': Column('decimal(2)', [int(v) * 100 for v in RANDOM.integers(0, keys, rows)], nulls()),
        'row_' + name: Column('int64', np.arange(rows)),
    }


def expected(left, right, left_on, right_on, how, where=None):
    """Pairs of rows by two loops over equal keys; -1: none. A null equals nothing, NaN equals NaN."""
    def keys(columns, names):
        out = []
        for i in range(len(next(iter(columns.values())))):
            key = []
            for n in names:
                column = columns[n]
                if column.valid is not None and not column.valid[i]:
                    key = None
                    break
                v = column.values[i]
                if column.dtype.startswith('decimal'):
                    v = v / 100
                v = v.item() if hasattr(v, 'item') else v
                key.append('nan' if isinstance(v, float) and v != v else v + 0 if not isinstance(v, str) else v)
            out.append(None if key is None else tuple(key))
        return out
    l, r = keys(left, left_on), keys(right, right_on)
    places = {}
    for i, key in enumerate(r):
        if key is not None:
            places.setdefault(key, []).append(i)
    pairs = [(i, j) for i, key in enumerate(l) for j in places.get(key, ()) if key is not None]
    if where is not None:
        pairs = [p for p in pairs if where(*p)]
    found_l, found_r = {i for i, _ in pairs}, {j for _, j in pairs}
    if how == 'inner':
        return pairs
    if how in ('semi', 'anti'):
        return [(i, None) for i in range(len(l)) if (i in found_l) == (how == 'semi')]
    if how == 'right':
        pairs = sorted(pairs + [(-1, j) for j in range(len(r)) if j not in found_r], key=lambda p: (p[1], p[0]))
        return pairs
    pairs = sorted(pairs + [(i, -1) for i in range(len(l)) if i not in found_l])
    return pairs if how == 'left' else pairs + [(-1, j) for j in range(len(r)) if j not in found_r]


def rows_of(result, name):
    column = result[name]
    valid = np.ones(len(column), bool) if column.valid is None else column.valid
    return [int(v) if ok else -1 for v, ok in zip(column.values, valid)]


def check(granary, left, right, tables, left_on, right_on, how, **more):
    node = {'op': 'join', 'inputs': ['l', 'r'], 'left_on': left_on, 'right_on': right_on, 'how': how, **more}
    where = None
    if 'where' in more:
        where = lambda i, j: i % 3 != j % 3
    want = expected(left, right, left_on, right_on, how, where)
    result = granary.run({'l': tables[0], 'r': tables[1], 'j': node}, 'j')
    got = rows_of(result, 'row_l')
    assert got == [p[0] for p in want], (left_on, right_on, how, more, got[:10], want[:10])
    if how not in ('semi', 'anti'):
        got = rows_of(result, 'row_r')
        assert got == [p[1] for p in want], (left_on, right_on, how, more)
        check_values(result, left, right, want)
    return result


def check_values(result, left, right, want):
    """Every other column is what those rows have."""
    for name, column in result.items():
        base, of = (name[:-2], 0 if name.endswith('_x') else 1) if name[-2:] in ('_x', '_y') else (name, None)
        if of is None:
            continue
        source = (left, right)[of][base]
        for k, pair in enumerate(want):
            i = pair[of]
            null = i < 0 or (source.valid is not None and not source.valid[i])
            assert (column.valid is not None and not column.valid[k]) == null, (name, k)
            if not null:
                a, b = column.values[k], source.values[i]
                assert a == b or (a != a and b != b), (name, k, a, b)


def kinds(granary):
    left, right = side(220, 30, 'l', True), side(150, 30, 'r', False)
    keys = [(['i'], ['i']), (['f'], ['f']), (['s'], ['s']), (['wide'], ['wide']), (['flag', 'i'], ['flag', 'i']),
            (['s', 'f'], ['s', 'f']), (['i'], ['f']), (['money'], ['i']), (['money'], ['money']), (['day', 's'], ['day', 's'])]
    for number, (l, r) in enumerate(keys):
        tables = granary.put(left, 1 + number % 3), granary.put(right, 1 + number % 4)
        for how in ('inner', 'left', 'right', 'outer', 'semi', 'anti'):
            if how != 'outer' or l == r and l != ['i'] and 'i' not in l:
                check(granary, left, right, tables, l, r, how)
    # In any order: the large side's.
    few = {n: c.slice(0, 20) for n, c in right.items()}
    want = expected(few, left, ['s'], ['s'], 'inner')
    result = granary.run({'l': granary.put(few), 'r': granary.put(left, 3),
                          'j': {'op': 'join', 'inputs': ['l', 'r'], 'on': 's', 'order': 'any'}}, 'j')
    assert rows_of(result, 'row_l') == sorted(p[1] for p in want)
    assert sorted(zip(rows_of(result, 'row_r'), rows_of(result, 'row_l'))) == sorted(want)
    check_values({n: c for n, c in result.items() if n != 's'}, few, left, list(zip(rows_of(result, 'row_r'), rows_of(result, 'row_l'))))
    tables = granary.put(left, 3), granary.put(right, 2)
    for how in ('inner', 'left', 'right', 'outer', 'semi', 'anti'):
        check(granary, left, right, tables, ['s'], ['s'], how, where='row_l % 3 <> row_r % 3')


def empties(granary):
    left, right = side(40, 9, 'l', False), side(30, 9, 'r', True)
    nothing_l, nothing_r = ({n: c.slice(0, 0) for n, c in s.items()} for s in (left, right))
    for l, r in ((left, nothing_r), (nothing_l, right), (nothing_l, nothing_r)):
        tables = granary.put(l), granary.put(r)
        for how in ('inner', 'left', 'right', 'outer', 'semi', 'anti'):
            check(granary, l, r, tables, ['s'], ['s'], how)


def as_pandas(granary):
    """Columns, names, indicator and values as pandas' merge has them, where it has the same rule."""
    left = pd.DataFrame({'k': RANDOM.integers(0, 20, 100), 'v': RANDOM.random(100), 'w': np.arange(100)})
    right = pd.DataFrame({'k': RANDOM.integers(10, 30, 50), 'v': RANDOM.random(50), 'z': [f'z{i}' for i in range(50)]})
    nodes = {'l': granary.put_frame(left, 3), 'r': granary.put_frame(right, 2)}
    for how in ('inner', 'left', 'right', 'outer'):
        want = left.merge(right, on='k', how=how, indicator='m')
        got = granary.run_pandas({**nodes, 'j': {'op': 'join', 'inputs': ['l', 'r'], 'on': 'k', 'how': how, 'indicator': 'm'}}, 'j')
        assert list(got.columns) == list(want.columns)
        order = ['k', 'w', 'z']
        want, got = (f.assign(m=f['m'].astype(str)).sort_values(order).reset_index(drop=True) for f in (want, got))
        pd.testing.assert_frame_equal(got, want, check_dtype=False)
    want = left.merge(right, how='cross')
    got = granary.run_pandas({**nodes, 'j': {'op': 'join', 'inputs': ['l', 'r'], 'how': 'cross'}}, 'j')
    pd.testing.assert_frame_equal(got, want, check_dtype=False)


def faults(granary):
    t = granary.put({'k': Column('int64', [1, 2, 1]), 's': Column('string', ['a', 'b', 'c'])})
    u = granary.put({'k': Column('int64', [1, 2]), 's': Column('string', ['a', 'b'])})
    def join(**more):
        return {'t': t, 'u': u, 'j': {'op': 'join', 'inputs': ['t', 'u'], 'on': 'k', **more}}
    granary.run(join(validate='m:1'), 'j')
    granary.fails(join(validate='1:m'), 'j', "node 'j'", 'k = 1', 'left side')
    granary.fails(join(validate='1:1'), 'j', "node 'j'", 'k = 1')
    granary.fails(join(on='x'), 'j', "node 'j'", "'x'")
    granary.fails({'t': t, 'u': u, 'j': {'op': 'join', 'inputs': ['t', 'u'], 'left_on': 'k', 'right_on': 's'}}, 'j', 'int64', 'string')
    granary.fails(join(where='k +'), 'j', "node 'j'", 'where')
    granary.fails({'t': t, 'u': u, 'z': {'op': 'concat', 'inputs': ['t', 'u'], 'axis': 1}}, 'z', "'k'")


def null_aware(granary):
    left = granary.put({'k': Column('int64', [1, 0, 3], [True, False, True])})
    for values, valid, want in (([1, 0], [True, False], []), ([1, 2], None, [3]), ([], None, [1, None, 3])):
        right = granary.put({'k': Column('int64', np.array(values, 'i8'), valid)})
        got = granary.run({'l': left, 'r': right, 'j': {'op': 'join', 'inputs': ['l', 'r'], 'on': 'k', 'how': 'anti', 'null_aware': True}}, 'j')
        assert [v if got['k'].valid is None or got['k'].valid[i] else None for i, v in enumerate(got['k'].values)] == want


def concats(granary):
    a = pd.DataFrame({'x': np.arange(5, dtype='i8'), 's': list('abcde')})
    b = pd.DataFrame({'s': ['ü', 'v'], 'x': np.array([7, 8], 'i8')})
    c = pd.DataFrame({'y': [1.5, 2.5]})
    nodes = {'a': granary.put_frame(a, 2), 'b': granary.put_frame(b), 'c': granary.put_frame(c)}
    got = granary.run_pandas({**nodes, 'z': {'op': 'concat', 'inputs': ['a', 'b', 'a']}}, 'z')
    pd.testing.assert_frame_equal(got, pd.concat([a, b, a], ignore_index=True))
    got = granary.run_pandas({**nodes, 'z': {'op': 'concat', 'inputs': ['b', 'c'], 'axis': 1}}, 'z')
    pd.testing.assert_frame_equal(got, pd.concat([b, c], axis=1))
    granary.fails({**nodes, 'z': {'op': 'concat', 'inputs': ['a', 'c'], 'axis': 1}}, 'z', '2 rows', '5')
    small = Column('int32', np.array([1, 2], 'i4'))
    real = Column('float64', np.array([0.5, np.nan]))
    nodes = {'a': granary.put({'x': small}), 'b': granary.put({'y': real, 'x': real})}
    got = granary.run({**nodes, 'z': {'op': 'concat', 'inputs': ['a', 'b']}}, 'z')
    assert got['x'] == Column('float64', np.array([1, 2, 0.5, np.nan])) and list(got) == ['x', 'y'], got
    assert got['y'] == Column('float64', np.array([0, 0, 0.5, np.nan]), [False, False, True, True]), got
    got = granary.run({**nodes, 'z': {'op': 'concat', 'inputs': ['a', 'b'], 'join': 'inner'}}, 'z')
    assert list(got) == ['x']
    nodes['b'] = granary.put({'x': Column('string', ['a'])})
    granary.fails({**nodes, 'z': {'op': 'concat', 'inputs': ['a', 'b']}}, 'z', "'x'", 'int32', 'string')


def executors_peak(granary):
    """The most memory that an executor has had, in KiB."""
    peaks = []
    for path in pathlib.Path('/proc').glob('[0-9]*'):
        try:
            if 'granary-executor' in (path / 'cmdline').read_text() and granary.directory in (path / 'cmdline').read_text():
                peaks += [int(line.split()[1]) for line in (path / 'status').read_text().splitlines() if line.startswith('VmHWM')]
        except (FileNotFoundError, ProcessLookupError):
            pass
    return max(peaks)


def few_of_many_pairs():
    """Of 10 million pairs with equal keys a condition leaves few: they are not all held at once."""
    rows = 4500
    k = RANDOM.integers(0, 2, rows)
    k[:40] = 7
    place = np.arange(rows)
    twos = (place + 1) % 1000 // 3  # pairs are right where l = twos of r
    equal = {}
    for i in range(rows):
        if k[i] != 7:
            equal.setdefault((k[i], place[i]), i)
    pairs = sorted((equal[k[j], twos[j]], j) for j in range(rows) if (k[j], twos[j]) in equal)
    found = {i for i, _ in pairs}
    want = {'inner': pairs, 'semi': [(i, None) for i in sorted(found)], 'anti': [(i, None) for i in range(rows) if i not in found],
            'left': sorted(pairs + [(i, -1) for i in range(rows) if i not in found])}
    with Instance(executors=1) as granary:
        for number, keys in enumerate((k, k * 10**15, [f'key {v}' for v in k])):
            dtype = 'string' if number == 2 else 'int64'
            left = granary.put({'k': Column(dtype, keys), 'row_l': Column('int64', place)})
            right = granary.put({'k': Column(dtype, keys, k != 7), 'row_r': Column('int64', place), 'two': Column('int64', twos)})
            for how, pairs in want.items() if number == 0 else [('anti', want['anti'])]:
                node = {'op': 'join', 'inputs': ['l', 'r'], 'on': 'k', 'how': how, 'where': 'row_l = two'}
                got = granary.run({'l': left, 'r': right, 'j': node}, 'j')
                assert rows_of(got, 'row_l') == [i for i, _ in pairs], (number, how)
                if how in ('inner', 'left'):
                    assert rows_of(got, 'row_r') == [j for _, j in pairs], (number, how)
        if 'asan' not in os.environ.get('LD_PRELOAD', ''):  # it keeps what was freed
            assert executors_peak(granary) < 200 << 10, executors_peak(granary)


def little_memory():
    """Both sides are several times the store: what is shuffled and spilled is, row for row, what fits gives."""
    rows = 400000
    left = {'k': Column('int64', RANDOM.integers(0, rows, rows)), 'a': Column('float64', RANDOM.random(rows)),
            'p': Column('int64', np.arange(rows)), 'q': Column('int64', np.arange(rows) * 3)}
    right = {'k': Column('int64', RANDOM.integers(0, rows, rows)), 'b': Column('int64', np.arange(rows)),
             'c': Column('float64', RANDOM.random(rows)), 'd': Column('int64', np.arange(rows) * 5)}
    results = []
    for memory in ('1G', '24M'):
        with Instance(executors=2, memory=memory) as granary:
            nodes = {'l': granary.put(left, 5), 'r': granary.put(right, 5)}
            for how in ('inner', 'outer'):
                nodes[how] = {'op': 'join', 'inputs': ['l', 'r'], 'on': 'k', 'how': how}
            results.append([granary.run(nodes, how) for how in ('inner', 'outer')])
    for fits, spills in zip(*results):
        assert list(fits) == list(spills)
        for name in fits:
            assert fits[name] == spills[name], name


def main():
    with Instance(executors=2) as granary:
        for test in (kinds, empties, as_pandas, faults, null_aware, concats):
            test(granary)
    few_of_many_pairs()
    little_memory()


if __name__ == '__main__':
    sys.exit(main())
