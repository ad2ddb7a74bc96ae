"""The examples of docs/python.md, run in order. "..." in an expected line stands for anything."""
import doctest
import os
import re
import unittest

from package_test import HERE

PAGE = os.path.join(HERE, '../../docs/python.md')


class Docs(unittest.TestCase):
    def test_examples(self):
        with open(PAGE, encoding='utf-8') as file:
            text = re.sub(r'^```.*$', '', file.read(), flags=re.M)  # which would be expected output
        test = doctest.DocTestParser().get_doctest(text, {'__name__': '__main__'}, 'python.md', PAGE, 0)
        told = []
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        runner.run(test, out=told.append)
        failed, tried = runner.summarize(verbose=False)
        self.assertEqual(failed, 0, ''.join(told))
        self.assertGreater(tried, 50)


if __name__ == '__main__':
    unittest.main()
