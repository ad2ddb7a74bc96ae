"""Nodes that are refused, and deaths in a cluster: of workers, stores and Dask's scheduler, between fragments, during them, and during a transfer."""
import json
import os
import pathlib
import signal
import subprocess
import threading
import unittest
from unittest import mock

import numpy as np

from cluster import BIN, PATIENCE_S, Client, Cluster, granary, in_thread, plan, processes, stage, until, _plan
from granary.dask import _drive, _packs, _results


class Faults(unittest.TestCase):
    """Each test has a cluster of its own, of which one node dies."""

    def setUp(self):
        self.cluster = Cluster(2)
        self.addCleanup(self.cluster.close)
        self.client = self.cluster.client
        self.plan = _plan.Plan.of(plan(
            stage('made', {'out': {'op': 'random', 'shape': [100000], 'seed': 7}}, partitions=6),
            stage('kept', {'in': {'op': 'array', 'dtype': 'float64'}, 'out': {'op': 'multiply', 'inputs': ['in', 'two']},
                           'two': {'op': 'full', 'shape': [1], 'value': 2, 'dtype': 'float64'}}, partitions=6, inputs={'in': ('made', 'same')}),
            stage('sum', {'in': {'op': 'array', 'dtype': 'float64'}, 'out': {'op': 'sum', 'input': 'in'}}, inputs={'in': ('kept', 'all')}), kind='tensor'))

    def answer(self, **options):
        return float(_results.without(self.client, _drive.run(self.client, self.plan, **options)['result']))

    def dies(self, kill):
        """The same answer when a node dies as soon as a third of the fragments are done."""
        calm = self.answer()
        until(lambda: not self.cluster.left())
        told = []

        def progress(share):
            if share > 0.3 and not told:
                told.append(share)
                kill()

        self.assertEqual(self.answer(progress=progress), calm)
        self.assertTrue(told)
        until(lambda: len(self.client.scheduler_info()['workers']) == 1, 'the end of the worker')
        until(lambda: not self.cluster.left(), 'the end of graphs and objects')

    def test_a_worker(self):
        instance = self.cluster.on('n2', lambda node: node.session.instance)
        self.dies(self.cluster.workers['n2'].kill)
        until(lambda: not processes(instance), 'the end of the instance')

    def test_a_worker_with_packs(self):
        """What fragments gave that shared a task is made again together."""
        with mock.patch.object(_packs, 'ranges', lambda partitions, *_: [(first, min(first + 2, partitions)) for first in range(0, partitions, 2)]):
            self.dies(self.cluster.workers['n2'].kill)

    def test_a_worker_whose_tickets_were_gathered(self):
        """They are gathered again. The worker dies when all of the first two stages are done, and before anybody has read them."""
        gate = os.path.join(self.cluster.directory, 'gate')
        os.mkfifo(gate)
        opened = os.open(gate, os.O_RDWR)
        self.addCleanup(os.close, opened)
        first = stage('first', {'out': {'op': 'arange', 'stop': 1200, 'parts': 4}}, partitions=4, part_of=['out'])
        wait = stage('wait', {'out': {'op': 'exec', 'command': ['sh', '-c', f'read line < {gate}; true']}})
        reads = stage('reads', {'in': {'op': 'array', 'dtype': 'int64'}, 'w': {'op': 'object'}, 'out': {'op': 'positive', 'input': 'in'}}, partitions=2,
                      inputs={'in': ('first', 'all'), 'w': ('wait', 'all')})
        last = stage('last', {'in': {'op': 'array', 'dtype': 'int64'}, 'out': {'op': 'sum', 'input': 'in'}}, inputs={'in': ('reads', 'all')})
        with mock.patch.object(_packs, 'EDGES', 7):
            given = plan(first, wait, reads, last, kind='tensor')
            call = in_thread(granary.dask.run, self.client, given)
            tickets = _packs.gather_key(_plan.Plan.of(given).stages['first'])
            until(lambda: self.client.who_has().get(tickets), 'tickets that are gathered')
            self.cluster.workers['n2'].kill()
            until(lambda: len(self.client.scheduler_info()['workers']) == 1, 'the end of the worker')
            os.write(opened, b'go\n' * 8)
            made = call()['result']
        self.assertEqual(int(made), 1199 * 1200)

    def test_a_store(self):
        """Then the worker ends by itself, as it has nothing to offer any more."""
        pids = self.cluster.store('n2')

        def kill():
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        self.dies(kill)
        self.assertEqual(self.cluster.workers['n2'].wait(PATIENCE_S), 75)
        self.assertIn('has lost its instance, so this worker leaves', self.cluster.log())

    def leaves_when_idle(self):
        """A node whose instance dies leaves before anybody asks it for something."""
        def supervisor(node):
            with open(os.path.join(node.session.instance, 'instance.json')) as file:
                return json.load(file)['supervisor_pid']

        os.kill(self.cluster.on('n2', supervisor), signal.SIGKILL)
        self.assertEqual(self.cluster.workers['n2'].wait(PATIENCE_S), 75)
        until(lambda: len(self.client.scheduler_info()['workers']) == 1, 'the end of the worker')

    def test_an_instance_while_nothing_runs(self):
        self.leaves_when_idle()

    def test_a_store_that_comes_back(self):
        """The supervisor starts it again: nothing is lost, and nobody leaves."""
        calm = self.answer()
        store = [pid for pid in self.cluster.store('n2') if pathlib.Path(f'/proc/{pid}/comm').read_text().strip() == 'granary-store'][0]
        killed = []

        def progress(share):
            if share > 0.3 and not killed:
                killed.append(share)
                os.kill(store, signal.SIGKILL)

        self.assertEqual(self.answer(progress=progress), calm)
        self.assertEqual(len(self.client.scheduler_info()['workers']), 2, self.cluster.log())
        self.leaves_when_idle()  # it looks on

    def test_a_worker_during_a_fragment(self):
        """Another one runs it, from the beginning. The program of the first one goes with its instance."""
        gate, runs = (os.path.join(self.cluster.directory, name) for name in ('gate', 'runs'))
        os.mkfifo(gate)
        one = stage('one', {'out': {'op': 'exec', 'command': ['sh', '-c', f'echo $$ $GRANARY_INSTANCE >> {runs}; read line < {gate}; echo $line']}})
        call = in_thread(granary.dask.run, self.client, plan(one, kind='objects'))
        pid, instance = until(lambda: os.path.exists(runs) and pathlib.Path(runs).read_text().split())[:2]
        name = next(name for name in ('n1', 'n2') if self.cluster.on(name, lambda node: node.session.instance) == instance)
        self.cluster.workers[name].kill()
        until(lambda: len(pathlib.Path(runs).read_text().split()) == 4, 'the second run')
        until(lambda: not os.path.exists(f'/proc/{pid}'), 'the end of the first program')
        with open(gate, 'w') as out:
            out.write('again\n')
        made = call()['result']
        self.assertEqual([bytes(one) for one in made], [b'again\n'])

    def test_a_sender_during_a_transfer(self):
        """It dies when half of a chunk was sent. The receiver has nothing of it, and the chunk is made again."""
        source = stage('source', {'out': {'op': 'arange', 'stop': 1000000}})
        first = _plan.Plan.of(plan(source)).stages['source']
        made = self.client.submit(_drive.fragment, first, 0, [], key=first.key(0), workers=[self.cluster.address('n1')], allow_other_workers=True)
        self.assertEqual(made.result().origin.worker, self.cluster.address('n1'))
        self.cluster.on('n1', _dies_in_the_middle)
        reads = stage('reads', {'in': {'op': 'array', 'dtype': 'int64'}, 'out': {'op': 'sum', 'input': 'in'}}, inputs={'in': ('source', 'all')})
        second = _plan.Plan.of(plan(source, reads)).stages['reads']
        summed = self.client.submit(_drive.fragment, second, 0, [['in', 'all', [made]]], key=second.key(0), workers=[self.cluster.address('n2')])
        self.assertEqual(int(_results.without(self.client, summed)), 999999 * 500000)
        self.assertEqual(self.cluster.workers['n1'].wait(PATIENCE_S), 9)
        del made, summed
        until(lambda: not self.cluster.left(), 'the end of graphs and objects')

    def test_a_receiver_during_a_transfer(self):
        """It dies when half of a chunk has come. The sender goes on."""
        source = stage('source', {'out': {'op': 'arange', 'stop': 1000000}})
        first = _plan.Plan.of(plan(source)).stages['source']
        made = self.client.submit(_drive.fragment, first, 0, [], key=first.key(0), workers=[self.cluster.address('n1')])
        made.result()
        self.cluster.on('n1', _kills_its_peer, self.cluster.workers['n2'].pid)
        reads = stage('reads', {'in': {'op': 'array', 'dtype': 'int64'}, 'out': {'op': 'sum', 'input': 'in'}}, inputs={'in': ('source', 'all')})
        second = _plan.Plan.of(plan(source, reads)).stages['reads']
        summed = self.client.submit(_drive.fragment, second, 0, [['in', 'all', [made]]], key=second.key(0), workers=[self.cluster.address('n2')],
                                    allow_other_workers=True)
        self.assertEqual(int(_results.without(self.client, summed)), 999999 * 500000)
        del made, summed
        until(lambda: not self.cluster.left(), 'the end of graphs and objects')


