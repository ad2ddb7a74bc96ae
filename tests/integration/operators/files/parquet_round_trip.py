"""write_parquet and read_parquet: every value of every dtype comes back, with every codec, however the rows are cut; statistics leave out
nothing that is wanted; what cannot be written is refused by name."""
import itertools
import os
import signal
import threading

import numpy as np

from edges import edges, same
from granary_test import Column, Instance
from parquet_tables import CODECS, DTYPES, repeated, wild
random = np.random.default_rng(int(os.environ.get('GRANARY_SEED', 11)))


def literal_of(dtype, value):
    if dtype == 'string':
        return f"'{value}'"
    if dtype == 'timestamp':
        return f"cast('{np.datetime64(int(value), 'us')}' as timestamp)"
    if dtype == 'bool':
        return str(bool(value)).lower()
    if dtype.startswith('float'):
        return repr(float(value)) if np.isfinite(value) else '0.0'
    return f'{value / 100:.2f}' if dtype == 'decimal(2)' else str(value)


with Instance() as granary:
    path = os.path.join(granary.directory, 'x.parquet')
    read = {'op': 'read_parquet', 'path': path}

    def write(columns, pieces=1, chunk_bytes=0, **options):
        made = granary.run({'t': granary.put(columns, pieces=pieces), 'w': {'op': 'write_parquet', 'input': 't', 'path': path, **options}}, 'w', chunk_bytes)
        assert made['bytes'].values[0] == os.path.getsize(path) and made['path'].values[0] == path, made

    def check(columns, what):
        for chunk_bytes in (0, 4096):
            frame = granary.run({'x': read}, 'x', chunk_bytes)
            assert list(frame) == list(columns), (list(frame), list(columns))
            for name, column in columns.items():
                assert frame[name].dtype == column.dtype, (what, name, frame[name].dtype)
                same(frame[name], column, f'{name!r}: {what}')

    # The ends of every dtype, with and without nulls, together and alone.
    rows = 2 * max(len(edges(d)) for d in DTYPES)
    for valid in (None, np.arange(rows) % 5 != 3, np.zeros(rows, bool)):
        columns = {d: repeated(d, rows, valid) for d in DTYPES}
        for pieces, codec in itertools.product((1, 3), CODECS):
            write(columns, pieces, compression=codec)
            check(columns, f'{pieces} pieces, {codec}')
        for name, column in columns.items():
            write({name: column})
            check({name: column}, 'alone')
    for rows in (0, 1, 7, 8, 9):
        columns = {d: repeated(d, rows, np.arange(rows) % 2 == 0) for d in DTYPES}
        write(columns)
        check(columns, f'{rows} rows')
    for options in ({'level': 19}, {'level': 1}, {'compression': 'gzip', 'level': 1}):
        write(columns, **options)
        check(columns, options)

    # Columns of every shape, of several row groups and pages; chunks that are put together, and such as are cut.
    for rows, pieces in ((1000, 1), (45000, 40)):
        columns = wild(rows, random)
        columns['coded'] = Column('string', [f'{i % 900}' for i in range(rows)], np.arange(rows) % 3 > 0, encoded=True)
        columns['barely'] = Column('string', [f'{i}' for i in range(rows)], encoded=True)
        write(columns, pieces, compression=random.choice(CODECS))
        check(columns, f'{rows} rows')

        # Conditions: with statistics, the same rows as of the table itself.
        table = granary.put(columns, pieces)
        for _ in range(15):
            name = str(random.choice(['few', 'many', 'rising', 'byte', 'real', 'nan', 'flag', 'word', 'key', 'money', 'coded', 'falling']))
            column = columns[name]
            value = column.values[random.integers(rows)]
            literal = literal_of(column.dtype, value)
            where = str(random.choice([f'`{name}` {op} {literal}' for op in (('=', '!=') if name == 'flag' else ('=', '<', '<=', '>', '>=', '!='))] + [f'`{name}` is null', f'`{name}` is not null']))
            found = [granary.run({'f': source, 'x': {'op': 'filter', 'input': 'f', 'where': where}}, 'x') for source in (read, table)]
            for key in columns:
                same(found[0][key], found[1][key], f'{where}: {key!r}')

    # Page by page: a condition on rising values reads some of the pages of one row group, and gives all of its rows. A chunk that is cut
    # for several executors, and one of more rows than a row group has, is the same file to its readers.
    for rows, chunk_bytes in ((60000, 0), (300000, 1 << 20), (1100000, 0)):
        columns = {'n': Column('int64', np.arange(rows)), 'h': Column('int16', (np.arange(rows) % 9000).astype(np.int16), np.arange(rows) % 77 > 0)}
        if rows < 100000:
            columns['s'] = Column('string', [f'{i:09d}' * 12 for i in range(rows)])
        if chunk_bytes > 0:  # The last part has a decimal of many digits, so the others are made anew.
            columns['d'] = Column('decimal(2)', [i - 5000 for i in range(rows - 1)] + [10**30], np.arange(rows) % 7 != 3)
            columns['l'] = Column('string', [f'{i % 900}' for i in range(rows)], encoded=True)
        write(columns, chunk_bytes=chunk_bytes)
        for low, high in ((0, 1), (19999, 20001), (23456, 41000), (rows - 1, rows), (0, rows)):
            wheres = [f'n >= {low} and n < {high}']
            if rows < 100000:
                wheres.append(f"s >= '{columns['s'].values[low]}' and s <= '{columns['s'].values[high - 1]}'")
            for where in wheres:
                found = granary.run({'f': read, 'x': {'op': 'filter', 'input': 'f', 'where': where}}, 'x')
                for name, column in columns.items():
                    same(found[name], column.slice(low, high), where)

    # A column without values, and one that has some in another chunk. A chunk of the table has other columns than are written.
    none = {'n': Column('null', [None] * 3, np.zeros(3, bool)), 'a': Column('int64', np.arange(3))}
    some = {'n': Column('string', ['x', 'y', 'x']), 'a': Column('int64', np.arange(3))}
    both = {'n': Column('string', ['', '', '', 'x', 'y', 'x'], np.arange(6) > 2), 'a': Column('int64', np.arange(6) % 3)}
    for pieces, want in (([none], none), ([none, some], both)):
        source = {f't{i}': granary.put(piece) for i, piece in enumerate(pieces)}
        source['t'] = {'op': 'concat', 'inputs': list(source)}
        granary.run({**source, 'w': {'op': 'write_parquet', 'input': 't', 'path': path}}, 'w')
        check(want, f'{len(pieces)} pieces')
        node = {'op': 'select', 'input': 't', 'columns': ['n']}
        granary.run({**source, 's': node, 'w': {'op': 'write_parquet', 'input': 's', 'path': path}}, 'w')
        check({'n': want['n']}, f'{len(pieces)} pieces')

    # Lists of decimals of few digits, and of many.
    numbers = os.path.join(granary.directory, 'numbers.csv')
    with open(numbers, 'w', encoding='utf-8') as file:
        file.write('a\n' + '\n'.join(map(str, range(30))) + '\n')
    for factor in (5, 10**14, 10**22):
        query = f"SELECT k, array_agg(v) AS l FROM (SELECT a % 3 AS k, cast(a AS decimal(38, 2)) * {factor}::decimal(38, 0) AS v FROM '{numbers}') AS t GROUP BY k ORDER BY k"
        granary.command('sql', f"COPY ({query}) TO '{path}'")
        assert granary.command('sql', '--json', query) == granary.command('sql', '--json', f"SELECT * FROM '{path}'"), factor

    # From the command line, by the ending of a name: the same file.
    columns = wild(2000, random)
    write(columns)
    printed = os.path.join(granary.directory, 'y.parquet')
    granary.command('sql', f"SELECT * FROM '{path}'", '-o', printed)
    read['path'] = printed
    check(columns, '-o')
    with open(printed, 'rb') as by_command, open(path, 'rb') as by_executor:
        assert by_command.read() == by_executor.read()
    read['path'] = path

    # What cannot be written is refused, and the older file stays.
    table = granary.put(columns)
    before = open(path, 'rb').read()
    for options, words in (({'compression': 'lzo'}, ("'compression'", "'zstd', 'snappy', 'gzip', 'lz4_raw'", 'none')),
                           ({'compression': 'ZSTD'}, ("'compression'",)), ({'level': 23}, ("'level' is 23", "'zstd' has 1 to 22")),
                           ({'level': -1}, ("'level' is -1",)), ({'compression': 'gzip', 'level': 10}, ("'gzip' has 1 to 9",)),
                           ({'compression': 'snappy', 'level': 1}, ("'snappy' has no levels", "'zstd' (1 to 22)"))):
        granary.fails({'t': table, 'w': {'op': 'write_parquet', 'input': 't', 'path': path, **options}}, 'w', *words)
    few = Column('int64', np.arange(3))
    granary.fails({'t': granary.put({'a': few, '': few}), 'w': {'op': 'write_parquet', 'input': 't', 'path': path}}, 'w', 'column 2 has no name', 'rename it')
    granary.fails({'t': granary.put({'x' * 5000: few}), 'w': {'op': 'write_parquet', 'input': 't', 'path': path}}, 'w', 'more than 4096 bytes')
    granary.fails({'t': table, 'w': {'op': 'write_parquet', 'input': 't', 'path': os.path.join(granary.directory, 'none/x.parquet')}}, 'w', 'No such file')
    assert open(path, 'rb').read() == before
    assert not [name for name in os.listdir(granary.directory) if name.endswith('.part')], os.listdir(granary.directory)

    # The writer is killed in the middle: there is the older file, or the whole new one; and the graph ends well.
    # What the killed one has left is removed by the next.
    rows = 1500000
    columns = {name: Column('int64', random.integers(-2**62, 2**62, rows)) for name in 'abc'}
    table = {'t': granary.put(columns, 3)}
    killed = 0
    for _ in range(20):
        with open(path, 'wb') as file:
            file.write(before)
        writer = threading.Thread(target=granary.run, args=({**table, 'w': {'op': 'write_parquet', 'input': 't', 'path': path, 'compression': 'none'}}, 'w'))
        writer.start()
        while writer.is_alive() and not killed:
            parts = [name for name in os.listdir(granary.directory) if name.startswith('x.parquet.granary-')]
            if parts:
                os.kill(int(parts[0].split('-')[-1].split('.')[0]), signal.SIGKILL)
                with open(path, 'rb') as file:
                    killed += file.read() == before
        writer.join()
        check(columns, 'a killed writer')
        if killed:
            break
    assert killed == 1
    assert not [name for name in os.listdir(granary.directory) if name.endswith('.part')], os.listdir(granary.directory)
