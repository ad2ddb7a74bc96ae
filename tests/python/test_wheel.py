"""A wheel of the build works where nothing of the tree is: in a directory of its own, with its own library and daemons."""
import os
import subprocess
import sys
import tempfile
import unittest
import zipfile

from package_test import BIN, HERE

MAKE = os.path.join(HERE, '../../libclient/python/make_wheel.py')
USE = 'import granary; print(granary.__file__)\nwith granary.up(executors=1, memory="64M") as s: print(bytes(s.put(b"from a wheel").get()))'


class Wheel(unittest.TestCase):
    def test_wheel(self):
        with tempfile.TemporaryDirectory(prefix='granary-test-') as base:
            made = subprocess.run([sys.executable, '-B', MAKE, os.path.dirname(BIN), base], capture_output=True, text=True, check=True)
            site = os.path.join(base, 'site')
            pip = subprocess.run([sys.executable, '-m', 'pip', 'install', '--quiet', '--no-index', '--no-deps', '--target', site, made.stdout.strip()],
                                 capture_output=True, text=True)
            if pip.returncode != 0:
                self.assertIn('No module named pip', pip.stderr)
                with zipfile.ZipFile(made.stdout.strip()) as wheel:
                    for entry in wheel.infolist():
                        os.chmod(wheel.extract(entry, site), entry.external_attr >> 16 & 0o777 or 0o644)
            environment = {name: value for name, value in os.environ.items() if name not in ('GRANARY_BIN', 'PYTHONPATH', 'LD_LIBRARY_PATH')}
            done = subprocess.run([sys.executable, '-B', '-c', USE], env={**environment, 'PYTHONPATH': site, 'PATH': '/usr/bin:/bin'}, cwd=base,
                                  capture_output=True, text=True)
            self.assertEqual(done.stderr, '')
            self.assertEqual(done.stdout.split('\n')[:2], [os.path.join(site, 'granary', '__init__.py'), "b'from a wheel'"])


if __name__ == '__main__':
    unittest.main()