class Slow(unittest.TestCase):
    """Nodes that do not end what they run, and do not die."""

    def setUp(self):
        self.cluster = Cluster(2)
        self.addCleanup(self.cluster.close)
        self.client = self.cluster.client

    def twice(self):
        """A number on each of four partitions, and their sum."""
        return plan(stage('number', {'out': {'op': 'random', 'shape': [1000], 'seed': 5}}, partitions=4),
                    stage('sum', {'in': {'op': 'array', 'dtype': 'float64'}, 'out': {'op': 'sum', 'input': 'in'}}, inputs={'in': ('number', 'all')}), kind='tensor')

    def test_fragments_run_elsewhere_too(self):
        """A node that waits for something has its fragments run on the other one, whose results count."""
        self.cluster.on('n2', _waits)
        line = os.path.join(self.cluster.directory, 'line.json')
        made = granary.dask.run(self.client, self.twice(), timeline=line)['result']
        self.cluster.on('n2', _waits_no_more)
        self.assertEqual(float(np.asarray(made)), float(np.asarray(granary.dask.run(self.client, self.twice())['result'])))
        events = [one for one in json.loads(pathlib.Path(line).read_text()) if one['ph'] == 'X']
        self.assertIn('copy', {one['args']['outcome'] for one in events})
        self.assertEqual(sorted(one['args']['partition'] for one in events if one['name'] == 'number' and one['args']['outcome'] == 'done'), [0, 1, 2, 3])
        del made
        until(lambda: not self.cluster.left(), 'the end of graphs and objects')

    def test_a_stopped_worker(self):
        """It has chunks that others need, and is asked for them: Dask takes it out, and they are made again."""
        first = _plan.Plan.of(self.twice()).stages['number']
        address = self.cluster.address('n2')
        made = [self.client.submit(_drive.fragment, first, p, [], key=first.key(p), workers=[address]) for p in range(4)]
        for one in made:
            self.assertEqual(one.result().origin.worker, address)
        self.client.run_on_scheduler(_let_go, [one.key for one in made])
        there = self.client.submit(bytes, 100, workers=[address])  # so that the other node has a connection, which answers no more
        self.assertEqual(self.client.submit(len, there, workers=[self.cluster.address('n1')]).result(), 100)
        os.kill(self.cluster.workers['n2'].pid, signal.SIGSTOP)
        self.addCleanup(self.cluster.workers['n2'].kill)
        far = float(np.asarray(granary.dask.run(self.client, self.twice(), timeout=PATIENCE_S)['result']))
        os.kill(self.cluster.workers['n2'].pid, signal.SIGKILL)
        del made, one
        self.assertEqual(far, float(np.asarray(granary.dask.run(self.client, self.twice())['result'])))
        self.assertEqual(len(self.client.scheduler_info()['workers']), 1)

    def test_a_stopped_worker_whose_reader_runs_once(self):
        """All that is left may not run a second time. The reader of the stopped node's chunk goes on all the same."""
        given = stage('given', {'out': {'op': 'exec', 'command': ['echo', 'a']}})
        last = stage('last', {'in': {'op': 'object'}, 'out': {'op': 'exec', 'command': ['cat'], 'inputs': ['in']}}, inputs={'in': ('given', 'all')})
        first = _plan.Plan.of(plan(given, last, kind='objects')).stages['given']
        address = self.cluster.address('n2')
        made = self.client.submit(_drive.fragment, first, 0, [], key=first.key(0), workers=[address])
        self.assertEqual(made.result().origin.worker, address)
        self.client.run_on_scheduler(_let_go, [made.key])
        there = self.client.submit(bytes, 100, workers=[address])  # so that the other node has a connection, which answers no more
        self.assertEqual(self.client.submit(len, there, workers=[self.cluster.address('n1')]).result(), 100)
        self.client.run_on_scheduler(_takes_nothing_new, address)
        os.kill(self.cluster.workers['n2'].pid, signal.SIGSTOP)
        self.addCleanup(self.cluster.workers['n2'].kill)
        (answer,) = granary.dask.run(self.client, plan(given, last, kind='objects'), timeout=PATIENCE_S)['result']
        self.assertEqual(bytes(answer), b'a\n')


