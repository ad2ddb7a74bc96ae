"""Many files as one table: which files a name stands for, what columns meet, what folders tell. Pruned answers are those of all files, files
that nobody wants are not opened (inotify tells), and whatever is wrong gives an error that names the file."""
import json
import os
import random
import shutil

from granary_test import GranaryError, Instance
from opened import Opened
from parquet_writer import parquet

random.seed(int(os.environ.get('GRANARY_SEED', '7')))


def values(column):
    valid = [True] * len(column) if column.valid is None else column.valid
    return [(v.item() if hasattr(v, 'item') else v) if ok else None for v, ok in zip(column.values, valid)]


def rows_of(frame):
    columns = {name: values(column) for name, column in frame.items()}
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def write_csv(path, rows, names):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8', newline='') as file:
        file.write(','.join(names) + '\n')
        for row in rows:
            file.write(','.join('\\N' if row.get(n) is None else str(row[n]) for n in names) + '\n')


def write_ndjson(path, rows, names):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as file:
        for row in rows:
            file.write(json.dumps({n: row.get(n) for n in names}) + '\n')


def write_parquet(path, rows, names):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as file:
        file.write(parquet([{n: [r.get(n) for r in rows] for n in names}], {n: 100 for n in names}))


WRITERS = {'csv': write_csv, 'ndjson': write_ndjson, 'parquet': write_parquet}


