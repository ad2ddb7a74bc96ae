"""read_ndjson and write_ndjson: dtypes, names, what is wrong with a line, and every value of every dtype there and back."""
import itertools
import json
import os
import random

import numpy as np

from edges import edges, same
from granary_test import Column, Instance

random.seed(14)
CUTS = (0, 31)


def shown(column):
    valid = [True] * len(column) if column.valid is None else column.valid
    return [(v if isinstance(v, (str, int, list)) else v.item()) if ok else None for v, ok in zip(column.values, valid)]


with Instance() as granary:
    path = os.path.join(granary.directory, 'x.ndjson')

    def put(text):
        with open(path, 'wb') as file:
            file.write(text if isinstance(text, bytes) else text.encode())

    def read(chunk_bytes=0, **parameters):
        return granary.run({'x': {'op': 'read_ndjson', 'path': path, **parameters}}, 'x', chunk_bytes)

    # Dtypes follow from all values, wherever the file is cut.
    for texts, dtype, want in (
            (['1', '-7', 'null'], 'int64', [1, -7, None]),
            (['9223372036854775807', '9223372036854775808'], 'decimal(0)', [2**63 - 1, 2**63]),
            (['-' + '9' * 38], 'decimal(0)', [-(10**38 - 1)]),
            (['1', '1.5', '1e3', '"NaN"', '"-Infinity"'], 'float64', [1.0, 1.5, 1000.0, None, float('-inf')]),
            (['9007199254740993', '0.5'], 'float64', [9007199254740992.0, 0.5]),
            (['true', 'false'], 'bool', [True, False]),
            (['true', '1'], 'string', ['true', '1']),
            (['"12"', '13'], 'string', ['12', '13']),
            (['"2020-01-31"', 'null'], 'date', [18292, None]),
            (['"2020-01-31"', '"2020-01-31T00:00:01"'], 'timestamp', [1580428800000000, 1580428801000000]),
            (['"2020-01-31"', '"2020-01-31T01:00:01+01:00"'], 'timestamptz', [1580428800000000, 1580428801000000]),
            (['"00:00:01.5"', 'null'], 'time', [1500000, None]),
            (['"2020-01-31"', '"x"'], 'string', ['2020-01-31', 'x']),
            (['null', 'null'], 'string', [None, None]),
            ([r'"\u00e9\ud83d\ude00\n\"\\\/\u0000"', '""'], 'string', ['é😀\n"\\/\0', '']),
            (['[1, {"a": 2}]', '[]'], 'string', ['[1, {"a": 2}]', '[]']),
            (['[1, null]', '[]', 'null', '[2.5]'], 'list(float64)', [[1.0, None], [], None, [2.5]]),
            (['["2020-01-31"]', '[null]'], 'list(date)', [[18292], [None]]),
            (['["a", "2020-01-31"]', '[]'], 'list(string)', [['a', '2020-01-31'], []]),
            (['[[1]]', '[]'], 'string', ['[[1]]', '[]']),
            (['[1]', '2'], 'string', ['[1]', '2'])):
        put(''.join(f'{{"a": {text}}}\n' for text in texts * 10))
        for chunk_bytes in CUTS:
            column = read(chunk_bytes)['a']
            got = shown(column)
            if dtype == 'float64':
                got = [None if v != v else v for v in got]
            assert column.dtype == dtype and got == want * 10, (texts, column.dtype, got[:5], want)

    # Names: dotted, in the order in which they appear, missing ones null; of nulls and objects the objects are.
    put('\ufeff{"b": 1, "a": {"x": 1, "y": {"z": "t"}}}\r\n\n  \n{"a": null, "c": [], "b": 2}\n{"a": {"x": 3}, "d": {}, "e": null}')
    for chunk_bytes in CUTS:
        frame = read(chunk_bytes)
        assert {n: shown(c) for n, c in frame.items()} == {'b': [1, 2, None], 'a.x': [1, None, 3], 'a.y.z': ['t', None, None],
                                                          'c': [None, [], None], 'e': [None] * 3}, frame
        assert list(frame) == ['b', 'a.x', 'a.y.z', 'c', 'e'], list(frame)
    put('{"a": {"b": 1}}\n{"a": 2}\n')
    assert {n: shown(c) for n, c in read().items()} == {'a.b': [1, None], 'a': [None, 2]}

    # Lines of very different length, against json; and a range in which no line begins.
    records = [{'n': i, 's': 'é' * random.choice([0, 1, 50, 3000]), **({'o': {'p': i / 4}} if i % 3 else {})} for i in range(300)]
    put(''.join(json.dumps(r, ensure_ascii=i % 2 == 0) + '\n' for i, r in enumerate(records)))
    for chunk_bytes in (0, 2000, 20000):
        frame = read(chunk_bytes)
        assert shown(frame['n']) == list(range(300)) and shown(frame['s']) == [r['s'] for r in records]
        assert shown(frame['o.p']) == [r.get('o', {}).get('p') for r in records]
        few = granary.run({'x': {'op': 'read_ndjson', 'path': path}, 'y': {'op': 'select', 'input': 'x', 'columns': ['o.p']},
                           'z': {'op': 'filter', 'input': 'y', 'where': '`o.p` > 70'}}, 'z', chunk_bytes)
        assert shown(few['o.p']) == [r['o']['p'] for r in records if r.get('o', {}).get('p', 0) > 70]

    # dtypes: of the user's choice, also of texts.
    put('{"a": "1.50", "b": "7", "c": "3d 04:05:06.5"}\n{"a": 2, "b": 8}\n')
    frame = read(dtypes={'a': 'decimal(2)', 'b': 'uint8', 'c': 'duration'})
    assert {n: (c.dtype, shown(c)) for n, c in frame.items()} == {
        'a': ('decimal(2)', [150, 200]), 'b': ('uint8', [7, 8]), 'c': ('duration', [273906500000, None])}, frame
    granary.fails({'x': {'op': 'read_ndjson', 'path': path, 'dtypes': {'b': 'date'}}}, 'x', 'x.ndjson:1', "'b'", "'7'", 'date')
    granary.fails({'x': {'op': 'read_ndjson', 'path': path, 'dtypes': {'z': 'date'}}}, 'x', "'z'")

    # What is wrong is told with file and line, the first of several, wherever the file is cut.
    good = '{"a": 1}\n' * 20
    for bad, message in ((b'[1]', "'{' is expected"), (b'1', "'{' is expected"), (b'{"a": 1} {', 'more text'), (b'{"a": 1, "a": 2}', "'a' is there twice"),
                         (b'{"o": {"a": 1}, "o": {"b": 2}}', "'o' is there twice"), (b'{"o.a": 1, "o": {"a": 2}}', "'o.a' is there twice"),
                         (b'{"a": "\xff"}', 'not UTF-8'), (b'{"a": "\\ud800"}', 'half a character'), (b'{"a": "\\udc00x"}', 'half a character'),
                         (b'{"a": "\t"}', 'control character'), (b'{"a\\u0000": 1}', 'zero byte'), (b'{"a": 01}', "',' or '}'"),
                         (b'{"a": .5}', 'no value'), (b'{"a": +1}', 'no value'), (b'{"a": NaN}', 'no value'), (b'{"a": 1,}', 'a name in quotes'),
                         (b'{"a": "x', 'does not end'), (b'{"a" 1}', "':' is expected"), (b'{"a": tru}', 'no value'), (b'{"a": [1 2]}', "',' or ']'"),
                         (b'{"a": ' + b'[' * 200, 'too deep'), (b'{"a": "\\x"}', 'no escape'), (b'{"a": \x00}', 'no value'), (b'\x00', 'is expected')):
        put(good.encode() + bad + b'\n' + good.encode() + b'[2]\n')
        for chunk_bytes in CUTS:
            granary.fails({'x': {'op': 'read_ndjson', 'path': path}}, 'x', 'x.ndjson:21: ', message, chunk_bytes=chunk_bytes)
    put(good + '{"a": "' + 'x' * (17 << 20) + '"}\n' + good)
    for chunk_bytes in (0, 1 << 20):
        granary.fails({'x': {'op': 'read_ndjson', 'path': path}}, 'x', 'x.ndjson:21: ', 'longer than 16 MiB', chunk_bytes=chunk_bytes)
    put(''.join(json.dumps({f'c{i}': 1}) + '\n' for i in range(16385)))
    granary.fails({'x': {'op': 'read_ndjson', 'path': path}}, 'x', '16384 different names')
    for text in ('', '\n \n', '{}\n'):
        put(text)
        granary.fails({'x': {'op': 'read_ndjson', 'path': path}}, 'x', 'x.ndjson', 'no record')

    # There and back.
    dtypes = ['bool', 'int8', 'int64', 'uint64', 'float32', 'float64', 'decimal(0)', 'decimal(18)', 'string', 'date', 'timestamp', 'duration', 'time', 'timestamptz', 'binary']
    rows = 2 * max(len(edges(d)) for d in dtypes)
    columns = {}
    for d in dtypes:
        values = list(itertools.islice(itertools.cycle(edges(d)), rows))
        columns[d] = Column(d, values if d in ('string', 'binary') or d.startswith('decimal') else np.array(values), [i % 5 != 3 for i in range(rows)])
    source = granary.put(columns, pieces=3)
    written = granary.run({'t': source, 'w': {'op': 'write_ndjson', 'input': 't', 'path': path}}, 'w')
    assert written['bytes'].values[0] == os.path.getsize(path)
    for chunk_bytes in CUTS:
        frame = read(chunk_bytes, dtypes={d: d for d in dtypes})
        for d in dtypes:
            same(frame[d], columns[d], f'{d} in chunks of {chunk_bytes}')
    with open(path, encoding='utf-8') as file:  # what Python reads of it, strings to the last byte
        theirs = [json.loads(line) for line in file]
    assert [r['string'] for r in theirs] == shown(columns['string']) and [r['int64'] for r in theirs] == shown(columns['int64'])
    assert list(theirs[0]) == dtypes

    # By name, everywhere.
    put('{"a": 1, "o": {"b": "x"}}\n{"a": 2, "late": true}\n')
    lines, out = path[:-7] + '.jsonl', path[:-8] + 'y.ndjson'
    os.rename(path, lines)
    assert granary.command('sql', '--csv', f"SELECT * FROM '{lines}' ORDER BY a DESC") == 'a,o.b,late\n2,,true\n1,x,\n'
    granary.command('sql', '-o', out, f"""SELECT a, "o.b" FROM '{lines}' ORDER BY a""")
    with open(out) as file:
        assert file.read() == '{"a":1,"o.b":"x"}\n{"a":2,"o.b":null}\n'
    granary.command('load', 'pair', lines, lines, '--dtype', 'a=int8')
    assert granary.command('sql', '--csv', 'SELECT sum(a) AS s, count(*) AS n FROM pair') == 's,n\n6,4\n'
