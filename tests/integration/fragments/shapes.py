#!/usr/bin/python3
"""Graphs and statements of every shape in fragments: cut, run on several private instances, with the bytes of one instance.

    shapes.py BIN_DIRECTORY QUESTIONS PARTITIONS MACHINES [NAME...]

QUESTIONS are those of `granary bench frame`: its groupby, join and frame suites run, too, on tables of the same columns.
"""
import json
import pathlib
import random
import re
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'support' / 'py'))
from fragments import Machines

binaries, questions, partitions, count = sys.argv[1:5]
chosen = sys.argv[5:]

# What is gathered although it is cut, by the name of a case: none but these.
GATHERED = {'cumsum': 'window', 'running floats': 'window', 'weighted': 'window', 'slice': 'slice', 'sample': 'sample', 'recursive': 'recurse',
            'not in': 'join', 'beside': 'concat', 'described': 'describe', 'melt': 'melt', 'duplicated': 'duplicated'}

# (name, statement): over a (k, s, x, d: nulls and repetitions), b (k, y: fewer keys, repeated) and c (k, z: small).
STATEMENTS = [
    ('scan', "SELECT k, x * 2 AS y FROM a WHERE x > 0.5"),
    ('all rows', "SELECT * FROM a"),
    ('no rows', "SELECT * FROM a WHERE k < 0"),
    ('limit', "SELECT k, s FROM a LIMIT 17"),
    ('offset', "SELECT k, s FROM a ORDER BY x, k LIMIT 5 OFFSET 20"),
    ('top', "SELECT * FROM a ORDER BY s DESC, x LIMIT 9"),
    ('top of ties', "SELECT k, s, x FROM a ORDER BY s LIMIT 40"),
    ('order', "SELECT * FROM a ORDER BY s DESC NULLS FIRST, d"),
    ('order of ties', "SELECT s, k, x FROM a ORDER BY s"),
    ('order after order', "SELECT * FROM (SELECT * FROM a ORDER BY x DESC LIMIT 500) ORDER BY s"),
    ('totals', "SELECT count(*), sum(x), avg(x), min(d), max(s), median(x), count(DISTINCT s) FROM a"),
    ('totals of no rows', "SELECT count(*), sum(x) FROM a WHERE k < 0"),
    ('groups', "SELECT s, count(*) AS n, sum(x) AS t, avg(x) AS m, stddev(x) AS e FROM a GROUP BY s ORDER BY s"),
    ('groups in any order', "SELECT k, count(*) AS n, max(x) AS m FROM a GROUP BY k"),
    ('groups of null', "SELECT d, count(*) AS n FROM a GROUP BY d ORDER BY n DESC, d"),
    ('first and last', "SELECT s, first(k) AS f, last(x) AS l FROM a GROUP BY s ORDER BY s"),
    ('first of joined', "SELECT s, first(y) AS f FROM a JOIN b ON a.k = b.k GROUP BY s ORDER BY s"),
    ('having', "SELECT k FROM a GROUP BY k HAVING sum(x) > 5 ORDER BY k"),
    ('groups of groups', "SELECT n, count(*) AS c FROM (SELECT k, count(*) AS n FROM a GROUP BY k) GROUP BY n ORDER BY n"),
    ('distinct', "SELECT DISTINCT s FROM a"),
    ('distinct pairs', "SELECT DISTINCT s, d FROM a ORDER BY d LIMIT 30"),
    ('distinct numbers', "SELECT DISTINCT x FROM a"),
    ('join small', "SELECT a.k, s, z FROM a JOIN c ON a.k = c.k ORDER BY z, x LIMIT 50"),
    ('join small in order', "SELECT a.k, s, z FROM a JOIN c ON a.k = c.k"),
    ('join small first', "SELECT a.k, s, z FROM c JOIN a ON a.k = c.k"),
    ('join large', "SELECT a.k, s, y, x FROM a JOIN b ON a.k = b.k"),
    ('join large and sort', "SELECT a.k, s, y FROM a JOIN b ON a.k = b.k ORDER BY s"),
    ('left', "SELECT a.k, s, y FROM a LEFT JOIN b ON a.k = b.k"),
    ('left small', "SELECT c.k, z, x FROM c LEFT JOIN a ON a.k = c.k"),
    ('right', "SELECT a.k, s, y FROM a RIGHT JOIN b ON a.k = b.k"),
    ('right small', "SELECT c.k, z, x FROM a RIGHT JOIN c ON a.k = c.k"),
    ('full', "SELECT a.k, s, y FROM a FULL JOIN b ON a.k = b.k"),
    ('full small', "SELECT a.k, s, z FROM a FULL JOIN c ON a.k = c.k"),
    ('cross', "SELECT a.k, z FROM a CROSS JOIN c WHERE a.x > 0.97"),
    ('unequal', "SELECT a.k, z FROM a JOIN c ON a.k < c.k AND a.x > 0.97"),
    ('mixed keys', "SELECT a.k, s, y FROM a JOIN b ON a.k = b.y"),
    ('self', "SELECT p.k, q.x FROM a p JOIN a q ON p.k = q.k AND p.d = q.d WHERE p.x > 0.9"),
    ('hot on both sides', "SELECT p.k, x, y FROM (SELECT CASE WHEN k < 150 THEN 1 ELSE k END AS k, x FROM a) p JOIN "
     "(SELECT CASE WHEN k < 300 AND k > 210 THEN 250 WHEN k = 201 THEN 1 ELSE k END AS k, y FROM b) q ON p.k = q.k"),
    ('three', "SELECT s, sum(y) AS t FROM a JOIN b ON a.k = b.k JOIN c ON b.k = c.k GROUP BY s ORDER BY t, s"),
    ('exists', "SELECT k, x FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.y > 0.5)"),
    ('not exists', "SELECT k, x FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)"),
    ('in', "SELECT k, x FROM a WHERE k IN (SELECT k FROM b WHERE y > 0.5)"),
    ('not in of many', "SELECT k, x FROM a WHERE k NOT IN (SELECT k FROM b WHERE y > 0.9)"),
    ('not in', "SELECT z FROM c WHERE k NOT IN (SELECT k FROM b WHERE y > 0.9)"),
    ('scalar', "SELECT k, x FROM a WHERE x > (SELECT avg(y) FROM b)"),
    ('correlated', "SELECT k, x FROM a WHERE x > (SELECT avg(y) FROM b WHERE b.k = a.k)"),
    ('union all', "SELECT k, x FROM a UNION ALL SELECT k, y FROM b"),
    ('union all small', "SELECT k, x FROM a UNION ALL SELECT k, z FROM c UNION ALL SELECT 1, 2.5"),
    ('union all of sorted', "(SELECT k, x FROM a ORDER BY x LIMIT 300) UNION ALL SELECT k, y FROM b"),
    ('union', "SELECT k FROM a UNION SELECT k FROM b"),
    ('intersect', "SELECT k FROM a INTERSECT SELECT k FROM b"),
    ('except', "SELECT k FROM a EXCEPT SELECT k FROM b"),
    ('except all', "SELECT k FROM a EXCEPT ALL SELECT k FROM b"),
    ('window', "SELECT k, x, row_number() OVER (PARTITION BY k ORDER BY x) AS r, sum(x) OVER (PARTITION BY k) AS t FROM a"),
    ('rank', "SELECT k, x, rank() OVER (PARTITION BY s ORDER BY d DESC, k) AS r FROM a ORDER BY s, r, x LIMIT 90"),
    ('window of joined', "SELECT a.k, y, lag(y) OVER (PARTITION BY a.k ORDER BY y, x) AS p FROM a JOIN b ON a.k = b.k"),
    ('top of each', "SELECT * FROM (SELECT k, x, row_number() OVER (PARTITION BY k ORDER BY x DESC) AS r FROM a) WHERE r <= 2"),
    ('windowed twice', "WITH w AS (SELECT k, x, row_number() OVER (PARTITION BY k ORDER BY x) AS r FROM a) SELECT p.k, p.x, q.x AS y FROM w p JOIN w q ON p.k = q.k AND p.r = q.r + 1"),
    ('whole window', "SELECT k, sum(x) OVER () AS t FROM a"),
    ('whole windows', "SELECT s, x, avg(x) OVER () AS m, count(d) OVER () AS n, max(s) OVER () AS l FROM a"),
    ('numbered', "SELECT k, x, row_number() OVER (ORDER BY x DESC, s) AS r FROM a"),
    ('numbered as it stands', "SELECT k, s, row_number() OVER () AS r FROM a WHERE x > 0.2"),
    ('ranked', "SELECT k, d, rank() OVER (ORDER BY d) AS r, dense_rank() OVER (ORDER BY d) AS e FROM a"),
    ('running integers', "SELECT k, x, sum(k) OVER (ORDER BY x) AS t, count(k) OVER (ORDER BY x) AS n FROM a"),
    ('running rows', "SELECT k, x, sum(k) OVER (ORDER BY x, k ROWS UNBOUNDED PRECEDING) AS t, max(s) OVER (ORDER BY x, k ROWS UNBOUNDED PRECEDING) AS m FROM a"),
    ('running floats', "SELECT k, x, sum(x) OVER (ORDER BY k) AS t FROM a"),
    ('lag and lead', "SELECT k, s, x, lag(s) OVER (ORDER BY x) AS p, lead(k, 3) OVER (ORDER BY x) AS q FROM a"),
    ('lag of joined', "SELECT a.k, y, lag(y) OVER (ORDER BY y, x) AS p FROM a JOIN b ON a.k = b.k"),
    ('lag of few', "SELECT k, x, lag(x, 2) OVER (ORDER BY x) AS p FROM a WHERE x > 0.995"),
    ('lag of none', "SELECT k, lag(x, 2) OVER (ORDER BY x) AS p, row_number() OVER (ORDER BY x) AS r FROM a WHERE x > 2"),
    ('numbered and joined', "WITH w AS (SELECT k, x, row_number() OVER (ORDER BY x) AS r FROM a) SELECT p.k, p.x - q.x AS d FROM w p JOIN w q ON p.r = q.r + 1"),
    ('one hot key', "SELECT k, h, row_number() OVER (ORDER BY h) AS r FROM (SELECT k, CASE WHEN k < 290 THEN 1 ELSE k END AS h FROM a)"),
    ('unnest', "SELECT k, u FROM (SELECT k, [x, x * 2] AS l FROM a), UNNEST(l) AS t(u)"),
    ('recursive', "WITH RECURSIVE r(n) AS (SELECT min(k) FROM a UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT n FROM r"),
    ('constant', "SELECT 1 AS one"),
    ('small alone', "SELECT k, count(*) AS n FROM c GROUP BY k ORDER BY k"),
]


