"""What Dask has as sources of plans: partitions are read where they lie, have one dtype, and errors name column and partition."""
import json
import os
import pathlib
import unittest

import numpy as np
import pandas as pd

import dask
import dask.array as da
import dask.dataframe as dd
from cluster import ClusterTest, granary, plan, stage, _plan
from granary.dask import _cut, _sources


def delayed(*frames):
    """A dask.dataframe of these partitions, whatever they have."""
    return dd.from_delayed([dask.delayed(one) for one in frames], meta=frames[0], verify_meta=False)


class Sources(ClusterTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.here = granary.up(executors=1, memory='64M')
        cls.addClassCleanup(cls.here.down)
        cls.rows = pd.DataFrame({'id': [i % 7 for i in range(3000)], 'v': np.arange(3000) / 3, 't': ['abc'[i % 3] for i in range(3000)]})

    def take(self, *collections):
        return [granary.dask.from_dask(self.client, one) for one in collections]

    def test_fragments_run_where_partitions_lie(self):
        """One partition lies on each node, and each fragment of the stage that reads them runs on its own one. Nothing is sent."""
        addresses = sorted(self.client.scheduler_info()['workers'])
        halves = [self.client.submit(lambda first: self_rows(first), first, workers=[address], pure=False) for first, address in zip((0, 1500), addresses)]
        (source,) = self.take(dd.from_delayed(halves, meta=self_rows(0), verify_meta=False))
        self.assertEqual([one.future.result().origin.worker for one in source.pieces], addresses)
        text = 'SELECT t, count(*) AS n, sum(v) AS s FROM rows GROUP BY t ORDER BY t'
        given, _ = _cut.sql(self.client, granary.dask._named(text, {'rows': source}), None, None, [source])
        first = next(iter(given.stages.values()))
        self.assertEqual((first.partitions, list(first.sources.values())), (2, [source.name]))
        line = os.path.join(self.cluster.directory, 'line.json')
        far = granary.dask.sql(self.client, text, rows=source, timeline=line)
        self.assertEqual(far.to_dict(), granary.sql(text, rows=self.rows).to_dict())
        events = json.loads(pathlib.Path(line).read_text())
        names = {one['pid']: one['args']['name'] for one in events if one['ph'] == 'M'}
        nodes = {one['args']['partition']: names[one['pid']] for one in events if one['ph'] == 'X' and one['name'] == first.name}
        self.assertEqual(nodes, {place: one.future.result().origin.node for place, one in enumerate(source.pieces)})

    def test_rows(self):
        """More and fewer parts than partitions, a collection itself, a lazy frame, and what stayed."""
        collection = dd.from_pandas(self.rows, npartitions=4)
        (source,) = self.take(collection)
        for parts in (None, 1, 3, 7):
            pd.testing.assert_frame_equal(granary.dask.sql(self.client, 'SELECT * FROM rows', parts, rows=source).to_pandas(), self.rows)
        self.assertEqual(granary.dask.sql(self.client, 'SELECT count(*) AS n FROM rows', rows=collection).to_dict(), {'n': [3000]})
        text = 'SELECT a.t, count(*) AS n FROM a JOIN b ON a.id = b.id GROUP BY a.t ORDER BY n, t'
        other = self.rows[self.rows.id == 2].reset_index(drop=True)
        far = granary.dask.sql(self.client, text, a=source, b=dd.from_pandas(other, npartitions=2))
        self.assertEqual(far.to_dict(), granary.sql(text, a=self.rows, b=other).to_dict())
        stayed = granary.dask.sql(self.client, 'SELECT * FROM rows WHERE id = 3', rows=source, stay=True)
        self.assertEqual(granary.dask.sql(self.client, 'SELECT sum(v) AS s FROM r', r=stayed).to_dict(), {'s': [self.rows[self.rows.id == 3].v.sum()]})
        (again,) = self.take(stayed)
        self.assertEqual(again.lazy().select('id').collect(on=self.client).to_pandas().id.unique().tolist(), [3])

    def test_one_dtype_for_all_partitions(self):
        (mixed,) = self.take(delayed(
            pd.DataFrame({'a': [1, 2], 's': ['x', None], 'c': pd.Categorical(['u', 'v']), 'z': [None, None], 'n': [1, 2], 'i': np.array([1, 2], 'i4')}),
            pd.DataFrame({'a': [1.5, np.nan], 's': [None, None], 'c': pd.Categorical(['w', None]), 'z': ['q', 'r'], 'n': [np.nan, np.nan], 'i': [3, 2**40]}),
            pd.DataFrame({'a': [], 's': [], 'c': pd.Categorical([]), 'z': [], 'n': [], 'i': []})))
        made = mixed.lazy().collect(on=self.client)
        self.assertEqual(made.schema, {'a': 'float64', 's': 'string', 'c': 'string', 'z': 'string', 'n': 'int64', 'i': 'int64'})
        found = made.to_dict()
        self.assertEqual([found[name] for name in 'scznia'][:-1], [['x', None, None, None], ['u', 'v', 'w', None], [None, None, 'q', 'r'],
                                                                  [1, 2, None, None], [1, 2, 3, 2**40]])
        self.assertEqual(found['a'][:3], [1, 2, 1.5])

    def test_errors_name_column_and_partition(self):
        good = pd.DataFrame({'a': [1, 2]})
        for other, kind, told in ((pd.DataFrame({'a': ['x', 'y']}), granary.WrongType, "column 'a': partition 0 has int64, and partition 1 has string"),
                                  (pd.DataFrame({'b': [1]}), granary.Invalid, "column 'a': partition 0 has it, and partition 1 does not"),
                                  (pd.DataFrame({'a': [1, 'x']}), TypeError, "partition 1: column 'a': objects of int, str"),
                                  (pd.DataFrame({'a': np.array([1j])}), TypeError, "partition 1: column 'a': granary has no dtype for pandas' complex128")):
            with self.subTest(told), self.assertRaisesRegex(kind, told):
                self.take(delayed(good, other))
        with self.assertRaisesRegex(granary.WrongType, 'no dtype for dask.array'):
            self.take(da.zeros(4, dtype='datetime64[s]'))
        with self.assertRaisesRegex(granary.Invalid, 'compute_chunk_sizes'):
            values = da.arange(9, chunks=3)
            self.take(values[values > 3])
        lies = da.Array({('lies', 0): (np.zeros, 3), ('lies', 1): (np.zeros, 2)}, 'lies', ((3, 3),), dtype='f8')
        with self.assertRaisesRegex(granary.Invalid, r'partition 1: it has shape \(2,\), and the collection says \(3,\)'):
            self.take(lies)
        with self.assertRaisesRegex(TypeError, 'takes a dask.dataframe, a dask.array'):
            self.take(good)
        (source,) = self.take(da.zeros(4))
        with self.assertRaisesRegex(granary.Invalid, 'x is a tensor, and FROM takes rows'):
            granary.dask.sql(self.client, 'SELECT * FROM x', x=source)

    def test_tensors(self):
        """Blocks are partitions. Where others have to fit, rows are dealt evenly."""
        import granary.array as ga

        value = np.random.RandomState(1).rand(1000, 6)
        near = ga.asarray(value)
        ways = (lambda a: ga.sum(a * 2, axis=0), lambda a: ga.argmax(a, axis=0), lambda a: a[:, 0] + ga.astype(ga.arange(1000), ga.float64), lambda a: a[3:5])
        for chunks in ((250, 6), (400, 3), (1000, 2), ((1, 400, 599), 6)):
            (source,) = self.take(da.from_array(value, chunks=chunks))
            for number, way in enumerate(ways):
                with self.subTest(chunks=chunks, way=number):
                    np.testing.assert_allclose(np.asarray(way(source.lazy()).collect(on=self.client)), np.asarray(way(near)), rtol=1e-14)
        _, found = _sources.of_graph({'nodes': {'x': {'op': 'array', 'ids': [source.evenly]}, 'y': {'op': 'sum', 'input': 'x'}}, 'targets': ['y']})
        self.assertEqual(list(found), [source.name], 'blocks as they lie')
        del source

    def test_a_tensor_that_stayed(self):
        import granary.array as ga

        stayed = granary.dask.run(self.client, plan(stage('a', {'out': {'op': 'arange', 'stop': 1000, 'chunk': [300]}}), kind='tensor'), stay=True)['result']
        (source,) = self.take(stayed)
        self.assertEqual((source.shape, source.dtype, [one.rows for one in source.pieces]), ((1000,), 'int64', [300, 300, 300, 100]))
        self.assertEqual(int(ga.sum(source.lazy()).collect(on=self.client)), 999 * 500)
        self.assertEqual(np.asarray(source.lazy().collect(on=self.client)).tolist(), list(range(1000)))

    def test_a_source_that_has_gone(self):
        (source,) = self.take(dd.from_pandas(self.rows, npartitions=2))
        given, _ = _cut.sql(self.client, granary.dask._named('SELECT * FROM rows', {'rows': source}), None, None, [source])
        del source
        with self.assertRaisesRegex(granary.Invalid, 'keep what from_dask'):
            granary.dask.run(self.client, given)
        self.assertEqual(_plan.FORMAT, 2)


def self_rows(first):
    import numpy
    import pandas

    return pandas.DataFrame({'id': [i % 7 for i in range(first, first + 1500)], 'v': numpy.arange(first, first + 1500) / 3,
                             't': ['abc'[i % 3] for i in range(first, first + 1500)]})


if __name__ == '__main__':
    unittest.main(verbosity=2)
