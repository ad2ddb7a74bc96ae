"""`granary bench cluster`: every figure is there, what it stands beside, and nothing is left."""
import glob
import json
import os
import subprocess
import unittest

GRANARY = os.path.join(os.environ['GRANARY_BIN'], 'granary')


class Bench(unittest.TestCase):
    def test_quick(self):
        before = set(glob.glob('/tmp/granary-bench-*'))
        done = subprocess.run([GRANARY, 'bench', 'cluster', '--quick', '--json'], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        wanted = {f'{name}_{count}_ms' for name in ('dask_nothing', 'empty', 'more') for count in (10, 100)}
        self.assertLessEqual(wanted | {'memcpy_ms', 'loopback_ms', 'transfer_first_ms', 'transfer_ms'}, set(told))
        self.assertEqual((told['empty_100_ms']['beside'], told['transfer_ms']['beside']), ('dask_nothing_100_ms', 'loopback_ms'))
        self.assertTrue(all(one['value'] > 0 for key, one in told.items() if key.endswith('_ms') and not key.startswith('more')), told)
        self.assertEqual(set(glob.glob('/tmp/granary-bench-*')) - before, set())


if __name__ == '__main__':
    unittest.main(verbosity=2)
