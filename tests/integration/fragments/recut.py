#!/usr/bin/python3
"""Cutting by the library: sizes that were found change the way of joins and groupbys, and no digest of what has run; bad input is told.

    recut.py BIN_DIRECTORY
"""
import ctypes
import json
import pathlib
import random
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'support' / 'py'))
from fragments import Machines

binaries = pathlib.Path(sys.argv[1]).resolve()
library = ctypes.CDLL(str(binaries.parent / 'lib' / 'libgranary.so'))
library.granary_error_message.restype = ctypes.c_char_p
libc = ctypes.CDLL(None)
libc.free.argtypes = [ctypes.c_void_p]

# Each of these filters lets all rows through, and is guessed to leave less than half of them.
LOOSE = ' AND '.join(f'y > {-n}' for n in range(1, 3))


class Size(ctypes.Structure):
    _fields_ = [('digest', ctypes.c_char_p), ('bytes', ctypes.c_int64)]


class Options(ctypes.Structure):
    _fields_ = [('partitions', ctypes.c_int64), ('smallest_bytes', ctypes.c_int64), ('sizes', ctypes.POINTER(Size)),
                ('size_count', ctypes.c_size_t), ('flags', ctypes.c_uint64)]


class ConnectOptions(ctypes.Structure):
    _fields_ = [('instance', ctypes.c_char_p), ('session', ctypes.c_char_p), ('tag', ctypes.c_char_p), ('timeout_ms', ctypes.c_int),
                ('reconnect_ms', ctypes.c_int), ('existing', ctypes.c_bool)]


class CutError(Exception):
    pass


def check(err):
    if err != 0:
        raise CutError(library.granary_error_message().decode())


class Cutter:
    def __init__(self, instance):
        self.client = ctypes.c_void_p()
        options = ConnectOptions(instance=instance.encode())
        check(library.granary_connect_sized(ctypes.byref(options), ctypes.byref(self.client), ctypes.c_size_t(ctypes.sizeof(options))))

    def close(self):
        library.granary_disconnect(self.client)

    def cut(self, sql, sizes=None, **options):
        graph, text = ctypes.c_void_p(), ctypes.c_void_p()
        raw = sql.encode()
        check(library.granary_sql_graph(self.client, raw, ctypes.c_size_t(len(raw)), ctypes.byref(graph)))
        array = (Size * len(sizes or {}))(*(Size(digest and digest.encode(), size) for digest, size in (sizes or {}).items()))
        given = Options(**{'partitions': 3, 'smallest_bytes': 2000, **options}, sizes=array, size_count=len(array))
        try:
            check(library.granary_graph_cut_sized(self.client, graph, ctypes.byref(given), ctypes.byref(text), ctypes.c_size_t(ctypes.sizeof(given))))
        finally:
            library.granary_graph_destroy(graph)
        plan = ctypes.string_at(text).decode()
        libc.free(text)
        return plan


def digests(plan):
    return {stage['digest'] for stage in plan['stages']}


def check_switch(machines, cutter, sql, way, **options):
    """The first plan believes that something is small; what a driver finds says that it is not."""
    first = json.loads(cutter.cut(sql, **options))
    decided = [entry for entry in first['decided'] if entry['way'] == way]
    assert decided, (way, first['decided'])
    sizes = {}
    expected = machines.run(first, sizes).text('result', '--csv')
    assert any(sizes[entry['digest']] > entry['most_bytes'] for entry in decided), (sizes, decided)
    assert json.loads(cutter.cut(sql, **options)) == first, 'the same cut is not the same'
    second = json.loads(cutter.cut(sql, sizes, **options))
    assert digests(second) != digests(first), 'the way did not change'
    assert not [e for e in second['decided'] if e['way'] == way and sizes.get(e['digest'], 0) > e['most_bytes']], second['decided']
    kept = [entry['digest'] for entry in decided if entry['digest'] in digests(second)]
    assert kept, 'nothing that has run is used again'
    assert machines.run(second).text('result', '--csv') == expected == machines.command(0, 'sql', '--csv', sql)


