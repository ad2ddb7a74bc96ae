"""Rows written as files in folders KEY=VALUE: read again they are the same, however they were cut. Folders appear as a whole, whoever is killed
while they are written; what is there already stays, is replaced, or is added to, as was said; and whatever is wrong leaves nothing behind."""
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import threading
import time

from granary_test import Column, Instance
import numpy as np

random.seed(int(os.environ.get('GRANARY_SEED', '5')))
FORMATS = ('parquet', 'csv', 'ndjson', 'arrow')
NULL = '__HIVE_DEFAULT_PARTITION__'


def values(column):
    valid = [True] * len(column) if column.valid is None else column.valid
    return [(v.item() if hasattr(v, 'item') else v) if ok else None for v, ok in zip(column.values, valid)]


def rows_of(frame):
    columns = {name: values(column) for name, column in frame.items()}
    return [tuple(row) for row in zip(*columns.values())]


def files_below(top):
    return sorted(os.path.relpath(os.path.join(folder, name), top) for folder, _, names in os.walk(top) for name in names)


with Instance(executors=2, memory='256M') as granary:
    top = os.path.join(granary.directory, 'files')
    os.mkdir(top)

    def path(*parts):
        return os.path.join(top, *parts)

    def write(table, form, name, keys, chunk_bytes=0, **more):
        got = granary.run({'x': table, 'y': {'op': f'write_{form}', 'input': 'x', 'path': path(name), 'partition_by': keys, **more}}, 'y', chunk_bytes)
        return rows_of(got)

    def fails(table, form, name, keys, *words, **more):
        granary.fails({'x': table, 'y': {'op': f'write_{form}', 'input': 'x', 'path': path(name), 'partition_by': keys, **more}}, 'y', *words)

    def read(form, name, **more):
        return granary.run({'x': {'op': f'read_{form}', 'path': path(name), **more}}, 'x')

    def only(*names):
        assert sorted(os.listdir(top)) == sorted(names), os.listdir(top)

    # ---- what is written is read again ----
    count = 2000
    texts = ["it's", 'a b', 'ä', 'x/y', '100%', '%41', 'a:b', '#?*[x]', '.', '..', '', ' ', '"', 'a=b', NULL, 'line\nend', '\\', '漢字', 'nul']
    columns = {
        'text': Column('string', [random.choice(texts) for _ in range(count)], np.array([random.random() > 0.1 for _ in range(count)])),
        'whole': Column('int64', np.array([random.choice([-5, 0, 7, 2**62]) for _ in range(count)]), np.array([random.random() > 0.1 for _ in range(count)])),
        'n': Column('int64', np.arange(count)),
        '_day': Column('date', np.array([random.choice([0, 19000, -719162]) for _ in range(count)], dtype='i4')),
        'part': Column('float64', np.array([random.choice([0.5, -0.0, 0.0, 1e300]) for _ in range(count)])),
        'flag': Column('bool', np.array([random.random() < 0.5 for _ in range(count)])),
        's': Column('string', [f'text {i % 13}' for i in range(count)], np.array([i % 7 != 0 for i in range(count)])),
        'at': Column('timestamp', np.array([random.choice([0, 1700000000123456]) for _ in range(count)])),
        'empty': Column('string', [''] * count, np.zeros(count, dtype=bool)),
    }
    names = list(columns)
    mine = sorted(zip(*[values(columns[name]) for name in names]), key=lambda row: row[2])
    for keys in (['text'], ['whole', 'flag'], ['_day', 'part'], ['at', 'text'], ['empty', 'flag']):
        for form in FORMATS:
            for chunk_bytes, pieces in ((0, 1), (4000, 5)):
                name = f'{form}-{pieces}'
                told = write(granary.put(columns, pieces), form, name, keys, chunk_bytes)
                found = files_below(path(name))
                assert sorted(row[0] for row in told) == [path(name, file) for file in found], (told, found)
                assert all(size == os.path.getsize(file) for file, size in told), told
                assert all(file.count('/') == len(keys) and file.endswith(f'/part-0.{form}') for file in found), found
                distinct = {tuple('0.0' if v == 0 and n == 'part' else v for n, v in zip(keys, key)) for key in zip(*[values(columns[k]) for k in keys])}
                assert len(found) == len(distinct), (len(found), distinct)
                # The files, without what their folders tell, have the rows in their order; with it, all is as it was.
                more = {'dtypes': {'s': 'string', 'empty': 'string'}} if form in ('csv', 'ndjson') and 'empty' not in keys else {}
                frame = read(form, name, **more)
                assert list(frame) == [n for n in names if n not in keys] + keys, list(frame)
                back = sorted(zip(*[values(frame[n]) for n in names]), key=lambda row: row[2])
                assert back == mine, (keys, form, [pair for pair in zip(back, mine) if pair[0] != pair[1]][:3])
                for file in found[:3]:
                    ns = values(granary.run({'x': {'op': f'read_{form}', 'path': path(name, file), 'hive': 'false'}}, 'x')['n'])
                    assert ns == sorted(ns), file
            # How it is cut changes no text.
            if form in ('csv', 'ndjson'):
                assert subprocess.run(['diff', '-r', path(f'{form}-1'), path(f'{form}-5')], check=False).returncode == 0
        shutil.rmtree(top)
        os.mkdir(top)
    for packing, ending in (('gzip', 'gz'), ('zstd', 'zst')):
        write(granary.put(columns, 3), 'csv', packing, ['flag'], 5000, compression=packing, delimiter=';')
        assert files_below(path(packing)) == [f'flag=false/part-0.csv.{ending}', f'flag=true/part-0.csv.{ending}']
        assert sorted(values(read('csv', packing, delimiter=';')['n'])) == list(range(count))
        shutil.rmtree(path(packing))
    # No row: no file.
    none = granary.put({name: column.slice(0, 0) for name, column in columns.items()})
    assert write(none, 'parquet', 'none', ['flag']) == [] and os.listdir(path('none')) == []
    write(granary.put(columns), 'parquet', 'none/', ['flag'])  # an empty folder is none
    only('none')
    shutil.rmtree(path('none'))

    # ---- what is there already ----
    table = granary.put({'k': Column('int64', np.arange(6) % 2), 'n': Column('int64', np.arange(6))})
    other = granary.put({'k': Column('int64', np.array([1, 2])), 'n': Column('int64', np.array([10, 20]))})
    for form in FORMATS:
        write(table, form, 'd', ['k'])
        fails(other, form, 'd', ['k'], 'files/d', 'is there, and not empty', "'overwrite'", "'append'")
        assert sorted(rows_of(read(form, 'd'))) == [(n, n % 2) for n in range(6)]
        write(other, form, 'd', ['k'], existing='append')
        assert sorted(rows_of(read(form, 'd'))) == sorted([(n, n % 2) for n in range(6)] + [(10, 1), (20, 2)])
        write(other, form, 'd', ['k'], existing='append')
        assert len(files_below(path('d'))) == 6 and len(rows_of(read(form, 'd'))) == 10
        write(other, form, 'd', ['k'], existing='append', token=7)
        write(other, form, 'd', ['k'], existing='append', token=7)  # one token is one write
        assert len(files_below(path('d'))) == 8 and path('d', f'k=2/part-0000000000000007.{form}') in [path('d', f) for f in files_below(path('d'))]
        write(other, form, 'd', ['k'], existing='overwrite')
        assert sorted(rows_of(read(form, 'd'))) == [(10, 1), (20, 2)] and len(files_below(path('d'))) == 2
        only('d')
        shutil.rmtree(path('d'))
    write(table, 'csv', 'd', ['k'], existing='append')
    os.symlink(path('d'), path('link'))
    write(other, 'csv', 'link', ['k'], existing='overwrite')
    assert os.path.islink(path('link')) and len(files_below(path('d'))) == 2
    os.unlink(path('link'))
    # Only what such a write has made is replaced.
    for odd in ('k=1/notes', 'plain/x.csv', 'k=1/sub/x.csv', 'mine.csv', '.hidden', '_mine', 'k=1/.hidden'):
        os.makedirs(os.path.dirname(path('d', odd)), exist_ok=True)
        with open(path('d', odd), 'w', encoding='utf-8') as file:
            file.write('a\n')
        fails(table, 'csv', 'd', ['k'], odd.removesuffix('/x.csv').split('/')[-1], 'is not replaced', existing='overwrite')
        assert os.path.exists(path('d', odd))
        os.unlink(path('d', odd))
        if os.listdir(os.path.dirname(path('d', odd))) == []:
            os.rmdir(os.path.dirname(path('d', odd)))
    for mark in ('_SUCCESS', '_metadata', 'k=1/.part-0.csv.crc', 'k=1/part-0.csv.granary-1.part'):
        with open(path('d', mark), 'w', encoding='utf-8') as file:
            file.write('a\n')
    write(other, 'csv', 'd', ['k'], existing='overwrite')
    assert len(files_below(path('d'))) == 2, files_below(path('d'))
    only('d')
    shutil.rmtree(path('d'))

    # ---- what is wrong ----
    fails(table, 'parquet', 'd', ['lost'], 'partition_by', "'lost'")
    fails(table, 'parquet', 'd', ['k', 'n'], 'partition_by', 'none is left')
    fails(table, 'parquet', 'd', ['k', 'k'], 'partition_by', "'k' twice")
    fails(table, 'parquet', 'd', [], 'partition_by')
    granary.fails({'x': {'op': 'read_csv', 'path': path('x.csv'), 'paths': []}}, 'x', 'paths', 'is empty')
    granary.fails({'x': {'op': 'read_csv', 'path': path('x.csv'), 'paths': ['a', '']}}, 'x', 'paths', 'is empty')
    fails(table, 'parquet', 'd', ['k'], 'existing', existing='ignore')
    granary.fails({'x': table, 'y': {'op': 'write_csv', 'input': 'x', 'path': path('d.csv'), 'existing': 'append'}}, 'y', 'existing', 'partition_by')
    fails(table, 'parquet', 'lost/d', ['k'], 'lost', 'No such file')
    with open(path('d'), 'w', encoding='utf-8') as file:
        file.write('a file')
    fails(table, 'parquet', 'd', ['k'], 'is no folder')
    os.unlink(path('d'))
    long = granary.put({'k': Column('string', ['x' * 300, 'y']), 'n': Column('int64', np.arange(2))})
    fails(long, 'csv', 'd', ['k'], 'File name too long')
    fails(long, 'csv', 'd', ['k'], 'File name too long', existing='append')
    assert os.listdir(path('d')) == []
    os.rmdir(path('d'))
    zero = granary.put({'k': Column('string', ['a\0b']), 'n': Column('int64', np.arange(1))})
    fails(zero, 'csv', 'd', ['k'], "column 'k'", 'zero byte')
    wide = granary.put({'k': Column('int64', np.arange(70000)), 'n': Column('int64', np.arange(70000))})
    fails(wide, 'csv', 'd', ['k'], 'more than 65535 files')
    only()

    # A file that may not be as large as it would be stands for a full disk: nothing of it is seen, and the same graph works when there is room.
    big = granary.put({'k': Column('int64', np.arange(200000) % 3), 'n': Column('int64', np.random.default_rng(1).integers(0, 2**60, 200000))}, 4)
    write(other, 'csv', 'kept', ['k'])
    before = files_below(path('kept'))
    for existing, name in (('error', 'd'), ('overwrite', 'kept'), ('append', 'kept')):
        executors = [row['pid'] for row in json.loads(granary.command('executors', '--json'))]
        for pid in executors:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (100000, resource.RLIM_INFINITY))
        fails(big, 'csv', name, ['k'], 'File too large', existing=existing)
        for pid in executors:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        only('kept')
        assert files_below(path('kept')) == before
    shutil.rmtree(path('kept'))

    # ---- executors that are killed ----
    for attempt in range(8):
        existing = ('error', 'overwrite', 'append')[attempt % 3]
        if existing != 'error':
            write(other, 'csv', 'd', ['k'])
        sizes = {(name, os.path.getsize(path('d', name))) for name in (files_below(path('d')) if os.path.isdir(path('d')) else [])}
        key = granary.begin({'x': big, 'y': {'op': 'write_csv', 'input': 'x', 'path': path('d'), 'partition_by': ['k'], 'existing': existing}}, ['y'])
        done = threading.Event()
        seen = set()

        def watch():
            while not done.is_set():
                found = [name for name in files_below(path('d')) if name.endswith('.csv')] if os.path.isdir(path('d')) else []
                try:
                    seen.add(tuple((name, os.path.getsize(path('d', name))) for name in found))
                except FileNotFoundError:
                    pass  # it was replaced meanwhile
        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        time.sleep(random.random() * 0.05)
        for row in json.loads(granary.command('executors', '--json')):
            try:
                os.kill(row['pid'], signal.SIGKILL)
            except ProcessLookupError:
                pass
        granary.wait(key)
        done.set()
        watcher.join()
        rows = rows_of(read('csv', 'd'))
        assert len(rows) == 200000 + (2 if existing == 'append' else 0), (existing, len(rows))
        sizes |= {(name, os.path.getsize(path('d', name))) for name in files_below(path('d'))}
        for state in seen:  # a file that is there is complete: as it was before, or as it is now
            assert set(state) <= sizes, (existing, state, sizes)
            if existing == 'error':  # all are there, or none
                assert len(state) in (0, 3), state
        only('d')
        granary.delete(key)
        shutil.rmtree(path('d'))
