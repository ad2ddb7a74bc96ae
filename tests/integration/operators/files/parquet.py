"""read_parquet: answers do not depend on what row groups and pages are left out; files that are cut short, damaged, or claim what is not there
give an error, and executors live on."""
import json
import os
import random

import numpy as np
from granary_test import Column, GranaryError, Instance
from parquet_writer import parquet

random.seed(21)


def values(column):
    valid = [True] * len(column) if column.valid is None else column.valid
    return [v.item() if ok else None for v, ok in zip(column.values, valid)]


def draw_groups():
    groups = []
    for _ in range(random.choice([1, 1, 3])):
        rows = random.choice([1, 50, 9000, 30000])
        kind = random.choice(['rising', 'wild', 'steps'])
        make = {'rising': lambda i: i + random.randrange(9), 'wild': lambda i: random.randrange(-2**40, 2**40), 'steps': lambda i: i // 700 * 1000}[kind]
        nulls = random.choice([0, 0, 0.1, 1])
        groups.append({name: [None if random.random() < nulls else make(i) for i in range(rows)] for name in ('a', 'b')})
    return groups


def draw_condition(rows):
    def literal():
        return random.choice([random.choice(rows)['a'] or 0, random.randrange(40000), random.randrange(-2**40, 2**40)])

    def one(name):
        x, y = literal(), literal()
        return random.choice([
            (f'{name} = {x}', lambda r: r[name] is not None and r[name] == x),
            (f'{name} < {x}', lambda r: r[name] is not None and r[name] < x),
            (f'{name} >= {x}', lambda r: r[name] is not None and r[name] >= x),
            (f'{name} in ({x}, {y})', lambda r: r[name] is not None and r[name] in (x, y)),
            (f'{name} > {x} and {name} <= {y}', lambda r: r[name] is not None and x < r[name] <= y),
            (f'{name} is null', lambda r: r[name] is None), (f'{name} is not null', lambda r: r[name] is not None)])
    text, holds = one(random.choice('ab'))
    if random.random() < 0.4:
        also, more = one(random.choice('ab'))
        return f'({text}) and ({also})', lambda r: holds(r) and more(r)
    return text, holds


with Instance() as granary:
    path = os.path.join(granary.directory, 'x.parquet')

    def put(content):
        with open(path, 'wb') as file:
            file.write(content)

    read = {'op': 'read_parquet', 'path': path}

    # Conditions: the same rows, whatever is left out.
    for round_number in range(12):
        groups = draw_groups()
        os.environ['GRANARY_RECALL'] = ('on', 'off')[round_number % 2]  # off: what a condition leaves out need not be read
        rows = [dict(zip('ab', pair)) for g in groups for pair in zip(g['a'], g['b'])]
        put(parquet(groups, {name: random.choice([None, 100, 1000, 4096, 10000]) for name in 'ab'}, index=round_number % 4 > 0, old=round_number % 3 == 0))
        for chunk_bytes in (0, 4096):
            got = granary.run({'x': read}, 'x', chunk_bytes)
            assert [values(got['a']), values(got['b'])] == [[r['a'] for r in rows], [r['b'] for r in rows]]
        for _ in range(6):
            where, holds = draw_condition(rows)
            got = granary.run({'f': read, 'x': {'op': 'filter', 'inputs': ['f'], 'where': where}}, 'x')
            want = [r for r in rows if holds(r)]
            assert values(got['a']) == [r['a'] for r in want] and values(got['b']) == [r['b'] for r in want], (round_number, where)

    # Pages are left out at all: what a page's statistics hide is not found.
    content = parquet([{'a': list(range(20000)), 'b': [7] * 20000}], {'a': 5000})
    page = content.index((12345).to_bytes(8, 'little'))
    put(content[:page] + (3).to_bytes(8, 'little') + content[page + 8:])
    three = granary.run({'f': read, 'x': {'op': 'filter', 'inputs': ['f'], 'where': 'a = 3'}}, 'x')
    assert values(three['a']) == [3], values(three['a'])

    # Pages whose index says that they have nothing but nulls, though there are fewer nulls, are read.
    groups = [{'a': [None if i % 3 == 0 else i for i in range(1000)], 'b': [None] * 400 + list(range(600))}]
    for counts in (True, False, 'all'):
        put(parquet(groups, {'a': 100, 'b': 100}, unbounded='ab', counts=counts))
        for where, rows in (('a is not null', 666), ('a = 500', 1), ('a is null', 334), ('b is not null', 600), ('b is null', 400)):
            got = granary.run({'f': read, 'x': {'op': 'filter', 'inputs': ['f'], 'where': where}}, 'x')
            assert len(values(got['a'])) == rows, (counts, where, len(values(got['a'])))

    # Cut short, or with damage: an error, or rows; never the end of an executor.
    content = parquet([{'a': [1, None, 3] * 40, 'b': list(range(120))}] * 2, {'a': 50})
    for size in [0, 1, 4, 8, 11, 12, 20] + [random.randrange(len(content)) for _ in range(25)]:
        put(content[:size])
        granary.fails({'x': read}, 'x', 'x.parquet')
    refused = 0
    for _ in range(120):
        damaged = bytearray(content)
        for _ in range(random.choice([1, 1, 2, 8])):
            damaged[random.randrange(len(damaged))] = random.randrange(256)
        put(bytes(damaged))
        try:
            granary.run({'x': read}, 'x')
        except GranaryError as error:
            assert 'x.parquet' in str(error) and 'died' not in str(error), error
            refused += 1
    assert 10 < refused < 120, refused

    # Dictionaries tell how many groups there are at most, so rows are grouped where they are read. Of other texts nobody knows it.
    rows = 2_200_000
    columns = {'few': Column('string', [f'value {i % 5}' for i in range(rows)]), 'v': Column('int64', np.arange(rows))}
    columns['many'] = Column('string', [f'{i * 7919 % rows}' for i in range(rows)])
    granary.run({'t': granary.put(columns, 3), 'w': {'op': 'write_parquet', 'input': 't', 'path': path}}, 'w')
    for key, fused in (('few', True), ('many', False)):
        plan = {'x': read, 'g': {'op': 'groupby', 'input': 'x', 'keys': [key], 'aggregate': {'s': 'sum(v)'}, 'sort': False}}
        told = granary.command('run', '--explain', '-', input=json.dumps({'nodes': plan, 'targets': ['g']}))
        assert ('parquet_read(); groupby_map(#0)' in told) == fused, told
        if fused:
            sums = granary.run(plan, 'g')
            assert dict(zip(sums['few'].values, sums['s'].values)) == {f'value {k}': sum(range(k, rows, 5)) for k in range(5)}

    # A few hundred bytes that claim very many rows.
    for claimed, message in ((14 * 2**30, 'another number of rows'), (2**47, 'smaller ones')):
        put(parquet([{'a': [1, 2, 3], 'b': [4, 5, 6]}], claimed=claimed))
        assert os.path.getsize(path) < 844
        granary.fails({'x': read}, 'x', 'x.parquet', message)

    # Two columns of one name, and files that are not there or none.
    put(parquet([{'a': [1], 'b': [2]}]).replace(b'\x18\x01b', b'\x18\x01a'))
    granary.fails({'x': read}, 'x', 'x.parquet', "column 'a' twice")
    put(b'a,b\n1,2\n' * 10)
    granary.fails({'x': read}, 'x', 'no Parquet file')
    os.remove(path)
    granary.fails({'x': read}, 'x', 'x.parquet', 'No such file')
