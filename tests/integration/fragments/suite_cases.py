"""What machines_suite.py asks: the suites of `granary bench` on files that are made here, each large table as CSV or as a folder of Parquet."""
import json
import math
import pathlib
import re
import subprocess
from dataclasses import dataclass

SOURCE = pathlib.Path(__file__).resolve().parents[3]
QUESTIONS = SOURCE / 'tools' / 'bench' / 'questions' / 'questions.txt'
TPCH = SOURCE / 'tools' / 'bench' / 'tpch'
TPCH_TABLES = ['region', 'nation', 'supplier', 'part', 'partsupp', 'customer', 'orders', 'lineitem']
TABLES = {'groupby': ['groupby'], 'frames': ['groupby'], 'join': ['join_x', 'join_small', 'join_medium', 'join_big'], 'tpch': TPCH_TABLES, 'tensor': []}
FILES = 3  # of a folder of Parquet: parts are cut within files

# What is gathered although it is cut, by suite and question, and why.
GATHERED = {
    'frames cumsum': ('window', 'sums of floats along all rows have other last digits when they are put together'),
}


@dataclass(frozen=True)
class Case:
    suite: str
    name: str
    command: str  # sql or run
    text: str
    targets: tuple
    free: bool = False  # the order of rows is

    @property
    def gathers(self):
        """The operator that may be gathered."""
        return GATHERED.get(f'{self.suite} {self.name}', (None, ''))[0]


def questions():
    """(part, key, text) of each paragraph."""
    for paragraph in QUESTIONS.read_text().split('\n\n'):
        head, _, text = paragraph.partition('\n')
        if found := re.match(r'([a-z/_]+) ([a-z0-9_]+) [a-z0-9-]+$', head):
            yield found[1], found[2], text


def dtypes(table):
    return next(json.loads(text) for part, key, text in questions() if (part, key) == ('dtypes', table))


class Data:
    """Tables in a directory. What is there already is used."""

    def __init__(self, binaries, directory, kind, scale, rows):
        self.binaries = pathlib.Path(binaries)
        self.directory = pathlib.Path(directory)
        self.kind, self.scale, self.rows = kind, scale, rows

    def make(self, suite, granary):
        """granary: runs a command of that name."""
        self.directory.mkdir(parents=True, exist_ok=True)
        if suite == 'tensor':
            return
        if not (self.directory / f'{TABLES[suite][-1]}.csv').exists():
            if suite == 'tpch':
                self.call('granary-tpch-gen', self.scale, self.directory)
            else:
                self.call('granary', 'bench', 'frame', '--suite', 'join' if suite == 'join' else 'groupby', '--rows', self.rows, '--query', 'none',
                          '--no-peers', '--data', self.directory)
        if self.kind == 'parquet':
            for table in TABLES[suite]:
                self.pack(table, granary)

    def call(self, program, *arguments):
        subprocess.run([self.binaries / program, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)

    def pack(self, table, granary):
        folder = self.directory / table
        folder.mkdir(exist_ok=True)
        for n in range(FILES):
            if not (file := folder / f'{n}.parquet').exists():
                nodes = {'rows': {**self.csv(table), 'part': n, 'parts': FILES}, 'file': {'op': 'write_parquet', 'input': 'rows', 'path': f'{file}.part'}}
                granary('run', '--discard', '-', text=json.dumps({'nodes': nodes, 'targets': ['file']}))
                pathlib.Path(f'{file}.part').rename(file)

    def csv(self, table):
        return {'op': 'read_csv', 'path': str(self.directory / f'{table}.csv'), 'dtypes': dtypes(table)}

    def node(self, table):
        return self.csv(table) if self.kind == 'csv' else {'op': 'read_parquet', 'path': f'{self.directory / table}/'}

    def view(self, table):
        return f"SELECT * FROM '{self.directory / table}.csv'" if self.kind == 'csv' else f"SELECT * FROM '{self.directory / table}/'"

    def cases(self, suite):
        if suite == 'tpch':
            for path in sorted(TPCH.glob('q*.sql')):
                yield Case(suite, path.stem, 'sql', path.read_text().strip().rstrip(';'), ('result',))
            return
        for part, key, text in questions():
            graph = json.loads(text)
            if part.partition('/')[0] == suite or (part == 'frame' and suite == 'frames'):
                for name, node in graph['nodes'].items():
                    if node['op'] in ('table', 'array'):
                        graph['nodes'][name] = self.node(node['name']) if node['op'] == 'table' else self.tensor(key, name)
                free = any(node.get('order') == 'any' for node in graph['nodes'].values())
                yield Case(suite, key, 'run', json.dumps(graph), tuple(graph['targets']), free)

    def tensor(self, key, name):
        """A random tensor of the bench's shape, where rows are 10^7 or 10^8."""
        side = math.isqrt(self.rows)
        shapes = {'matmul': [side // 2, side // 2], 'column_stats': [self.rows // 1000, 1000], 'transpose': [side, side], 'svd': [self.rows // 10, 32]}
        return {'op': 'random', 'shape': shapes.get(key, [self.rows]), 'seed': 'abc'.index(name)}
