#!/usr/bin/python3
"""The 22 queries of TPC-H, the questions of `granary bench frame` and the graphs of examples, and what the optimiser makes of each,
written as a graph again: both must give the same bits.

    optimized.py SCALE

TPC-H's tables are CSV files: a client learns their columns first. In $GRANARY_BIN are the programs, beside it optimized_graphs.
"""
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / 'differ'), str(TESTS / 'support' / 'py')]

from caretaker import Caretaker
from engine import Engine, Optimizer
import numpy as np

from granary_test import BIN, Column, GranaryError

ROOT = TESTS.parent
EXAMPLES = ROOT / 'libclient' / 'examples'
QUERIES = ROOT / 'tools' / 'bench' / 'tpch'
QUESTIONS = ROOT / 'tools' / 'bench' / 'questions' / 'questions.txt'
ROWS = 500
TABLES = ['region', 'nation', 'supplier', 'customer', 'part', 'partsupp', 'orders', 'lineitem']


class Twice:
    """Runs a thing as it is and as the optimiser writes it."""

    def __init__(self, engine):
        self.engine, self.optimizer = engine, Optimizer(engine.instance)
        self.wrong = self.right = 0

    def compare(self, name, kind, text, targets):
        try:
            self.engine.optimizer = None
            plain = self.results(self.submit(kind, text), targets)
            self.engine.optimizer = self.optimizer
            written = self.results(self.submit(kind, text), targets)
        except GranaryError as error:
            print(f'{name}: {error}')
            self.wrong += 1
            return
        same = [list(a) == list(b) and all(a[c] == b[c] for c in a) if isinstance(a, dict) else
                a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in zip(plain, written)]
        if not all(same):
            print(f'{name}: {plain}\nbut optimised: {written}')
        self.wrong += not all(same)
        self.right += all(same)

    def submit(self, kind, text):
        if kind == 'sql':
            return self.engine._take_off(text)
        graph = json.loads(text)
        return self.engine.begin(graph['nodes'], graph['targets'])

    def results(self, key, targets):
        self.engine.wait(key)
        try:
            return [self.engine.result(key, target) for target in targets]
        finally:
            self.engine.delete(key)


def columns(random, rows, names, differ):
    """Keys id1, ... and values v1, ...: of `differ` kinds each. An id that `names` has in capitals is a text."""
    made = {}
    for name in names.split():
        numbers = random.integers(0, differ, rows)
        if name.startswith('v'):
            made[name] = Column('float64', np.round(random.random(rows) * 100, 2)) if name == 'v3' else Column('int32', numbers.astype('i4'))
        elif name.isupper():
            made[name.lower()] = Column('string', [f'id{n}' for n in numbers])
        else:
            made[name] = Column('int32', numbers.astype('i4'))
    return made


def make_suites(engine):
    random = np.random.default_rng(1)
    engine.table('groupby', columns(random, ROWS, 'ID1 ID2 ID3 id4 id5 id6 v1 v2 v3', 20), pieces=3)
    engine.table('join_x', columns(random, ROWS, 'id1 id2 id3 ID4 ID5 ID6 v1', 40), pieces=3)
    engine.table('join_small', columns(random, 20, 'id1 ID4 v2', 40))
    engine.table('join_medium', columns(random, 60, 'id1 id2 ID4 ID5 v2', 40))
    engine.table('join_big', columns(random, ROWS, 'id1 id2 id3 ID4 ID5 ID6 v2', 40), pieces=2)


def questions():
    """(name, graph) of those on these tables."""
    for paragraph in QUESTIONS.read_text().split('\n\n'):
        head, _, text = paragraph.strip().partition('\n')
        if head and not head.startswith(('#', 'dtypes')) and ('"name": "groupby"' in text or '"name": "join_' in text):
            yield head, text


def main():
    scale = sys.argv[1]
    os.environ['GRANARY_RECALL'] = 'off'
    os.chdir(ROOT)
    with Caretaker(), Engine(executors=2) as engine, tempfile.TemporaryDirectory(prefix='granary-tpch-data-') as data:
        subprocess.run([os.path.join(BIN, 'granary-tpch-gen'), scale, data], check=True)
        engine.command('sql', ';'.join(f"create view {table} as select * from '{data}/{table}.csv'" for table in TABLES))
        twice = Twice(engine)
        for number in range(1, 23):
            twice.compare(f'q{number:02}', 'sql', (QUERIES / f'q{number:02}.sql').read_text(), ['result'])
        make_suites(engine)
        for name, text in questions():
            twice.compare(name, 'json', text, json.loads(text)['targets'])
        for path in sorted(EXAMPLES.glob('*.json')):
            graph = json.loads(path.read_text())
            if not any(node['op'] in ('call', 'map_chunk', 'exec') for node in graph['nodes'].values()):  # their functions are elsewhere
                twice.compare(path.name, 'json', path.read_text(), graph['targets'])
        twice.optimizer.close()
        engine.optimizer = None
    print(f'{twice.right} the same, {twice.wrong} wrong')
    return 1 if twice.wrong or twice.right < 40 else 0


if __name__ == '__main__':
    sys.exit(main())
