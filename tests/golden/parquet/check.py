"""Files that DuckDB has written, read by granary: check.py SEED TABLES. Values, nulls and names are DuckDB's, and so are the answers to
conditions, by which row groups are left out.

Needs node, and @duckdb/node-api in $GRANARY_PEERS/node_modules; 77 (skipped) without.
"""
import csv
import datetime
import decimal
import json
import math
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, '../../support/py'))
from node_module import module_of


def parsed(text, dtype):
    if text == '\\N':
        return None
    if dtype == 'bool':
        return text == 'true'
    if dtype.startswith('decimal'):
        return decimal.Decimal(text)
    if dtype.startswith('float'):
        return float(text)
    if dtype == 'date':
        return datetime.date.fromisoformat(text)
    if dtype == 'time':
        whole, _, part = text.partition('.')
        return datetime.time.fromisoformat(whole).replace(microsecond=int((part + '000000')[:6]))
    if dtype == 'timestamptz':
        return parsed(text.removesuffix('+00'), 'timestamp').replace(tzinfo=datetime.timezone.utc)
    if dtype == 'binary':  # printable bytes as they are, others as \xHH
        return re.sub(rb'\\x([0-9A-F]{2})', lambda m: bytes.fromhex(m[1].decode()), text.encode())
    if dtype == 'timestamp':
        whole, _, part = text.partition('.')
        return datetime.datetime.fromisoformat(whole) + datetime.timedelta(microseconds=int((part + '000000')[:6]))
    return text if dtype == 'string' else int(text)


def same(mine, theirs, dtype):
    if mine is None or theirs is None:
        return mine is theirs
    if dtype == 'float32':
        return math.isclose(mine, theirs, rel_tol=1e-6) or (mine != mine and theirs != theirs)
    return mine == theirs or (mine != mine and theirs != theirs)


def check_values(gr, directory, case):
    frame = gr.scan_parquet(f'{directory}/{case["name"]}.parquet').collect()
    with open(f'{directory}/{case["name"]}.csv', encoding='utf-8', newline='') as lines:
        names, *rows = list(csv.reader(lines))
    assert list(frame.schema) == names, (case, list(frame.schema), names)
    for number, (name, values) in enumerate(frame.to_dict().items()):
        dtype = frame.schema[name]
        assert len(values) == len(rows), (case, name, len(values), len(rows))
        for row, value in enumerate(values):
            want = parsed(rows[row][number], dtype)
            assert same(value, want, dtype), f'{case}: column {name} ({dtype}), row {row}: {value!r}, and DuckDB has {want!r}'


def check_conditions(gr, directory, case):
    for asked in case['asked']:
        text = f"SELECT count(*) AS n FROM '{directory}/{case['name']}.parquet' WHERE {asked['where']}"
        count = gr.sql(text).to_dict()['n'][0]
        assert count == asked['answer'], f'{case["name"]}: {text}: {count}, and DuckDB has {asked["answer"]}'


def main():
    module = module_of('@duckdb/node-api', os.environ.get('GRANARY_PEERS', HERE))
    if module is None:
        print('skipped: node or @duckdb/node-api is not installed; set GRANARY_PEERS to a directory with its node_modules')
        return 77
    sys.path.insert(0, os.path.join(HERE, '../../python'))
    from frames_test import Instance, SessionEngine, gr, granary
    seed, tables = sys.argv[1:3]
    with tempfile.TemporaryDirectory(prefix='granary-parquet-') as directory, Instance(executors=2, memory='512M') as instance, \
            granary.connect(instance.instance) as session:
        gr.use(SessionEngine(session))
        subprocess.run(['node', f'{HERE}/make.mjs', directory, seed, tables], env={**os.environ, 'DUCKDB_MODULE': module}, check=True)
        with open(f'{directory}/cases.json', encoding='utf-8') as file:
            cases = json.load(file)
        for case in cases:
            check_values(gr, directory, case)
            check_conditions(gr, directory, case)
        print(f'{len(cases)} files, {sum(len(c["asked"]) for c in cases)} conditions')
    return 0


if __name__ == '__main__':
    sys.exit(main())
