"""Nothing is left of an operation that was repeated: no reference, no block of memory, no descriptor, no object, no hold.

A debug build of Python counts all references, so this runs itself under it (python3-dbg), with an extension that is built to be
counted. Without it, this runs here: any Python tells the references of what is always there (None, small numbers, types) and its
blocks of memory, and libc what its heap holds. What is left once, a cache, is no leak: an operation fails when each of several
rounds of a hundred times leaves something.
"""
import ctypes
import gc
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

from package_test import BIN, PackageTest, granary
from refcounts_operations import OPERATIONS

ROUNDS, TIMES = 5, 100
LEAK = 50  # Python's own memory varies by some blocks, however often something is repeated
DEBUG = hasattr(sys, 'gettotalrefcount')
PROGRAM = f'python{sys.version_info.major}.{sys.version_info.minor}-dbg'
DEBUG_PYTHON = shutil.which(PROGRAM)
ASAN = 'asan' in os.environ.get('LD_PRELOAD', '')


class Heap(ctypes.Structure):
    """What mallinfo2() gives."""
    _fields_ = [(name, ctypes.c_size_t) for name in ('arena', 'ordblks', 'smblks', 'hblks', 'hblkhd', 'usmblks', 'fsmblks', 'uordblks', 'fordblks', 'keepcost')]


LIBC = ctypes.CDLL(None)
LIBC.mallinfo2.restype = Heap


def subclasses(one):
    return [one, *(below for sub in type.__subclasses__(one) for below in subclasses(sub))]


SHARED = [None, True, False, Ellipsis, NotImplemented, (), '', b'', *range(-5, 257), *sys.modules.values(), *subclasses(object)]


def measure(session):
    """How much of each there is now; of libc's heap in pieces of 64 bytes."""
    gc.collect()
    figures = {
        'descriptors': len(os.listdir('/proc/self/fd')),
        'objects': len(session.objects()),
        'holds': len(session._client.holds()),
        'threads': threading.active_count(),
        'heap': LIBC.mallinfo2().uordblks / 64,
        'blocks': sys.getallocatedblocks(),
        'shared': sum(map(sys.getrefcount, SHARED)),
    }
    if DEBUG:
        figures['references'] = sys.gettotalrefcount()
    return figures


@unittest.skipIf(ASAN, "ASan's memory is not counted")
@unittest.skipIf(DEBUG_PYTHON and not DEBUG, 'it runs under the debug Python')
class Refcounts(PackageTest):
    def left(self, function, of_numpy=False):
        """By measure, the least that a round left."""
        for _ in range(10):
            function(self.session)
        least = {}
        before = measure(self.session)
        for _ in range(ROUNDS):
            for _ in range(TIMES):
                function(self.session)
            after = measure(self.session)
            least = {name: min(after[name] - before[name], least.get(name, 1 << 60)) for name in after if name != 'references' or not of_numpy}
            before = after
            if all(left < LEAK for left in least.values()):
                break
        return least

    def test_operations(self):
        for name, (function, of_numpy) in OPERATIONS.items():
            with self.subTest(name):
                much = {what: left for what, left in self.left(function, of_numpy).items() if left >= LEAK}
                self.assertEqual(much, {}, f'left by {TIMES} times {name}')

    def test_leaks_are_found(self):
        """The measures see what is left: each has its leak."""
        kept, files, libc = [], [], LIBC.malloc
        libc.restype = ctypes.c_void_p
        for what, leak in (('references' if DEBUG else 'blocks', lambda session: kept.append(object())),
                           ('shared', lambda session: kept.append(None)),
                           ('shared', lambda session: ctypes.pythonapi.Py_IncRef(ctypes.py_object(granary.Error))),
                           ('heap', lambda session: libc(64)),
                           ('descriptors', lambda session: files.append(os.dup(0))),
                           ('objects', lambda session: kept.append(session.put(b'x'))),
                           ('blocks', lambda session: ctypes.pythonapi.Py_IncRef(ctypes.py_object(object())))):
            with self.subTest(what):
                self.assertGreaterEqual(self.left(leak)[what], TIMES)
        kept.clear()
        for file in files:
            os.close(file)


@unittest.skipIf(ASAN, "ASan's memory is not counted")
class Debug(unittest.TestCase):
    @unittest.skipIf(DEBUG, 'this is the debug Python')
    @unittest.skipUnless(DEBUG_PYTHON, f'{PROGRAM} is not there (Debian: python3-dbg)')
    def test_under_the_debug_python(self):
        with tempfile.TemporaryDirectory() as directory:
            package = pathlib.Path(directory, 'granary')
            package.mkdir()
            for path in pathlib.Path(BIN, '../python/granary').resolve().iterdir():
                (package / path.name).symlink_to(path)
            extension = package / '_granary.abi3.so'
            extension.unlink()
            extension.symlink_to(pathlib.Path(BIN, '../tests/python_counted/_granary.abi3.so').resolve())
            done = subprocess.run([DEBUG_PYTHON, '-B', os.path.abspath(__file__), 'Refcounts'], env={**os.environ, 'GRANARY_PACKAGE': directory},
                                  capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == '__main__':
    unittest.main()
