"""Folders KEY=VALUE that granary has written are read by DuckDB, with the rows that were written: written.py SEED FOLDERS.

Needs node, and @duckdb/node-api in $GRANARY_PEERS/node_modules; 77 (skipped) without.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, '../../support/py'))
from node_module import module_of

YEARS = (1999, 2020, 2024, None)
NAMES = ("it's", 'a b', 'ä', 'x/y', '100%', 'a=b', '?*', 'x:y', '#', '[1]', None)
DAYS = ('2024-02-29', '1970-01-01', None)


def literal(value):
    return 'NULL' if value is None else str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


def pick(column, values, step):
    return f'CASE n * {step} % {len(values)} ' + ' '.join(f'WHEN {i} THEN {literal(v)}' for i, v in enumerate(values)) + f' END AS {column}'


def main():
    module = module_of('@duckdb/node-api', os.environ.get('GRANARY_PEERS', HERE))
    if module is None:
        print('skipped: node or @duckdb/node-api is not installed; set GRANARY_PEERS to a directory with its node_modules')
        return 77
    sys.path.insert(0, os.path.join(HERE, '../../python'))
    from frames_test import Instance, SessionEngine, gr, granary
    random.seed(int(sys.argv[1]))
    with tempfile.TemporaryDirectory(prefix='granary-folders-') as directory, Instance(executors=2, memory='512M') as instance, \
            granary.connect(instance.instance) as session:
        gr.use(SessionEngine(session))
        cases, answers = [], []
        for number in range(int(sys.argv[2])):
            form = ('parquet', 'csv', 'ndjson')[number % 3]
            keys = random.sample(['year', 'name', 'day'], random.choice([1, 2, 3]))
            rows = random.choice([1, 100, 30000])
            made = f"SELECT n, n % 7 AS a, n / 4.0 AS x, {pick('year', YEARS, 3)}, {pick('name', NAMES, 5)}, CAST({pick('day', DAYS, 7)[:-7]} AS date) AS day " \
                f"FROM generate_series(0, {rows - 1}) AS s(n)"
            top = os.path.join(directory, f'f{number}')
            session.execute(f"COPY ({made}) TO '{top}' (FORMAT {form}, PARTITION_BY ({', '.join(keys)}))")
            asked = [f"SELECT {what} FROM FILES" for what in ('count(*), sum(n), sum(a), sum(x)', *(f'count({k}), count(DISTINCT {k})' for k in keys))]
            asked += [f"SELECT {key}, count(*), sum(n) FROM FILES GROUP BY {key} ORDER BY {key} NULLS LAST" for key in keys]
            cases.append({'glob': f'{top}/**/*.{form}', 'format': form, 'asked': asked})
            for text in asked:
                columns = gr.sql(text.replace('FILES', f'({made}) AS s')).to_dict().values()
                answers.append(('%s, %s' % (form, text), [list(row) for row in zip(*columns)]))
        with open(f'{directory}/cases.json', 'w', encoding='utf-8') as file:
            json.dump(cases, file)
        told = subprocess.run(['node', f'{HERE}/read.mjs', f'{directory}/cases.json'], env={**os.environ, 'DUCKDB_MODULE': module}, check=True,
                              capture_output=True, text=True).stdout

        def plain(value):
            try:
                return None if value is None else float(value)
            except (TypeError, ValueError):
                return str(value)
        for (text, mine), theirs in zip(answers, json.loads(told), strict=True):
            mine, theirs = [[[plain(v) for v in row] for row in rows] for rows in (mine, theirs)]
            assert sorted(mine, key=repr) == sorted(theirs, key=repr), f'{text}: {mine}, and DuckDB reads {theirs}'
        print(f'{len(cases)} folders, {len(answers)} questions')
    return 0


if __name__ == '__main__':
    sys.exit(main())
