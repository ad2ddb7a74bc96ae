"""`granary cluster status --on dask:ADDRESS`: a row for each worker, also for one that is stopped."""
import json
import os
import signal
import subprocess
import unittest

from cluster import BIN, ClusterTest
import granary


def status(address):
    return subprocess.run([os.path.join(BIN, 'granary'), 'cluster', 'status', '--json', '--on', f'dask:{address}'], capture_output=True, text=True)


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


if __name__ == '__main__':
    unittest.main()
