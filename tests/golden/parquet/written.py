"""Files that granary has written, read by DuckDB, Polars and arrow-rs: written.py SEED TABLES. What they make of them is read again, and
has the same values, bit for bit; what DuckDB leaves out by their statistics does not fulfil the condition.

Needs node, and @duckdb/node-api in $GRANARY_PEERS/node_modules; 77 (skipped) without. nodejs-polars and parquet-wasm where they are there.
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, '../../support/py'))
from node_module import module_of


def conditions(columns, random):
    """Some that a row fulfils, some that none does."""
    for name, step in (('few', 1), ('many', 10**9), ('rising', 1)):
        value = int(columns[name].values[random.integers(len(columns[name]))])
        yield from (f'"{name}" {op} {value + shift * step}' for op in ('=', '<', '>=') for shift in (-1, 0, 1))
        yield f'"{name}" IS NULL'
    for name in ('word', 'key', 'same'):
        value = columns[name].values[random.integers(len(columns[name]))]
        yield from (f'"{name}" {op} \'{text}\'' for op in ('=', '<', '>') for text in (value, value[:60], value + 'x'))
    yield from (f'"real" {op} {value}' for op in ('=', '<=', '>') for value in ('0', "'nan'::DOUBLE", '-2.25', "'inf'::DOUBLE", '-0.0'))
    yield f'money = {int(columns["money"].values[random.integers(len(columns["money"]))]) / 100}'
    yield from ('nan > 0', 'flag', 'NOT flag', 'money = -12.5', 'money >= 9999.99', 'byte = 7', 'byte > 254')


PROBED = {'many': 'BIGINT', 'rising': 'INTEGER', 'word': 'VARCHAR', 'key': 'VARCHAR', 'falling': 'TIMESTAMP', 'real': 'DOUBLE'}


def probes(file, columns, random):
    """Values that are in a column, and such as are not."""
    for name, dtype in PROBED.items():
        column = columns[name]
        shown = {'VARCHAR': lambda v: f"'{v}'", 'TIMESTAMP': lambda v: f'make_timestamp({v})', 'DOUBLE': repr}
        if column.valid is not None and not any(column.valid):
            continue  # it has no filter
        there = [i for i in random.integers(0, len(column), 20) if column.valid is None or column.valid[i]]
        for value, is_there in [(column.values[i], True) for i in there] + [(f'{k}-none' if dtype == 'VARCHAR' else 4 * 10**8 + k, False) for k in range(20)]:
            value = value if dtype == 'VARCHAR' else float(value) if dtype == 'DOUBLE' else int(value)
            if dtype != 'DOUBLE' or not is_there:  # DuckDB takes both zeros for one, and NaN is not asked for
                yield {'file': file, 'column': name, 'there': is_there, 'value': f'CAST({shown.get(dtype, str)(value)} AS {dtype})'}


def main():
    peers = os.environ.get('GRANARY_PEERS', HERE)
    module = module_of('@duckdb/node-api', peers)
    if module is None:
        print('skipped: node or @duckdb/node-api is not installed; set GRANARY_PEERS to a directory with its node_modules')
        return 77
    import numpy as np
    from edges import same
    from granary_test import Column, Instance
    from parquet_tables import CODECS, DTYPES, repeated, wild
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    random = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory(prefix='granary-parquet-') as directory, Instance() as granary:
        tables = {f't{i}': wild(int(random.choice([1, 9, 1000, 50000, 150000])), random) for i in range(count)}
        tables['edges'] = {d: repeated(d, 40, np.arange(40) % 5 != 3) for d in DTYPES}
        tables['none'] = {d: repeated(d, 0) for d in DTYPES}
        cases, probed = [], []
        for name, columns in tables.items():
            bloom = {'bloom': [*PROBED, 'few', 'nan', 'byte', 'money', 'late', 'ä`" ']} if name.startswith('t') else {}
            granary.run({'t': granary.put(columns, int(random.integers(1, 4))), 'w': {
                'op': 'write_parquet', 'input': 't', 'path': f'{directory}/{name}.parquet', 'compression': str(random.choice(CODECS)), **bloom}}, 'w')
            if name.startswith('t'):
                probed += probes(f'{name}.parquet', columns, random)
                cases += [{'file': f'{name}.parquet', 'where': where} for where in conditions(columns, random)]
        with open(f'{directory}/cases.json', 'w', encoding='utf-8') as file:
            json.dump(cases, file)
        with open(f'{directory}/probes.json', 'w', encoding='utf-8') as file:
            json.dump(probed, file)
        polars, wasm = module_of('nodejs-polars', peers), module_of('parquet-wasm', peers)
        env = {**os.environ, 'DUCKDB_MODULE': module, 'POLARS_MODULE': polars or '', 'WASM_MODULE': wasm or ''}
        subprocess.run(['node', f'{HERE}/back.mjs', directory], env=env, check=True)
        readers = ['duckdb'] + ['polars'] * (polars is not None) + ['arrow-rs'] * (wasm is not None)
        for reader in readers:
            for name, columns in tables.items():
                back = granary.run({'x': {'op': 'read_parquet', 'path': f'{directory}/{name}.{reader}'}}, 'x')
                assert list(back) == list(columns), (reader, name, list(back))
                for key, column in columns.items():
                    want = Column('int64' if column.dtype == 'duration' else column.dtype, column.values, column.valid)
                    same(back[key], want, f'{reader}: {name}, {key!r}')
        with open(f'{directory}/answers.json', encoding='utf-8') as file:
            answers = json.load(file)
        assert len(answers) == len(cases)
        with open(f'{directory}/excluded.json', encoding='utf-8') as file:
            excluded = json.load(file)
        assert len(excluded) == len(probed)
        for probe, excludes in zip(probed, excluded):
            assert not (probe['there'] and excludes), f'{probe}: DuckDB finds that its Bloom filter excludes it'
        absent = [e for probe, e in zip(probed, excluded) if not probe['there']]
        assert sum(absent) > len(absent) * 0.95 > 0, (sum(absent), len(absent))
        with open(f'{directory}/types.json', encoding='utf-8') as file:
            types = json.load(file)
        for name in tables:
            want = {'edges': {d: 'FIXED_LEN_BYTE_ARRAY 38' for d in DTYPES if d.startswith('decimal')},
                    'none': {d: 'FIXED_LEN_BYTE_ARRAY 38' if d == 'decimal(38)' else 'INT64 18' for d in DTYPES if d.startswith('decimal')}}
            assert types[f'{name}.parquet'] == want.get(name, {'late': 'FIXED_LEN_BYTE_ARRAY 38', 'money': 'INT64 18'}), (name, types[f'{name}.parquet'])
        for case, (pruned, all_rows) in zip(cases, answers):
            assert pruned == all_rows, f'{case}: DuckDB counts {pruned} with statistics and {all_rows} without'
        print(f'{len(tables)} files, {len(cases)} conditions, {len(probed)} probes, {", ".join(readers)}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
