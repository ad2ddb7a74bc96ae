"""Sources in parts: all of them, in order, are the whole, however many there are and however each is cut into chunks. A part has the
columns of the whole, also when it is empty. A part of a large file is read alone when the dtypes are given. What is wrong is
refused by name."""
import json
import os
import random
import sqlite3
import subprocess

import numpy as np

from granary_test import Column, Instance

random.seed(int(os.environ.get('GRANARY_SEED', '22')))
CHUNKS = (0, 7, 64, 1000, 65536)


def text_of(kind, rows):
    """A CSV file, and the dtypes of its columns."""
    dtypes = {'a': 'int64', 'b': 'string', 'c': 'float64'}
    end = '\r\n' if 'crlf' in kind else '\n'
    lines = ['a,b,c']
    for row in range(rows):
        word = {'plain': f'w{row % 7}', 'quoted': f'"w{row % 5}\n, ""x""\n"', 'breaks': '"' + '\n' * (row % 4) + '"', 'empty': '""',
                'mixed': random.choice(['x', '"y"', '"a\nb"', '""""', '', '"\r\n"', '"1,2,3\n4,5,6\n"'])}[kind.split()[0]]
        lines.append(f'{row},{word},{row / 4}')
    text = end.join(lines) + ('' if 'open' in kind else end)
    if 'blank' in kind:
        text = end * 3 + text.replace(end, end * 2)
    return ('\ufeff' if 'mark' in kind else '') + text, dtypes


