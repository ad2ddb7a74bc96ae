#!/usr/bin/python3
"""Random SELECTs of the differ in fragments: whatever one instance answers, several do with the same bytes; what one refuses is refused.

    random_plans.py BIN_DIRECTORY CASES SEED PARTITIONS MACHINES
"""
import datetime
import json
import pathlib
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / 'support' / 'py'), str(TESTS / 'differ')]
from draw import Draw
from fragments import Machines
from sql_random import Part, tables_of
from sql_tree import COLUMNS, Writer

EPOCH = datetime.datetime(1970, 1, 1)


def field(value, kind):
    if value is None:
        return ''
    if kind == 'date':
        return (EPOCH + datetime.timedelta(days=value)).date().isoformat()
    if kind == 'ts':
        return (EPOCH + datetime.timedelta(microseconds=value)).isoformat(' ')
    if kind == 'text':
        return '"' + value.replace('"', '""') + '"'
    if kind == 'bool':
        return 'true' if value else 'false'
    return str(value / 100 if kind == 'dec' else value)


def write_tables(machines, directory, seed):
    for table, columns in tables_of(seed).items():
        rows = [','.join(columns)]
        rows += [','.join(field(columns[name][i], COLUMNS[name]) for name in columns) for i in range(len(columns['id']))]
        path = directory / f'{seed}-{table}.csv'
        path.write_text('\n'.join(rows) + '\n')
        machines.command(0, 'sql', f'DROP VIEW IF EXISTS {table}')
        machines.command(0, 'sql', f"CREATE VIEW {table} AS SELECT * FROM read_csv('{path}', header = true)")


def answer(ask):
    try:
        return ask(), None
    except AssertionError as error:
        return None, str(error)


def main():
    binaries, cases, seed, partitions, count = sys.argv[1], *map(int, sys.argv[2:6])
    part, wrong, refused, stages, gathered = Part(), 0, 0, 0, {}
    with tempfile.TemporaryDirectory(prefix='granary-random-') as name, Machines(binaries, count) as machines:
        write_tables(machines, pathlib.Path(name), seed)
        for number in range(cases):
            spec = part.make(Draw(f'{seed}/fragments/{number}'), number)
            sql = Writer('granary').query(spec['query'])
            expected, refusal = answer(lambda: machines.command(0, 'sql', '--csv', sql))
            text, why = answer(lambda: machines.command(0, 'sql', '--fragments', str(partitions), '--fragment-bytes', '1', sql))
            found = None
            if text is not None:
                plan = json.loads(text)
                stages += len(plan['stages'])
                for entry in plan['gathered']:
                    gathered[entry['op']] = gathered.get(entry['op'], 0) + 1
                found, why = answer(lambda: machines.run(plan).text('result', '--csv'))
            refused += expected is None
            if found != expected:
                wrong += 1
                print(f'WRONG  case {number}: {sql}\nfound:\n{str(found or why)[:700]}\nexpected:\n{str(expected or refusal)[:700]}', flush=True)
    print(f'{cases} cases, {refused} refused, {stages} stages, gathered {gathered}, {wrong} wrong')
    return wrong > 0


sys.exit(main())
