"""The tour of docs/dask.md, as it stands there: its commands by a shell, and its Python beside them."""
import doctest
import os
import pathlib
import re
import subprocess
import unittest

from cluster import BIN, PACKAGE, processes, until

SOURCE = os.environ.get('GRANARY_SOURCE', os.getcwd())


class Page(unittest.TestCase):
    def test_tour(self):
        text = pathlib.Path(SOURCE, 'docs/dask.md').read_text()
        commands = '\n'.join(re.findall(r'^\$ (.*)$', re.search(r'```console\n(.*?)```', text, re.DOTALL)[1], re.MULTILINE))
        example = re.search(r'```python\n(.*?)```', text, re.DOTALL)[1]
        shell = subprocess.Popen(['bash', '-c', commands + '\necho $dir; read -r line; kill $(jobs -p); wait'], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True, env={**os.environ, 'PYTHONPATH': PACKAGE, 'PATH': f'{BIN}:{os.environ["PATH"]}'})
        directory = shell.stdout.readline().strip()
        self.addCleanup(subprocess.run, ['rm', '-rf', directory])
        try:
            until(lambda: os.path.exists(directory + '/head.json'), 'the scheduler')
            names = {'directory': directory, 'source': SOURCE}
            test = doctest.DocTestParser().get_doctest(example, names, 'dask.md', 'dask.md', 0)
            failed = []
            doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=failed.append, clear_globs=False)
            self.assertEqual(''.join(failed), '')
        finally:
            if 'client' in test.globs:
                test.globs['client'].close()
            shell.communicate('end\n')
            until(lambda: not processes(directory), 'the end of processes')


if __name__ == '__main__':
    unittest.main()