with Instance(executors=2) as granary:
    def path(name):
        return os.path.join(granary.directory, name)

    def written(nodes, name, chunk_bytes=0):
        """The bytes of the node's rows as CSV."""
        out = path('out.csv')
        granary.run({**nodes, 'written': {'op': 'write_csv', 'input': name, 'path': out}}, 'written', chunk_bytes=chunk_bytes)
        with open(out, 'rb') as file:
            return file.read()

    def in_parts(source, parts):
        nodes = {f'p{part}': {**source, 'part': part, 'parts': parts} for part in range(parts)}
        return {**nodes, 'all': {'op': 'concat', 'inputs': list(nodes)}}

    def check(source, counts=(1, 2, 3, 7, 100), apart=3, chunks=CHUNKS):
        whole = written({'x': source}, 'x')
        for parts in counts:
            ours = written(in_parts(source, parts), 'all', random.choice(chunks))
            assert ours == whole, f'{source} in {parts} parts: {ours[:300]!r} instead of {whole[:300]!r}'
        # Each by itself, as on machines that differ.
        head, rows = whole.split(b'\n', 1)
        ours = b''
        for part in range(apart):
            text = written({'x': {**source, 'part': part, 'parts': apart}}, 'x', CHUNKS[part % len(CHUNKS)])
            assert text.split(b'\n', 1)[0] == head, f'{source}, part {part}: columns {text[:100]!r}'
            ours += text.split(b'\n', 1)[1]
        assert apart == 0 or ours == rows, f'{source} part by part: {ours[:300]!r} instead of {rows[:300]!r}'

    # ---- CSV ----
    for kind in ('plain', 'quoted', 'breaks', 'empty', 'mixed', 'mixed open', 'mixed crlf', 'plain mark blank', 'quoted crlf blank', 'plain open'):
        for rows in (0, 40):
            text, dtypes = text_of(kind, rows)
            with open(path('t.csv'), 'w', encoding='utf-8', newline='') as file:
                file.write(text)
            source = {'op': 'read_csv', 'path': path('t.csv'), 'header': True}
            alone = kind in ('quoted', 'mixed crlf', 'plain mark blank') and rows > 0
            check({**source, 'dtypes': dtypes}, counts=(7,), apart=3 if alone else 0)
            if rows > 0 and not alone:
                check({**source, 'dtypes': {'b': 'string'}}, counts=(random.choice([2, 3, 7]),), apart=0)
    check({**source, 'dtypes': dtypes}, counts=(1, 100), apart=0)


    # Whatever is between quotes where parts meet: what looks like records, nothing but quotes, half of a doubled quote.
    for body in ('"\n"\n', '","\n', '"a\nb","c"\n', '"""\n"""\n', '"",""\n', '"\r\n",x\r\n', '1,2\n'):
        with open(path('t.csv'), 'w', encoding='utf-8', newline='') as file:
            file.write(body * 60)
        columns = list(granary.run({'x': {'op': 'read_csv', 'path': path('t.csv'), 'header': False}}, 'x'))
        check({'op': 'read_csv', 'path': path('t.csv'), 'header': False, 'dtypes': {name: 'string' for name in columns}}, counts=(7, 20), apart=0)

    # A quoted field that is longer than anybody looks: an error that names the place, or the whole.
    with open(path('long.csv'), 'w', encoding='utf-8') as file:
        file.write('a,b\n1,"' + 'x' * 79 + '\n' * 1 + ('y' * 79 + '\n') * 200000 + '"\n2,z\n')
    long = {'op': 'read_csv', 'path': path('long.csv'), 'dtypes': {'a': 'int64', 'b': 'string'}}
    granary.fails({'x': {**long, 'part': 0, 'parts': 5}}, 'x', 'long.csv', 'where parts meet', 'another number of parts')

    # What is wrong with records is told with its place.
    with open(path('bad.csv'), 'w', encoding='utf-8') as file:
        file.write('a\n' + '1\n' * 100000 + 'x\n' + '1\n' * 1000)
    bad = {'op': 'read_csv', 'path': path('bad.csv'), 'dtypes': {'a': 'int64'}, 'parts': 2}
    granary.fails({'x': {**bad, 'part': 1}}, 'x', "bad.csv, line 49501 from byte 101002 on: column 'a': 'x' is not int64")
    assert len(granary.run({'x': {**bad, 'part': 0}}, 'x')['a']) == 50500

    # With all dtypes, a part reads its own bytes alone: what is before and behind may be anything.
    with open(path('bad.csv'), 'w', encoding='utf-8') as file:
        file.write('a,b\n' + '1,2\n' * 100000 + '1,2,3\n' + '1,2\n' * 500000 + '1,2,3\n' + '1,2\n' * 100000)
    middle = {'op': 'read_csv', 'path': path('bad.csv'), 'part': 1, 'parts': 3}
    assert len(granary.run({'x': {**middle, 'dtypes': {'a': 'int64', 'b': 'int64'}}}, 'x')['a']) == 233335
    granary.fails({'x': {**middle, 'dtypes': {'a': 'int64'}}}, 'x', 'bad.csv:100002', 'record has 3 fields')

    # Packed, in another dialect, or with errors left out.
    text, dtypes = text_of('mixed', 500)
    with open(path('t.csv'), 'w', encoding='utf-8', newline='') as file:
        file.write(text)
    subprocess.run(['gzip', '-kf', path('t.csv')], check=True)
    check({'op': 'read_csv', 'path': path('t.csv.gz'), 'dtypes': dtypes}, counts=(3,))
    check({'op': 'read_csv', 'path': path('t.csv'), 'encoding': 'latin-1'}, counts=(7,))
    with open(path('t.csv'), 'a', encoding='utf-8') as file:
        file.write('1,2\nx,y,z\n' * 5)
    for errors in ('skip', 'list'):
        check({'op': 'read_csv', 'path': path('t.csv'), 'dtypes': dtypes, 'errors': errors}, counts=(3,), apart=2)

    # ---- JSON lines ----
    with open(path('t.ndjson'), 'w', encoding='utf-8') as file:
        for row in range(400):
            file.write(json.dumps({'n': row, **({'late': [1, 2]} if row > 300 else {})}) + '\n' + '\n' * (row % 3))
    subprocess.run(['gzip', '-kf', path('t.ndjson')], check=True)
    check({'op': 'read_ndjson', 'path': path('t.ndjson')}, counts=(2, 30))
    check({'op': 'read_ndjson', 'path': path('t.ndjson.gz')}, counts=(3,), apart=0)
    given = {'dtypes': {'n': 'int64', 'late': 'list(int64)'}, 'complete': True}
    check({'op': 'read_ndjson', 'path': path('t.ndjson'), **given}, counts=(1, 2, 30, 1000))
    check({'op': 'read_ndjson', 'path': path('t.ndjson.gz'), **given}, counts=(3,), apart=0)

    # With all columns given, too: a value of another dtype or name is told, and what lies elsewhere may be anything.
    with open(path('bad.ndjson'), 'w', encoding='utf-8') as file:
        file.write('{"a":1}\n' * 1000 + '{"a":1}{\n' + '{"a":1}\n' * 2000 + '{"a":"x"}\n' + '{"a":1}\n' * 1000 + '{"b":null}\n{"b":1}\n')
    bad = {'op': 'read_ndjson', 'path': path('bad.ndjson'), 'parts': 4, 'dtypes': {'a': 'int64'}}
    granary.fails({'x': {**bad, 'part': 1}}, 'x', 'bad.ndjson:1001: ')
    bad['complete'] = True
    assert len(granary.run({'x': {**bad, 'part': 1}}, 'x')['a']) == 1002
    granary.fails({'x': {**bad, 'part': 0}}, 'x', 'bad.ndjson:1001: ')
    granary.fails({'x': {**bad, 'part': 2}}, 'x', "bad.ndjson, line 999 from byte 16019 on: column 'a': 'x' is not int64")
    granary.fails({'x': {**bad, 'part': 3}}, 'x', "bad.ndjson: column 'b' is not in the dtypes")

    # ---- tables, Parquet, Arrow, SQLite ----
    rows = 1000
    columns = {'n': Column('int64', np.arange(rows)), 's': Column('string', [f't{i % 11}' for i in range(rows)]),
               'x': Column('float64', np.arange(rows) / 8, np.arange(rows) % 5 > 0)}
    for pieces in (1, 6):
        table = granary.put(columns, pieces)
        check(table, counts=(1, 3, 100), apart=2)
        for part in range(3):  # of what a condition leaves, too
            kept = {'t': {**table, 'part': part, 'parts': 3}, 'x': {'op': 'filter', 'input': 't', 'where': 'n >= 500 and n < 600'}}
            assert len(granary.run(kept, 'x')['n']) == (0, 100, 0)[part]
        for op, name in (('arrow', 't.arrow'), ('parquet', 't.parquet')):
            granary.run({'t': table, 'x': {'op': f'write_{op}', 'input': 't', 'path': path(name)}}, 'x')
            check({'op': f'read_{op}', 'path': path(name)}, counts=(3, 7), apart=2)
    # Of the row groups of a part, statistics leave out what nobody wants.
    wide = granary.put({'n': Column('int64', np.arange(2_400_000))}, 1)
    granary.run({'t': wide, 'x': {'op': 'write_parquet', 'input': 't', 'path': path('groups.parquet')}}, 'x', chunk_bytes=1 << 21)
    groups = {'op': 'read_parquet', 'path': path('groups.parquet')}
    sizes = [granary.run({'t': {**groups, 'part': part, 'parts': 2}, 'x': {'op': 'aggregate', 'input': 't', 'aggregate': {'c': 'size', 'm': 'max(n)'}}}, 'x')
             for part in range(2)]
    assert sum(int(size['c'].values[0]) for size in sizes) == 2_400_000 and int(sizes[1]['m'].values[0]) == 2_399_999
    assert min(int(size['c'].values[0]) for size in sizes) > 500_000, 'one part has nearly all'
    # Row groups are cut where parts meet, unless they are small.
    at = 0
    for part in range(4):
        quarter = {**groups, 'part': part, 'parts': 4}
        told = granary.run({'t': quarter, 'x': {'op': 'aggregate', 'input': 't', 'aggregate': {'c': 'size', 'l': 'min(n)', 'm': 'max(n)'}}}, 'x')
        size, least, most = (int(told[name].values[0]) for name in 'clm')
        assert (least, most) == (at, at + size - 1) and abs(size - 600_000) < 10, f'part {part} has {size} rows: {least} to {most}'
        kept = {'t': quarter, 'x': {'op': 'filter', 'input': 't', 'where': f'n < {at + 2} or n >= {at + size - 1}'}}
        assert list(granary.run(kept, 'x')['n'].values) == [at, at + 1, at + size - 1]
        at += size
    assert at == 2_400_000
    kept = {'t': {**groups, 'part': 0, 'parts': 2}, 'x': {'op': 'filter', 'input': 't', 'where': 'n = 5 or n = 2399999'}}
    assert list(granary.run(kept, 'x')['n'].values) == [5]

    with sqlite3.connect(path('t.db')) as database:
        database.execute('CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT, v)')
        database.executemany('INSERT INTO t VALUES (?, ?, ?)', [(i * i - 900, f's{i}', i) for i in range(300)])
        database.execute('CREATE VIEW v AS SELECT s FROM t ORDER BY id')
    database.close()
    for size in CHUNKS:  # a piece of one part has no rows of the next
        check({'op': 'read_sqlite', 'path': path('t.db'), 'table': 't'}, counts=(7, 40), apart=2, chunks=[size])
    check({'op': 'read_sqlite', 'path': path('t.db'), 'table': 'v'}, counts=(3,), apart=0)

    # ---- many files ----
    os.makedirs(path('many/k=1'))
    os.makedirs(path('many/k=2'))
    for number in range(9):
        text, dtypes = text_of('mixed', (0, 3, 200)[number % 3])
        with open(path(f'many/k={1 + number % 2}/{number}.csv'), 'w', encoding='utf-8', newline='') as file:
            file.write(text)
    check({'op': 'read_csv', 'path': path('many'), 'dtypes': dtypes, 'filename': 'from'}, counts=(2, 13), apart=3)
    check({'op': 'read_csv', 'path': path('many/*/*.csv')}, counts=(3,), apart=0)
    whole = {'t': {'op': 'read_csv', 'path': path('many'), 'dtypes': dtypes}, 'f': {'op': 'filter', 'input': 't', 'where': 'k = 2'}}
    ours = [granary.run({'t': {**whole['t'], 'part': part, 'parts': 4}, 'f': whole['f']}, 'f')['a'].values for part in range(4)]
    assert list(np.concatenate(ours)) == list(granary.run(whole, 'f')['a'].values)

    # ---- what is refused ----
    for wrong, words in (({'part': 0}, "'part' goes with 'parts'"), ({'parts': 2}, "'parts' goes with 'part'"),
                         ({'part': 2, 'parts': 2}, "'part' is 2 of 2 parts; it can be 0 to 1"),
                         ({'part': -1, 'parts': 2}, "'part' is -1; it cannot be negative"), ({'part': 0, 'parts': 0}, "'parts' is 0; it must be at least 1")):
        for source in (table, groups, {'op': 'read_csv', 'path': path('t.csv')}, {'op': 'random', 'shape': [3]}):
            granary.fails({'x': {**source, **wrong}}, 'x', words)

    # ---- tensors ----
    array = np.arange(60, dtype='f4').reshape(20, 3)
    np.save(path('t.npy'), array)
    np.save(path('half.npy'), array.astype('f2'))
    array.tofile(path('t.raw'))
    sources = [{'op': 'read_npy', 'path': path('t.npy')}, {'op': 'read_npy', 'path': path('half.npy'), 'chunk': [7, 2]},
               {'op': 'read_raw', 'path': path('t.raw'), 'dtype': 'float32', 'shape': [19, 3], 'offset': 12},
               {'op': 'random', 'shape': [11, 4], 'seed': 3, 'distribution': 'normal', 'chunk': [3, 4]},
               {'op': 'arange', 'stop': 17}, {'op': 'arange', 'stop': 24, 'shape': [6, 4]}, {'op': 'linspace', 'start': 0, 'stop': 1, 'count': 9},
               {'op': 'logspace', 'start': 0, 'stop': 2, 'count': 5}, {'op': 'zeros', 'shape': [5, 0]}, {'op': 'ones', 'shape': [4]},
               {'op': 'full', 'shape': [7, 2], 'value': 2.5}, {'op': 'eye', 'rows': 6, 'offset': 1}, {'op': 'tri', 'rows': 5, 'columns': 3},
               {'op': 'indices', 'shape': [3, 2]}, {'op': 'array', 'ids': [granary.put_tensor(array)], 'shape': [20, 3], 'dtype': 'float32'}]
    for source in sources:
        whole = granary.run({'x': source}, 'x')
        for parts in random.sample([1, 2, 3, 7, 30], 1):
            nodes = {f'p{part}': {**source, 'part': part, 'parts': parts} for part in range(parts)}
            ours = granary.run({**nodes, 'x': {'op': 'concatenate', 'inputs': list(nodes)}}, 'x')
            assert ours.dtype == whole.dtype and np.array_equal(ours, whole), f'{source} in {parts} parts: {ours}'
        some = granary.run({'x': {**source, 'part': 1, 'parts': 3}}, 'x')
        assert np.array_equal(some, np.array_split(whole, 3)[1]), f'{source}: {some}'
    granary.fails({'x': {'op': 'full', 'shape': [], 'value': 1, 'part': 0, 'parts': 2}}, 'x', "'part'", 'without dimensions')
    np.save(path('t.npy'), np.float64(3))
    granary.fails({'x': {'op': 'read_npy', 'path': path('t.npy'), 'part': 0, 'parts': 2}}, 'x', "'part'", 'without dimensions')
