"""What users of pandas, Polars and NumPy miss: each topic of missed/topics.tsv has a method, a call of it, and its known answer."""
import collections
import importlib
import inspect
import os
import unittest

import numpy as np

from frames_test import HERE, HOSTED, FramesTest, gr
import granary.array as xp
from compare import same_value
from granary.array._session import SessionEngine

TABLES = ('frames', 'series', 'tensors', 'functions')


def topics():
    """Of each table, in their order."""
    made = collections.defaultdict(list)
    with open(os.path.join(HERE, 'missed/topics.tsv'), encoding='utf-8') as file:
        for line in file:
            if not line.startswith('#'):
                table, topic = line.rstrip('\n').split('\t')
                made[table].append(topic)
    return made


def method_of(name):
    """What a row's method is: LazyFrame.pivot, Expr.str.upper, gr.concat, xp.fft.fft."""
    first, *rest = name.split('.')
    found = {'gr': gr, 'xp': xp}.get(first) or getattr(gr, first)
    for part in rest:
        found = getattr(found.fget(gr.col('x')) if isinstance(found, property) else found, part)
    return found


def value_of(got):
    """A frame as a dict of lists, an array as NumPy's, several as a tuple."""
    if isinstance(got, gr.LazyFrame):
        got = got.collect()
    if isinstance(got, gr.Frame):
        return got.to_dict()
    if isinstance(got, xp.Array):
        return np.asarray(got)
    return tuple(value_of(one) for one in got) if isinstance(got, tuple) else got


def same(got, want):
    if isinstance(want, dict):
        return isinstance(got, dict) and list(got) == list(want) and all(same(got[name], want[name]) for name in want)
    if isinstance(want, tuple):
        return isinstance(got, tuple) and len(got) == len(want) and all(map(same, got, want))
    if isinstance(got, np.ndarray) or isinstance(want, np.ndarray):
        got, want = np.asarray(got), np.asarray(want)
        close = {} if want.dtype.kind not in 'fc' else {'rtol': 1e-9, 'atol': 1e-12, 'equal_nan': True}
        return got.shape == want.shape and bool(np.allclose(got, want, **close) if close else np.array_equal(got, want))
    if isinstance(want, list):
        return isinstance(got, list) and len(got) == len(want) and all(map(same, got, want))
    return same_value(got, want, 1e-9)


class Missed(FramesTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        before = xp.use(SessionEngine(cls.session))
        cls.addClassCleanup(xp.use, before)

    def test_each_call_has_its_answer(self):
        for table in TABLES:
            rows = importlib.import_module(f'missed.{table}').ROWS
            for topic, name, call, want in rows:
                if topic == 'rolling apply' and not HOSTED:
                    continue
                with self.subTest(table, topic=topic, method=name):
                    self.assertTrue(callable(method_of(name)), f'no method {name}')
                    got = value_of(call())
                    self.assertTrue(same(got, want), f'{name}: {got!r}, not {want!r}')

    def test_each_topic_has_a_call(self):
        listed = topics()
        self.assertEqual(sorted(listed), sorted(TABLES))
        for table in TABLES:
            module = importlib.import_module(f'missed.{table}')
            known = [row[0] for row in module.ROWS]
            self.assertEqual(set(known) - set(listed[table]), set(), f'{table}.py: topics that topics.tsv does not have')
            missing = [topic for topic in listed[table] if topic not in known]
            if module.COMPLETE:
                self.assertEqual(missing, [], f'{table}.py: topics without a call')

    def test_a_call_is_of_the_method(self):
        """A row's call names the last part of its method, in its own text."""
        for table in TABLES:
            for topic, name, call, _ in importlib.import_module(f'missed.{table}').ROWS:
                last = name.rpartition('.')[2]
                used = names_in(call.__code__)
                self.assertTrue(last in used or last.startswith('__'), f'{table}.py: {topic}: the call does not use {last}: {sorted(used)}')

    def test_a_wrong_answer_is_seen(self):
        self.assertTrue(same({'a': [1, None, 0.5]}, {'a': [1, None, 0.5]}))
        for wrong in ({'b': [1]}, {'a': [2]}, {'a': [1, 1]}, {'a': [None]}, {'a': [1.0]}, {'a': [1], 'b': [1]}):
            self.assertFalse(same(wrong, {'a': [1]}), wrong)
        self.assertFalse(same(np.array([1, 2]), [1, 3]))
        self.assertFalse(same(np.array([[1]]), [1]))


def names_in(code):
    """Names and attributes that code uses, and functions within it."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if inspect.iscode(constant):
            found |= names_in(constant)
    return found


if __name__ == '__main__':
    unittest.main()
