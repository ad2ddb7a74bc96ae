"""Bloom filters that write_parquet makes: values that are not in a row group are told without its pages, for every dtype; answers are those of
the same rows without filters; who has one is the writer's choice, or the user's."""
import datetime
import os
import random

from granary_test import Column, GranaryError, Instance

random.seed(int(os.environ.get('GRANARY_SEED', '11')))
DTYPES = ['int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'float32', 'float64', 'decimal(0)', 'decimal(2)', 'decimal(20)',
          'string', 'binary', 'date', 'timestamp', 'timestamptz', 'time', 'duration']
SIGNED = ['int16', 'int32', 'int64', 'float32', 'float64', 'decimal(0)', 'decimal(2)', 'date', 'timestamp', 'timestamptz']


def column(dtype, numbers):
    if dtype in ('string', 'binary'):
        return Column(dtype, [f'{n:09d}' if dtype == 'string' else b'%09d' % n for n in numbers])
    return Column(dtype, [n * 10**18 if dtype == 'decimal(20)' else n for n in numbers])


def literal(dtype, n):
    """What stands for such a number in an expression."""
    if dtype in ('date', 'timestamp', 'timestamptz'):
        moment = datetime.datetime(1970, 1, 1) + (datetime.timedelta(days=n) if dtype == 'date' else datetime.timedelta(microseconds=n))
        text = moment.date().isoformat() if dtype == 'date' else moment.isoformat(' ') + '+00' * (dtype == 'timestamptz')
        return f"cast('{text}' as {dtype})"
    if dtype == 'time':
        return f"cast('{(datetime.datetime.min + datetime.timedelta(microseconds=n)).time().isoformat()}' as time)"
    if dtype == 'duration':
        return f"interval '{n} microseconds'"
    if dtype in ('string', 'binary'):
        return f"'{n:09d}'" if dtype == 'string' else f"cast('{n:09d}' as binary)"
    return str(n / 100) if dtype in ('decimal(2)', 'decimal(20)') else str(n)


