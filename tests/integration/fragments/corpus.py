#!/usr/bin/python3
"""The SELECTs of the SQL corpus (tests/golden/sql/corpus) in fragments, over tables of the instance: with the bytes that it gives itself.

    corpus.py BIN_DIRECTORY PARTITIONS [FILE...]
"""
import json
import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / 'support' / 'py'), str(TESTS / 'golden' / 'sql')]
from fragments import Machines
from logic_test import read_logic_test



def try_query(machines, partitions, sql):
    """None where one instance refuses; else what is different, and what was gathered."""
    try:
        expected = machines.command(0, 'sql', '--csv', sql)
    except AssertionError:
        return None
    try:
        plan = json.loads(machines.command(0, 'sql', '--fragments', partitions, '--fragment-bytes', '1', sql))
        found = machines.run(plan).text('result', '--csv')
    except AssertionError as error:
        return str(error)[:1000], []
    free = 'order by' not in sql.lower()  # a join may then come in the order of its larger side
    if found != expected and not (free and sorted(found.splitlines()) == sorted(expected.splitlines())):
        return f'found:\n{found[:600]}\nexpected:\n{expected[:600]}', plan['gathered']
    return '', plan['gathered']


def main():
    binaries, partitions = sys.argv[1:3]
    files = [pathlib.Path(name) for name in sys.argv[3:]] or sorted((TESTS / 'golden' / 'sql' / 'corpus').glob('*.test'))
    wrong, asked, gathered = 0, 0, {}
    for path in files:
        with Machines(binaries, 1) as machines:
            for record in read_logic_test(path.read_text()):
                sql = record.sql.strip().rstrip(';')
                if record.kind == 'statement':
                    if record.expect != 'error':
                        machines.command(0, 'sql', sql)
                    continue
                told = try_query(machines, partitions, sql)
                if told is None:
                    continue
                asked += 1
                for entry in told[1]:
                    gathered[entry['op']] = gathered.get(entry['op'], 0) + 1
                if told[0]:
                    wrong += 1
                    print(f'WRONG  {path.name}:{record.line}: {sql}\n{told[0]}', flush=True)
    print(f'{asked} asked, gathered {gathered}, {wrong} wrong')
    return wrong > 0


sys.exit(main())
