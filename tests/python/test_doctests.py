"""The examples in docstrings of the package run. Each finds an instance `s`, and `granary`, `gr`, `np` and `pd`."""
import doctest
import importlib
import os
import pkgutil
import unittest

import numpy as np
import pandas as pd

from package_test import PackageTest, granary

LEAST = 18  # examples that there are: the test looks at them


def modules():
    for found in pkgutil.walk_packages(granary.__path__, 'granary.'):
        if found.name.endswith(('__main__', '.host')) or '_slot' in found.name:  # host is of executors
            continue
        try:
            yield importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            if error.name.partition('.')[0] != 'joblib':  # a backend of a package that need not be there
                raise
    yield granary


class Examples(PackageTest):
    def test_examples(self):
        tried, told = 0, []
        finder = doctest.DocTestFinder(exclude_empty=True)
        for module in modules():
            for test in finder.find(module, module.__name__, globs={}):
                if test.examples:
                    test.globs = {'granary': granary, 'gr': granary, 's': self.session, 'np': np, 'pd': pd}
                    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
                    runner.run(test, out=told.append)
                    tried += runner.tries
                    for name in list(self.session.names):
                        del self.session.names[name]
        self.assertEqual(told, [], os.linesep.join(told))
        self.assertGreaterEqual(tried, LEAST)


if __name__ == '__main__':
    unittest.main()
