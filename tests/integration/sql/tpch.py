#!/usr/bin/python3
"""The 22 queries of TPC-H through `granary sql`, against another engine on the same files: SQLite (Python's own), or DuckDB.

    tpch.py BIN_DIRECTORY QUERY_DIRECTORY SCALE [sqlite|duckdb [MEMORY [QUERY...]]]

DuckDB is its npm package @duckdb/node-api, looked for in $GRANARY_PEERS/node_modules; without it the comparison is skipped.
Numbers are equal when they differ by a billionth.
"""
import csv
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'support' / 'py'))
from command_line import CommandLine

SKIPPED = 77
TABLES = ['region', 'nation', 'supplier', 'customer', 'part', 'partsupp', 'orders', 'lineitem']
MONEY = {'supplier': ['s_acctbal'], 'customer': ['c_acctbal'], 'part': ['p_retailprice'], 'partsupp': ['ps_supplycost'],
         'orders': ['o_totalprice'],
         'lineitem': ['l_quantity', 'l_extendedprice', 'l_discount', 'l_tax']}
INDEXES = ['lineitem(l_orderkey)', 'lineitem(l_partkey, l_suppkey)', 'partsupp(ps_partkey)', 'orders(o_custkey)', 'orders(o_orderkey)',
           'supplier(s_suppkey)', 'part(p_partkey)', 'customer(c_custkey)']

binaries, queries, scale = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]), sys.argv[3]
peer = sys.argv[4] if len(sys.argv) > 4 else 'sqlite'
memory = sys.argv[5] if len(sys.argv) > 5 else '1G' if float(scale) > 0.05 else '256M'  # /dev/shm may be small
chosen = [int(number) for number in sys.argv[6:]] or list(range(1, 23))


# ---- the peers: SELECT text -> rows ----

def for_sqlite(sql):
    """What SQLite writes in its own way; its numbers with a point are binary, so sums of them are written out."""
    sql = sql.replace('0.06 - 0.01', '0.05').replace('0.06 + 0.01', '0.07')
    sql = re.sub(r"date '([\d-]+)' ([+-]) interval '(\d+)' (\w+)", r"date('\1', '\2\3 \4')", sql)
    sql = re.sub(r"date '([\d-]+)'", r"'\1'", sql)
    sql = re.sub(r"extract\(year from (\w+)\)", r"cast(strftime('%Y', \1) as integer)", sql)
    sql = re.sub(r"substring\((\w+) from (\d+) for (\d+)\)", r"substr(\1, \2, \3)", sql)
    if ') as c_orders (c_custkey, c_count)' in sql:
        sql = sql.replace(') as c_orders (c_custkey, c_count)', ') as c_orders').replace('count(o_orderkey)', 'count(o_orderkey) as c_count')
    return sql


def sqlite(directory):
    database = sqlite3.connect(':memory:')
    database.execute('pragma case_sensitive_like = on')
    for table in TABLES:
        with open(directory / f'{table}.csv', newline='') as file:
            rows = csv.reader(file)
            names = next(rows)
            kinds = ['real' if name in MONEY.get(table, []) else
                     'integer' if re.search('key$|size$|availqty$|linenumber$|shippriority$', name) else 'text' for name in names]
            database.execute(f"create table {table} ({', '.join(f'{n} {k}' for n, k in zip(names, kinds))})")
            database.executemany(f"insert into {table} values ({', '.join('?' * len(names))})", rows)
    for index, columns in enumerate(INDEXES):
        database.execute(f'create index i{index} on {columns}')
    database.execute('analyze')
    return lambda sql: [list(row) for row in database.execute(for_sqlite(sql))]


