"""The blocks of docs/python-arrays.md run, one after the other, and no sentence is long."""
import contextlib
import io
import os
import re
import unittest

from array_test import HERE, ArrayTest

PAGE = os.path.join(HERE, "../../docs/python-arrays.md")


class Page(ArrayTest):
    def test_blocks(self):
        with open(PAGE, encoding="utf-8") as page:
            text = page.read()
        names = {}
        printed = io.StringIO()
        for match in re.finditer(r"^```python\n(.*?)^```", text, re.M | re.S):
            line = text[: match.start(1)].count("\n")
            with self.subTest(line=line + 1), contextlib.redirect_stdout(printed):
                exec(compile("\n" * line + match.group(1), PAGE, "exec"), names)
        for promised in re.findall(r"^print\(.*# (<.*>)$", text, re.M):
            self.assertIn(promised, printed.getvalue())
        self.instance.must("forget", "quarters")

    def test_sentences(self):
        with open(PAGE, encoding="utf-8") as page:
            text = re.sub(r"^```.*?^```|^\|.*?$|^#.*?$", "", page.read(), flags=re.M | re.S)
        for sentence in re.split(r"[.:?!](?:\s|$)|\n\n", text):
            self.assertLessEqual(len(sentence.split()), 25, sentence)


if __name__ == "__main__":
    unittest.main()