class Scheduler(unittest.TestCase):
    def test_a_call_goes_on_with_another_scheduler(self):
        """It dies while a fragment runs, and workers with it. Both are started again, and what was done is not done again."""
        instance = os.path.join(self.enterContext(_directory()), 'node')
        granary_command(self, 'up', '--instance', instance, '-e', '1', '--memory', '64M')
        self.addCleanup(granary_command, self, 'down', '--instance', instance)
        cluster = Cluster(1, environment={'GRANARY_INSTANCE': instance}, nodes=False)
        self.addCleanup(cluster.close)
        gate, runs, ran = (os.path.join(cluster.directory, name) for name in ('gate', 'runs', 'ran'))
        os.mkfifo(gate)
        zero = stage('zero', {'out': {'op': 'exec', 'command': ['echo', 'a']}})
        one = stage('one', {'in': {'op': 'object'}, 'out': {'op': 'exec', 'command': ['sh', '-c', f'echo x >> {ran}; cat'], 'inputs': ['in']}},
                    inputs={'in': ('zero', 'all')})
        last = stage('last', {'in': {'op': 'object'},
                              'out': {'op': 'exec', 'command': ['sh', '-c', f'echo x >> {runs}; read line < {gate}; cat; echo $line'], 'inputs': ['in']}},
                     inputs={'in': ('one', 'all')})
        call = in_thread(granary.dask.run, cluster.client, plan(zero, one, last, kind='objects'), timeout=PATIENCE_S)
        until(lambda: os.path.exists(runs), 'the last fragment')
        cluster.scheduler.kill()
        cluster.workers['n1'].wait(PATIENCE_S)
        os.unlink(cluster.file)
        cluster.scheduler = cluster.start('dask-scheduler', '--host', '127.0.0.1', '--port', '0', '--scheduler-file', cluster.file)
        until(lambda: os.path.exists(cluster.file), 'the other scheduler')
        cluster.add('n2')
        until(lambda: len(pathlib.Path(runs).read_text().split()) == 2, 'the last fragment once more')
        with open(gate, 'w') as out:
            out.write('b\n')
        made = call()['result']
        self.assertEqual([bytes(each) for each in made] if isinstance(made, list) else bytes(made), [b'a\nb\n'])
        self.assertEqual(pathlib.Path(ran).read_text(), 'x\n', 'it ran once')

    def test_no_other_scheduler_in_time(self):
        cluster = Cluster(1)
        self.addCleanup(cluster.close)
        gate = os.path.join(cluster.directory, 'gate')
        one = stage('one', {'out': {'op': 'exec', 'command': ['sh', '-c', f'touch {gate}; exec sleep 600']}})
        call = in_thread(granary.dask.run, cluster.client, plan(one, kind='objects'), timeout=5)
        until(lambda: os.path.exists(gate), 'the fragment')
        cluster.scheduler.kill()
        with self.assertRaisesRegex(granary.TimedOut, 'no other one with a worker came'):
            call()

    def test_results_outlive_the_scheduler(self):
        """Dask's scheduler is killed, and the workers end. A new cluster on the same instances uses what is there."""
        instance = os.path.join(self.enterContext(_directory()), 'node')
        granary_command(self, 'up', '--instance', instance, '-e', '1', '--memory', '64M')
        self.addCleanup(granary_command, self, 'down', '--instance', instance)
        environment = {'GRANARY_INSTANCE': instance}
        before = Cluster(1, environment=environment, nodes=False)
        self.addCleanup(before.close)
        ran = os.path.join(before.directory, '..', f'ran-{os.getpid()}')
        self.addCleanup(lambda: os.path.exists(ran) and os.unlink(ran))
        zero = stage('zero', {'out': {'op': 'exec', 'command': ['echo', 'a']}})
        one = stage('one', {'in': {'op': 'object'}, 'out': {'op': 'exec', 'command': ['sh', '-c', f'echo x >> {ran}; cat'], 'inputs': ['in']}},
                    inputs={'in': ('zero', 'all')})
        given = _plan.Plan.of(plan(zero, one, kind='objects'))
        futures = _drive.run(before.client, given)
        before.scheduler.kill()
        before.workers['n1'].wait(60)
        after = Cluster(1, environment=environment, nodes=False)
        self.addCleanup(after.close)
        again = _drive.run(after.client, given)
        self.assertEqual(_results.without(after.client, again['result']), [b'a\n'])
        self.assertEqual(pathlib.Path(ran).read_text(), 'x\n', 'it ran once')
        del futures, again


