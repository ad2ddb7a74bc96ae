"""write_csv and read_csv: every value of every dtype comes back, whatever delimiter and text for nulls."""
import itertools
import os

import numpy as np

from edges import edges, same
from granary_test import Column, Instance


with Instance() as granary:
    dtypes = ['bool', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'float32', 'float64', 'decimal(0)', 'decimal(18)',
              'string', 'date', 'timestamp', 'duration', 'time', 'timestamptz', 'binary']
    moments = ('date', 'timestamp', 'duration', 'time', 'timestamptz')
    rows = 2 * max(len(edges(d)) for d in dtypes)
    columns = {}
    for d in dtypes:
        values = edges(d)
        repeated = [values[i % len(values)] for i in range(rows)]
        valid = np.arange(rows) % 5 != 3
        columns[d] = Column(d, repeated if isinstance(values, list) else np.array(repeated, values.dtype), valid)
    tables = [columns, *({d: c} for d, c in columns.items()), {'a b': columns['string'], '\ufeff': columns['int8'], 'c,"d"': columns['date']}]
    path = os.path.join(granary.directory, 'x.csv')
    for (number, table), delimiter, null in itertools.product(enumerate(tables), (',', ';', '-', '.', ':', ' ', '1', 'e'), (None, 'NA', '0', 'nan', 'true')):
        if number > 0 and (delimiter not in ',-' or null not in (None, '0', 'true')) or null and delimiter in null:
            continue
        write = {'op': 'write_csv', 'input': 't', 'path': path, 'delimiter': delimiter, **({'null_value': null} if null else {})}
        granary.run({'t': granary.put(table, pieces=3), 'w': write}, 'w')
        read = {'op': 'read_csv', 'path': path, 'delimiter': delimiter, 'dtypes': {n: c.dtype for n, c in table.items()}, **({'null_values': [null]} if null else {})}
        for chunk_bytes in (0, 700):
            frame = granary.run({'x': read}, 'x', chunk_bytes)
            assert list(frame) == list(table), (list(frame), list(table))
            for name, column in table.items():
                same(frame[name], column, f'{name!r} of {list(table)} with {delimiter!r} and {null!r}')

    # Without dtypes: quotes make text of what else is null, among numbers it stays null.
    with open(path, 'w') as file:
        file.write('s,n,q\n"",1,""\n,"",""\n"\\N","\\N",""\n')
    frame = granary.run({'x': {'op': 'read_csv', 'path': path}}, 'x')
    same(frame['s'], Column('string', ['', '', '\\N'], np.array([True, False, True])), 's')
    same(frame['n'], Column('int64', np.array([1, 0, 0]), np.array([True, False, False])), 'n')
    same(frame['q'], Column('string', ['', '', '']), 'q')

    # CAST has the same calendar: what is written as text is read from text, with Z and nine digits, too.
    texts = {f'{d}_text': f'cast(`{d}` as string)' for d in moments}
    values = {d: f'cast(`{d}_text` as {d})' for d in moments}
    values |= {'z': "cast('2020-01-31T12:00:00.123456789Z' as timestamp)", 'column': "cast(concat('2020-01-31 12:00Z', s) as timestamp)"}
    frame = granary.run({'t': granary.put({**columns, 's': Column('string', [''] * rows)}), 'a': {'op': 'assign', 'input': 't', 'columns': texts},
                         'x': {'op': 'project', 'input': 'a', 'columns': values}}, 'x')
    for d in moments:
        same(frame[d], columns[d], f'cast of {d}')
    assert set(frame['z'].values) == {1580472000123456} and set(frame['column'].values) == {1580472000000000}

    # What a query prints is read alike.
    granary.run({'t': granary.put({'s': columns['string']}), 'w': {'op': 'write_csv', 'input': 't', 'path': path}}, 'w')
    with open(os.path.join(granary.directory, 'y.csv'), 'w') as file:
        file.write(granary.command('sql', '--csv', f"SELECT * FROM '{path}'"))
    assert open(path).read() == open(os.path.join(granary.directory, 'y.csv')).read()
    for node in ({'null_value': 'a,b'}, {'null_value': '"'}, {'null_value': 'x\n'}):
        granary.fails({'t': granary.put({'s': columns['string']}), 'x': {'op': 'write_csv', 'input': 't', 'path': path, **node}}, 'x', "'null_value'")

    # A writer that died: an error, unless all fields of the last record are there. The last line needs no end.
    text = 'a,b,c\n1,x,2\n2,"y, z",3\n3,"q ""w""\nr",4\n'
    whole = [text.index('1,x') + 4, text.index('2,"y') + 9, text.index('3,"q') + 14]  # where the last field of each record begins
    ends = [i + 1 for i, c in enumerate(text) if c == '\n' and text[i + 1:i + 2] != 'r']
    for cut in range(ends[0], len(text) + 1):
        with open(path, 'w') as file:
            file.write(text[:cut])
        there = sum(cut >= at for at in whole)
        for chunk_bytes in (0, 5):
            if cut in ends or (there > 0 and whole[there - 1] <= cut <= ends[there]):
                frame = granary.run({'x': {'op': 'read_csv', 'path': path, 'header': True}}, 'x', chunk_bytes)
                assert list(frame['b'].values) == ['x', 'y, z', 'q "w"\nr'][:there] and len(frame['c']) == there, (cut, text[:cut])
            else:
                granary.fails({'x': {'op': 'read_csv', 'path': path, 'header': True}}, 'x', f'x.csv:{there + 2}:')
