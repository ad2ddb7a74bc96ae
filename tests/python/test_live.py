"""Live queries: results as tables grow, how they were made, other processes, ends, waits, asyncio."""
import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

import numpy as np

from package_test import BIN, PackageTest, granary

ENV = {**os.environ, 'PYTHONPATH': os.path.join(os.path.dirname(BIN), 'python')}
GROUPS = 'SELECT k, sum(x) AS n FROM t GROUP BY k ORDER BY k'


class Lives(PackageTest):
    def setUp(self):
        self.table = self.session.create_table('t', {'k': 'string', 'x': 'int64'})
        self.addCleanup(self.drop)

    def drop(self):
        try:
            self.session.table('t').drop()
        except granary.NotFound:
            pass
        self.table.close()

    def test_groups(self):
        self.table.append({'k': ['a', 'b', 'a'], 'x': [1, 2, 3]})
        with granary.live(GROUPS) as live:
            self.assertEqual(live.kind, 'groups')
            first = live.next(30)
            self.assertEqual(first.to_dict(), {'k': ['a', 'b'], 'n': [4, 2]})
            self.assertEqual((first.anew, first.added, first.rows_read), (True, False, 3))
            self.assertEqual(self.table.read(first.time).to_numpy()['x'].tolist(), [1, 2, 3])
            with self.assertRaises(TimeoutError):
                live.next(0.05)
            at = self.table.append({'k': ['c', 'a'], 'x': [5, 10]})
            second = live.next(30)
            self.assertEqual((second.to_dict(), second.anew, second.rows_read), ({'k': ['a', 'b', 'c'], 'n': [14, 2, 5]}, False, 2))
            self.assertGreaterEqual(second.time, at)
            self.table.update([self.table.read().numbers[0]], {'x': 100})
            third = live.next(30)
            self.assertEqual((third.to_dict()['n'], third.anew), ([113, 2, 5], True))
            self.assertEqual(first.to_dict(), {'k': ['a', 'b'], 'n': [4, 2]})  # results stay
            self.assertEqual(third.lazy().filter('n > 10').collect().to_pandas()['k'].tolist(), ['a'])
        with self.assertRaisesRegex(ValueError, 'closed'):
            live.next(0)
        self.assertEqual(len(first), 2)

    def test_kinds(self):
        self.table.append({'k': ['a', 'b'], 'x': [1, 2]})
        for sql, kind in ((GROUPS, 'groups'), ('SELECT x * 2 AS y FROM t WHERE x > 1', 'rows'), ('SELECT median(x) AS m FROM t', 'whole')):
            with self.session.live(sql) as live:
                self.assertEqual(live.kind, kind)
                self.assertTrue(live.next(30).anew)
        with self.session.live('SELECT x * 2 AS y FROM t WHERE x > 1') as live:
            self.assertEqual(live.next(30).to_dict(), {'y': [4]})
            self.table.append({'k': ['c', 'd'], 'x': [0, 7]})
            result = live.next(30)
            self.assertEqual((result.to_dict(), result.added), ({'y': [14]}, True))
        with self.session.live('SELECT x FROM t WHERE x > 100') as live:
            empty = live.next(30)
            self.assertEqual((len(empty), empty.to_dict(), empty.to_pandas().shape), (0, {'x': []}, (0, 1)))

    def test_end(self):
        self.table.append({'k': ['a'], 'x': [1]})
        live = self.session.live(GROUPS)
        results = iter(live)
        self.assertEqual(next(results).to_dict()['n'], [1])
        self.table.append({'k': ['a'], 'x': [1]})
        self.table.seal()
        self.assertEqual([one.to_dict()['n'] for one in results][-1], [2])
        with self.assertRaises(granary.Sealed):
            live.next(1)
        live.close()

    def test_errors(self):
        for bad, kind in (('SELECT nope FROM t', granary.Error), ('SELECT 1 FROM', granary.Error), ('SELECT * FROM never', granary.Error),
                          ('DELETE FROM t', granary.Error)):
            with self.assertRaises(kind):
                self.session.live(bad).next(30)
        self.table.append({'k': ['a'], 'x': [1]})
        live = self.session.live(GROUPS)
        live.next(30)
        self.table.drop()
        with self.assertRaises((granary.WrongState, granary.NotFound)):
            live.next(30)
        live.close()

    def test_other_process(self):
        text = (f'import granary\ns = granary.connect({self.session.instance!r}, {self.session.session!r})\nt = s.table("t")\n'
                'for i in range(200): t.append({"k": [str(i % 3)], "x": [i]})\nt.seal()\n')
        writer = subprocess.Popen([sys.executable, '-c', text], env=ENV)
        last, times = None, []
        with self.session.live(GROUPS) as live:
            for result in live:
                total = int(np.sum(result['n'])) if len(result) else 0
                if last is not None:
                    self.assertGreaterEqual(total, last)
                last = total
                times.append(result.time)
        self.assertEqual((last, times), (19900, sorted(times)))
        self.assertEqual(writer.wait(30), 0)

    def test_killed(self):
        """A program that is killed while a step is under way leaves nothing: no rows for the step, no graph, no result."""
        text = (f'import granary\ns = granary.connect({self.session.instance!r}, {self.session.session!r})\n'
                f'live = s.live({GROUPS!r})\nlive.next(30)\nprint("first", flush=True)\nlive.next()\n')
        executors = [one['pid'] for one in self.session.info('executors')]
        self.table.append({'k': ['a'], 'x': [1]})
        before = self.session.stat()['objects']
        watcher = subprocess.Popen([sys.executable, '-c', text], env=ENV, stdout=subprocess.PIPE, text=True)
        self.assertEqual(watcher.stdout.readline(), 'first\n')
        try:
            for pid in executors:
                os.kill(pid, signal.SIGSTOP)
            self.table.append({'k': ['b'], 'x': [2]})
            self.until(lambda: any(one['state'] == 'running' for one in self.session.info('graphs')))
        finally:
            watcher.kill()
            watcher.communicate()
            for pid in executors:
                os.kill(pid, signal.SIGCONT)
        self.until(lambda: not self.session.info('graphs') and self.session.stat()['objects'] <= before)

    def test_key_taken(self):
        """A graph of an earlier step that could not be deleted, for want of a scheduler, does not stop the next one."""
        self.table.append({'k': ['a'], 'x': [1]})
        with self.session.live(GROUPS) as live:
            live.next(30)
            for key in [one['key'] for one in self.session.info('graphs')]:
                label = key.split('-')[0]
                for name in ('input', 'result', 'groups', 'more-groups'):
                    if f'{label}-{name}' not in [one['key'] for one in self.session.info('graphs')]:
                        subprocess.run([os.path.join(BIN, 'granary'), 'run', '-', '--keep', f'{label}-{name}', '--instance',
                                        self.session.instance, '--session', self.session.session or 'default'], text=True, check=True,
                                       input='{"nodes": {"a": {"op": "arange", "stop": 3}}}', stdout=subprocess.DEVNULL)
            self.table.append({'k': ['a'], 'x': [2]})
            self.assertEqual(live.next(30).to_dict(), {'k': ['a'], 'n': [3]})

    def test_not_deleted(self):
        """A step's rows do not come twice when its graph could not be deleted, for want of a scheduler."""
        with open(os.path.join(self.session.instance, 'instance.json'), encoding='utf-8') as file:
            pids = json.load(file)
        with self.session.live('SELECT x FROM t WHERE x >= 0') as live:
            for x in (1, 2):
                self.table.append({'k': ['a'], 'x': [x]})
                self.assertEqual(live.next(30).to_dict(), {'x': [x]})
            os.kill(pids['supervisor_pid'], signal.SIGSTOP)
            # A client waits five seconds for the next scheduler. Then the graph is given up, and the step waits for one, too.
            timer = threading.Timer(7.5, os.kill, (pids['supervisor_pid'], signal.SIGCONT))
            timer.start()
            os.kill(pids['sched_pid'], signal.SIGKILL)
            self.table.append({'k': ['a'], 'x': [3]})
            try:
                result = live.next(60)
            except granary.Unreachable:  # on a busy machine: then all are read
                timer.join()
                result = live.next(60)
            timer.join()
            self.assertEqual(result.to_dict(), {'x': [1, 2, 3] if result.anew else [3]})

    def until(self, condition):
        deadline = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), deadline, (self.session.info('graphs'), self.session.stat()['objects']))
            time.sleep(0.02)

    def test_signal_and_threads(self):
        def interrupt(number, frame):
            raise InterruptedError('by hand')

        self.table.append({'k': ['a'], 'x': [1]})
        live = self.session.live(GROUPS)
        live.next(30)
        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            with self.assertRaisesRegex(InterruptedError, 'by hand'):
                signal.setitimer(signal.ITIMER_REAL, 0.05)
                live.next()
        finally:
            signal.signal(signal.SIGALRM, before)

        def wait():
            while True:
                with contextlib.suppress(RuntimeError):  # this thread's turn may come first, for a moment
                    return live.next(60)

        waiter = threading.Thread(target=wait)
        waiter.start()
        with self.assertRaisesRegex(RuntimeError, 'another thread'):
            while True:
                with contextlib.suppress(TimeoutError):
                    live.next(0)
                time.sleep(0.01)
        self.table.append({'k': ['a'], 'x': [1]})
        waiter.join()
        live.close()

    def test_asyncio(self):
        async def main():
            got = []
            asyncio.get_running_loop().slow_callback_duration = 60  # what the test calls blocks
            live = self.session.live(GROUPS)
            self.table.append({'k': ['a'], 'x': [1]})
            async for result in live:
                got.append(result.to_dict()['n'])
                if got[-1] == [1]:
                    asyncio.get_running_loop().call_later(0.3, lambda: self.table.append({'k': ['a'], 'x': [4]}))
                elif not self.table.sealed:
                    self.table.seal()
            live.close()
            return got

        got = asyncio.run(asyncio.wait_for(main(), 60))
        self.assertEqual((got[0], got[1], got[-1]), ([1], [5], [5]))


if __name__ == '__main__':
    unittest.main()