def check_hot(machines, cutter, directory):
    """A key of most rows does not make one partition do most of the work."""
    rows = ''.join(f'{7 if n % 5 else n},{n}\n' for n in range(9000))
    (directory / 'skewed.csv').write_text(f'k,v\n{rows}')
    sql = f"SELECT k, v, y FROM '{directory}/skewed.csv' JOIN '{directory}/c.csv' USING (k)"
    plan = json.loads(cutter.cut(sql, smallest_bytes=1000))
    assert [node['hot'] for stage in plan['stages'] for node in stage['graph']['nodes'].values() if 'hot' in node] == ['deal', 'copy'], plan
    run = machines.run(plan)
    joined = next(stage['name'] for stage in plan['stages'] if any(node['op'] == 'join' and node.get('how', 'inner') == 'inner' for node in stage['graph']['nodes'].values()))
    sizes = [run.bytes_of(chunks) for chunks in run.chunks[joined]]
    assert max(sizes) < sum(sizes) / 2, sizes
    expected = machines.command(0, 'sql', '--csv', sql)
    assert sorted(run.text('result', '--csv').splitlines()) == sorted(expected.splitlines())


def refused(ask, *words):
    try:
        ask()
    except (CutError, AssertionError) as error:
        assert all(word in str(error) for word in words), error
        return
    raise AssertionError(f'not refused: {words}')


def check_bad(machines, cutter, directory):
    some = f"SELECT k FROM '{directory}/b.csv'"
    refused(lambda: cutter.cut(some, partitions=0), '0 partitions', '1 to 4096')
    refused(lambda: cutter.cut(some, partitions=10**9), '1000000000 partitions')
    refused(lambda: cutter.cut(some, smallest_bytes=-1), '-1 bytes')
    refused(lambda: cutter.cut(some, flags=6), 'flags')
    refused(lambda: cutter.cut(some, {None: 5}), 'no digest')
    refused(lambda: cutter.cut(some, {'x': -5}), 'less than no bytes')
    plan = json.loads(cutter.cut(some, {'no such digest': 5}))
    assert plan['partitions'] == 3 and len(plan['stages']) >= 1
    for arguments, text, words in [
            (['--fragments', '0', '-'], '{}', ['fragments']),
            (['--fragments', '1000000000', '-'], '{}', ['fragments']),
            (['--fragments', '2', '--keep', 'x', '-'], '{}', ['runs nothing']),
            (['--fragment-bytes', '5', '-'], '{}', ['--fragments N']),
            (['--fragment-source', 'x=2:5', '-'], '{}', ['--fragments N']),
            (['--fragments', '2', '--fragment-source', 'x=2', '-'], '{}', ['NAME=PARTITIONS:BYTES']),
            (['--fragments', '2', '--fragment-source', 'x=0:5', '-'], '{"nodes": {"a": {"op": "zeros", "shape": [2]}}}', ['no partition']),
            (['--fragments', '2', '-'], '{"nodes": {"a": {"op": "read_csv", "path": "/no/such.csv"}}}', ["'a'", '/no/such.csv']),
            (['--fragments', '2', '-'], '{"nodes": {}}', ['node']),
            (['--fragments', '2', '-'], '{"nodes": {"a": {"op": "head", "input": "b", "rows": 1}}}', ["'b'"]),
            (['--fragments', '2', '-'], '{"level": "chunk", "nodes": {"a": {"op": "csv_format", "input": "object:00000000000000000000000000000001"}}}', ['chunk']),
            (['--fragments', '2', '-'], json.dumps({'nodes': {'a': {'op': 'read_csv', 'path': f'{directory}/b.csv'}, 'f': {'op': 'filter', 'input': 'a', 'where': 'no > 1'}}}), ["'f'", 'no'])]:
        refused(lambda: machines.command(0, 'run', *arguments, text=text), *words)
    refused(lambda: machines.command(0, 'sql', '--fragments', '2', 'CREATE TABLE t (a int)'), 'SELECT')


