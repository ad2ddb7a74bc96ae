#!/usr/bin/python3
"""Joins read columns of a Parquet file late, of the rows that they have found: the same as of a table.

    late_columns.py BIN_DIRECTORY
"""
import json
import os
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'support' / 'py'))
from command_line import CommandLine

binaries = pathlib.Path(sys.argv[1]).resolve()
ROWS = 60000
# Of every kind: dense and with nulls, few and many different ones, and lists.
COLUMNS = ["x % 1000 AS k", "x AS n", "CASE WHEN x % 3 <> 0 THEN x * 1.5 END AS f", "x % 2 = 0 AS b",
           "CASE WHEN x % 5 <> 0 THEN cast(x AS decimal(12, 2)) END AS d", "'t' || cast(x % 40 AS text) AS few",
           "CASE WHEN x % 7 <> 0 THEN 'text ' || cast(x AS text) END AS many", "date '2020-01-01' + cast(x % 900 AS int) AS day",
           "CASE WHEN x % 11 <> 0 THEN [x, x + 1] END AS l"]
ALL = 'k, n, f, b, d, few, many, day, l'
JOINS = [
    "JOIN picked p ON t.k = p.key",                                     # few rows, some of them twice
    "JOIN picked p ON t.k = p.key AND p.other < t.n",                   # pairs that a condition leaves
    "JOIN everything p ON t.k = p.key",                                 # all rows, as they are
    "LEFT JOIN picked p ON t.k = p.key",
    "JOIN nobody p ON t.k = p.key",
]
WHERE = ["", "WHERE t.n % 2 = 0", "WHERE t.n % 50 = 0", "WHERE t.few = 't3' AND t.d > 20000", "WHERE t.f IS NULL", "WHERE t.n > 1000000"]
HALVES = ["WHERE EXISTS (SELECT 1 FROM picked p WHERE p.key = t.k)", "WHERE NOT EXISTS (SELECT 1 FROM picked p WHERE p.key = t.k)"]


def main():
    rng = random.Random(7)
    with CommandLine(binaries) as granary:
        path = os.path.join(granary.base, 't.parquet')
        lines = '\n'.join(str(i) for i in range(ROWS))
        source = os.path.join(granary.base, 'x.csv')
        pathlib.Path(source).write_text('x\n' + lines + '\n')
        granary.must('sql', '--keep', 't', f"SELECT {', '.join(COLUMNS)} FROM '{source}'")
        granary.must('sql', f"COPY (SELECT * FROM t) TO '{path}'")
        for name, keys in (('picked', [rng.randrange(1000) for _ in range(30)] * 2), ('everything', range(1000)), ('nobody', [-1])):
            file = os.path.join(granary.base, name + '.csv')
            pathlib.Path(file).write_text('key,other\n' + ''.join(f'{key},{key * 31 % 50000}\n' for key in keys))
            granary.must('load', name, file)
        asked = [f'{join} {where}' for join in JOINS for where in WHERE] + HALVES
        late = 0
        for tail in asked:
            select = ', '.join('t.' + name.strip() for name in ALL.split(',')) + (', p.key' if 'JOIN' in tail else '')
            answers = [sorted(json.dumps(row) for row in json.loads(granary.must('sql', '--no-recall', '--json', f'SELECT {select} FROM {table} t {tail}')))
                       for table in ('t', f"'{path}'")]
            assert answers[0] == answers[1], (tail, len(answers[0]), len(answers[1]))
            late += len(answers[0])
        assert late > ROWS, late
        print(f'{len(asked)} joins, {late} rows')


main()