class Refused(unittest.TestCase):
    """Workers that cannot be nodes."""

    def test_another_version_and_no_instance(self):
        cluster = Cluster(1, nodes=False)
        self.addCleanup(cluster.close)
        fake = os.path.join(cluster.directory, 'other', 'granary')
        os.makedirs(os.path.join(fake, 'dask'))
        for name, text in (('__init__', ''), ('_granary', 'VERSION = "9.9"'), ('dask/__init__', ''), ('dask/_plan', 'FORMAT = 1')):
            pathlib.Path(fake, name + '.py').write_text(text)
        cluster.add('other', PYTHONPATH=os.path.dirname(fake))
        other = cluster.address('other')
        with self.assertRaisesRegex(granary.VersionMismatch, f'node {other} .* has granary 9.9, and the plan is of granary'):
            granary.dask.start_nodes(cluster.client)
        cluster.workers['other'].terminate()
        cluster.workers['other'].wait()
        until(lambda: len(cluster.client.scheduler_info()['workers']) == 1)
        cluster.add('nowhere', '--preload', 'granary.dask', GRANARY_INSTANCE=os.path.join(cluster.directory, 'down'))
        self.assertNotEqual(cluster.workers['nowhere'].wait(60), 0)
        self.assertIn('is refused as a node', cluster.log())
        cluster.add('preloaded', '--preload', 'granary.dask')
        self.assertTrue(cluster.on('preloaded', lambda node: node.private))
        self.assertTrue(processes(cluster.on('preloaded', lambda node: node.session.instance)))

    def test_asked_by_another_program(self):
        """A worker that comes after another program has asked something has an instance as start_nodes() said, also with none up here."""
        cluster = Cluster(1, environment={'GRANARY_INSTANCE': 'no-such-instance'})
        self.addCleanup(cluster.close)
        with Client(scheduler_file=cluster.file, timeout=PATIENCE_S) as other:
            granary.dask.sql(other, 'SELECT 1 AS one')
        cluster.add('later')
        self.assertTrue(cluster.on('later', lambda node: node.private))
        self.assertEqual(granary.dask.sql(cluster.client, 'SELECT 1 AS one').to_dict('list'), {'one': [1]})

    def test_no_scheduler(self):
        done = subprocess.run([os.path.join(BIN, 'granary'), 'sql', '--on', 'dask:tcp://127.0.0.1:1', 'SELECT 1'], capture_output=True, text=True,
                              env={**os.environ, 'GRANARY_DASK_PATIENCE': '1s'})
        self.assertEqual((done.returncode, done.stdout), (3, ''), done.stderr)
        self.assertIn('tcp://127.0.0.1:1', done.stderr)


