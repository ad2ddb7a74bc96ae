"""Folders that DuckDB has written, with columns in folders' names and files of different columns: check.py SEED FOLDERS. Answers are DuckDB's.

Needs node, and @duckdb/node-api in $GRANARY_PEERS/node_modules; 77 (skipped) without.
"""
import json
import math
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, '../../support/py'))
from node_module import module_of


def same(mine, theirs):
    return mine is theirs is None or (None not in (mine, theirs) and math.isclose(float(mine), theirs))


def main():
    module = module_of('@duckdb/node-api', os.environ.get('GRANARY_PEERS', HERE))
    if module is None:
        print('skipped: node or @duckdb/node-api is not installed; set GRANARY_PEERS to a directory with its node_modules')
        return 77
    sys.path.insert(0, os.path.join(HERE, '../../python'))
    from frames_test import Instance, SessionEngine, gr, granary
    seed, folders = sys.argv[1:3]
    with tempfile.TemporaryDirectory(prefix='granary-folders-') as directory, Instance(executors=2, memory='512M') as instance, \
            granary.connect(instance.instance) as session:
        gr.use(SessionEngine(session))
        subprocess.run(['node', f'{HERE}/make.mjs', directory, seed, folders], env={**os.environ, 'DUCKDB_MODULE': module}, check=True)
        with open(f'{directory}/cases.json', encoding='utf-8') as file:
            cases = json.load(file)
        for case in cases:
            for asked in case['asked']:
                for name in (case['glob'], case['top']):
                    text = f"SELECT {asked['what']} FROM '{name}' WHERE {asked['where']}"
                    answer = [values[0] for values in gr.sql(text).to_dict().values()]
                    assert all(map(same, answer, asked['answer'])), f'{text}: {answer}, and DuckDB has {asked["answer"]}'
        print(f'{len(cases)} folders, {sum(len(c["asked"]) for c in cases)} conditions')
    return 0


if __name__ == '__main__':
    sys.exit(main())
