"""`granary cluster status` and `why --on dask:ADDRESS`: a row for each worker, also for one that is stopped; and what fragments wait for."""
import json
import os
import pathlib
import signal
import subprocess
import unittest

from cluster import BIN, PATIENCE_S, ClusterTest, in_thread, plan, stage, until
import granary


def command(what, address, *more):
    return subprocess.run([os.path.join(BIN, 'granary'), 'cluster', what, *more, '--on', f'dask:{address}'], capture_output=True, text=True)


def status(address):
    return command('status', address, '--json')


class Seen(ClusterTest):
    def test_rows(self):
        done = status(self.client.scheduler.address)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual({row['node'] for row in told['nodes']}, set(self.client.scheduler_info()['workers']))
        self.assertEqual({(row['version'], row['store'], row['executors'], row['memory_bytes'], row['trouble']) for row in told['nodes']},
                         {(granary.__version__, 'serving', 1, 128 << 20, '')})
        self.assertEqual(len({row['instance'] for row in told['nodes']}), 2)
        self.assertEqual((told['answered'], told['totals']['memory_bytes']), (2, 256 << 20))

    def test_a_stopped_worker(self):
        worker = self.cluster.workers['n1']
        silent = self.cluster.address('n1')
        worker.send_signal(signal.SIGSTOP)
        try:
            told = json.loads(status(self.client.scheduler.address).stdout)
        finally:
            worker.send_signal(signal.SIGCONT)
        rows = {row['node']: row for row in told['nodes']}
        self.assertIn('no answer', rows.pop(silent)['trouble'])
        self.assertEqual([row['trouble'] for row in rows.values()], [''])

    def test_no_scheduler(self):
        done = status('tcp://127.0.0.1:1')
        self.assertEqual(done.returncode, 3)
        self.assertIn("Dask's scheduler tcp://127.0.0.1:1: ", done.stderr)


class Why(ClusterTest):
    def setUp(self):
        super().setUp()
        self.address = self.client.scheduler.address

    def why(self, *more):
        done = command('why', self.address, '--json', *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        (run,) = json.loads(done.stdout)
        return run

    def test_what_runs_and_what_waits(self):
        gate, ran = (os.path.join(self.cluster.directory, name) for name in ('why-gate', 'why-ran'))
        os.mkfifo(gate)
        first = stage('first', {'out': {'op': 'exec', 'command': ['sh', '-c', f'echo x >> {ran}; read line < {gate}; echo a']}})
        last = stage('last', {'in': {'op': 'object'}, 'out': {'op': 'exec', 'command': ['cat'], 'inputs': ['in']}}, inputs={'in': ('first', 'all')})
        call = in_thread(granary.dask.run, self.client, plan(first, last, kind='objects'), timeout=PATIENCE_S)
        until(lambda: os.path.exists(ran), 'the first fragment')
        run = self.why()
        self.assertEqual((run['scheduler'], run['tasks'], run['done']), (self.address, 2, 0))
        facts = {one['code']: one for one in run['facts']}
        self.assertEqual((facts['running']['stage'], facts['running']['partition']), ('first', 0))
        self.assertIn(facts['running']['node'], self.client.scheduler_info()['workers'])
        self.assertRegex(facts['running']['text'], r'^stage first, partition 0 runs on tcp://[\d.:]+ for [\d.]+ s$')
        self.assertEqual(facts['input']['text'], 'stage last waits for stage first, of which 0 of 1 tasks are done')
        self.assertEqual((facts['inside']['stage'], facts['inside']['node']), ('first', facts['running']['node']))
        self.assertEqual({one['stage'] for one in self.why('last')['facts']}, {'last'})
        told = command('why', self.address)
        self.assertIn(f"Dask's scheduler {self.address}: 0 of 2 tasks are done\n  stage first, partition 0 runs on ", told.stdout)
        none = command('why', self.address, 'nosuch')
        self.assertEqual((none.returncode, none.stderr), (4, "granary: cluster why: 'nosuch' is no stage of those that go on\n"))
        pathlib.Path(gate).write_text('go\n')
        self.assertEqual([bytes(one) for one in call()['result']], [b'a\n'])

    def test_nothing_runs(self):
        until(lambda: not self.cluster.left())
        done = command('why', self.address)
        self.assertEqual((done.returncode, done.stderr), (4, f"granary: cluster why: no run goes on at Dask's scheduler {self.address}\n"))

    def test_a_second_try_and_a_gathered_stage(self):
        """What facts are found: from what Dask's scheduler has, without one."""
        from granary._why import Task, facts_of

        tasks = [Task('fragment-aa-0', 'one', 'memory', '', 0.0, '', []), Task('fragment-aa-1', 'one', 'processing', 'tcp://n1', 30.0, '', []),
                 Task('fragment-aa-1~copy', '', 'processing', 'tcp://n2', 1.0, '', []), Task('fragment-aa-2-9', 'one', 'queued', '', 0.0, '', []),
                 Task('fragment-aa-9', 'one', 'processing', 'tcp://n2', 0.0, '', []), Task('fragment-aa-10', 'one', 'processing', 'tcp://n3', 1.2, '', []),
                 Task('tickets-aa', '', 'waiting', '', 0.0, '', ['fragment-aa-1', 'fragment-aa-9']),
                 Task('fragment-bb-0', 'two', 'waiting', '', 0.0, '', ['tickets-aa']), Task('fragment-bb-1', 'two', 'erred', '', 0.0, 'no\tsuch file', []),
                 Task('fragment-of-somebody', '', 'processing', 'tcp://n1', 9.0, '', [])]
        facts = facts_of(tasks, {'tcp://n1': 31.4, 'tcp://n2': 0.1}, 100000)
        self.assertEqual([(one.code, one.text) for one in facts], [
            ('slow', 'stage one, partition 1 runs on tcp://n1 for 30 s, where others run for 1.2 s'),
            ('running', 'stage one, partition 1, a second time, runs on tcp://n2 for 1.0 s'),
            ('assigned', 'stage one, partition 9 waits for a thread of tcp://n2'),
            ('running', 'stage one, partition 10 runs on tcp://n3 for 1.2 s'),
            ('queue', 'stage one, partitions 2, 3, 4, 5, 6 and 2 more wait for a worker'),
            ('failed', 'stage two, partition 1 failed: no\tsuch file'),
            ('input', 'stage two waits for stage one, of which 1 of 6 tasks are done'),
            ('node', 'tcp://n1 has told nothing for 31 s')])
        self.assertEqual(facts[0].line(), 'fact slow\tone\t1\ttcp://n1\t70000\tstage one, partition 1 runs on tcp://n1 for 30 s, where others run for 1.2 s')
        self.assertEqual(facts[5].line().split('\t')[5], 'stage two, partition 1 failed: no such file')


if __name__ == '__main__':
    unittest.main()