with Instance() as granary:
    top = os.path.join(granary.directory, 'files')

    def path(*parts):
        return os.path.join(top, *parts)

    def fresh():
        shutil.rmtree(top, ignore_errors=True)
        os.makedirs(top)

    def read(op, name, **more):
        return rows_of(granary.run({'x': {'op': f'read_{op}', 'path': name, **more}}, 'x'))

    def small(name, number):
        write_csv(path(name), [{'a': number}], ['a'])

    # ---- which files a name stands for ----
    fresh()
    names = ['a.csv', 'b.csv', 'b c.csv', 'ä.csv', 'new\nline.csv', "it's.csv", '.hidden.csv', '_left.csv', 'x.txt', 'd/a.csv', 'd/e/a.csv', 'd/.h/a.csv',
             'd/_t/a.csv', 'd/e/B.CSV', 'q[1].csv', 'z{1}.csv']
    for number, name in enumerate(names):
        small(name, number)
    os.symlink(top, path('d/e/round'))
    os.symlink(path('a.csv'), path('d/link.csv'))
    os.symlink(path('nowhere'), path('d/broken.csv.not'))

    def found(name, **more):
        return [row['f'][len(top) + 1:] for row in read('csv', name, filename='f', **more)]

    def sorted_bytes(some):
        return sorted(some, key=os.fsencode)
    everything = [n for n in names if not any(part[0] in '._' for part in n.split('/')) and n.lower().endswith('.csv')] + ['d/link.csv']
    assert found(top) == sorted_bytes(everything), found(top)
    assert found(top + '/') == sorted_bytes(everything)
    assert found(path('*.csv')) == sorted_bytes(n for n in names if '/' not in n and n[0] != '.' and n.endswith('.csv'))
    assert found(path('[ab].csv')) == ['a.csv', 'b.csv'] and found(path('?.csv')) in (['a.csv', 'b.csv'], ['a.csv', 'b.csv', 'ä.csv'])
    assert found(path('{b,a,a}.csv')) == ['a.csv', 'b.csv'] and found(path('{d/,d/e/}a.csv')) == ['d/a.csv', 'd/e/a.csv']
    assert found(path('**/a.csv')) == ['a.csv', 'd/_t/a.csv', 'd/a.csv', 'd/e/a.csv']
    assert found(path('d/e/round/a.csv')) == ['d/e/round/a.csv'] and found(path('d/*/r*/a.csv')) == ['d/e/round/a.csv']
    assert found(path('d/{e,_t}/')) == ['d/_t/a.csv', 'd/e/B.CSV', 'd/e/a.csv'], found(path('d/{e,_t}/'))
    assert found(path('q[1].csv')) == ['q[1].csv'] and found(path('z{1}.csv')) == ['z{1}.csv']
    assert found(path('b.csv'), paths=[path('a.csv'), path('d/*.csv')]) == ['b.csv', 'a.csv', 'd/a.csv', 'd/link.csv']

    def fails(op, name, *words, **more):
        granary.fails({'x': {'op': f'read_{op}', 'path': name, **more}}, 'x', *words)
    fails('csv', path('*.tsv'), '*.tsv', 'no file matches')
    fails('csv', path('nothing/**'), 'nothing/**', 'no file matches')
    fails('parquet', top, top, 'no file that ends in .parquet')
    fails('csv', path('a.csv'), 'none*', 'no file matches', paths=[path('none*')])
    fails('csv', path('a.csv'), 'none.csv', 'No such file', paths=[path('none.csv')])
    fails('csv', path('{a,b}' * 12), 'more than 1024 patterns')
    fails('csv', path('*' * 9000), 'more than 8192 bytes')
    fails('csv', path('*.csv'), 'filename', "column 'a'", filename='a')
    for name, value in (('align', 'place'), ('schemas', 'any'), ('hive', 'yes'), ('filename', ''), ('paths', [''])):
        fails('csv', path('*.csv'), name, **{name: value})
    if os.geteuid() != 0:
        os.mkdir(path('closed'), 0)
        fails('csv', top, 'closed', 'Permission denied')
        os.rmdir(path('closed'))
    deep = path(*['n'] * 140)
    os.makedirs(deep)
    fails('csv', top, 'more than 128 folders deep')
    os.mkfifo(path('a.csv.fifo.csv'))
    fails('csv', path('a.csv*'), 'a.csv.fifo.csv', 'no regular file')

    # ---- columns that meet ----
    fresh()
    small('1.csv', 1)
    write_csv(path('2.csv'), [{'b': 2.5, 'a': 2}], ['b', 'a'])
    write_csv(path('3.csv'), [{'c': 'x', 'a': '2020-01-01'}], ['c', 'a'])
    open(path('4.csv'), 'w', encoding='utf-8').close()
    assert read('csv', path('[12].csv')) == [{'a': 1, 'b': None}, {'a': 2, 'b': 2.5}]
    assert read('csv', top) == [{'a': '1', 'b': None, 'c': None}, {'a': '2', 'b': 2.5, 'c': None}, {'a': '2020-01-01', 'b': None, 'c': 'x'}]
    fails('csv', path('[12].csv'), '2.csv', "column 2 is called 'a'", align='position')
    fails('csv', path('[12].csv'), '2.csv', "column 'b'", '1.csv', schemas='same')
    fails('csv', path('[21].csv'), '2.csv', '1.csv', schemas='same')
    assert read('csv', path('[12].csv'), dtypes={'b': 'string'})[1] == {'a': 2, 'b': '2.5'}
    fails('csv', path('[12].csv'), 'dtypes', "'none'", dtypes={'none': 'int64'})
    assert read('csv', path('1.csv'), also=['a', 'd']) == [{'a': 1, 'd': None}]
    write_csv(path('5.csv'), [{'x': 3, 'y': 4}], ['x', 'y'])
    write_csv(path('6.csv'), [{'y': 5, 'z': 6.5}], ['y', 'z'])
    assert read('csv', path('[56].csv'), align='position') == [{'x': 3, 'y': 4.0}, {'x': 5, 'y': 6.5}]
    assert read('csv', path('[56].csv'), header=False) == [{'c0': 'x', 'c1': 'y'}, {'c0': '3', 'c1': '4'}, {'c0': 'y', 'c1': 'z'}, {'c0': '5', 'c1': '6.5'}]
    write_parquet(path('1.parquet'), [{'a': 1}, {'a': None}], ['a'])
    write_parquet(path('2.parquet'), [{'b': 7, 'a': 2}], ['b', 'a'])
    assert read('parquet', top) == [{'a': 1, 'b': None}, {'a': None, 'b': None}, {'a': 2, 'b': 7}]
    for k, values_of in enumerate(('CAST(a AS int32)', 'CAST(a AS float64)', "'text'", 'a = 1')):
        granary.run({'r': {'op': 'read_parquet', 'path': path('1.parquet')}, 'p': {'op': 'project', 'input': 'r', 'columns': {'a': values_of}},
                     'x': {'op': 'write_arrow', 'input': 'p', 'path': path(f'{k}.arrow')}}, 'x')
    assert read('arrow', path('[01].arrow')) == [{'a': v} for v in (1.0, None, 1.0, None)]
    fails('arrow', path('[02].arrow'), "column 'a' is int32 in", '0.arrow', 'string in', '2.arrow')
    fails('arrow', path('[13].arrow'), 'bool', '3.arrow')
    fails('arrow', path('[01].arrow'), 'float64 in', schemas='same')
    shutil.copy(path('5.csv'), path('9.parquet'))
    fails('parquet', top, '9.parquet')

    # Files of few and of many chunks, whose types are found in one stage and in two.
    fresh()
    for number, count in enumerate([1, 2000, 3, 2500, 1800, 1]):
        write_csv(path(f'{number}.csv'), [{'a': i, 's': f'"{i % 7},\n"', 'f': i / 4 if number == 3 else i} for i in range(count)], ['a', 's', 'f'])
        write_ndjson(path(f'{number}.ndjson'), [{'a': i, 's': f'{i % 7},\n', 'f': i / 4 if number == 3 else i} for i in range(count)], ['f', 's', 'a'])
    for op in ('csv', 'ndjson'):
        node = {'op': f'read_{op}', 'path': top}
        whole = granary.run({'x': node}, 'x')
        assert whole['f'].dtype == 'float64' and len(whole['a']) == 6305
        for chunk_bytes in (4096, 20000):
            assert rows_of(granary.run({'x': node}, 'x', chunk_bytes)) == rows_of(whole), (op, chunk_bytes)

    # ---- folders that are columns ----
    fresh()
    odd = {'k=%20a%2Fb': ' a/b', 'k=__HIVE_DEFAULT_PARTITION__': None, 'k=ä': 'ä', 'k=': '', "k=it's": "it's", 'k=100%': '100%'}
    for folder in odd:
        small(f'{folder}/x.csv', 1)
    assert {row['k'] for row in read('csv', top)} == set(odd.values())
    for value in odd.values():
        test = 'k is null' if value is None else "k = '" + value.replace("'", "''") + "'"
        got = granary.run({'r': {'op': 'read_csv', 'path': top}, 'x': {'op': 'filter', 'input': 'r', 'where': test}}, 'x')
        assert [r['k'] for r in rows_of(got)] == [value], (value, got)
    assert read('csv', top, hive='false') == [{'a': 1}] * len(odd)
    small('plain.csv', 1)
    assert read('csv', top) == [{'a': 1}] * (len(odd) + 1)
    fails('csv', top, 'plain.csv', 'other columns', hive='true')
    fails('csv', path('plain.csv'), 'KEY=VALUE', hive='true')
    fresh()
    for kind, folders in {'int64': ['1', '-7', '007'], 'float64': ['1', '2.5'], 'date': ['2020-01-31'], 'timestamp': ['2020-01-31', '2020-01-31 12:00:00'],
                          'bool': ['true', 'false'], 'string': ['1', 'x'], 'decimal(0)': ['1', '12345678901234567890']}.items():
        for value in folders:
            small(f'{kind}/k={value}/x.csv', 1)
        column = granary.run({'x': {'op': 'read_csv', 'path': path(kind)}}, 'x')['k']
        assert column.dtype == kind, (kind, column.dtype)
    assert granary.run({'x': {'op': 'read_csv', 'path': path('int64'), 'dtypes': {'k': 'string'}}}, 'x')['k'].dtype == 'string'
    fails('csv', path('string'), "'x' is no int64", dtypes={'k': 'int64'})
    write_csv(path('both/a=5/x.csv'), [{'a': 1, 'b': 2}], ['a', 'b'])
    assert read('csv', path('both')) == [{'a': 5, 'b': 2}]

    # ---- random folders and conditions: the same rows, whatever is left out ----
    def condition(depth=0):
        draw = random.random()
        if depth < 2 and draw < 0.3:
            one, two = condition(depth + 1), condition(depth + 1)
            word = random.choice(['and', 'or'])
            return f'({one}) {word} ({two})'
        if depth < 2 and draw < 0.38:
            return f'not ({condition(depth + 1)})'
        name = random.choice('kkmmab')
        number = random.randrange(5)
        texts = [f"'{c}'" for c in 'xyz']
        literal = random.choice(texts) if name == 'm' else str(number)
        return random.choice([f'{name} = {literal}', f'{name} != {literal}', f'{name} < {literal}', f'{name} >= {literal}', f'{literal} > {name}',
                              f'{name} in ({literal}, {random.choice(texts) if name == "m" else 2})', f'{name} is null', f'{name} is not null',
                              f'{name} between {literal} and {literal}', "upper(m) = 'X'", 'k + 1 = 3', f'coalesce(k, 2) = {number}'])

    opened_less = 0
    for _ in range(6):
        fresh()
        op = random.choice(['csv', 'ndjson', 'parquet'])
        for k in random.sample(['0', '1', '2', '3', '__HIVE_DEFAULT_PARTITION__'], 3):
            for m in random.sample(['x', 'y', 'z', '__HIVE_DEFAULT_PARTITION__'], 2):
                for number in range(random.choice([1, 2])):
                    columns = random.choice([['a', 'b'], ['b', 'a'], ['a', 'b', 'c']])
                    rows = [{n: None if random.random() < 0.2 else random.randrange(5) for n in columns} for _ in range(random.choice([1, 30]))]
                    rows[0].update({n: 1 for n in columns})
                    WRITERS[op](path(f'k={k}/m={m}/{number}.{op}'), rows, columns)
        for _ in range(10):
            where = condition()
            opened = Opened(top)
            source = {'r': {'op': f'read_{op}', 'path': top, 'also': ['c']}}
            shape = random.choice(['filter', 'renamed', 'late', 'twice'])
            if shape == 'filter':
                graph = {**source, 'x': {'op': 'filter', 'input': 'r', 'where': where}}
            elif shape == 'renamed':
                graph = {**source, 'n': {'op': 'rename', 'input': 'r', 'columns': {'k': 'm', 'm': 'k'}},
                         'o': {'op': 'rename', 'input': 'n', 'columns': {'m': 'k', 'k': 'm'}}, 'x': {'op': 'filter', 'input': 'o', 'where': where}}
            elif shape == 'late':
                graph = {**source, 'n': {'op': 'assign', 'input': 'r', 'columns': {'e': 'a'}}, 'f': {'op': 'filter', 'input': 'n', 'where': where},
                         'x': {'op': 'drop', 'input': 'f', 'columns': ['e']}}
            else:
                graph = {**source, 'f': {'op': 'filter', 'input': 'r', 'where': where}, 'g': {'op': 'filter', 'input': 'r', 'where': 'k = 1 and false'},
                         'x': {'op': 'concat', 'inputs': ['f', 'g']}}
            got = rows_of(granary.run(graph, 'x'))
            opened_less += len(opened.names()) < sum(len(files) for _, _, files in os.walk(top))
            opened.close()
            # The same condition above a head, where nothing is left out.
            everything = granary.run({'r': {'op': f'read_{op}', 'path': top, 'also': ['c']}, 'h': {'op': 'head', 'input': 'r', 'rows': 100000},
                                      'x': {'op': 'filter', 'input': 'h', 'where': where}}, 'x')
            assert got == rows_of(everything), (op, shape, where)

    assert opened_less > 10, opened_less

    # The same files read twice, each time for other rows of them.
    graph = {'r': {'op': 'read_csv', 'path': path('t')}, 's': {'op': 'read_csv', 'path': path('t')},
             'f': {'op': 'filter', 'input': 'r', 'where': 'k = 1'}, 'g': {'op': 'filter', 'input': 's', 'where': 'k = 2'},
             'x': {'op': 'concat', 'inputs': ['f', 'g']}}
    for number in (1, 2):
        small(f't/k={number}/x.csv', number)
    assert rows_of(granary.run(graph, 'x')) == [{'a': 1, 'k': 1}, {'a': 2, 'k': 2}]

    # ---- a thousand files, of which some are opened ----
    fresh()
    for number in range(1000):
        write_csv(path(f'year={2000 + number // 50}/part={number % 50}/x.csv'), [{'a': number}], ['a'])
    for where, most in (('year = 2003 and part = 7', 1), ('year in (2001, 2002) and part < 5', 10), ("year = 1999", 1), ('part is null', 1),
                        ('year = 2004 and (part = 1 or part = 2 or a = -1) and part != 1 and part < 3', 2)):
        opened = Opened(top)
        got = rows_of(granary.run({'r': {'op': 'read_csv', 'path': top}, 'x': {'op': 'filter', 'input': 'r', 'where': where}}, 'x'))
        names = opened.names()
        opened.close()
        assert 1 <= len(names) <= most, (where, len(names))
        assert {f"year={r['year']}/part={r['part']}" for r in got} <= {os.path.dirname(n)[len(top) + 1:] for n in names}
    assert [r['n'] for r in rows_of(granary.run({'r': {'op': 'read_csv', 'path': top}, 'x': {'op': 'aggregate', 'input': 'r', 'aggregate': {'n': 'sum(a)'}}},
                                                'x'))] == [499500]
    plan = granary.command('run', '--explain', '-', input=json.dumps({'nodes': {'x': {'op': 'read_csv', 'path': top}}}))
    subtasks = int(plan.split('subtasks: ')[1].split()[0])
    assert subtasks < 150, subtasks

    # ---- files that vanish or change ----
    fresh()
    for number in range(50):
        write_parquet(path(f'{number:02}.parquet'), [{'a': number}], ['a'])
    with open(path('20.parquet'), 'r+b') as file:
        file.truncate(30)
    fails('parquet', top, '20.parquet')
    os.unlink(path('20.parquet'))
    os.symlink(path('gone'), path('20.parquet'))
    fails('parquet', top, '20.parquet', 'No such file')
    assert len(read('parquet', path('[013]*'))) == 30

    # Behind the plan, while no executor is there to read: the graph fails, and names the file.
    os.unlink(path('20.parquet'))
    write_csv(path('1.csv'), [{'a': 1}], ['a'])
    write_csv(path('2.csv'), [{'a': 2}], ['a'])
    for number in (row['number'] for row in json.loads(granary.command('executors', '--json'))):
        granary.command('executors', 'drain', str(number))

    def behind_the_plan(op, change, *words):
        key = granary.begin({'x': {'op': f'read_{op}', 'path': top}}, ['x'])
        change()
        granary.command('executors', 'add', '1')
        try:
            granary.wait(key)
            raise AssertionError(f'{words}: no error')
        except GranaryError as error:
            assert all(w in str(error) for w in words), error
        for number in (row['number'] for row in json.loads(granary.command('executors', '--json'))):
            granary.command('executors', 'drain', str(number))
    behind_the_plan('parquet', lambda: os.unlink(path('30.parquet')), '30.parquet', 'No such file')
    behind_the_plan('csv', lambda: os.unlink(path('2.csv')), '2.csv', 'No such file')
    behind_the_plan('parquet', lambda: write_parquet(path('31.parquet'), [{'a': None}] * 100, ['a']), '31.parquet', 'other than when')
