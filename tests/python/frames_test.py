"""What the tests of frames share: the package as it was built, and an instance of their own.

    GRANARY_BIN=build/release/bin /usr/bin/python3 -m unittest discover -s tests/python
"""
import json
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.path.abspath(os.environ.setdefault('GRANARY_BIN', 'build/release/bin'))
BUILT = os.path.join(os.path.dirname(BIN), 'python')
ROOT = os.path.join(HERE, '../..')
PACKAGE = os.path.join(ROOT, 'libclient/python')
# Executors of these instances run functions of Python: not with a sanitizer, whose runtime would have to be loaded first.
HOSTED = 'asan' not in os.environ.get('LD_PRELOAD', '')
sys.path[:0] = [BUILT, HERE, os.path.join(HERE, '../support/py'), os.path.join(HERE, '../differ')]

import granary  # noqa: E402
import granary.frames as gr  # noqa: E402
from granary._engine import SessionEngine  # noqa: E402
from granary_test import Instance  # noqa: E402


class FramesTest(unittest.TestCase):
    """An instance for the class; after each test nothing of it is left."""

    @classmethod
    def setUpClass(cls):
        cls.instance = Instance(executors=2, memory='512M')
        cls.instance.__enter__()
        cls.addClassCleanup(cls.instance.__exit__)
        cls.session = granary.connect(cls.instance.instance)
        cls.addClassCleanup(cls.session.close)
        cls.engine = SessionEngine(cls.session)
        before = gr.use(cls.engine)
        cls.addClassCleanup(gr.use, before)

    def graphs(self):
        """Keys of the graphs that are there."""
        return [row['key'] for row in json.loads(self.instance.command('graphs', '--json'))]
