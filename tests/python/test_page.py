"""The blocks of docs/python-frames.md run, and print what stands behind them."""
import contextlib
import io
import os
import re
import unittest

from frames_test import ROOT, FramesTest, gr

PAGE = os.path.join(ROOT, 'docs/python-frames.md')


class Page(FramesTest):
    def test_blocks(self):
        with open(PAGE, encoding='utf-8') as file:
            blocks = re.findall(r'^```(python|text)\n(.*?)^```', file.read(), re.M | re.S)
        self.assertGreater(len(blocks), 8)
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(ROOT)
        scope, printed = {}, ''
        for kind, text in blocks:
            with self.subTest(block=text):
                if kind == 'text':
                    self.assertEqual(printed.strip(), text.strip())
                    continue
                out = io.StringIO()
                with contextlib.redirect_stdout(out):
                    exec(compile(text, PAGE, 'exec'), scope)
                printed = out.getvalue()


if __name__ == '__main__':
    unittest.main()
