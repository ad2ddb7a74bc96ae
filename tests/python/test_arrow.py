"""Arrow's PyCapsule interface: frames out and in, without a copy where the layout is the same."""
import gc
import unittest

import numpy as np
import pandas as pd

from arrow_structs import Producer, consume, schema_capsule, stream_of
from package_test import PackageTest, granary


class Arrow(PackageTest):
    def setUp(self):
        gc.collect()
        self.given = pd.DataFrame({'i': [1, 2, 3, 4], 'f': [.5, np.nan, 2., 4.], 's': ['x', None, 'ü', ''], 'b': [True, False, True, True],
                                   't': pd.to_datetime(['2020-01-01', None, '1999-12-31', '2001-02-03 04:05:06']),
                                   'n': pd.array([1, None, 3, 4], 'Int32'), 'c': pd.Categorical(['p', 'q', None, 'p'])})
        self.frame = granary.from_pandas(self.given, pieces=2).collect()

    def test_round_trip(self):
        back = granary.from_arrow(self.frame).collect()
        self.assertEqual(back.schema, self.frame.schema)
        self.assertEqual(repr(back.to_dict()), repr(self.frame.to_dict()))
        one = self.session.put(self.given).get()
        self.assertEqual(repr(granary.from_arrow(one).collect().to_dict()), repr(self.frame.to_dict()))
        empty = self.frame.lazy().filter('i > 100').collect()
        self.assertEqual(granary.from_arrow(empty).collect().schema, self.frame.schema)

    def test_sql(self):
        class Foreign:
            def __arrow_c_stream__(self, requested_schema=None, frame=self.frame):
                return frame.__arrow_c_stream__(requested_schema)

        other = Foreign()
        self.assertEqual(granary.sql('SELECT sum(i) AS s FROM other', other=other).to_dict(), {'s': [10]})

        class Batch:
            def __arrow_c_array__(self, requested_schema=None):
                return capsules

        made = Producer()
        batch = made.batch(3, [made.array(3, [None, np.array([1, 2, 4])])])
        capsules = made.capsule(made.schema('+s', '', [made.schema('l', 'i')])), made.capsule(batch)
        self.assertEqual(granary.sql('SELECT sum(i) AS s FROM one', one=Batch()).to_dict(), {'s': [7]})

    def test_life(self):
        """A capsule that nobody takes releases its stream; one that was taken is taken once."""
        before = self.count()
        for _ in range(100):
            self.frame.__arrow_c_stream__()
        self.assertEqual(self.count(), before)
        capsule = self.frame.__arrow_c_stream__()
        self.assertTrue(stream_of(capsule).release)
        ids = self.session._client.arrow_put(capsule)
        self.assertFalse(stream_of(capsule).release)
        with self.assertRaisesRegex(ValueError, 'taken before'):
            self.session._client.arrow_put(capsule)
        for bad in (3, None, 'text'):
            with self.assertRaises(TypeError):
                self.session._client.arrow_put(bad)
        with self.assertRaises(TypeError):
            granary.from_arrow(3)
        for one in ids:
            self.session.delete(one)

    def formats(self, requested):
        return consume(self.frame.__arrow_c_stream__(requested)).formats

    def test_requested_schema(self):
        """What can be is given as it is asked for, and all else as it is."""
        plain = dict(zip(self.frame.columns, self.formats(None)))
        self.assertEqual(plain['c'], 'i of u')
        asked = dict(plain, c='u', s='i of u', n='g', i='g', f='f', b='b', t='tsn:')
        made = consume(self.frame.__arrow_c_stream__(schema_capsule(asked)))
        self.assertEqual(dict(zip(self.frame.columns, made.formats)),
                         {'i': 'l', 'f': 'g', 's': 'i of u', 'b': 'b', 't': 'tsu:', 'n': 'g', 'c': 'u'})
        self.assertEqual(made.columns['c'], ['p', 'q', None, 'p'])
        self.assertEqual(made.columns['s'], ['x', None, 'ü', ''])
        self.assertEqual(made.columns['n'], [1.0, None, 3.0, 4.0])
        self.assertEqual(made.columns['i'], [1, 2, 3, 4])
        large = consume(self.frame.__arrow_c_stream__(schema_capsule(dict(plain, c='vu'))))
        self.assertEqual(dict(zip(self.frame.columns, large.formats))['c'], 'u')

    def test_requested_numbers(self):
        """Every number that is widened keeps its extremes; a narrower type is not given."""
        order = [('int8', 'c'), ('uint8', 'C'), ('int16', 's'), ('uint16', 'S'), ('int32', 'i'), ('uint32', 'I'), ('int64', 'l'), ('uint64', 'L'),
                 ('float32', 'f'), ('float64', 'g')]
        for dtype, own in order:
            info = np.iinfo(dtype) if 'int' in dtype else np.finfo(dtype)
            values = [info.min, info.max, 0, 1]
            frame = granary.from_pandas(pd.DataFrame({'x': np.array(values, dtype)})).collect()
            for want, format in order:
                made = consume(frame.__arrow_c_stream__(schema_capsule({'x': format})))
                fits = np.can_cast(dtype, want) and not (dtype in ('int64', 'uint64') and want == 'float64')
                self.assertEqual(made.formats, [format if fits else own], (dtype, want))
                self.assertEqual(made.columns['x'], np.array(values, dtype).tolist(), (dtype, want))

    def test_requested_nulls(self):
        given = Producer()
        frame = granary.from_arrow(given.exporter([given.schema('n', 'x')], [(1, [given.array(1, [])])])).collect()
        self.assertEqual(consume(frame.__arrow_c_stream__()).formats, ['n'])
        for format in ('l', 'g', 'tdD', 'u'):
            made = consume(frame.__arrow_c_stream__(schema_capsule({'x': format})))
            self.assertEqual((made.formats, made.columns), ([format], {'x': [None]}))

    def test_requested_misfit(self):
        """A schema of other columns is an error at once; nothing is left leased."""
        before = self.count()
        names = dict(zip(self.frame.columns, self.formats(None)))
        for bad in ({}, {'i': 'l'}, {n + '_': f for n, f in names.items()}):
            with self.assertRaisesRegex(granary.Invalid, 'asked for'):
                self.frame.__arrow_c_stream__(schema_capsule(bad))
        with self.assertRaisesRegex(granary.Invalid, 'no struct'):
            self.frame.__arrow_c_stream__(schema_capsule('l'))
        for bad in (3, 'text', self.frame.__arrow_c_stream__()):
            with self.assertRaisesRegex(TypeError, 'arrow_schema'):
                self.frame.__arrow_c_stream__(bad)
        self.assertEqual(self.count(), before)

    def test_schema(self):
        """__arrow_c_schema__ tells what the stream will tell, and is a schema that can be asked for."""
        capsule = self.frame.__arrow_c_schema__()
        self.assertEqual(consume(self.frame.__arrow_c_stream__(capsule)).formats, self.formats(None))

    def test_errors(self):
        capsule = self.session._client.arrow_frames([b'0123456789abcdef'])
        with self.assertRaises(granary.Error):
            self.session._client.arrow_put(capsule)
        with self.assertRaises(granary.Invalid):
            self.session._client.arrow_frames([])


if __name__ == '__main__':
    unittest.main()