def node(op, inputs=(), **parameters):
    return {'op': op, **({'inputs': list(inputs)} if inputs else {}), **parameters}


def graphs(read):
    """(name, nodes): the target is `answer`."""
    a, b, c = read('a'), read('b'), read('c')
    sort = node('sort', ['a'], by=['s'], descending=True)
    return [
        ('sort and then more', {'a': a, 's': sort, 'w': node('window', ['s'], columns={'r': 'row_number()'}, partition=['d']),
                                'answer': node('filter', ['w'], where='r < 4')}),
        ('sorted twice', {'a': a, 's': sort, 'answer': node('sort', ['s'], by=['d'], nulls='first')}),
        ('groups in order', {'a': a, 's': sort, 'answer': node('groupby', ['s'], keys=['d'], aggregate={'f': 'first(x)', 'l': 'list(k)'})}),
        ('distinct last', {'a': a, 'answer': node('distinct', ['a'], subset=['s'], keep='last')}),
        ('distinct none', {'a': a, 'answer': node('distinct', ['a'], subset=['k', 'd'], keep='none')}),
        ('distinct of sorted', {'a': a, 's': sort, 'answer': node('distinct', ['s'], subset=['d'])}),
        ('duplicated', {'a': a, 'answer': node('duplicated', ['a'], subset=['k'])}),
        ('join in another order', {'a': a, 'b': b, 's': sort, 'answer': node('join', ['s', 'b'], on=['k'])}),
        ('outer of sorted', {'a': a, 'b': b, 's': sort, 'answer': node('join', ['s', 'b'], on=['k'], how='outer', indicator='from')}),
        ('concat of sorted', {'a': a, 'b': b, 's': sort, 'answer': node('concat', ['s', 'b', 's'])}),
        ('concat and head', {'a': a, 'b': b, 'u': node('concat', ['b', 'a']), 'answer': node('head', ['u'], rows=1500)}),
        ('beside', {'a': a, 'p': node('select', ['a'], columns=['k']), 'q': node('select', ['a'], columns=['x']),
                    'answer': node('concat', ['p', 'q'], axis=1)}),
        ('rolled', {'a': a, 'answer': node('window', ['a'], columns={'m': 'rolling_mean(x, 5)', 's': 'moving_sum(x, 3)', 'p': 'diff(x)'})}),
        ('centred', {'a': a, 's': sort, 'answer': node('window', ['s'], columns={'m': 'rolling_median(x, 7, 1, true)', 'r': 'cumcount()'})}),
        ('cumulated', {'a': a, 'answer': node('window', ['a'], columns={'c': 'cumsum(k)', 'k': 'cummax(k)', 'n': 'cummin(s, true)', 'r': 'row_number()'})}),
        ('weighted', {'a': a, 'answer': node('window', ['a'], columns={'e': 'ewm_mean(x, 0.5)'})}),
        ('order of one key', {'a': a, 'h': node('assign', ['a'], columns={'h': 'case when k < 290 then 1 else k end'}), 's': node('sort', ['h'], by=['h']),
                              'answer': node('groupby', ['s'], keys=['d'], aggregate={'f': 'first(x)', 'l': 'list(k)'})}),
        ('slice', {'a': a, 'answer': node('slice', ['a'], start=10, stop=900, step=7)}),
        ('sample', {'a': a, 'answer': node('sample', ['a'], rows=20)}),
        ('melt', {'a': a, 'answer': node('melt', ['a'], id_vars=['k'], value_vars=['x'])}),
        ('counts', {'a': a, 'answer': node('value_counts', ['a'], columns=['s'])}),
        ('described', {'a': a, 'answer': node('describe', ['a'])}),
        ('overwritten keys', {'a': a, 's': sort, 'p': node('project', ['s'], columns={'s': 'k', 'k': 'x'}),
                              'answer': node('filter', ['p'], where='s < 50')}),
        ('checked', {'a': a, 'c': c, 'answer': node('join', ['a', 'c'], on=['k'], validate='m:1')}),
        ('read twice', {'a': a, 'g': node('groupby', ['a'], keys=['k'], aggregate={'t': 'sum(x)'}),
                        'j': node('join', ['a', 'g'], on=['k'], how='left'), 'answer': node('filter', ['j'], where='x * 20 > t')}),
    ]


