"""The CSV files of DuckDB's tests, read by both: suite.py BIN_DIRECTORY [FOLDER], or $GRANARY_DUCKDB_DATA; 77 (skipped) without.

FOLDER is a copy of data/ of https://github.com/duckdb/duckdb, $GRANARY_PEERS a folder with @duckdb/node-api. All that DuckDB reads is read,
with the same columns and values, but for the files that reasons.py names. What DuckDB refuses may be read.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parents[1] / 'support' / 'py'))
from command_line import CommandLine
from reasons import REASONS

# Columns, types and rows of each file, or why it is refused; values as texts.
DUCKDB = r"""
const { DuckDBInstance } = require('@duckdb/node-api');
(async () => {
  const db = await (await DuckDBInstance.create(':memory:', { threads: '2' })).connect();
  const rows = async text => (await db.runAndReadAll(text)).getRowsJson();
  for (const path of require('fs').readFileSync(0, 'utf8').split('\n').filter(x => x)) {
    const from = `FROM read_csv('${path.replaceAll("'", "''")}', hive_partitioning = false)`;
    let told;
    try {
      const columns = await rows(`DESCRIBE SELECT * ${from}`);
      told = { names: columns.map(row => row[0]), types: columns.map(row => row[1]), rows: await rows(`SELECT columns(*)::VARCHAR ${from}`) };
    } catch (error) { told = String(error.message).split('\n')[0]; }
    console.log(JSON.stringify(told));
  }
})();
"""

KINDS = {'BIGINT': 'number', 'DOUBLE': 'number', 'HUGEINT': 'number', 'int64': 'number', 'float64': 'number', 'decimal(0)': 'number',
         'VARCHAR': 'text', 'string': 'text', 'BOOLEAN': 'truth', 'bool': 'truth', 'DATE': 'date', 'date': 'date', 'TIME': 'time', 'time': 'time',
         'TIMESTAMP': 'moment', 'timestamp': 'moment', 'TIMESTAMP WITH TIME ZONE': 'moment', 'timestamptz': 'moment'}


class Files(CommandLine):
    def answered(self, *arguments):
        """On a machine that others keep busy, an instance may be slow to answer."""
        ended = self.call(*arguments)
        while 'does not answer' in ended.stderr:
            ended = self.call(*arguments)
        return ended

    def read(self, path):
        """As DUCKDB has it: the same of granary."""
        query = "select * from read_csv('{}', hive => 'false')".format(path.replace("'", "''"))
        schema = self.answered('sql', '--schema', query)
        rows = self.answered('sql', '--json', query)
        if schema.returncode != 0 or rows.returncode != 0:
            return (schema.stderr or rows.stderr).strip()
        lines = [line for line in schema.stdout.split('\n')[1:] if line.strip()]
        values = json.loads(rows.stdout)
        return {'names': list(values[0]) if values else [line.rsplit(None, 1)[0].strip() for line in lines],
                'types': [line.rsplit(None, 1)[-1] for line in lines], 'rows': [list(row.values()) for row in values]}


def plain(value, kind):
    """A value that can be compared: numbers as such, moments without what may be left out."""
    if value is None:
        return None
    if kind == 'number':
        return float(value)
    if kind == 'truth':
        return str(value).lower()
    if kind in ('moment', 'time'):
        text = re.sub(r'([+-]\d\d(:?\d\d)?|Z)$', '', str(value).replace('T', ' ')) if kind == 'moment' else str(value)
        return re.sub(r'\.?0*$', '', text) if '.' in text else text
    return str(value)


def name_of(name):
    """Of a column that has none: both are known by their place."""
    return re.sub(r'^(column0*|c)(?=\d+$)', 'c', name)


def class_of(found, other):
    """What is ours beside DuckDB's."""
    if isinstance(other, str):
        return 'both refuse' if isinstance(found, str) else 'only granary reads'
    if isinstance(found, str):
        return 'only DuckDB reads'
    if len(found['types']) != len(other['types']):
        return 'other columns'
    if len(found['rows']) != len(other['rows']):
        return 'other rows'
    if list(map(name_of, found['names'])) != list(map(name_of, other['names'])):
        return 'other names'
    kinds = [KINDS.get(type, type) for type in found['types']]
    if kinds != [KINDS.get(type, type) for type in other['types']]:
        return 'other types'
    same = all(plain(a, kind) == plain(b, kind) for ours, theirs in zip(found['rows'], other['rows']) for a, b, kind in zip(ours, theirs, kinds))
    return 'the same' if same else 'other values'


def main():
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else os.environ.get('GRANARY_DUCKDB_DATA', ''))
    modules = pathlib.Path(os.environ.get('GRANARY_PEERS', '')) / 'node_modules'
    if not (folder / 'csv').is_dir() or not (modules / '@duckdb').is_dir():
        print('skipped: GRANARY_DUCKDB_DATA names a copy of data/ of https://github.com/duckdb/duckdb, and GRANARY_PEERS a folder with @duckdb/node-api')
        return 77
    folder = folder.resolve()
    paths = sorted(str(path) for path in folder.rglob('*') if path.is_file() and re.search(r'\.[ct]sv(\.gz|\.zst)?$', path.name))
    reasons = {name: reason for reason, names in REASONS.items() for name in names.split()}
    counts = collections.Counter()
    wrong = 0
    with Files(pathlib.Path(sys.argv[1]).resolve(), memory='1G') as files, concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = pool.map(files.read, paths)
        with subprocess.Popen(['node', '-e', DUCKDB], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env={**os.environ, 'NODE_PATH': str(modules)}) as duckdb:
            duckdb.stdin.write('\n'.join(paths))
            duckdb.stdin.close()
            for path, ours, line in zip(paths, found, duckdb.stdout, strict=True):
                name = str(pathlib.Path(path).relative_to(folder))
                kind = class_of(ours, json.loads(line))
                is_fine = kind in ('the same', 'both refuse', 'only granary reads')
                counts[kind] += 1
                if not is_fine and name not in reasons:
                    print(f'{name}: {kind}: {ours}; DuckDB: {line.strip()}'[:400])
                elif is_fine and name in reasons:
                    print(f'{name}: {kind}, and has a reason why not: {reasons[name]}')
                wrong += is_fine == (name in reasons)
    print(f'{len(paths)} files, {wrong} wrong: ' + ', '.join(f'{count} {kind}' for kind, count in counts.most_common()))
    return wrong > 0


if __name__ == '__main__':
    sys.exit(main())
