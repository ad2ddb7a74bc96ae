"""The notebook among the examples runs, and its cells give what they should. Skipped where nbconvert or ipykernel is missing."""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

from package_test import BIN, HERE

NOTEBOOK = os.path.join(HERE, '../../libclient/examples/tour.ipynb')
NEEDED = ('nbconvert', 'ipykernel')
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]


@unittest.skipIf(MISSING, f"{', '.join(MISSING)}: not installed (Debian: python3-nbconvert, python3-ipykernel)")
class Notebook(unittest.TestCase):
    def test_runs(self):
        with tempfile.TemporaryDirectory(prefix='granary-test-') as directory:
            path = os.pathsep.join([os.path.join(os.path.dirname(BIN), 'python'), os.environ.get('PYTHONPATH', '')])
            kernels = os.path.join(directory, 'kernels', 'python3')
            os.makedirs(kernels)
            with open(os.path.join(kernels, 'kernel.json'), 'w', encoding='utf-8') as file:
                json.dump({'argv': [sys.executable, '-m', 'ipykernel_launcher', '-f', '{connection_file}'],
                           'display_name': 'Python 3', 'language': 'python'}, file)
            done = subprocess.run(
                [sys.executable, '-m', 'nbconvert', '--to', 'notebook', '--execute', '--output-dir', directory, NOTEBOOK],
                env=dict(os.environ, PYTHONPATH=path, HOME=directory, JUPYTER_PATH=directory, PYTHONWARNINGS='ignore'),
                capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(os.path.join(directory, 'tour.ipynb'), encoding='utf-8') as file:
                cells = [cell for cell in json.load(file)['cells'] if cell['cell_type'] == 'code']
        shown = [''.join(line for one in cell['outputs'] for line in one.get('data', {}).get('text/plain', [])) for cell in cells]
        self.assertEqual(shown[1], '499999.5')
        self.assertIn('70', shown[2])
        html = ''.join(''.join(one.get('data', {}).get('text/html', '')) for one in cells[2]['outputs'])
        self.assertIn('<progress max="1" value="1.000">', html)
        self.assertIn('Oslo', shown[3])
        self.assertEqual(shown[4], 'True')


if __name__ == '__main__':
    unittest.main()