def tensors():
    """(name, nodes): the target is `answer`. Rows of the first dimension are cut unevenly."""
    x = node('random', shape=[301, 7], seed=5)
    y = node('random', shape=[301, 7], seed=6, distribution='normal')
    v = node('random', shape=[7], seed=7)
    both = {'x': x, 'y': y, 'v': v}
    tall = {'x': node('random', shape=[500001, 7], seed=5), 'y': node('random', shape=[50003, 64], seed=6, distribution='normal'), 'v': v,
            'b': node('random', shape=[500001], seed=9), 'c': node('random', shape=[50003], seed=10)}
    return [
        ('tensor', {'answer': x}),
        ('element-wise', {**both, 'p': node('multiply', ['x', 'y']), 'q': node('subtract', ['p', 'v']), 'answer': node('maximum', ['q'], value=0)}),
        ('fused sum', {**both, 'p': node('multiply', ['x', 'y']), 'answer': node('sum', ['p'])}),
        ('sum of columns', {**both, 'answer': node('sum', ['y'], axes=[0], keepdims=True)}),
        ('sum of rows', {**both, 'answer': node('sum', ['y'], axes=[1])}),
        ('std of columns', {**both, 'answer': node('std', ['y'], axes=[0], ddof=1)}),
        ('mean and centre', {**both, 'm': node('mean', ['y'], axes=[0]), 'answer': node('subtract', ['y', 'm'])}),
        ('argmax', {**both, 'answer': node('argmax', ['y'], axes=[0])}),
        ('argmax of all', {**both, 'answer': node('argmax', ['y'])}),
        ('integers', {'a': node('arange', stop=1000), 'b': node('multiply', ['a'], value=3), 'answer': node('prod', ['b'], axes=[0])}),
        ('wide matmul', {'x': node('random', shape=[300, 300], seed=5), 'w': node('random', shape=[300, 4200], chunk=[300, 4200], seed=8), 'p': node('matmul', ['x', 'w']),
                          'answer': node('sum', ['p'], axes=[0])}),
        ('long matmul', {'x': node('random', shape=[300, 9000], seed=5), 'w': node('random', shape=[9000, 3], seed=8), 'answer': node('matmul', ['x', 'w'])}),
        ('matmul of transposed', {'x': node('random', shape=[300, 400], seed=5), 'y': node('random', shape=[300, 50], seed=6), 't': node('transpose', ['x']),
                                  'p': node('matmul', ['t', 'y']), 'answer': node('sum', ['p'], axes=[0])}),
        ('matmul of few', {**both, 'w': node('random', shape=[7, 5], seed=8), 'answer': node('matmul', ['x', 'w'])}),
        ('matmul', {'x': node('random', shape=[5001, 7], seed=5), 'w': node('random', shape=[7, 5], seed=8), 'answer': node('matmul', ['x', 'w'])}),
        ('matmul and argmax', {**tall, 'w': node('random', shape=[7, 5], seed=8), 'p': node('matmul', ['x', 'w']), 'answer': node('argmax', ['p'], axes=[0])}),
        ('matrix and vector', {**tall, 'answer': node('matmul', ['x', 'v'])}),
        ('gram', {**tall, 't': node('transpose', ['x']), 'g': node('matmul', ['t', 'x']), 'answer': node('cholesky', ['g'])}),
        ('vector and matrix', {**tall, 'answer': node('matmul', ['b', 'x'])}),
        ('einsum', {**tall, 'answer': node('einsum', ['x', 'b'], subscripts='ij,i->j')}),
        ('q', {**tall, 'p': node('qr', ['y'], part='q'), 'r': node('qr', ['y'], part='r'), 'b': node('matmul', ['p', 'r']), 'answer': node('sum', ['b'], axes=[0])}),
        ('u', {**tall, 'p': node('svd', ['y'], part='u'), 'answer': node('sum', ['p'], axes=[0])}),
        ('s', {**tall, 'answer': node('svd', ['y'], part='s')}),
        ('least squares', {**tall, 'answer': node('lstsq', ['y', 'c'])}),
        ('stacks', {'x': node('random', shape=[40, 30, 20], seed=1), 'y': node('random', shape=[40, 20, 25], seed=2), 'answer': node('matmul', ['x', 'y'])}),
        ('transposed', {**both, 'answer': node('transpose', ['x'])}),
        ('transposed twice', {'x': node('random', shape=[1000, 40], seed=5), 't': node('transpose', ['x']), 's': node('sin', ['t']), 'm': node('mean', ['t'], axes=[1]),
                              'u': node('transpose', ['s']), 'answer': node('subtract', ['u', 'm'])}),
        ('axes', {'x': node('random', shape=[60, 20, 30], seed=1), 'a': node('transpose', ['x'], axes=[2, 0, 1]), 'b': node('swapaxes', ['a'], axis1=-1, axis2=0),
                  'c': node('moveaxis', ['b'], source=[0], destination=[1]), 'answer': node('swapaxes', ['c'], axis1=1, axis2=2)}),
        ('tensor to frame', {**both, 'f': node('from_tensor', ['x'], columns=list('abcdefg')), 'g': node('filter', ['f'], where='a > 0.3'),
                             'answer': node('sort', ['g'], by=['b'])}),
    ]


