"""Columns of Python's strings and decimals, as put() and frames make them: what is a null, what is refused by name, and the bytes themselves."""
import decimal
import unittest

import numpy as np
import pandas as pd

from package_test import PackageTest, granary

from granary import _granary
from granary.frames import _columns

MISSING = [None, float('nan'), np.nan, np.float64('nan'), pd.NA, pd.NaT]


class Texts(PackageTest):
    def column(self, values):
        return _columns.from_series('s', pd.Series(values, dtype=object))

    def same(self, values, want=None):
        made = self.column(values)
        self.assertEqual(made.dtype, 'string')
        self.assertEqual(_columns.to_list([made]), values if want is None else want)
        return made

    def test_texts(self):
        words = ['', 'a', 'ü', '漢字', '😀', 'x' * 1000, 'a\0b', '\n"\'', ' ']
        made = self.same(words)
        self.assertIsNone(made.validity)
        self.assertEqual(bytes(made.values), ''.join(words).encode())
        self.assertEqual(made.offsets.tolist(), np.cumsum([0] + [len(w.encode()) for w in words]).tolist())
        self.same([])
        self.same([''])
        self.same([np.str_('n'), 'p'], ['n', 'p'])
        self.same([w * i for i, w in enumerate(words * 100)])  # more than was reserved at first

    def test_nulls(self):
        for gone in MISSING:
            self.same(['a', gone, 'b'], ['a', None, 'b'])
            self.same([gone, 'a'], [None, 'a'])
        self.same([None, None])
        self.same([pd.NA, None], [None, None])
        for rows in (1, 7, 8, 9, 64, 65):
            values = [None if i % 3 == 0 else f'w{i}' for i in range(rows)]
            made = self.same(values)
            self.assertEqual(len(made.validity), (rows + 7) // 8)
        self.assertEqual(self.column([np.nan, np.nan]).dtype, 'float64')  # nothing but NaN: numbers

    def test_nan_among_others(self):
        """It is missing among bools, decimals and times as among strings; among numbers it is one."""
        for value, dtype in ((True, 'bool'), (decimal.Decimal('1.5'), 'decimal(1)')):
            made = self.column([value, np.nan, value])
            self.assertEqual((made.dtype, _columns.to_list([made])), (dtype, [value, None, value]))
        made = self.column([decimal.Decimal('NaN'), decimal.Decimal(2)])
        self.assertEqual(_columns.to_list([made]), [None, decimal.Decimal(2)])
        made = self.column([1, np.nan])
        self.assertEqual((made.dtype, made.validity, made.values.tolist()[0]), ('float64', None, 1.0))

    def test_refused(self):
        for values, words in ((['a', 1], 'int, str'), (['a', b'b'], 'bytes, str'), (['a', 1.5], 'float, str'), (['a', ['b']], 'list, str'),
                              (['a', decimal.Decimal(1)], 'Decimal, str'), (['a', np.array([1, 2])], 'ndarray, str')):
            with self.assertRaisesRegex(TypeError, f"column 's': objects of {words}: granary's columns have one dtype"):
                self.column(values)
        for bad in ('\ud800', 'ok\udfff'):
            with self.assertRaisesRegex(ValueError, "column 's', row 1: .*surrogate"):
                self.column(['a', bad])
        with self.assertRaisesRegex(ValueError, "column 's', row 0: .*finite, not Infinity"):
            self.column([decimal.Decimal('Infinity')])
        for bad in ((), ('s', ('a',), ()), ('s', ['a'], [None]), (b's', ['a'], ())):
            with self.assertRaises(TypeError):
                _granary.texts_of_list(*bad)

    def decimals(self, values):
        """As decimals_of_list() and the slow way have them: the same bytes, or the same error."""
        def slowly():
            gone = [v is None or v is pd.NA or v != v for v in values]
            return _columns._from_decimals('s', values, gone, ~np.array(gone, bool))

        try:
            want = slowly()
        except ValueError as error:
            with self.assertRaises(ValueError) as got:
                self.column(values)
            self.assertEqual(str(got.exception), str(error))
            return
        made = self.column(values)
        self.assertEqual((made.dtype, made.rows, bytes(made.values)), (want.dtype, want.rows, bytes(want.values)), values)
        self.assertEqual(_columns.to_list([made]), _columns.to_list([want]))

    def test_decimals(self):
        one = decimal.Decimal
        edges = ['0', '-0', '0.00', '1', '-1', '1E+3', '1.25', '-1.25E+10', '1E-7', '1E-38', '1E-39', '0E-38', '0E-39', '0E+5', '0E+99', '1E+37', '1E+38', '9' * 38,
                 '-' + '9' * 38, '1' + '0' * 38, '0.' + '9' * 38, '0.' + '9' * 39, '00012', '1E+999999', '1E-999999', 'Infinity', '-Infinity', '1.000', '12345678901234567890.123456789']
        for first in edges:
            self.decimals([one(first)])
            self.decimals([None, one(first), pd.NA, one('NaN')])
            for second in ('1', '0.5', '-1E-20', '7E+20'):
                self.decimals([one(first), one(second)])
        random = np.random.default_rng(3)
        for _ in range(300):
            digits = [int(d) for d in random.integers(0, 10, random.integers(1, 20))]
            self.decimals([one((int(random.integers(2)), digits, int(e))) for e in random.integers(-19, 10, 4)])
        for bad in ((), ([], int), ((), one, ()), ([one(1)], 1, ()), ([one(1)], one, [])):
            with self.assertRaises(TypeError):
                _granary.decimals_of_list(*bad)
        with decimal.localcontext() as context:
            context.capitals = 0  # prints 1e+3
            self.assertEqual(_columns.to_list([self.column([one('1E+3')])]), [one(1000)])

    def test_decimals_that_misbehave(self):
        """Code of the program that runs meanwhile may fail, or change the list."""
        class Failing(decimal.Decimal):
            def __str__(self):
                raise KeyError('no')

        class Clearing(decimal.Decimal):
            def __str__(self):
                values.clear()
                return '1'

        with self.assertRaises(KeyError):
            _granary.decimals_of_list([Failing(1)], decimal.Decimal, ())
        values = [Clearing(1), decimal.Decimal(2)]
        self.assertIsNone(_granary.decimals_of_list(values, decimal.Decimal, ()))

    def test_kinds_of_series(self):
        """Strings of pandas' own dtype, categories and a slice of a series are the same text."""
        words = ['b', None, 'a', 'b']
        for series in (pd.Series(words, dtype='string'), pd.Series(words, dtype='category'), pd.Series(['x', *words], dtype=object)[1:]):
            made = _columns.from_series('s', series)
            self.assertEqual((made.dtype, _columns.to_list([made])), ('string', words))
        with self.assertRaisesRegex(ValueError, "column 's', row 0"):
            _columns.from_series('s', pd.Series(pd.Categorical(['\ud800'])))

    def test_put(self):
        given = pd.DataFrame({'s': [f'wörd {i}' if i % 10 else np.nan for i in range(5000)], 'n': range(5000)})
        self.assertEqual(self.session.put(given).get().to_dict()['s'], [None if i % 10 == 0 else f'wörd {i}' for i in range(5000)])
        with self.assertRaisesRegex(TypeError, "column 's'"):
            self.session.put(pd.DataFrame({'s': ['a', 1]}))
        self.assertEqual(granary.from_dict({'s': ['a', np.nan]}).collect().to_dict(), {'s': ['a', None]})


if __name__ == '__main__':
    unittest.main()
