"""Every operator on frames with lists: it takes them, or says by name that it does not; what explode and rows' moves give is compared."""
import json
import os
import random

from granary_test import BIN, GranaryError, Instance

draw = random.Random(5)
ROWS = [{'k': i % 7, 'x': i, 's': 'ab,c' if i % 3 else None, 'd': f'2024-01-{1 + i % 28:02}',
         'l': None if i % 5 == 4 else [draw.choice([None, 1, -2, 30]) for _ in range(i % 4)],
         'm': None if i % 5 == 4 else [draw.choice(['', 'é', 'a, b']) for _ in range(i % 4)]} for i in range(200)]
with open(os.path.join(os.path.dirname(BIN), 'python/granary/_operators.json'), encoding='utf-8') as file:
    TABLE = json.load(file)
OPERATORS = [op for op in TABLE['operators'] if op['section'] == 'Frames' and op['least'] > 0 and op['name'] not in ('from_tensor', 'append_to')
             and not op['name'].startswith('write_')]
# Parameters with which lists are but carried; of the others they are the operand.
CARRIED = {
    'filter': {'where': 'x > 20'}, 'assign': {'columns': {'y': 'x + 1'}}, 'project': {'columns': {'l': 'l', 'm': 'm', 'x': 'x'}},
    'select': {'columns': ['x', 'm', 'l']}, 'drop': {'columns': ['d']}, 'rename': {'columns': {'d': 'e'}}, 'head': {'rows': 50},
    'tail': {'rows': 50}, 'slice': {'start': 13, 'stop': 90}, 'sort': {'by': ['k', 'x'], 'descending': [True, False]},
    'nlargest': {'rows': 9, 'columns': ['x']}, 'nsmallest': {'rows': 9, 'columns': ['x']}, 'sample': {'rows': 30, 'seed': 1},
    'distinct': {'subset': ['k']}, 'duplicated': {'subset': ['k']}, 'window': {'partition': ['k'], 'columns': {'w': 'row_number()'}},
    'reset_index': {}, 'rebalance': {'rows': 17}, 'group_head': {'keys': ['k'], 'rows': 2}, 'group_tail': {'keys': ['k'], 'rows': 2},
    'dropna': {'subset': ['l']}, 'join': {'left_on': ['x'], 'right_on': ['x'], 'how': 'left'}, 'explode': {'column': 's', 'separator': ','},
    'concat': {}, 'group_nth': {'keys': ['k'], 'n': 1}, 'encode': {},
}
# Of these operators the parameters do not follow from their kinds.
OPERANDS = {
    'fillna': {'method': 'ffill'}, 'clip_columns': {'columns': ['l'], 'lower': 1}, 'cut': {'column': 'l', 'bins': [1, 2, 3]},
    'sample': {'fraction': 0.5}, 'melt': {'id_vars': ['k'], 'value_vars': ['l']}, 'explode': {'column': 'l'}, 'qcut': {'column': 'l', 'q': 3},
    'select_dtypes': {'exclude': ['bool']}, 'stack_columns': {'id_vars': ['k'], 'value_vars': ['l']},
}


def operand(op):
    """Lists wherever a column or an expression may stand."""
    if op['name'] in OPERANDS:
        return OPERANDS[op['name']]
    made = {}
    for p in op['parameters']:
        if not p['required'] and p['name'] not in ('column', 'columns', 'keys', 'on', 'subset', 'aggregate', 'by', 'partition'):
            continue
        if p.get('enum'):
            made[p['name']] = p['enum'][0]
        elif p['kind'] == 'strings':
            made[p['name']] = ['l']
        elif p['kind'] == 'map':
            made[p['name']] = {'l': 'sum(l)' if p['name'] == 'aggregate' else 'l'}
        elif p['kind'] in ('int', 'number', 'value'):
            made[p['name']] = 1
        elif p['kind'] == 'ints':
            made[p['name']] = [1]
        elif p['kind'] == 'bool':
            made[p['name']] = True
        elif p['kind'] == 'bools':
            made[p['name']] = [True]
        else:
            made[p['name']] = 'l'
    return made