with Instance() as granary:
    path = os.path.join(granary.directory, 'x.parquet')

    def write(columns, file=path, **options):
        granary.run({'t': granary.put(columns), 'w': {'op': 'write_parquet', 'input': 't', 'path': file, **options}}, 'w')

    def count(where, file=path):
        frame = granary.run({'r': {'op': 'read_parquet', 'path': file}, 'f': {'op': 'filter', 'input': 'r', 'where': where},
                             'x': {'op': 'aggregate', 'input': 'f', 'aggregate': {'n': 'sum(b)', 'm': 'size'}}}, 'x')
        return int(frame['m'].values[0])

    def ask(where):
        """How many rows; None: pages were read, which are damaged."""
        try:
            return count(where)
        except GranaryError as error:
            assert 'page' in str(error), error
            return None

    # ---- each dtype, by what its values are in the file ----
    for dtype in DTYPES:
        there = list(range(2, 120, 2)) if dtype in ('int8', 'uint8') else random.sample(range(2, 30000, 2), 900)
        there = there + [-n for n in there[1::2]] if dtype in SIGNED else there
        write({'a': column(dtype, there), 'b': Column('int64', list(range(len(there))))}, bloom=['a'])
        for n in there[:4]:
            assert count(f'a = {literal(dtype, n)}') == 1, (dtype, n)
        with open(path, 'r+b') as file:
            file.seek(4)
            file.write(bytes(200))
        absent = [literal(dtype, n + 1) for n in there[1:28]]  # within the bounds of those that are there
        told = [ask(f'a = {value}') for value in absent]
        assert set(told) <= {0, None} and told.count(None) < 6, (dtype, told.count(None))
        assert ask(f'a = {literal(dtype, there[0])}') is None and ask(f'a in ({absent[0]}, {literal(dtype, there[0])})') is None, dtype
        assert [ask(f'a in ({a}, {b}) and b >= 0') for a, b in zip(absent[:8], absent[1:])].count(None) < 6, dtype

    # Both zeros are one value, and NaN is asked for in the pages.
    for dtype in ('float32', 'float64'):
        write({'a': Column(dtype, [0.0, 1.5, 2.5, float('nan'), 0.1]), 'b': Column('int64', [1, 2, 3, 4, 5])}, bloom=['a'])
        assert [count(f'a = {x}') for x in ('0.0', '-0.0', '0', '1.5')] == [1, 1, 1, 1], dtype
        answer = granary.command('sql', '--csv', f"SELECT b FROM '{path}' WHERE a = 'nan'::float8")
        assert answer.split() == ['b', '4'], answer
        with open(path, 'r+b') as file:
            file.seek(4)
            file.write(bytes(80))
        assert [ask(f'a = {x}') for x in ('0.0', '-0.0')] == [None, None] and ask('a = 1.75') == 0

    # ---- random conditions on several files: with filters and without, the same rows ----
    for folder in ('with', 'chosen', 'without'):
        os.mkdir(os.path.join(granary.directory, folder))
    for number in range(6):
        rows = 400
        columns = {'a': Column('int64', [random.randrange(2000) for _ in range(rows)], [random.random() < 0.9 for _ in range(rows)]),
                   's': Column('string', [f'{random.randrange(300)}' for _ in range(rows)]), 'd': Column('decimal(2)', [random.randrange(900) for _ in range(rows)]),
                   'b': Column('int64', list(range(rows)))}
        write(columns, os.path.join(granary.directory, 'with', f'{number}.parquet'), bloom=['a', 's', 'd'])
        write(columns, os.path.join(granary.directory, 'chosen', f'{number}.parquet'))
        write(columns, os.path.join(granary.directory, 'without', f'{number}.parquet'), bloom=[])
    for _ in range(40):
        parts = [random.choice([f'a = {random.randrange(2100)}', f'a in ({random.randrange(2100)}, {random.randrange(2100)}, null)', f"s = '{random.randrange(310)}'",
                                f'd = {random.randrange(910) / 100}', f'd = {random.randrange(910)}', f'b < {random.randrange(500)}', f"not (s = '{random.randrange(310)}')"])
                 for _ in range(random.choice([1, 2, 3]))]
        where = random.choice([' and ', ' or ']).join(parts)
        answers = {count(where, os.path.join(granary.directory, folder)) for folder in ('with', 'chosen', 'without')}
        assert len(answers) == 1, (where, answers)

    # ---- the plan tells how many row groups are skipped ----
    def plan(file, where):
        return granary.command('sql', '--explain', f"SELECT count(*) FROM '{file}' WHERE {where}")

    write({'a': Column('int64', list(range(0, 2000, 2))), 'b': Column('int64', list(range(1000)))}, bloom=['a'])
    skips = [n for n in range(1, 61, 2) if "bloom: 'read_parquet 1 at 1:22' skips 1 of 1 row groups" in plan(path, f'a = {n}')]
    assert len(skips) > 24 and 'bloom' not in plan(path, 'a = 8') and 'bloom' not in plan(path, 'a > 8'), (len(skips), plan(path, 'a = 7'))
    assert 'bloom' not in plan(path, f"a in ({', '.join(str(2 * n + 1) for n in range(900))})")  # a list so long is not asked for
    told = plan(os.path.join(granary.directory, 'with'), 'd = 7.77 and a = 1234')
    assert 'row groups of the files that it reads' in told, told

    # ---- whose filters there are ----
    few, many = Column('int64', [n % 7 for n in range(4000)]), Column('int64', [n * 7919 for n in range(4000)])
    sizes = {}
    for name, options in (('chosen', {}), ('none', {'bloom': []}), ('few', {'bloom': ['few']}), ('many', {'bloom': ['many']}), ('both', {'bloom': ['few', 'many']})):
        write({'few': few, 'many': many, 'flag': Column('bool', [True] * 4000)}, compression='none', **options)
        sizes[name] = os.path.getsize(path)
    assert sizes['none'] < sizes['chosen'] == sizes['few'] < sizes['none'] + 80, sizes  # of 7 values; the other has no dictionary
    assert 4000 < sizes['many'] - sizes['none'] < 8400 and sizes['both'] > sizes['many'], sizes
    write({'a': Column('int64', [n % 900 * 10**15 for n in range(100000)])}, compression='none', bloom=[])
    sizes['coded'] = os.path.getsize(path)
    write({'a': Column('int64', [n % 900 * 10**15 for n in range(100000)])}, compression='none')
    assert 2048 < os.path.getsize(path) - sizes['coded'] < 2100, os.path.getsize(path) - sizes['coded']

    # In SQL, and in folders; what cannot have one is refused.
    source = os.path.join(granary.directory, 'with')
    granary.command('sql', f"COPY (SELECT * FROM '{source}') TO '{path}' (FORMAT parquet, BLOOM (a, s))")
    assert count("s = '7'") == count("s = '7'", source)
    folder = os.path.join(granary.directory, 'folders')
    granary.command('sql', f"COPY (SELECT a % 3 AS k, a, b FROM '{source}') TO '{folder}' (FORMAT parquet, PARTITION_BY (k), BLOOM (a))")
    assert count('a = 7', folder) == count('a = 7', source)
    table = granary.put({'a': Column('int64', [1, 2]), 'f': Column('bool', [True, False])})
    for options, words in (({'bloom': ['f']}, ("column 'f' is bool", 'leave it out')), ({'bloom': ['x']}, ("'x'",)), ({'bloom': ['a', 'a']}, ("'a'",)),
                           ({'bloom': ['a'], 'partition_by': ['a']}, ("'bloom'", 'names of folders'))):
        granary.fails({'t': table, 'w': {'op': 'write_parquet', 'input': 't', 'path': path + '.new', **options}}, 'w', *words)