def write(path, header, rows):
    path.write_text(''.join(','.join('' if v is None else str(v) for v in row) + '\n' for row in [header, *rows]))


def make_tables(directory, rows):
    draw = random.Random(7)
    some = lambda p, value: None if draw.random() < p else value
    write(directory / 'a.csv', ['k', 's', 'x', 'd'],
          [[some(0.05, draw.randrange(300)), some(0.1, f's{draw.randrange(20)}'), round(draw.random(), 3),
            some(0.2, f'2024-0{draw.randrange(1, 10)}-1{draw.randrange(3)}')] for _ in range(rows)])
    write(directory / 'b.csv', ['k', 'y'], [[some(0.02, draw.randrange(200, 420)), draw.choice([round(draw.random(), 2), 211.0])] for _ in range(rows // 2)])
    write(directory / 'c.csv', ['k', 'z'], [[k, draw.randrange(1000)] for k in range(0, 400, 23)])
    identifiers = lambda: [f'id{draw.randrange(20):03}', f'id{draw.randrange(20):03}', f'id{draw.randrange(rows // 20):010}']
    numbers = lambda: [draw.randrange(20), draw.randrange(20), draw.randrange(rows // 20)]
    write(directory / 'groupby.csv', ['id1', 'id2', 'id3', 'id4', 'id5', 'id6', 'v1', 'v2', 'v3'],
          [[*identifiers(), *numbers(), draw.randrange(5), draw.randrange(15), round(draw.random() * 100, 6)] for _ in range(rows)])
    write(directory / 'join_x.csv', ['id1', 'id2', 'id3', 'id4', 'id5', 'id6', 'v1'],
          [[a := draw.randrange(20), b := draw.randrange(200), c := draw.randrange(rows), f'id{a}', f'id{b}', f'id{c}', round(draw.random() * 100, 6)] for _ in range(rows)])
    write(directory / 'join_small.csv', ['id1', 'id4', 'v2'], [[i, f'id{i}', round(draw.random() * 100, 6)] for i in range(3, 22)])
    write(directory / 'join_medium.csv', ['id1', 'id2', 'id4', 'id5', 'v2'],
          [[i % 20, i, f'id{i % 20}', f'id{i}', round(draw.random() * 100, 6)] for i in range(30, 220)])
    write(directory / 'join_big.csv', ['id1', 'id2', 'id3', 'id4', 'id5', 'id6', 'v2'],
          [[i % 20, i % 200, i, f'id{i % 20}', f'id{i % 200}', f'id{i}', round(draw.random() * 100, 6)] for i in range(100, rows + 100)])


FORMATS = ['parquet', 'arrow', 'ndjson', 'csv.gz', 'folder']


def write_formats(machines, directory):
    """The rows of `a` in files of other formats, and in three files of a folder."""
    for ending in FORMATS[:-1]:
        machines.command(0, 'sql', '-o', f'{directory}/a.{ending}', 'SELECT * FROM a')
    (directory / 'folder').mkdir()
    for n in range(3):
        machines.command(0, 'sql', '-o', f'{directory}/folder/{n}.parquet', f'SELECT * FROM a WHERE k % 3 = {n}')


def formats(directory):
    for ending in FORMATS:
        path = f'{directory}/folder/' if ending == 'folder' else f'{directory}/a.{ending}'
        yield f'rows of {ending}', ['sql', f"SELECT k, s, x, d FROM '{path}' WHERE x > 0.3"], None, 'result'
        yield f'groups of {ending}', ['sql', f"SELECT s, count(*) AS n, first(x) AS f FROM '{path}' GROUP BY s ORDER BY n, s"], None, 'result'


def suites(directory):
    for text in pathlib.Path(questions).read_text().split('\n\n'):
        head, _, graph = text.partition('\n')
        if re.match('(groupby|join|frame) [a-z0-9_]+ [a-z0-9-]+$', head):
            made = re.sub(r'\{"op": "table", "name": "(\w+)"', rf'{{"op": "read_csv", "path": "{directory}/\1.csv"', graph)
            part, key, _ = head.split()
            yield (f'{part} {key}' if part != 'frame' else key), json.loads(made)


def cases(directory):
    read = lambda table: node('read_csv', path=f'{directory}/{table}.csv')
    for name, statement in STATEMENTS:
        yield name, ['sql', statement], None, 'result'
    for name, nodes in graphs(read):
        yield name, ['run', '-'], json.dumps({'nodes': nodes, 'targets': ['answer']}), 'answer'
    yield from formats(directory)
    for name, nodes in tensors():
        yield name, ['run', '-'], json.dumps({'nodes': nodes, 'targets': ['answer']}), 'answer'
    for name, graph in suites(directory):
        yield name, ['run', '-'], json.dumps(graph), 'answer'


def try_case(machines, name, command, text, target):
    plan = json.loads(machines.command(0, command[0], '--fragments', partitions, '--fragment-bytes', '2k', command[1], text=text))
    run = machines.run(plan)
    discard = ['--discard'] if command[0] == 'run' else []
    for option in ['--json'] if plan['targets'][0]['kind'] == 'tensor' else ['--csv', '--schema']:
        found, expected = run.text(target, option), machines.command(0, command[0], option, *discard, command[1], text=text)
        if found != expected:
            different = [(i, *pair) for i, pair in enumerate(zip(found.splitlines(), expected.splitlines())) if pair[0] != pair[1]]
            raise AssertionError(f'{len(found.splitlines())} lines instead of {len(expected.splitlines())}, same rows: '
                                 f'{sorted(found.splitlines()) == sorted(expected.splitlines())}; different: {different[:3]}')
    gathered = {entry['op'] for entry in plan['gathered']} - {GATHERED.get(name)}
    if gathered:
        raise AssertionError(f'gathered: {plan["gathered"]}')
    return plan


def main():
    wrong = 0
    with tempfile.TemporaryDirectory(prefix='granary-fragments-') as data, Machines(binaries, int(count)) as machines:
        directory = pathlib.Path(data)
        make_tables(directory, 3000)
        for table in 'abc':
            machines.command(0, 'sql', f"CREATE VIEW {table} AS SELECT * FROM '{directory}/{table}.csv'")
        write_formats(machines, directory)
        for name, command, text, target in cases(directory):
            if chosen and name not in chosen:
                continue
            begin = time.monotonic()
            try:
                plan = try_case(machines, name, command, text, target)
                print(f'ok     {name}: {len(plan["stages"])} stages, {time.monotonic() - begin:.1f} s', flush=True)
            except AssertionError as error:
                wrong += 1
                print(f'WRONG  {name}: {str(error)[:1500]}', flush=True)
    print(f'{wrong} wrong')
    return wrong > 0


sys.exit(main())
