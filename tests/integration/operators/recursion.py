"""Recursions as graphs: rounds against Python's, whatever is in the body and however inputs are cut; and what is refused."""
import random

import numpy as np

from granary_test import Column, Instance

rng = random.Random(7)


def recursion(first, body, end, distinct=False, name='r'):
    """The nodes of one: `w` has the rows of the round before."""
    return {**first, 'w': {'op': 'round_rows', 'input': 'first', 'recursion': name}, **body,
            'all': {'op': 'recurse', 'inputs': ['w', end], 'distinct': distinct}}


def closure(edges, starts):
    """The rows of each round, as sets."""
    seen, rounds = set(starts), [set(starts)]
    while rounds[-1]:
        rounds.append({(a, y) for a, b in rounds[-1] for x, y in edges if b == x} - seen)
        seen |= rounds[-1]
    return seen, rounds


with Instance() as granary:
    # Numbers: rows come in the order of rounds, the first rows cut or not.
    for pieces in (1, 3):
        table = granary.put({'n': Column('int64', np.arange(6)), 'x': Column('float64', np.arange(6) / 4)}, pieces)
        graph = recursion({'t': table, 'first': {'op': 'filter', 'input': 't', 'where': 'n > 1'}},
                          {'kept': {'op': 'filter', 'input': 'w', 'where': 'n < 12'},
                           'next': {'op': 'project', 'input': 'kept', 'columns': {'n': 'n + 4', 'x': '-x'}}}, 'next')
        want, rows = [], [(n, n / 4) for n in range(2, 6)]
        while rows:
            want += rows
            rows = [(n + 4, -x) for n, x in rows if n < 12]
        for size in (0, 16):
            ours = granary.run(graph, 'all', chunk_bytes=size)
            assert ours['n'] == Column('int64', np.array([n for n, _ in want])), ours['n']
            assert ours['x'] == Column('float64', np.array([x for _, x in want])), ours['x']

    # Many rounds, so that small frames are put together; a head ends the recursion, which has no other end.
    one = granary.put({'n': Column('int64', np.array([1])), 's': Column('string', ['a'])})
    graph = recursion({'first': one}, {'next': {'op': 'project', 'input': 'w', 'columns': {'n': 'n + 1', 's': "if(n % 2 = 0, 'a', 'b')"}}}, 'next')
    for rows in (1, 31, 32, 33, 5000):
        ours = granary.run({**graph, 'cut': {'op': 'head', 'input': 'all', 'rows': rows}}, 'cut')
        assert list(ours['n'].values) == list(range(1, rows + 1))
        assert ours['s'].values == ['a' if n % 2 else 'b' for n in range(1, rows + 1)]

    # Edges with cycles: a join with a table, which is built once; nulls, texts with and without a dictionary.
    for case in range(12):
        count = rng.choice([3, 8, 20])
        edges = [(rng.choice('abcdefgh'), rng.choice('abcdefgh')) for _ in range(count)]
        encoded = case % 2 == 0
        table = granary.put({'x': Column('string', [x for x, _ in edges], encoded=encoded), 'y': Column('string', [y for _, y in edges], encoded=encoded)}, 1 + case % 3)
        graph = recursion({'edges': table, 'first': {'op': 'project', 'input': 'edges', 'columns': {'a': 'x', 'b': 'y'}}},
                          {'joined': {'op': 'join', 'inputs': ['w', 'edges'], 'left_on': ['b'], 'right_on': ['x']},
                           'next': {'op': 'project', 'input': 'joined', 'columns': {'a': 'a', 'b': 'y'}}}, 'next', True)
        seen, rounds = closure(edges, edges)
        ours = granary.run(graph, 'all', chunk_bytes=rng.choice([0, 8]))
        got = list(zip(ours['a'].values, ours['b'].values))
        assert len(got) == len(set(got)) and set(got) == seen, (edges, got)
        at = 0
        for made in rounds:
            assert set(got[at:at + len(made)]) == made
            at += len(made)

    # Values that are equal to themselves: null, nan, -0.0.
    table = granary.put({'x': Column('float64', np.array([0.0, np.nan, 1.0]), [True, True, False])})
    graph = recursion({'first': table}, {'next': {'op': 'project', 'input': 'w', 'columns': {'x': '-x'}}}, 'next', True)
    assert len(granary.run(graph, 'all')['x']) == 3

    # Rows with keys: a model of what is left, and of what each round is given.
    for case in range(20):
        distinct, keyed = case % 2 == 0, case % 3 > 0
        count, places, most = rng.choice([1, 4, 30]), rng.choice([2, 5, 17]), rng.choice([3, 9])
        rows = [(rng.randrange(places), rng.randrange(3)) for _ in range(count)]
        table = granary.put({'k': Column('int64', np.array([k for k, _ in rows])), 'v': Column('int64', np.array([v for _, v in rows])),
                             'f': Column('int64', np.zeros(count, 'i8'))}, 1 + case % 3)
        graph = recursion({'first': table}, {'some': {'op': 'filter', 'input': 'w', 'where': f'f > 0 and v < {most}'},
                                             'next': {'op': 'project', 'input': 'some', 'columns': {'k': f'(k * 3 + v) % {places}', 'v': 'v + 1', 'f': '5'}}},
                          'next', distinct)
        graph['all'].update({'fresh': 'f', **({'keys': ['k']} if keyed else {})})
        if not keyed and not distinct:
            graph['some']['where'] = f'f > 0 and v < {most} and k > 0'
        state, made = [], rows
        while True:
            before = {k if keyed else (k, v): (k, v) for k, v, f in state if f < 2}
            if not keyed and not distinct:
                state = [(k, v, 0) for k, v, _ in state] + [(k, v, 1) for k, v in made]
            else:
                last = {**before, **{k if keyed else (k, v): (k, v) for k, v in made}}
                changed = {key for key in {k if keyed else (k, v) for k, v in made} if not distinct or before.get(key) != last[key]}
                places_of = {k if keyed else (k, v): at for at, (k, v) in enumerate(made)}
                state = [(*last[key], int(key in changed)) for key in last]
                state += [(k, v, 2) for at, (k, v) in enumerate(made) if not distinct and places_of[k if keyed else (k, v)] != at]
            made = [((k * 3 + v) % places, v + 1) for k, v, f in state if f > 0 and v < most and (keyed or distinct or k > 0)]
            if not any(f for _, _, f in state):
                break
        ours = granary.run(graph, 'all', chunk_bytes=rng.choice([0, 8]))
        assert list(zip(ours['k'].values, ours['v'].values)) == [(k, v) for k, v, _ in state], (case, rows, state, ours)
        assert not np.any(ours['f'].values)

    # A round's rows counted, sorted, numbered, grouped, and read twice.
    table = granary.put({'n': Column('int64', np.arange(40))}, 4)
    body = {'groups': {'op': 'assign', 'input': 'w', 'columns': {'k': 'n // 2'}},
            'sums': {'op': 'groupby', 'input': 'groups', 'keys': ['k'], 'aggregate': {'c': 'size', 'most': 'max(n)'}},
            'numbered': {'op': 'window', 'input': 'sums', 'by': ['k'], 'columns': {'place': 'row_number()'}},
            'others': {'op': 'project', 'input': 'w', 'columns': {'o': 'n'}},
            'both': {'op': 'join', 'inputs': ['numbered', 'others'], 'left_on': ['k'], 'right_on': ['o']},
            'some': {'op': 'filter', 'input': 'both', 'where': 'k > 0'},
            'next': {'op': 'project', 'input': 'some', 'columns': {'n': 'k'}}}
    want, rows = [], list(range(40))
    while rows:
        want += rows
        rows = [k for k in sorted({n // 2 for n in rows}) for n in rows if n == k > 0]
    assert sorted(granary.run(recursion({'first': table}, body, 'next'), 'all')['n'].values) == sorted(want)

    # Rows of two kinds a round, and a recursion in the body of another one.
    body = {'few': {'op': 'filter', 'input': 'w', 'where': 'n < 3'}, 'a': {'op': 'project', 'input': 'few', 'columns': {'n': 'n + 1'}},
            'b': {'op': 'project', 'input': 'few', 'columns': {'n': 'n + 10'}}, 'next': {'op': 'concat', 'inputs': ['a', 'b']}}
    one = granary.put({'n': Column('int64', np.array([1]))})
    ours = granary.run(recursion({'first': one}, body, 'next'), 'all')['n']
    assert list(ours.values) == [1, 2, 11, 3, 12], ours
    inner = {'v': {'op': 'round_rows', 'input': 'w', 'recursion': 'inner'},
             'less': {'op': 'filter', 'input': 'v', 'where': 'n % 10 < 3'}, 'more': {'op': 'project', 'input': 'less', 'columns': {'n': 'n + 1'}},
             'in': {'op': 'recurse', 'inputs': ['v', 'more']},
             'last': {'op': 'groupby', 'input': 'in', 'keys': [], 'aggregate': {'m': 'max(n)'}},
             'until': {'op': 'filter', 'input': 'last', 'where': 'm < 40'},
             'next': {'op': 'project', 'input': 'until', 'columns': {'n': 'm + 7'}}}
    ours = granary.run(recursion({'first': one}, inner, 'next'), 'all')['n']
    assert list(ours.values) == [1, 10, 20, 30, 40], ours

    # dtypes are those of the first rows: what fits is cast, or fails where it does not.
    small = granary.put({'n': Column('int8', np.array([100], 'i1')), 'x': Column('float64', np.array([0.5]))})
    graph = recursion({'first': small}, {'few': {'op': 'filter', 'input': 'w', 'where': 'n < 120'},
                                         'next': {'op': 'project', 'input': 'few', 'columns': {'n': 'cast(n as int64) + 10', 'x': 'n'}}}, 'next')
    ours = granary.run(graph, 'all')
    assert ours['n'] == Column('int8', np.array([100, 110, 120], 'i1')) and ours['x'] == Column('float64', np.array([0.5, 100, 110])), ours
    graph['few']['where'] = 'n < 127'
    granary.fails(graph, 'all', "'n'", '130')
    graph['next']['columns']['n'] = "'a'"
    granary.fails(graph, 'all', 'all', "column 'n' is int8", 'string', 'cast')

    # Keys that are none.
    graph = recursion({'first': small}, {'next': {'op': 'project', 'input': 'w', 'columns': {'n': 'n', 'x': 'x'}}}, 'next')
    for given, words in (({'keys': ['n']}, ("'keys'", "'fresh'")), ({'fresh': 'x'}, ("'x'", 'int64')), ({'fresh': 'y'}, ("'y'", 'int64'))):
        granary.fails({**graph, 'all': {**graph['all'], **given}}, 'all', *words)

    # What is no recursion.
    project = {'op': 'project', 'input': 'w', 'columns': {'n': 'n + 1'}}
    good = recursion({'first': one}, {'next': project}, 'next')
    granary.fails({**good, 'out': {'op': 'head', 'input': 'next', 'rows': 1}, 'both': {'op': 'concat', 'inputs': ['out', 'all']}}, 'both', "'out'", "'next'", 'within a recursion')
    granary.fails({k: v for k, v in good.items() if k != 'all'}, 'next', "'w'", 'recurse')
    granary.fails({**good, 'all': {'op': 'recurse', 'inputs': ['first', 'next']}}, 'all', "'first'", 'round_rows')
    granary.fails({**good, 'next': {**project, 'columns': {'m': 'n'}}}, 'all', "'m'", "'n'")
    granary.fails({**good, 'next': {**project, 'columns': {'n': 'n', 'm': 'n'}}}, 'all', '2 columns')
    granary.fails({**good, 'v': {'op': 'round_rows', 'input': 'first', 'recursion': 'r'}, 'more': {**project, 'input': 'v'},
                   'other': {'op': 'recurse', 'inputs': ['v', 'more']}, 'out': {'op': 'concat', 'inputs': ['all', 'other']}}, 'out', "'r'", 'two recursions')
    granary.fails({**good, 'again': {'op': 'recurse', 'inputs': ['w', 'next'], 'distinct': True}, 'out': {'op': 'concat', 'inputs': ['all', 'again']}}, 'out', 'another recursion')
    granary.fails({**good, 'next': {'op': 'tail', 'input': 'w', 'rows': 1}}, 'all', "'next'", 'how many rows')
    lists = granary.run({'first': one, 'l': {'op': 'groupby', 'input': 'first', 'keys': [], 'aggregate': {'n': 'list(n)'}}}, 'l')
    assert lists['n'].values == [[1]]
    listed = recursion({'one': one, 'first': {'op': 'groupby', 'input': 'one', 'keys': [], 'aggregate': {'n': 'list(n)'}}},
                       {'next': {'op': 'assign', 'input': 'w', 'columns': {'n': 'case when len(n) < 3 then list_concat(n, list_value(null)) else list_slice(n, 1, 1) end'}}}, 'next', True)
    assert granary.run(listed, 'all')['n'].values == [[1], [1, None], [1, None, None]]
    listed['next'] = {'op': 'filter', 'input': 'w', 'where': 'false'}
    listed['all']['distinct'] = False
    assert granary.run(listed, 'all')['n'].values == [[1]]
    try:
        granary.run({'first': one, 'x': {'op': 'recurse', 'inputs': ['first'], 'body': 0}}, 'x')
        raise AssertionError('a recursion of one input ran')
    except Exception as error:
        assert 'recurse' in str(error) or 'inputs' in str(error), error

    # No rows at all, and a body that reads nothing of the rounds.
    none = granary.put({'n': Column('int64', np.zeros(0, 'i8'))})
    assert len(granary.run(recursion({'first': none}, {'next': project}, 'next'), 'all')['n']) == 0
    other = granary.put({'n': Column('int64', np.arange(3))})
    ours = granary.run(recursion({'first': one, 'other': other}, {}, 'other', True), 'all')['n']
    assert sorted(ours.values) == [0, 1, 2], ours
