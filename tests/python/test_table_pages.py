"""The Python blocks of docs/mutable.md, docs/channels.md and docs/live.md run."""
import contextlib
import io
import os
import re
import unittest

from frames_test import ROOT
from package_test import granary  # noqa: F401


class Pages(unittest.TestCase):
    def test_blocks(self):
        for page, words in (('mutable', "{'place': ['attic'], 'celsius': [None]}"), ('channels', "{'any': ['object']}"),
                            ('live', "{'page': ['help', 'home'], 'n': [1, 1]}")):
            with open(os.path.join(ROOT, f'docs/{page}.md'), encoding='utf-8') as file:
                blocks = re.findall(r'^```python\n(.*?)^```', file.read(), re.M | re.S)
            self.assertTrue(blocks)
            for text in blocks:
                out = io.StringIO()
                with self.subTest(page=page), contextlib.redirect_stdout(out):
                    exec(compile(text, page, 'exec'), {})
                self.assertIn(words, out.getvalue())


if __name__ == '__main__':
    unittest.main()