def place(value):
    """Where a list stands in order: nulls in it are the largest items, a null list is behind all."""
    return (value is None, [(v is None, v or 0 if not isinstance(v, str) else v.encode()) for v in value or []])


def first_places(values):
    return [values.index(v) for v in values]


def keys_of_lists(rows, source):
    """Lists as keys of whatever has keys, in chunks of 3000 bytes: what plain Python makes of the rows."""
    for column in ('l', 'm'):
        values = [row[column] for row in ROWS]
        distinct = [v for i, v in enumerate(values) if values.index(v) == i]
        def run(op, **params):
            return rows({**source, 'r': {'op': op, 'input': 't', **params}}, 'r', 3000)

        node = {'keys': [column, 'k'], 'aggregate': {'n': 'size', 'least': f'min({column})', 'where': f'arg_most({column}, x)', 'kinds': f'nunique({column})'}, 'dropna': False}
        want = sorted({json.dumps([v, row['k']]): (v, row['k']) for v, row in zip(values, ROWS)}.values(), key=lambda p: (place(p[0]), p[1]))
        got = run('groupby', **node)
        assert [(row[column], row['k'], row['n']) for row in got] == [(v, k, sum(row['k'] == k and row[column] == v for row in ROWS)) for v, k in want], column
        assert all(row['least'] == row[column] == row['where'] and row['kinds'] == (row[column] is not None) for row in got), column
        got = run('aggregate', aggregate={'a': f'min({column})', 'z': f'max({column})', 'f': f'first({column})', 'n': f'nunique({column})', 'c': f'count({column})', 'm': f'arg_least(x, {column})'})[0]
        there = [v for v in values if v is not None]
        assert got['a'] == min(there, key=place) and got['z'] == max(there, key=place) and got['f'] == there[0], column
        assert (got['n'], got['c']) == (len(distinct) - 1, len(there)) and got['m'] == ROWS[values.index(got['a'])]['x'], column
        for descending in (False, True):
            got = run('sort', by=[column, 'x'], descending=[descending, False])
            want = sorted(ROWS, key=lambda row: row['x'])
            there = sorted((row for row in want if row[column] is not None), key=lambda row: place(row[column]), reverse=descending)
            if descending:
                there = [row for v in dict.fromkeys(json.dumps(row[column]) for row in there) for row in want if json.dumps(row[column]) == v]
            assert got == there + [row for row in want if row[column] is None], (column, descending)
        assert run('distinct', subset=[column]) == [row for i, row in enumerate(ROWS) if values.index(row[column]) == i], column
        assert [row['duplicated'] for row in run('duplicated', subset=[column])] == [i != p for i, p in enumerate(first_places(values))], column
        got = run('value_counts', columns=[column], sort=False, dropna=False)
        assert got == [{column: v, 'count': values.count(v)} for v in sorted(distinct, key=place)], column
        got = run('window', partition=[column], by=['x'], dropna=False, columns={'r': 'row_number()', 'p': f'lag({column})', 'most': f'max({column})'})
        assert [row['r'] for row in got] == [values[:i + 1].count(v) for i, v in enumerate(values)], column
        assert all(row['p'] in (None, row[column]) and (row['p'] is None) == (row['r'] == 1 or row[column] is None) and row['most'] == row[column] for row in got), column
        keyed = {**source, 'u': {'op': 'distinct', 'input': 't', 'subset': [column]}, 'v': {'op': 'project', 'input': 'u', 'columns': {'key': column, column: column, 'y': 'x'}}}
        of = {json.dumps(v): ROWS[values.index(v)]['x'] for v in distinct if v is not None}
        for how, on in () if column == 'm' else (('left', {'on': [column]}), ('left', {'left_on': [column], 'right_on': ['key']}), ('inner', {'on': [column]}), ('semi', {'on': [column]}), ('outer', {'on': [column]})):
            got = rows({**keyed, 'r': {'op': 'join', 'inputs': ['t', 'v'], 'how': how, **on}}, 'r', 3000)
            want = [(row['x'], of.get(json.dumps(row[column]))) for row in ROWS if how in ('left', 'outer') or row[column] is not None]
            got = [(row['x'], row.get('y', of.get(json.dumps(row.get(column))))) for row in got if row['x'] is not None]
            assert sorted(got, key=lambda p: p[0]) == want, (column, how, on)
    # Keys in the middle of others, of every other dtype, with nan and both zeros.
    made = {'f': 'list_value(case when k = 0 then 0.0 when k = 1 then -0.0 when k < 4 then cast(\'nan\' as float64) else null end)', 'b': 'list_value(k < 3, null)',
            'd': "list_value(cast(d as date))", 't': "list_value(cast(d as timestamp))", 'n': 'list_value(cast(k as decimal(2)))', 'e': 'list_value(cast(k as uint64), cast(18446744073709551615 as uint64))',
            'y': "list_value(cast('a' as binary), cast(s as binary))", 'g': 'list_value(cast(k as float32))'}
    table = {**source, 'a': {'op': 'assign', 'input': 't', 'columns': made}}
    for name, kinds in (('f', 3), ('b', 2), ('d', 28), ('t', 28), ('n', 7), ('e', 7), ('y', 2), ('g', 7)):
        got = rows({**table, 'r': {'op': 'groupby', 'input': 'a', 'keys': [name], 'aggregate': {'rows': 'size'}}}, 'r', 3000)
        plain = rows({**table, 'p': {'op': 'project', 'input': 'a', 'columns': {name: name}}, 'r': {'op': 'distinct', 'input': 'p'}}, 'r', 3000)
        assert len(got) == kinds and sum(row['rows'] for row in got) == len(ROWS), (name, got)
        assert sorted(json.dumps(row[name]).replace('-0.0', '0.0') for row in plain) == sorted(json.dumps(row[name]) for row in got), name
    # Bytes that are no key.
    for bad in ("''", "'\\x01'", "'\\x0101'", "'\\x03'", "'\\x0000'"):
        granary.fails({**source, 'r': {'op': 'assign', 'input': 't', 'columns': {'r': f'list_from_key(cast({bad} as binary), l)'}}}, 'r', 'key')