DUCKDB = r"""
const { DuckDBInstance } = require('@duckdb/node-api');
const fs = require('fs');
(async () => {
  const [directory, queries, ...numbers] = process.argv.slice(1);
  const money = JSON.parse(process.env.MONEY);
  const db = await (await DuckDBInstance.create(':memory:')).connect();
  for (const table of fs.readdirSync(directory).filter(f => f.endsWith('.csv')).map(f => f.slice(0, -4))) {
    const types = (money[table] || []).map(c => `'${c}': 'DECIMAL(15,2)'`).join(', ');
    await db.run(`create table ${table} as select * from read_csv('${directory}/${table}.csv', header=true, delim=',', quote='"'` +
                 `, escape='"'${types ? `, types={${types}}` : ''})`);
  }
  const out = {};
  for (const n of numbers) {
    const start = process.hrtime.bigint();
    const rows = (await db.runAndReadAll(fs.readFileSync(`${queries}/q${n.padStart(2, '0')}.sql`, 'utf8'))).getRowsJson();
    out[n] = { rows, ms: Number(process.hrtime.bigint() - start) / 1e6 };
  }
  console.log(JSON.stringify(out));
})().catch(e => { console.error(e); process.exit(1); });
"""


def duckdb(directory):
    modules = pathlib.Path(os.environ.get('GRANARY_PEERS', '')) / 'node_modules'
    if shutil.which('node') is None or not (modules / '@duckdb').exists():
        print('skipped: DuckDB is not there ($GRANARY_PEERS/node_modules/@duckdb)')
        sys.exit(SKIPPED)
    answer = subprocess.run(['node', '-e', DUCKDB, '--', str(directory), str(queries), *map(str, chosen)], check=True, text=True,
                            stdout=subprocess.PIPE, env={**os.environ, 'NODE_PATH': str(modules), 'MONEY': json.dumps(MONEY)})
    rows = json.loads(answer.stdout)
    texts = {(queries / f'q{n:02}.sql').read_text(): rows[str(n)] for n in chosen}
    return lambda sql: (print(f"{'':8}duckdb {texts[sql]['ms']:8.0f} ms"), texts[sql]['rows'])[1]


# ---- the comparison ----

def plain(value):
    """A number when it is one, however it is written."""
    if isinstance(value, str) and re.fullmatch(r'-?\d+(\.\d+)?([eE][+-]?\d+)?', value):
        return float(value)
    return float(value) if isinstance(value, (int, float)) else value


def equal(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-9 * max(abs(a), abs(b), 1e-3)
    return a == b


def same_rows(ours, theirs):
    ours = [[plain(value) for value in row] for row in ours]
    theirs = [[plain(value) for value in row] for row in theirs]
    if len(ours) != len(theirs):
        return f'{len(ours)} rows, but {len(theirs)}'
    for number, (a, b) in enumerate(zip(ours, theirs)):
        if len(a) != len(b) or not all(equal(x, y) for x, y in zip(a, b)):
            return f'row {number + 1}: {a}\n{"":12}but: {b}'
    return None


class Granary(CommandLine):
    def __init__(self, directory):
        super().__init__(binaries, memory=memory)
        self.directory = directory

    def ready(self):
        for table in TABLES:
            types = [f'--dtype={column}=decimal(2)' for column in MONEY.get(table, [])]
            self.must('load', *types, table, str(self.directory / f'{table}.csv'))

    def rows(self, sql):
        return [list(row.values()) for row in json.loads(self.must('sql', '--json', '--discard', sql))]


def compare(granary, answer):
    """How many queries differ."""
    wrong = 0
    for number in chosen:
        sql = (queries / f'q{number:02}.sql').read_text()
        begin = time.monotonic()
        try:
            ours = granary.rows(sql)
            took = time.monotonic() - begin
            differs = same_rows(ours, answer(sql))
        except (RuntimeError, ValueError) as error:
            differs, took, ours = str(error), 0, []
        print(f'q{number:02} {len(ours):5} rows {took * 1000:8.0f} ms  {"equal" if differs is None else "DIFFERS: " + differs}', flush=True)
        wrong += differs is not None
    return wrong


def main():
    with tempfile.TemporaryDirectory(prefix='granary-tpch-data-') as name:
        directory = pathlib.Path(name)
        subprocess.run([binaries / 'granary-tpch-gen', scale, directory], check=True)
        answer = {'sqlite': sqlite, 'duckdb': duckdb}[peer](directory)
        with Granary(directory) as granary:
            wrong = compare(granary, answer)
    print(f'{len(chosen) - wrong} of {len(chosen)} queries equal')
    return 1 if wrong else 0


sys.exit(main())
