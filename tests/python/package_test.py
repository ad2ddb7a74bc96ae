"""What tests of the package share: the package as it was built, an instance for a class, and a look at what is left."""
import gc
import os
import pathlib
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.path.abspath(os.environ.setdefault('GRANARY_BIN', 'build/release/bin'))
sys.path[:0] = [os.environ.get('GRANARY_PACKAGE', os.path.join(os.path.dirname(BIN), 'python')), HERE]

import granary  # noqa: E402


def store_of(session):
    """The number of the store's process. pgrep hangs below a preloaded libasan (its textdomain() waits for a lock of libc)."""
    for path in pathlib.Path('/proc').glob('[0-9]*/cmdline'):
        try:
            words = path.read_bytes().decode().split('\0')
        except (FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            continue
        if os.path.basename(words[0]) == 'granary-store' and session.instance in words:
            return int(path.parent.name)
    raise LookupError(f'no store of {session.instance}')


class PackageTest(unittest.TestCase):
    """An instance for the class. Each test leaves as many objects as it found, and no name."""

    executors = 2
    memory = '512M'

    @classmethod
    def setUpClass(cls):
        cls.session = granary.up(executors=cls.executors, memory=cls.memory)
        cls.addClassCleanup(cls.session.down)

    def count(self):
        """Objects, once nobody looks at a deleted one. No event tells of that: an executor may keep its lease for its next turn."""
        gc.collect()
        until = time.monotonic() + 20
        while any(one['state'] == 'deleting' for one in self.session.objects()) and time.monotonic() < until:
            time.sleep(0.01)
        return len(self.session.objects())

    def count_when(self, wanted):
        """The same, once it is what is wanted: the store hears a little later that a session was closed."""
        until = time.monotonic() + 20
        while (seen := self.count()) != wanted and time.monotonic() < until:
            time.sleep(0.01)
        return seen