def check_others(machines, directory):
    """What has no parts: no source, what writes, what is a table of the instance."""
    cut = lambda graph: json.loads(machines.command(0, 'run', '--fragments', '3', '--fragment-bytes', '1', '-', text=json.dumps(graph)))
    cut_given = lambda graph: json.loads(machines.command(0, 'run', '--fragments', '3', '--fragment-source', '5' * 32 + '=3:144', '-', text=json.dumps(graph)))
    read = {'op': 'read_csv', 'path': f'{directory}/b.csv'}
    plan = cut({'nodes': {'a': {'op': 'zeros', 'shape': [2]}, 'b': {'op': 'add', 'input': 'a', 'value': 1}}})
    assert [s['partitions'] for s in plan['stages']] == [1], plan
    plan = cut({'nodes': {'a': read, 'w': {'op': 'write_csv', 'input': 'a', 'path': f'{directory}/out.csv'}}, 'targets': ['w']})
    assert [(g['node'], g['why']) for g in plan['gathered']] == [('w', 'one file is written as a whole')], plan['gathered']
    plan = cut({'nodes': {'a': read, 'x': {'op': 'exec', 'input': 'a', 'command': ['cat']}}, 'targets': ['x']})
    assert plan['gathered'][0]['op'] == 'exec' and plan['targets'][0]['kind'] == 'objects', plan['gathered']
    machines.command(0, 'load', 'kept', f'{directory}/b.csv')
    plan = json.loads(machines.command(0, 'sql', '--fragments', '3', 'SELECT sum(y) AS t FROM kept'))
    assert [stage['home'] for stage in plan['stages']] == [True], plan
    assert machines.run(plan).text('result', '--csv') == machines.command(0, 'sql', '--csv', 'SELECT sum(y) AS t FROM kept')
    assert plan['granary_fragments'] == 1 and not any('sources' in stage for stage in plan['stages']), plan
    given = json.loads(machines.command(0, 'sql', '--fragments', '3', '--fragment-source', 'kept/table=4:100', 'SELECT sum(y) AS t FROM kept'))
    first = next((stage for stage in given['stages'] if 'sources' in stage), {})
    assert first, given
    assert (given['granary_fragments'], first['partitions'], list(first['sources'].values())) == (2, 3, ['kept/table']), given
    assert list(first['sources']) == first['part_of'] and not any(stage['home'] for stage in given['stages']), given
    whole = json.loads(machines.command(0, 'sql', '--fragments', '3', '--fragment-source', 'kept/table=1:100', 'SELECT sum(y) AS t FROM kept'))
    assert [(stage['partitions'], stage['part_of']) for stage in whole['stages'] if 'sources' in stage] == [(1, [])], whole
    blocks = cut_given({'nodes': {'x': {'op': 'array', 'ids': ['5' * 32], 'shape': [9, 2], 'dtype': 'float64'}, 's': {'op': 'sum', 'input': 'x'}}, 'targets': ['s']})
    assert [stage.get('sources') for stage in blocks['stages']] == [{'x': '5' * 32}, None], blocks
    text = machines.command(0, 'sql', '--fragments', '3', '--fragment-bytes', '1', '--explain', f"SELECT sum(y) OVER (ORDER BY k) AS t FROM '{directory}/b.csv'")
    assert 'read_csv (a part)' in text and 'of all rows is not the same when it is put together' in text, text


def main():
    draw = random.Random(3)
    with tempfile.TemporaryDirectory(prefix='granary-recut-') as name, Machines(str(binaries), 2) as machines:
        directory = pathlib.Path(name)
        for table in 'ab':
            rows = ''.join(f'{draw.randrange(5000)},{draw.random():.4f}\n' for _ in range(4000 if table == 'a' else 1500))
            (directory / f'{table}.csv').write_text(f'k,y\n{rows}')
        (directory / 'c.csv').write_text('k,y\n' + ''.join(f'{n},{n * 3}\n' for n in range(4000)))
        cutter = Cutter(machines.machines[0].environment['GRANARY_INSTANCE'])
        try:
            a, b = f"'{directory}/a.csv'", f"'{directory}/b.csv'"
            check_switch(machines, cutter, f'SELECT p.k, q.y FROM {a} p JOIN (SELECT * FROM {b} WHERE {LOOSE}) q ON p.k = q.k', 'broadcast')
            narrow = f'SELECT k, count(*) AS n FROM (SELECT * FROM {b} WHERE {LOOSE}) GROUP BY k'
            check_switch(machines, cutter, narrow, 'combine', smallest_bytes=4000)
            check_hot(machines, cutter, directory)
            check_bad(machines, cutter, directory)
            check_others(machines, directory)
        finally:
            cutter.close()


main()