def _let_go(keys, dask_scheduler):
    """Tasks may run anywhere from now on."""
    for key in keys:
        dask_scheduler.tasks[key].loose_restrictions = True


def _takes_nothing_new(address, dask_scheduler):
    """What is to run goes to other workers."""
    from distributed.core import Status

    dask_scheduler.handle_worker_status_change(Status.paused, dask_scheduler.workers[address], 'test')


def _waits(node):
    """From now on fragments wait here."""
    node.gate = threading.Event()
    honest = node._compute
    node.honest = honest

    def compute(*arguments):
        node.gate.wait()
        return honest(*arguments)
    node._compute = compute


def _waits_no_more(node):
    node._compute = node.honest
    node.gate.set()


def _directory():
    import tempfile

    return tempfile.TemporaryDirectory(prefix='granary-dask-node-')


def granary_command(test, *words):
    done = subprocess.run([os.path.join(os.environ['GRANARY_BIN'], 'granary'), *words], capture_output=True, text=True)
    test.assertEqual(done.returncode, 0, done.stderr)


def _halves(node, then):
    """Of the next answer half is sent, and then something happens."""
    import socket

    server = node.server
    honest = server._answer

    def answer(one, *wanted):
        server._answer = honest
        ours, theirs = socket.socketpair()

        def pump():
            got = 0
            while some := theirs.recv(4096):
                one.sendall(some)
                got += len(some)
                if got > 4000000:
                    then()
                    break
            theirs.close()

        thread = threading.Thread(target=pump)
        thread.start()

        class Half:
            sendall = ours.sendall
            fileno = ours.fileno
        try:
            honest(Half, *wanted)
        finally:
            ours.close()
            thread.join()
    server._answer = answer


def _dies_in_the_middle(node):
    _halves(node, lambda: os._exit(9))


def _kills_its_peer(node, pid):
    _halves(node, lambda: os.kill(pid, signal.SIGKILL))


if __name__ == '__main__':
    unittest.main(verbosity=2)
