#!/usr/bin/python3
"""TPC-H in fragments: each query is cut, run on several private instances, and gives the bytes that one instance gives.

    tpch.py BIN_DIRECTORY QUERY_DIRECTORY SCALE PARTITIONS MACHINES [QUERY...]

Nothing but results is gathered. A tenth of a megabyte is a large table here, so that most are cut.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'support' / 'py'))
from fragments import Machines

TABLES = ['region', 'nation', 'supplier', 'customer', 'part', 'partsupp', 'orders', 'lineitem']

binaries, queries, scale, partitions, count = sys.argv[1:6]
chosen = [int(number) for number in sys.argv[6:]] or list(range(1, 23))
wrong = 0
with tempfile.TemporaryDirectory(prefix='granary-tpch-data-') as data, Machines(binaries, int(count)) as machines:
    subprocess.run([pathlib.Path(binaries) / 'granary-tpch-gen', scale, data], check=True, capture_output=True)
    for table in TABLES:
        machines.command(0, 'sql', f"CREATE VIEW {table} AS SELECT * FROM '{data}/{table}.csv'")
    for number in chosen:
        sql = (pathlib.Path(queries) / f'q{number:02}.sql').read_text()
        begin = time.monotonic()
        try:
            plan = json.loads(machines.command(0, 'sql', '--fragments', partitions, '--fragment-bytes', '100k', sql))
            found = machines.run(plan).text('result', '--csv')
            expected = machines.command(0, 'sql', '--csv', sql)
        except AssertionError as error:
            found, expected = str(error), ''
        seconds = time.monotonic() - begin
        gathered = [entry for entry in plan['gathered']]
        fine = found == expected and not gathered
        wrong += not fine
        print(f'q{number:02} {"identical" if found == expected else "DIFFERENT"} {len(expected.splitlines()) - 1} rows, '
              f'{len(plan["stages"])} stages, {seconds:.1f} s {gathered or ""}', flush=True)
        if found != expected:
            print(f'found:\n{found[:1500]}\nexpected:\n{expected[:1500]}')
sys.exit(wrong > 0)
