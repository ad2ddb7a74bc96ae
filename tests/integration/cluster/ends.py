#!/usr/bin/env python3
"""What is left on a machine: after dask-worker was killed -9, after an instance was, and after a reboot. Nothing. Two simulated machines;
the first one's instance is its worker's own, the second one's is up before its worker."""
import os
import signal
import unittest

import nodes as base
from nodes import Nodes, machines, until


class Ends(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.machines = machines.Machines(2, shm='256M', environment=base.ENVIRONMENT)
        cls.enterClassContext(cls.machines)
        cls.nodes = Nodes(cls.machines, memory='96M')
        base.imported()
        cls.nodes.up()
        from distributed import Client

        cls.client = Client(cls.nodes.address, timeout=60)
        cls.addClassCleanup(lambda: cls.client.close())
        cls.rows = cls.machines.shared / 'rows.csv'
        cls.rows.write_text('\n'.join(['k,v', *(f'{i % 17},{i}' for i in range(5000)), '']), encoding='utf-8')

    def setUp(self):
        self.whole()

    def whole(self):
        """Both nodes are there."""
        def there():
            self.nodes.mend()
            return len(self.client.scheduler_info()['workers']) == 2
        until(there, lambda: 'the return of nodes: ' + self.machines.log(), 120)

    def answer(self, **options):
        """With a result that stays on a node until it is read."""
        import granary.dask

        text = f"SELECT k, count(*) AS n, sum(v) AS s FROM '{self.rows}' GROUP BY k ORDER BY k"
        rows = granary.dask.sql(self.client, text, 2, smallest=1, timeout=120, **options)
        self.assertEqual(len(rows), 17)
        self.assertEqual(int(rows['s'].sum()), 4999 * 2500)

    def nothing_left(self, node):
        def clean():
            return not node.leftovers(base.STAYS)
        until(clean, lambda: f'the end of {node.leftovers(base.STAYS)}')

    def struck(self, strike):
        """A query, in whose middle a node is struck."""
        told = []

        def progress(share):
            if not told:
                told.append(share)
                strike()
        self.answer(progress=progress)
        self.assertTrue(told)

    def test_a_worker_is_killed(self):
        """Its own instance ends with it."""
        node = self.machines.nodes[0]
        self.struck(self.nodes.workers[node.name].kill)
        self.nothing_left(node)

    def test_a_worker_of_another_instance_is_killed(self):
        """The instance stays, and has nothing of the worker's."""
        node = self.machines.nodes[1]
        self.struck(self.nodes.workers[node.name].kill)

        def empty():
            return [node.run(['granary', word, '--json']).stdout.strip() for word in ('ls', 'graphs')] == ['[]', '[]']
        until(empty, lambda: f'the end of {node.run(["granary", "ls"]).stdout}{node.run(["granary", "graphs"]).stdout}')
        self.assertEqual(self.nodes.strays(node), [])
        node.run(['granary', 'down'])
        self.nothing_left(node)

    def test_all_of_an_instance_is_killed(self):
        """The worker has nothing to offer then, and ends; what the instance had goes with the guard of the worker's own."""
        node = self.machines.nodes[0]

        def kill():
            for pids in self.nodes.daemons(node, ('granary', *base.DAEMONS)).values():
                for pid in pids:
                    os.kill(pid, signal.SIGKILL)
        self.struck(kill)
        until(lambda: self.nodes.workers[node.name].poll() is not None, 'the end of the worker')
        self.nothing_left(node)

    def test_a_machine_boots_again(self):
        """The answer comes without it; after the boot it is a node as before."""
        node = self.machines.nodes[1]
        self.struck(node.kill)
        node.boot()
        self.assertEqual(node.leftovers(), [])
        self.whole()
        self.answer()

    def test_in_order(self):
        """All is told to end."""
        self.answer()
        self.nodes.down()
        for node in self.machines.nodes:
            self.nothing_left(node)
        self.nodes.up()


if __name__ == '__main__':
    machines.isolate()
    unittest.main(verbosity=2)
