"""Plans on a cluster of Dask: the answers of one instance, what errors tell, and that nothing stays."""
import json
import os
import pathlib
import subprocess
import unittest
from unittest import mock

import numpy as np
import pandas as pd

from cluster import BIN, ClusterTest, granary, in_thread, plan, stage, until, _plan
from granary.dask import _drive, _packs, _plugin, _results

READ = {'op': 'read_csv', 'dtypes': {'id': 'int64', 'v': 'float64', 't': 'string'}}


class Plans(ClusterTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        rows = [f'{i % 7},{i / 3},{"abc"[i % 3]}' for i in range(2000)]
        cls.files = []
        for name, part in (('a', rows[:900]), ('b', rows[900:]), ('all', rows)):
            cls.files.append(os.path.join(cls.cluster.directory, f'{name}.csv'))
            pathlib.Path(cls.files[-1]).write_text('\n'.join(['id,v,t', *part, '']))
        cls.here = granary.up(executors=1, memory='64M')
        cls.addClassCleanup(cls.here.down)

    def halves(self, rows=450):
        """Two stages of a part of the rows each, cut into chunks."""
        return [stage(name, {'read': {**READ, 'path': path}, 'out': {'op': 'rebalance', 'input': 'read', 'rows': rows}})
                for name, path in zip('ab', self.files)]

    def test_all_chunks_of_several_stages(self):
        both = {'a': {'op': 'table'}, 'b': {'op': 'table'}, 'rows': {'op': 'concat', 'inputs': ['a', 'b']},
                'out': {'op': 'groupby', 'input': 'rows', 'keys': ['id'], 'aggregate': {'s': 'sum(v)', 'd': 'std(v)', 'f': 'first(t)', 'm': 'median(v)'}}}
        given = plan(*self.halves(), stage('c', both, inputs={'a': ('a', 'all'), 'b': ('b', 'all')}))
        far = granary.dask.run(self.client, given)['result'].to_dict()
        self.assertEqual(far, granary.sql(f"SELECT id, sum(v) AS s, stddev(v) AS d, first(t) AS f, median(v) AS m FROM '{self.files[2]}' "
                                          'GROUP BY id ORDER BY id').to_dict())

    def test_a_chunk_of_each_partition_and_the_same_partition(self):
        """Each of two partitions reads one chunk of both of another stage, and the next stage what its own one gave."""
        dealt = stage('dealt', {'read': {**READ, 'path': self.files[0]}, 'out': {'op': 'rebalance', 'input': 'read', 'rows': 450}}, partitions=2, chunks=2)
        taken = stage('taken', {'in': {'op': 'table'}, 'out': {'op': 'assign', 'input': 'in', 'columns': {'w': 'v * 2'}}}, partitions=2,
                      inputs={'in': ('dealt', 'part')})
        same = stage('same', {'in': {'op': 'table'}, 'out': {'op': 'filter', 'input': 'in', 'where': 'id > 2'}}, partitions=2, inputs={'in': ('taken', 'same')})
        last = stage('last', {'out': {'op': 'table'}, 'x': {'op': 'head', 'input': 'out', 'rows': 10000}}, 'x', inputs={'out': ('same', 'all')})
        far = granary.dask.run(self.client, plan(dealt, taken, same, last))['result'].to_pandas()
        near = pd.read_csv(self.files[0])
        near = pd.concat([near[:450], near[:450], near[450:], near[450:]], ignore_index=True)
        near = near[near.id > 2].assign(w=near.v * 2).reset_index(drop=True)
        pd.testing.assert_frame_equal(far, near)

    def test_fragments_share_tasks(self):
        """Of a stage with many partitions. Answers are those of fragments that have a task each, and nothing stays."""
        self.assertEqual(_packs.ranges(31, 2), [(p, p + 1) for p in range(31)])
        self.assertEqual(_packs.ranges(33, 2)[-2:], [(30, 32), (32, 33)])
        self.assertEqual(_packs.ranges(33, 2, whole=False), [(p, p + 1) for p in range(33)])
        with mock.patch.object(_packs, 'EACH', 1):  # 12 partitions on 4 threads
            self.a_query_in_parts(12)
            whole = stage('made', {'out': {'op': 'arange', 'stop': 1200, 'parts': 12}}, partitions=12, part_of=['out'])
            twice = stage('twice', {'in': {'op': 'array', 'dtype': 'int64'}, 'out': {'op': 'multiply', 'inputs': ['in', 'two']},
                                    'two': {'op': 'full', 'shape': [1], 'value': 2, 'dtype': 'int64'}}, partitions=12, inputs={'in': ('made', 'same')})
            last = stage('last', {'in': {'op': 'array', 'dtype': 'int64'}, 'out': {'op': 'positive', 'input': 'in'}}, inputs={'in': ('twice', 'all')})
            given = _plan.Plan.of(plan(whole, twice, last, kind='tensor'))
            self.assertEqual(len(_drive.tasks(given, _drive.packs_of(self.client, given))['twice'][()]), 4)
            made = granary.dask.run(self.client, plan(whole, twice, last, kind='tensor'))['result']
            self.assertEqual(np.asarray(made).tolist(), list(range(0, 2400, 2)))

    def test_a_task_gathers_tickets(self):
        """Where many fragments read all of many. Fragments read the same then, and nothing stays."""
        with mock.patch.object(_packs, 'EDGES', 4):
            self.a_query_in_parts(3)
            dealt = stage('dealt', {'read': {**READ, 'path': self.files[0]}, 'out': {'op': 'rebalance', 'input': 'read', 'rows': 300}}, partitions=3, chunks=3)
            taken = stage('taken', {'in': {'op': 'table'}, 'out': {'op': 'select', 'input': 'in', 'columns': ['id']}}, partitions=3, inputs={'in': ('dealt', 'part')})
            last = stage('last', {'in': {'op': 'table'}, 'out': {'op': 'head', 'input': 'in', 'rows': 10000}}, inputs={'in': ('taken', 'all')})
            given = _plan.Plan.of(plan(dealt, taken, last))
            layers = _drive.tasks(given, _drive.packs_of(self.client, given))
            tickets = _packs.gather_key(given.stages['dealt'])
            self.assertEqual(layers['dealt'][()][tickets], (_packs.gather, [given.stages['dealt'].key(p) for p in range(3)]))
            self.assertEqual({str(task[3][0][2]) for task in layers['taken'][()].values()}, {str([tickets])})
            self.assertEqual(len(layers['last'][()][given.stages['last'].key(0)][3][0][2]), 3)
            made = granary.dask.run(self.client, plan(dealt, taken, last))['result'].to_pandas().id
            near = pd.read_csv(self.files[0]).id
            self.assertEqual(made.tolist(), [one for place in range(3) for one in near[place * 300 : place * 300 + 300].tolist() * 3])

    def test_a_pack_ends_where_it_is(self):
        """It is cancelled while it is at the second of three fragments: the third one does not begin."""
        ran = os.path.join(self.cluster.directory, 'packed')
        slow = stage('slow', {'out': {'op': 'exec', 'command': ['sh', '-c', f'echo x >> {ran}; [ $(wc -l < {ran}) = 1 ] || exec sleep 600']}}, partitions=3)
        given = _plan.Plan.of(plan(slow, stage('end', {'in': {'op': 'object'}, 'out': {'op': 'exec', 'command': ['cat']}}, inputs={'in': ('slow', 'all')}),
                                   kind='objects'))
        with mock.patch.object(_packs, 'ranges', lambda partitions, *_: [(0, partitions)]):
            going = _drive._Run(self.client, given, 0)
        until(lambda: os.path.exists(ran) and len(pathlib.Path(ran).read_text().split()) == 2, 'the second fragment')
        going.cancel()
        until(lambda: not self.cluster.left(), 'the end of graphs and objects')
        self.assertEqual(pathlib.Path(ran).read_text(), 'x\nx\n')

    def test_tensors(self):
        part = stage('part', {'out': {'op': 'random', 'shape': [1000, 7], 'seed': 3}}, partitions=3)
        near = np.asarray(granary.dask.run(self.client, plan(stage('whole', part['graph']['nodes']), kind='tensor'))['result'])
        whole = stage('sum', {'in': {'op': 'array', 'dtype': 'float64'}, 'out': {'op': 'sum', 'input': 'in', 'axes': [0]}}, inputs={'in': ('part', 'all')})
        far = granary.dask.run(self.client, plan(part, whole, kind='tensor'))['result']
        self.assertEqual(far.shape, (7,))
        np.testing.assert_allclose(np.asarray(far), near.sum(0) * 3)

    def test_tensors_that_are_cut(self):
        graph = {'x': {'op': 'random', 'shape': [301, 7], 'seed': 2}, 'y': {'op': 'multiply', 'input': 'x', 'value': 2}, 't': {'op': 'transpose', 'input': 'y'}}
        for target in 'yt':
            near, far = (np.asarray(granary.dask.run(self.client, {'nodes': graph, 'targets': [target]}, parts, smallest=1)[target]) for parts in (1, 3))
            np.testing.assert_array_equal(near, far)

    def test_the_part_of_a_fragment(self):
        given = _plan.Plan.of(plan(stage('s', {'out': {'op': 'arange', 'stop': 9}}, part_of=['out'], partitions=4)
                                   | {'partitions': 4}, stage('t', {'out': {'op': 'zeros', 'shape': [1]}})))
        self.assertEqual(json.loads(given.stages['s'].text(3, {}))['nodes']['out']['part'], 3)
        self.assertNotIn('part', given.stages['s'].graph['nodes']['out'])

    def test_sql_and_graphs(self):
        far = granary.dask.sql(self.client, f"SELECT count(*) AS n FROM '{self.files[2]}' WHERE id = 3")
        self.assertEqual(far.to_dict(), {'n': [286]})
        made = granary.dask.run(self.client, {'nodes': {'x': {'op': 'arange', 'stop': 5}}, 'targets': ['x']}, progress=self.shares.append)
        self.assertEqual(np.asarray(made['x']).tolist(), [0, 1, 2, 3, 4])
        self.assertEqual(self.shares[-1], 1.0)

    shares = []

    def test_a_query_in_parts(self):
        """Every file is cut, rows are dealt to the nodes, and the answer is that of one."""
        self.a_query_in_parts(3)

    def a_query_in_parts(self, partitions):
        text = (f"SELECT a.t, count(*) AS n, sum(a.v) AS s, stddev(b.v) AS d FROM '{self.files[2]}' a JOIN '{self.files[0]}' b ON a.id = b.id "
                'GROUP BY a.t ORDER BY s DESC')
        far = granary.dask.sql(self.client, text, partitions, smallest=1)
        self.assertEqual(far.to_dict(), granary.sql(text).to_dict())
        self.assertEqual(far.schema, granary.sql(text).schema)

    def test_lazy_frames_and_arrays(self):
        import granary.array as ga

        lazy = granary.scan_csv(self.files[2]) if hasattr(granary, 'scan_csv') else granary.read_csv(path=self.files[2])
        lazy = lazy.filter(granary.col('id') > 2).group_by('t').agg(n='size').sort('t')
        self.assertEqual(lazy.collect(on=self.client).to_dict(), lazy.collect().to_dict())
        made = ga.arange(1000) * 2 + 1
        far = made.collect(on=self.client)
        self.assertEqual(np.asarray(far).tolist(), list(range(1, 2001, 2)))

    def test_collections_of_dask(self):
        """Partitions of a dask.dataframe are rows of the nodes that have them; results are partitions again."""
        import dask.dataframe as dd

        rows = pd.read_csv(self.files[2])
        source = granary.dask.from_dask(self.client, dd.from_pandas(rows, npartitions=3))
        text = 'SELECT t, count(*) AS n, max(v) AS m FROM rows GROUP BY t ORDER BY t'
        self.assertEqual(granary.dask.sql(self.client, text, rows=source).to_dict(), granary.sql(text.replace('rows', f"'{self.files[2]}'")).to_dict())
        self.assertEqual(source.lazy().filter(granary.col('id') == 3).select('v').collect(on=self.client).to_dict(), {'v': rows[rows.id == 3].v.tolist()})
        stayed = granary.dask.sql(self.client, "SELECT id, v FROM rows WHERE t = 'a'", rows=source, stay=True)
        back = granary.dask.to_dask(self.client, stayed).compute(scheduler=self.client).reset_index(drop=True)
        pd.testing.assert_frame_equal(back, rows[rows.t == 'a'][['id', 'v']].reset_index(drop=True))
        array = granary.dask.run(self.client, plan(stage('a', {'out': {'op': 'random', 'shape': [1000, 3]}}), kind='tensor'), stay=True)['result']
        self.assertEqual(granary.dask.to_dask(self.client, array).sum().compute(scheduler=self.client).round(6),
                         np.asarray(granary.dask.run(self.client, plan(stage('b', {'out': {'op': 'random', 'shape': [1000, 3]}}), kind='tensor'))['result'])
                         .sum().round(6))

    def test_a_table_of_this_instance_needs_a_node_here(self):
        near = granary.from_dict({'a': [1, 2]})
        with self.assertRaisesRegex(granary.Unsupported, 'no worker is a node of it'):
            near.collect(on=self.client)

    def test_the_command(self):
        """`granary sql --on dask:ADDRESS` prints what it prints otherwise."""
        text = f"SELECT id, sum(v) AS s FROM '{self.files[2]}' GROUP BY id ORDER BY id"
        on = ['--on', f'dask:{self.client.scheduler.address}', '--fragments', '2', '--fragment-bytes', '1']
        for options in (['--mode', 'box'], ['--csv', '--instance', self.here.instance]):
            near, far = (command('sql', *options, *more, text) for more in ([], on))
            self.assertEqual((far.stdout, far.stderr, far.returncode), (near.stdout, near.stderr, 0))
        graph = os.path.join(self.cluster.directory, 'graph.json')
        pathlib.Path(graph).write_text(json.dumps({'nodes': {'x': {'op': 'random', 'shape': [1000, 3]}, 'y': {'op': 'sum', 'input': 'x', 'axes': [0]}},
                                                   'targets': ['y']}))
        line = os.path.join(self.cluster.directory, 'line.json')
        near, far = (command('run', *more, graph) for more in ([], [*on, '--timeline', line]))
        self.assertEqual((far.stdout, far.returncode), (near.stdout, 0), far.stderr)
        names = {one['args']['name'] for one in json.loads(pathlib.Path(line).read_text()) if one['ph'] == 'M'}
        self.assertTrue(names and names <= set(self.client.run(lambda dask_worker: _plugin.node_of(dask_worker).name).values()), names)
        wrong = command('sql', *on, "SELECT * FROM '/nothing.csv'")
        self.assertEqual((wrong.returncode, wrong.stdout), (4, ''), wrong.stderr)
        self.assertIn('/nothing.csv', wrong.stderr)

    def test_values_for_who_has_no_instance(self):
        frame = plan(stage('f', {'out': {**READ, 'path': self.files[0]}}))
        future = _drive.run(self.client, _plan.Plan.of(frame))['result']
        pd.testing.assert_frame_equal(_results.without(self.client, future), pd.read_csv(self.files[0]))
        del future
        future = _drive.run(self.client, _plan.Plan.of(plan(stage('g', {'out': {'op': 'arange', 'stop': 100000}}))), progress=None)['result']
        self.assertEqual(_results.without(self.client, future).tolist(), list(range(100000)))

    def test_results_used_again(self):
        """A fragment whose results are there does not run again, in whatever plan."""
        ran = os.path.join(self.cluster.directory, 'ran')
        once = stage('once', {'out': {'op': 'exec', 'command': ['sh', '-c', f'echo x >> {ran}; echo done']}})
        first = _drive.run(self.client, _plan.Plan.of(plan(once, kind='objects')))
        again = stage('again', {'in': {'op': 'object'}, 'out': {'op': 'exec', 'command': ['cat'], 'inputs': ['in']}}, inputs={'in': ('once', 'all')})
        made = granary.dask.run(self.client, plan(once, again, kind='objects'))['result']
        self.assertEqual([bytes(one) for one in made], [b'done\n'])
        self.assertEqual(pathlib.Path(ran).read_text(), 'x\n')
        del first

    def test_a_key_that_survived_is_taken_from_the_node(self):
        """Dask has forgotten it, the instance has not."""
        ran = os.path.join(self.cluster.directory, 'survived')
        one = stage('s', {'in': {'op': 'object'}, 'out': {'op': 'exec', 'command': ['sh', '-c', f'echo x >> {ran}; cat'], 'inputs': ['in']}},
                    inputs={'in': ('zero', 'all')})
        zero = stage('zero', {'out': {'op': 'exec', 'command': ['echo', 'a']}})
        given = _plan.Plan.of(plan(zero, one, kind='objects'))
        key = given.stages['s'].key(0)
        for address in self.client.scheduler_info()['workers']:
            node = self.client.run(_submitted, key, one['graph']['nodes']['out']['command'], workers=[address])
            self.assertEqual(list(node.values()), [key])
        made = granary.dask.run(self.client, given)['result']
        self.assertEqual([bytes(each) for each in made], [b'early\n'])
        self.client.run(_deleted, key)

    def test_a_stage_that_is_larger_than_was_believed(self):
        """The rest is cut again. What was done is not done again."""
        ran = os.path.join(self.cluster.directory, 'larger')
        made = stage('made', {'out': {'op': 'exec', 'command': ['sh', '-c', f'echo x >> {ran}; echo large']}})

        def cut(word):
            then = stage(word, {'in': {'op': 'object'}, 'out': {'op': 'exec', 'command': ['sh', '-c', f'cat; echo {word}'], 'inputs': ['in']}},
                         inputs={'in': ('made', 'all')})
            return _plan.Plan.of({**plan(made, then, kind='objects'),
                                  'decided': [{'node': 'n', 'way': 'broadcast', 'stage': 'made', 'digest': made['digest'], 'most_bytes': 3}]})

        told = []
        future = _drive.run(self.client, cut('first'), again=lambda sizes: told.append(dict(sizes)) or cut('second'))['result']
        self.assertEqual(_results.without(self.client, future), [b'large\nsecond\n'])
        self.assertEqual(told, [{made['digest']: 6}])
        self.assertEqual(pathlib.Path(ran).read_text(), 'x\n')

    # ---- what goes wrong ----

    def test_an_error_names_the_file(self):
        with self.assertRaisesRegex(granary.NotFound, '/nothing.csv'):
            granary.dask.run(self.client, plan(stage('f', {'out': {'op': 'read_csv', 'path': '/nothing.csv'}})))
        with self.assertRaisesRegex(granary.Error, 'no_such_column'):
            granary.dask.sql(self.client, f"SELECT no_such_column FROM '{self.files[0]}'")

    def test_dask_drops_no_chunks(self):
        """It takes the ticket of a reader for a second copy of the chunks, and must not drop the first one."""
        made, summed = self.moved(0, 'copied')
        summed.result()
        self.assertEqual(len(self.client.who_has([made])[made.key]), 2)
        self.assertFalse(self.client.amm.running())
        self.assertIn(made.result().origin.worker, self.client.who_has([made])[made.key])

    def test_plans_that_are_none(self):
        good = plan(stage('a', {'out': {'op': 'zeros', 'shape': [1]}}))
        for change, told in (({'granary_fragments': 3}, 'format 3'), ({'stages': [{}]}, 'name'), ({'stages': good['stages'] * 2}, 'two stages are called a'),
                             ({'targets': [{'name': 'x', 'stage': 'b', 'kind': 'frame'}]}, 'b'),
                             ({'stages': [{**good['stages'][0], 'inputs': {'out': {'stage': 'z', 'take': 'all'}}}]}, 'stage z, which does not stand before'),
                             ({'stages': [{**good['stages'][0], 'part_of': ['x']}]}, "no node 'x'")):
            with self.subTest(told), self.assertRaisesRegex(granary.Error, told):
                granary.dask.run(self.client, {**good, **change})

    def waiting(self, name):
        """A stage whose program waits for a line, and says that it runs."""
        gate, runs = (os.path.join(self.cluster.directory, f'{name}.{what}') for what in ('gate', 'runs'))
        os.mkfifo(gate)
        one = stage(name, {'out': {'op': 'exec', 'command': ['sh', '-c', f'echo $$ >> {runs}; read line < {gate}; echo $line']}})
        return one, gate, lambda: os.path.exists(runs) and pathlib.Path(runs).read_text().split()

    def test_time_is_over(self):
        one, _, runs = self.waiting('late')
        for timeout in (2, 8, 32):  # it may be over before the program has begun
            with self.assertRaises(TimeoutError):
                granary.dask.run(self.client, plan(one, kind='objects'), timeout=timeout)
            if runs():
                break
        pid = runs()[0]
        until(lambda: not os.path.exists(f'/proc/{pid}'), 'the end of the program')

    def test_an_interrupt_ends_what_runs_elsewhere(self):
        """As Ctrl-C does while one fragment has ended, and another one runs."""
        one, _, runs = self.waiting('interrupted')
        quick = stage('quick', {'out': {'op': 'exec', 'command': ['echo']}})

        def interrupt(share):
            until(runs)
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            granary.dask.run(self.client, plan(quick, one, kind='objects'), progress=interrupt)
        pid = runs()[0]
        until(lambda: not os.path.exists(f'/proc/{pid}'), 'the end of the program')

    def test_other_versions_are_refused(self):
        with self.assertRaisesRegex(granary.VersionMismatch, f'has granary {granary.__version__}, and the plan is of granary 0.0.1'):
            self.client.register_worker_plugin(_plugin.Plugin(version='0.0.1'), name='granary-other')
        self.client.unregister_worker_plugin('granary-other')
        with self.assertRaisesRegex(granary.VersionMismatch, 'cut by granary 0.0.1'):
            granary.dask.run(self.client, plan(stage('a', {'out': {'op': 'zeros', 'shape': [1]}}), version='0.0.1'))

    # ---- moving ----

    def moved(self, cut, key):
        """A fragment on n1 that n2 reads, with a sender that cut() is told to spoil."""
        source = stage('source' + key, {'out': {'op': 'arange', 'stop': 500000}})
        first = _plan.Plan.of(plan(source))
        worker = self.cluster.address('n1')
        made = self.client.submit(_drive.fragment, first.stages[source['name']], 0, [], key=first.stages[source['name']].key(0), workers=[worker])
        made.result()
        self.cluster.on('n1', _spoiled, cut)
        reads = stage('reads' + key, {'in': {'op': 'array', 'dtype': 'int64'}, 'out': {'op': 'sum', 'input': 'in'}}, inputs={'in': (source['name'], 'all')})
        second = _plan.Plan.of(plan(source, reads)).stages[reads['name']]
        summed = self.client.submit(_drive.fragment, second, 0, [['in', 'all', [made]]], key=second.key(0), workers=[self.cluster.address('n2')])
        return made, summed

    def test_a_transfer_that_is_cut_goes_again(self):
        made, summed = self.moved(1, 'cut')
        self.assertEqual(int(_results.without(self.client, summed)), 499999 * 250000)
        self.assertGreaterEqual(self.cluster.on('n1', _spoiled, 0), 2, 'sent twice')

    def test_a_transfer_that_never_comes_is_an_error(self):
        made, summed = self.moved(100, 'never')
        with self.assertRaisesRegex(ConnectionError, 'did not come from .*instance'):
            summed.result()
        self.assertFalse([one for one in self.cluster.left().get(self.cluster.address('n2'), ([], []))[1]], 'nothing of it is in the other store')
        self.cluster.on('n1', _spoiled, 0)

    def test_chunks_that_were_lost_are_made_again(self):
        """The worker is there, and says that it has them no more."""
        made, summed = self.moved(0, 'lost')
        del made, summed
        until(lambda: not self.cluster.left())
        source = stage('s', {'out': {'op': 'arange', 'stop': 500000}})
        parsed = _plan.Plan.of(plan(source)).stages['s']
        made = self.client.submit(_drive.fragment, parsed, 0, [], key=parsed.key(0))
        handle = made.result()
        self.client.run(_deleted, handle.key, workers=[handle.origin.worker])
        other = [one for one in self.client.scheduler_info()['workers'] if one != handle.origin.worker]
        reads = stage('r', {'in': {'op': 'array', 'dtype': 'int64'}, 'out': {'op': 'sum', 'input': 'in'}}, inputs={'in': ('s', 'all')})
        second = _plan.Plan.of(plan(source, reads)).stages['r']
        summed = self.client.submit(_drive.fragment, second, 0, [['in', 'all', [made]]], key=second.key(0), workers=other)
        self.assertEqual(int(_results.without(self.client, summed)), 499999 * 250000)

    def released(self, litter):
        """A handle goes with its task, although litter() has left it somewhere on its node."""
        source = stage('litter', {'out': {'op': 'arange', 'stop': 1000}})
        first = _plan.Plan.of(plan(source)).stages['litter']
        made = self.client.submit(_drive.fragment, first, 0, [], key=first.key(0), workers=[self.cluster.address('n1')])
        made.result()
        self.client.run(litter, made.key, workers=[self.cluster.address('n1')])
        del made
        until(lambda: not self.cluster.left(), 'the end of graphs and objects')

    def test_a_handle_in_garbage(self):
        """An error that refers to itself has it. Nothing else would make the node collect that."""
        def litter(key, dask_worker):
            import gc

            gc.disable()
            error = ValueError(dask_worker.data[key])
            error.itself = error

        def tidy():
            import gc

            gc.enable()

        self.addCleanup(self.client.run, tidy)
        self.released(litter)

    def test_a_handle_in_a_log(self):
        """Dask keeps what a worker has logged, with the frames of errors. It can be asked for still."""
        def litter(key, dask_worker):
            import logging

            try:
                handle = dask_worker.data[key]
                handle.chunks[1000]
            except IndexError:
                logging.getLogger('distributed.worker').exception('%s is short', handle)

        self.released(litter)
        (logged,) = self.client.get_worker_logs(workers=[self.cluster.address('n1')]).values()
        (text,) = [text for _, text in logged if 'is short' in text]
        self.assertIn('IndexError', text)

    def test_strangers_get_nothing(self):
        strangers_get_nothing(self)


def strangers_get_nothing(test):
    """A connection without the secret is closed."""
    import socket

    made, _ = test.moved(0, 'stranger')
    origin = made.result().origin
    with socket.create_connection((origin.host, origin.port), 10) as one:
        test.assertEqual(len(one.recv(16, socket.MSG_WAITALL)), 16)
        one.sendall(bytes(16) + b'\0\0\0\1' + made.result().chunks[0].id + bytes(32))
        one.settimeout(10)
        try:
            test.assertEqual(one.recv(1), b'')
        except ConnectionResetError:
            pass


def command(*words):
    return subprocess.run([os.path.join(BIN, 'granary'), *words], capture_output=True, text=True, timeout=60)


def _submitted(key, command, dask_worker):
    """A graph of that key has succeeded on a node."""
    import json

    node = _plugin.node_of(dask_worker)
    return node.client.run_json(json.dumps({'nodes': {'out': {'op': 'exec', 'command': ['echo', 'early']}}, 'targets': ['out']}), key=key)


def _deleted(key, dask_worker):
    node = _plugin.node_of(dask_worker)
    try:
        node.client.delete_graph(key)
    except granary.NotFound:
        pass


def _spoiled(node, count):
    """The next `count` answers of a node's server end in the middle. Returns how many there were since the last call."""
    import socket

    server = node.server
    before = getattr(server, 'answers', 0)
    server.answers, server.spoil = 0, count
    if not hasattr(server, 'honest'):
        server.honest = server._answer

        def answer(one, *wanted):
            server.answers += 1
            if server.spoil <= 0:
                return server.honest(one, *wanted)
            server.spoil -= 1
            ours, theirs = socket.socketpair()

            def half():
                got = 0
                while got < 100000 and (some := theirs.recv(1000)):
                    one.sendall(some)
                    got += len(some)
                theirs.close()
                one.shutdown(socket.SHUT_RDWR)

            import threading
            thread = threading.Thread(target=half)
            thread.start()
            try:
                server.honest(_Half(one, ours), *wanted)
            finally:
                ours.close()
                thread.join()
        server._answer = answer
    return before


class _Half:
    """A connection that is read here and written there."""

    def __init__(self, one, to):
        self.recv = one.recv
        self.sendall = to.sendall
        self.fileno = to.fileno


if __name__ == '__main__':
    unittest.main(verbosity=2)