with Instance() as granary:
    path = os.path.join(granary.directory, 'in.ndjson')
    out = os.path.join(granary.directory, 'out.ndjson')
    with open(path, 'w', encoding='utf-8') as file:
        file.writelines(json.dumps(row) + '\n' for row in ROWS)
    source = {'t': {'op': 'read_ndjson', 'path': path}}

    def rows(nodes, target, chunk_bytes=2000):
        granary.run({**nodes, 'out': {'op': 'write_ndjson', 'input': target, 'path': out}}, 'out', chunk_bytes=chunk_bytes)
        with open(out, encoding='utf-8') as lines:
            return [json.loads(line) for line in lines]

    def inputs(op):
        return {'input': 't'} if op['least'] == 1 and op['name'] != 'concat' else {'inputs': ['t', 't']}

    assert rows(source, 't') == ROWS
    for kind in ('parquet', 'arrow'):
        copy = os.path.join(granary.directory, 'copy.' + kind)
        granary.run({**source, 'w': {'op': 'write_' + kind, 'input': 't', 'path': copy}}, 'w', chunk_bytes=2000)
        assert rows({'t': {'op': 'read_' + kind, 'path': copy}}, 't') == ROWS, kind

    # Folders: lists are carried into the files, and are no name of one.
    for kind in ('parquet', 'arrow', 'ndjson'):
        folder = os.path.join(granary.directory, 'by_' + kind)
        write = {'op': 'write_' + kind, 'input': 't', 'path': folder, 'partition_by': ['k']}
        granary.run({**source, 'w': write}, 'w', chunk_bytes=2000)
        got = rows({'t': {'op': 'read_' + kind, 'path': folder}, 'r': {'op': 'sort', 'input': 't', 'by': ['x']}}, 'r')
        assert [(row['x'], row['l'], row['m']) for row in got] == [(row['x'], row['l'], row['m']) for row in ROWS], kind
        granary.fails({**source, 'w': {**write, 'partition_by': ['l'], 'existing': 'overwrite'}}, 'w', "'l'", 'list')

    # Two row groups with a dictionary each, in one chunk.
    copy = os.path.join(granary.directory, 'groups.parquet')
    granary.command('sql', '--discard', f"COPY (SELECT i, list_value('t' || cast(i % 5 AS text), 'u') AS s FROM range(1100000) r(i)) TO '{copy}'")
    read = {'t': {'op': 'read_parquet', 'path': copy}}
    first = {**read, 'a': {'op': 'project', 'input': 't', 'columns': {'x': 'list_extract(s, 1)', 'y': 'list_extract(s, -1)'}}}
    got = rows({**first, 'r': {'op': 'groupby', 'input': 'a', 'keys': ['x', 'y'], 'aggregate': {'n': 'size'}}}, 'r', 1 << 30)
    assert got == [{'x': f't{i}', 'y': 'u', 'n': 220000} for i in range(5)], got

    odd = []
    by_x = {row['x']: row for row in ROWS}
    for op in OPERATORS:
        name = op['name']
        if name in ('round_rows', 'recurse'):  # no node by itself: operators_recursion
            continue
        if name in CARRIED:
            made = rows({**source, 'r': {'op': name, **inputs(op), **CARRIED[name]}}, 'r')
            assert made or name == 'slice', name
            for row in made:
                for column in ('l', 'm'):
                    if 'x' in row and column in row:
                        assert row[column] == by_x[row['x']][column], (name, row)
            if name == 'join':
                assert [row['l_y'] for row in made] == [row['l'] for row in ROWS], 'join'
        try:
            rows({**source, 'r': {'op': name, **inputs(op), **operand(op)}}, 'r')
        except GranaryError as error:
            text = str(error)
            if not ("'r'" in text and ('list' in text or "'l'" in text or '`l`' in text)):
                odd.append(f'{name}: {text}')
    for kind in ('aggregates', 'windows', 'functions'):
        for function in TABLE[kind]:
            if not function['name'].isidentifier():
                continue
            least = len(function['arguments']) - function['optional']
            for count in range(least, (least if kind == 'windows' else len(function['arguments'])) + 1):
                call = f"{function['name']}({', '.join(['l'] + ['1'] * (count - 1) if count else [])})"
                node = {'aggregates': {'op': 'groupby', 'keys': ['k'], 'aggregate': {'r': call if count else function['name']}},
                        'windows': {'op': 'window', 'by': ['x'], 'columns': {'r': call}},
                        'functions': {'op': 'assign', 'columns': {'r': call}}}[kind]
                try:
                    rows({**source, 'r': {**node, 'input': 't'}}, 'r', 0)
                except GranaryError as error:
                    text = str(error)
                    if not ('list' in text or "'l'" in text or '`l`' in text):
                        odd.append(f'{call}: {text}')
    assert not odd, '\n'.join(odd)
    # explode
    for outer in (True, False):
        want = [{'x': row['x'], 'l': a, 'm': b} for row in ROWS
                for a, b in zip(row['l'] or ([None] if outer else []), row['m'] or ([None] if outer else []))]
        for size in (0, 500):
            node = {'op': 'explode', 'input': 's', 'columns': ['l', 'm'], 'outer': outer}
            got = rows({**source, 's': {'op': 'select', 'input': 't', 'columns': ['x', 'l', 'm']}, 'r': node}, 'r', size)
            assert got == want, (outer, size)
    # list(x): the values of a group in order, whatever the cuts.
    for size in (0, 500):
        for column in ('x', 's', 'd'):
            node = {'op': 'groupby', 'input': 't', 'keys': ['k'], 'aggregate': {'r': f'list({column})', 'n': 'size'}}
            got = rows({**source, 'r': node}, 'r', size)
            kept = {k: [row[column] for row in ROWS if row['k'] == k and row[column] is not None] for k in range(7)}
            assert got == [{'k': k, 'r': kept[k], 'n': sum(row['k'] == k for row in ROWS)} for k in range(7)], (size, column)
            back = rows({**source, 'a': {'op': 'select', 'input': 't', 'columns': ['k', column]},
                         'g': {'op': 'groupby', 'input': 'a', 'keys': ['k'], 'aggregate': {'r': f'list({column})'}},
                         'r': {'op': 'explode', 'input': 'g', 'column': 'r'}}, 'r', size)
            assert back == [{'k': k, 'r': v} for k in range(7) for v in kept[k]], (size, column)
            # array(x) keeps nulls, unique(x) has each value once in ascending order.
            node = {'op': 'groupby', 'input': 't', 'keys': ['k'], 'aggregate': {'a': f'array({column})', 'u': f'unique({column})', 'o': f'list({column})'}}
            got = rows({**source, 'r': node}, 'r', size)
            assert got == [{'k': k, 'a': [row[column] for row in ROWS if row['k'] == k], 'u': sorted(set(kept[k])), 'o': kept[k]} for k in range(7)], (size, column)
    for size in (0, 500):
        got = rows({**source, 'r': {'op': 'aggregate', 'input': 't', 'aggregate': {'a': 'array(s)', 'u': 'unique(s)', 'n': 'array(null)', 'f': 'array(x / k)'}}}, 'r', size)[0]
        assert got['a'] == [row['s'] for row in ROWS] and got['u'] == ['ab,c'] and got['n'] == [None] * len(ROWS), size
        assert len(got['f']) == len(ROWS) and got['f'][1] == 1.0, size
        # Many groups of one row each take another way.
        got = rows({**source, 'r': {'op': 'groupby', 'input': 't', 'keys': ['x'], 'sort': False, 'aggregate': {'a': 'array(s)', 'u': 'unique(s)'}}}, 'r', size)
        assert sorted((row['x'], row['a'], row['u']) for row in got) == [(row['x'], [row['s']], [row['s']] if row['s'] else None) for row in ROWS], size
    none = {**source, 'f': {'op': 'filter', 'input': 't', 'where': 's is null'}}
    got = rows({**none, 'r': {'op': 'aggregate', 'input': 'f', 'aggregate': {'r': 'list(s)', 'e': 'list(null)'}}}, 'r')
    assert got == [{'r': None, 'e': None}], got
    granary.fails({**source, 'a': {'op': 'assign', 'input': 't', 'columns': {'n': 'list_value(1, 2)'}},
                   'r': {'op': 'explode', 'input': 'a', 'columns': ['l', 'n']}}, 'r', "'r'", 'items')
    # A window without a partition has the rows of all chunks in one, lists with them.
    for size in (300, 500, 3000):
        got = rows({**source, 'r': {'op': 'window', 'input': 't', 'columns': {'n': 'size()'}}}, 'r', size)
        assert got == [{**row, 'n': len(ROWS)} for row in ROWS], size
    keys_of_lists(rows, source)
    # A list of ten million items, in and out of an object, summed, sliced, and exploded.
    text = granary.command('sql', '--discard', '--csv', 'SELECT len(l) AS n, list_sum(l) AS s, l[9999999] AS v, len(l[5:]) AS r '
                           'FROM (SELECT range(10000000) AS l) t')
    assert text.split() == ['n,s,v,r', '10000000,49999995000000,9999998,9999996'], text
    text = granary.command('sql', '--discard', '--csv', 'SELECT count(*) AS n, sum(v) AS s FROM (SELECT unnest(range(10000000)) AS v) t')
    assert text.split() == ['n,s', '10000000,49999995000000'], text
    # Ten million values gathered into one list of one group, in an order, and skewed: nearly all are one group's.
    text = granary.command('sql', '--discard', '--csv', 'SELECT len(l) AS n, l[1] AS a, l[-1] AS z, list_sum(l) AS s FROM (SELECT list(i ORDER BY i DESC) AS l '
                           'FROM range(10000000) r(i)) t')
    assert text.split() == ['n,a,z,s', '10000000,9999999,0,49999995000000'], text
    text = granary.command('sql', '--discard', '--csv', 'SELECT k, len(list(i)) AS n, sum(DISTINCT i % 10) AS s, arg_max(i, -i) AS a, first(i ORDER BY i DESC) AS f '
                           'FROM (SELECT i, CASE WHEN i % 100000 = 7 THEN i ELSE 0 END AS k FROM range(1000000) r(i)) t GROUP BY k ORDER BY n DESC, k LIMIT 2')
    assert text.split() == ['k,n,s,a,f', '0,999990,45,0,999999', '7,1,7,7,7'], text
