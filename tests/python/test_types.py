"""mypy --strict on the package, with the stub that is made from the table. Skipped where mypy is not installed."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from frames_test import BUILT, PACKAGE

USE = '''
import granary.frames as gr
from granary.frames import Expr, Frame, LazyFrame

plan: LazyFrame = gr.from_dict({"n": [1]}).rebalance(rows=3).value_counts("n", sort=False).melt(id_vars=["n"])
total: Expr = gr.col("n").cumsum().over("k") + gr.col("s").str.len() * gr.col("t").dt.year()
told = plan.sink_csv("x.csv")["path"]
'''
WRONG = '''
import granary.frames as gr
gr.from_dict({"n": [1]}).rebalance(rows="x")
gr.from_dict({"n": [1]}).rebalance(row=3)
gr.col("n").cumsun()
'''


@unittest.skipUnless(shutil.which('mypy', path='/usr/bin'), 'mypy is not installed')
class Types(unittest.TestCase):
    def test_strict(self):
        with tempfile.TemporaryDirectory(prefix='granary-test-') as base:
            shutil.copytree(os.path.join(BUILT, 'granary'), os.path.join(base, 'granary'), ignore=shutil.ignore_patterns('__pycache__'))

            def mypy(*arguments):
                done = subprocess.run([sys.executable, '-m', 'mypy', '--config-file', os.path.join(PACKAGE, 'mypy.ini'), *arguments], cwd=base, capture_output=True, text=True)
                return done.stdout + done.stderr

            self.assertIn('Success', mypy('-p', 'granary'))
            for name, text in (('use.py', USE), ('wrong.py', WRONG)):
                with open(os.path.join(base, name), 'w', encoding='utf-8') as out:
                    out.write(text)
            self.assertIn('Success', mypy('use.py'))
            told = mypy('wrong.py')
            for words in ('"rows" to "rebalance"', '"row" for "rebalance"', '"cumsun"'):
                self.assertIn(words, told)


if __name__ == '__main__':
    unittest.main()
