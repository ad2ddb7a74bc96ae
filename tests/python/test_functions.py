"""Functions in the pool: Executor, remote(), map_chunk, and all that can go wrong with a call."""
import asyncio
import collections
import concurrent.futures
import gc
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
import warnings
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pandas as pd

import functions_for_tests as f
from package_test import BIN, PackageTest, granary
from granary import _lanes

PATIENCE_S = 60


class Executors(PackageTest):
    def setUp(self):
        self.pool = granary.Executor()
        self.addCleanup(self.pool.shutdown)

    def test_calls(self):
        self.assertEqual(self.pool.submit(f.add, 3, b=4).result(), 7)
        self.assertEqual(self.pool.submit(lambda x: x * 2, 21).result(), 42)
        self.assertNotEqual(self.pool.submit(f.pid).result(), os.getpid())
        self.assertEqual(list(self.pool.map(f.add, range(10000))), list(range(1, 10001)))
        self.assertEqual(list(self.pool.map(f.add, [1, 2], [3, 4], chunksize=1)), [4, 6])
        futures = [self.pool.submit(f.add, i) for i in range(500)]
        self.assertEqual([one.result() for one in concurrent.futures.as_completed(futures)].__len__(), 500)

    def test_slots_are_kept(self):
        pids = {self.pool.submit(f.pid).result() for _ in range(20)}
        self.assertLessEqual(len(pids), 2)

    def test_exceptions(self):
        with self.assertRaisesRegex(ValueError, 'bad row') as told:
            self.pool.submit(f.fail, 'bad row').result()
        self.assertIn("raise ValueError(text)", str(told.exception.__cause__))
        with self.assertRaises(SystemExit):
            self.pool.submit(f.end).result()
        with self.assertRaises(RecursionError):
            self.pool.submit(f.recurse).result()
        with self.assertRaises(TypeError):
            self.pool.submit(f.unpicklable).result()
        with self.assertRaises((f.Picky, RuntimeError, BrokenProcessPool)):
            self.pool.submit(f.picky).result()
        with self.assertRaises(TypeError):
            self.pool.submit(f.add, __import__('threading').Lock()).result()
        with self.assertRaisesRegex(BrokenProcessPool, 'an argument .*: ValueError: not here') as told:
            self.pool.submit(f.add, f.Unreadable()).result()
        self.assertIsInstance(told.exception.__cause__, ValueError)
        self.assertEqual(self.pool.submit(f.add, 1).result(), 2)
        given = self.pool.map(f.fail, ['a'] * 5)
        with self.assertRaisesRegex(ValueError, 'a'):
            next(given)

    def test_deaths(self):
        """A call whose process ends fails, and no other one."""
        for fault, words in (((f.leave, 3), 'exit status 3'), ((f.crash,), 'signal 11')):
            futures = [self.pool.submit(f.add, i) for i in range(20)] + [self.pool.submit(*fault)] + [self.pool.submit(f.add, i) for i in range(20)]
            with self.assertRaisesRegex(granary.SlotDied, words):
                futures[20].result()
            self.assertEqual([one.result() for i, one in enumerate(futures) if i != 20], list(range(1, 21)) * 2)

    def test_death_before_the_first_call(self):
        """A slot that ends between its call and the answer to it is replaced."""
        lend, failed = _lanes._lend_output, []

        def fail_once(sock):
            if not failed:
                failed.append(True)
                raise BrokenPipeError('gone')
            lend(sock)

        with unittest.mock.patch.object(_lanes, '_lend_output', fail_once), granary.Executor(1) as pool:
            self.assertEqual(pool.submit(len, 'abc').result(60), 3)
        self.assertEqual(failed, [True])

    def test_memory(self):
        with granary.Executor(max_workers=1, memory=200 << 20) as small:
            with self.assertRaisesRegex(granary.SlotDied, 'private memory'):
                small.submit(f.eat).result()
            self.assertEqual(small.submit(f.add, 1).result(), 2)

    def test_fork(self):
        self.assertEqual(self.pool.submit(f.fork).result(), 0)
        self.assertEqual(self.pool.submit(f.add, 1).result(), 2)

    def test_output(self):
        """Prints of an Executor's calls come where its program prints, and tracebacks do not; those of remote() are in the log."""
        self.assertEqual(granary.remote(f.talk).submit(200000).result(), 200000)  # 20 MB, of which 16 are kept
        text = ('import functions_for_tests as f, granary\ngranary.connect(%r)\npool = granary.Executor(1)\n'
                'pool.submit(f.talk, 2).result(); pool.submit(f.fail, "x").exception(); pool.submit(f.mutter, "aside").result()\n'
                'pool.shutdown(); print("end")' % self.session.instance)
        environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path[:2])}
        done = subprocess.run([sys.executable, '-c', text], capture_output=True, text=True, timeout=60, env=environment)
        self.assertEqual((done.stdout, done.stderr), ('x' * 99 + '\n' + 'x' * 99 + '\nend\n', 'aside\n'))
        done = subprocess.run(['sh', '-c', 'exec "$0" -c "$1" >&-', sys.executable, text], stderr=subprocess.PIPE, timeout=60, env=environment)
        self.assertEqual((done.stderr, done.returncode), (b'', 0))  # it has no output to lend

    def test_arrays(self):
        big = self.session.put(np.ones(1000000)).get()
        self.assertEqual(self.pool.submit(f.total, big).result(), (1000000.0, False))
        for size in (1000, 500000):
            plain = np.ones(size)
            self.assertEqual(self.pool.submit(f.total, plain).result(), (size, True))
            back = self.pool.submit(f.bump, plain).result()  # a copy of it
            back += 1  # and a copy of that
            self.assertEqual((plain.sum(), back.sum()), (size, size * 3))
        plain.flags.writeable = False
        self.assertEqual(self.pool.submit(f.total, plain).result(), (500000.0, False))
        back = self.pool.submit(f.frozen, 500000).result()
        self.assertEqual((back.sum(), back.flags.writeable), (500000.0, False))
        stat = self.session.stat()
        self.assertGreaterEqual(stat['sealed_bytes'] + stat['retiring_bytes'], back.nbytes)  # what it lies in
        del back

    def test_larger_than_the_store(self):
        """What the store has no room for goes past it."""
        with granary.up(executors=1, memory='32M'), granary.Executor(1) as pool:
            made = pool.submit(f.bump, np.zeros(5 << 20)).result()
            self.assertEqual((made.sum(), made.flags.writeable), (5 << 20, True))

    def test_nothing_stays(self):
        """Functions, arguments and results leave nothing in the store, also when the process that called is killed."""
        code = (f'import sys; sys.path[:0] = {sys.path!r}; import granary, numpy as np, os, signal, pandas as pd\n'
                f'session = granary.connect({self.session.instance!r})\n'
                'plan = granary.from_pandas(pd.DataFrame({"a": [1, 2]}))\n'
                'frame = session.put(pd.DataFrame({"a": [1, 2]}))\n'
                'data = np.ones(300000)\n'
                'with granary.Executor(2) as pool:\n'
                '    assert list(pool.map(lambda x: (x + data).sum(), [data] * 4)) == [600000.0] * 4\n'
                '    assert granary.remote(lambda x: x.sum()).submit(data).result() == 300000.0\n'
                '    pool.submit(lambda x: np.ones(len(x)), data).result()\n'
                '    os.kill(os.getpid(), signal.SIGKILL)\n')
        def there():
            return {one['id'] for one in self.session.objects() if one['state'] != 'deleting'}

        self.assertEqual(self.pool.submit(len, 'abc').result(), 3)  # the library that runs slots stays
        gc.collect()
        before = there()
        done = subprocess.run([sys.executable, '-W', 'ignore', '-c', code], stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr)
        with self.session.events(['delete']) as events:
            while left := there() - before:
                try:
                    events.next(30)
                except granary.TimedOut:
                    self.fail(f'left: {[one for one in self.session.objects() if one["id"] in left]}')

    def test_captured(self):
        data = np.ones(1 << 18)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter('always')
            self.assertEqual(self.pool.submit(lambda: data.sum()).result(), 1 << 18)
        self.assertIn('takes 2 MiB of captured data', str(told[0].message))

    def test_initializer(self):
        with granary.Executor(max_workers=2, initializer=os.putenv, initargs=('X', '1'), environment={'GIVEN': 'yes'}) as pool:
            self.assertEqual(pool.submit(os.getenv, 'GIVEN').result(), 'yes')
        with granary.Executor(max_workers=1, initializer=f.fail, initargs=('no start',)) as pool:
            with self.assertRaisesRegex(BrokenProcessPool, 'no start'):
                pool.submit(f.add, 1).result()
            with self.assertRaisesRegex(BrokenProcessPool, 'no start'):
                pool.submit(f.add, 1)
        with granary.Executor(max_workers=1, max_tasks_per_child=2) as pool:
            pids = [pool.submit(f.pid).result() for _ in range(6)]
            self.assertEqual([pids.count(one) for one in dict.fromkeys(pids)], [2, 2, 2])

    def test_shutdown(self):
        pool = granary.Executor(max_workers=1)
        with tempfile.TemporaryDirectory() as directory:
            first, *rest = [pool.submit(f.until, directory + '/go') for _ in range(10)]
            while not first.running():
                time.sleep(0.01)
            pool.shutdown(wait=False, cancel_futures=True)
            self.assertTrue(all(one.cancelled() for one in rest[2:]))
            open(directory + '/go', 'w').close()
            self.assertIsNone(first.result())
            concurrent.futures.wait(rest)
        with self.assertRaises(RuntimeError):
            pool.submit(f.add, 1)
        for bad in (dict(max_workers=0), dict(initializer=3), dict(environment={'A': 'x\ny'})):
            with self.assertRaises((ValueError, TypeError)):
                granary.Executor(**bad)

    def test_graphs_get_their_turn(self):
        """Lanes give executors back: a frame is computed while calls go on."""
        over = threading.Event()

        def call_on():
            waiting = collections.deque(self.pool.submit(time.sleep, 0.05) for _ in range(50))
            while not over.is_set():  # so many are always to do
                waiting.popleft().result()
                waiting.append(self.pool.submit(time.sleep, 0.05))
            concurrent.futures.wait(waiting)

        caller = threading.Thread(target=call_on)
        caller.start()
        try:
            frame = granary.from_pandas(pd.DataFrame({'v': [1., 2.]})).select(granary.col('v').sum().alias('v')).collect()
        finally:
            over.set()
            caller.join()
        self.assertEqual(frame.to_dict(), {'v': [3.0]})

    def test_a_lane_that_is_not_heard(self):
        """Its process was stopped before it said which one it is. Another lane takes the calls."""
        heard = []

        def is_own(sock):
            heard.append(sock)
            return len(heard) > 1

        with unittest.mock.patch.object(_lanes.wire, 'is_own', is_own), granary.Executor(1) as pool:
            self.assertEqual(pool.submit(f.add, 1, b=2).result(PATIENCE_S), 3)
        self.assertEqual(len(heard), 2)

    def test_forked_child(self):
        """A child that is forked beside a pool's threads ends, and has pools of its own."""
        self.pool.submit(f.add, 1).result()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                try:
                    self.pool.submit(f.add, 1)
                except RuntimeError:
                    status = 2
                with granary.Executor(max_workers=1) as pool:
                    status = 0 if status == 2 and pool.submit(f.add, 1).result() == 2 else 3
                threading._shutdown()
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(self.pool.submit(f.add, 1).result(), 2)
        with concurrent.futures.ProcessPoolExecutor(2) as other:
            self.assertEqual(list(other.map(f.add, range(10))), list(range(1, 11)))

    def test_program_end(self):
        """What was submitted is run, and the process ends; so it does without anything."""
        text = ('import granary, functions_for_tests as f\ngranary.connect(%r)\npool = granary.Executor()\n'
                'future = pool.submit(f.add, 1)\nfuture.add_done_callback(lambda one: print(one.result()))' % self.session.instance)
        done = subprocess.run([sys.executable, '-c', text], capture_output=True, text=True, timeout=60,
                              env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path[:2])})
        self.assertEqual((done.stdout, done.stderr), ('2\n', ''))

    def test_isolated(self):
        """Interpreters that heed no PYTHONPATH have slots, too, with the same flags."""
        text = ('import sys\nsys.path[:0] = %r\nimport granary, functions_for_tests as f\ngranary.connect(%r)\n'
                'with granary.Executor(1) as pool: print(pool.submit(f.flags).result())' % (sys.path[:2], self.session.instance))
        for flag, wanted in (('-I', (1, 1)), ('-E', (0, 1))):
            done = subprocess.run([sys.executable, flag, '-c', text], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.stdout, done.stderr), (f'{wanted}\n', ''))


class Others(PackageTest):
    """What stands on executors."""

    @unittest.skipUnless(importlib.util.find_spec('joblib'), 'joblib is not installed')
    def test_joblib(self):
        import joblib
        granary.register_joblib()
        big = self.session.put(np.ones(100000)).get()
        with joblib.parallel_backend('granary'):
            self.assertEqual(joblib.Parallel(n_jobs=-1)(joblib.delayed(f.add)(i) for i in range(1000)), list(range(1, 1001)))
            self.assertEqual(joblib.Parallel(n_jobs=2)(joblib.delayed(f.total)(big) for _ in range(3)), [(100000.0, False)] * 3)
            with self.assertRaisesRegex(ValueError, 'a bad row'):
                joblib.Parallel(n_jobs=2)(joblib.delayed(f.fail)('a bad row') for _ in range(10))
            self.assertEqual(joblib.Parallel(n_jobs=2)([joblib.delayed(f.add)(1)]), [2])

    @unittest.skipUnless(importlib.util.find_spec('dask'), 'dask is not installed')
    def test_dask(self):
        import dask.array
        with granary.Executor() as pool, dask.config.set(scheduler=pool):
            x = dask.array.arange(100000, chunks=10000)
            self.assertEqual(int((x + 1).sum().compute()), 5000050000)


@granary.remote
def plus(a, b=1):
    return a + b


class Remote(PackageTest):
    def test_calls(self):
        self.assertEqual(plus(1), 2)  # here
        self.assertEqual(plus.submit(1, b=2).result(), 3)
        first = plus.submit(1)
        self.assertEqual(plus.submit(first, b=plus.submit(first)).result(), 5)
        self.assertEqual([one.result() for one in plus.map([1, 2, 3])], [2, 3, 4])
        large = np.ones(100000)
        self.assertEqual(plus.submit(large).result().sum(), 200000)

    def test_await(self):
        async def main():
            return await plus.submit(1) + sum(await asyncio.gather(*plus.map(range(10))))

        self.assertEqual(asyncio.run(main()), 57)

    def test_retries(self):
        with tempfile.TemporaryDirectory() as directory:
            self.assertEqual(granary.remote(retries=1)(f.second).submit(directory + '/a').result(), 'done')
            with self.assertRaisesRegex(RuntimeError, 'not yet'):
                granary.remote(f.second).submit(directory + '/b').result()
        with self.assertRaises(granary.SlotDied):
            granary.remote(retries=2)(f.crash).submit().result()

    def test_limits(self):
        with tempfile.TemporaryDirectory() as directory:
            with self.assertRaisesRegex(TimeoutError, 'limit is 0.5 s'):
                granary.remote(timeout=0.5)(f.spin).submit(directory + '/pid').result()
            with self.assertRaisesRegex(MemoryError, 'private memory'):
                granary.remote(memory=200 << 20)(f.eat).submit().result()
            with self.assertRaisesRegex(TypeError, "no option 'retry'"):
                granary.remote(retry=1)

    def test_cancel(self):
        with tempfile.TemporaryDirectory() as directory:
            path = directory + '/pid'
            future = granary.remote(f.spin).submit(path)
            while not os.path.exists(path):
                time.sleep(0.01)
            self.assertTrue(future.cancel())
            with self.assertRaises(concurrent.futures.CancelledError):
                future.result(30)

    def test_failed_argument(self):
        with self.assertRaisesRegex(ValueError, 'first'):
            plus.submit(granary.remote(f.fail).submit('first')).result()


class Chunks(PackageTest):
    def setUp(self):
        self.frame = granary.from_pandas(pd.DataFrame({'k': ['a', None, 'b', 'a'], 'v': [1., 2., 3., 4.], 'i': [1, 2, 3, 4]}), pieces=2)

    def test_pandas(self):
        made = self.frame.map_chunk(lambda d, by: d.assign(h=d.v / by), 2, columns={'h': 'float64'}).collect().to_pandas()
        self.assertEqual(made.h.tolist(), [0.5, 1.0, 1.5, 2.0])
        self.assertEqual(made.k.tolist(), ['a', None, 'b', 'a'])
        few = self.frame.map_chunk(lambda d: d[d.v > 2], columns={}).collect().to_pandas()
        self.assertEqual((few.v.tolist(), few.k.tolist()), ([3.0, 4.0], ['b', 'a']))
        only = self.frame.map_chunk(lambda d: d[['i']] * 2, columns={'i': 'int32'}, only=True).collect()
        self.assertEqual((only.schema, only.to_dict()), ({'i': 'int32'}, {'i': [2, 4, 6, 8]}))

    def test_numpy(self):
        made = self.frame.filter('i > 1').map_chunk(lambda d: {'v': d['v'] * 10, 'odd': d['i'] % 2 == 1},
                                                    columns={'v': 'float64', 'odd': 'bool'}, kind='numpy').collect()
        self.assertEqual(made.to_dict()['v'], [20.0, 30.0, 40.0])
        self.assertEqual(made.to_dict()['odd'], [False, True, False])

    def test_faults(self):
        for function, columns, words in ((lambda d: d.assign(z=1), {}, "column 'z'.*does not declare"),
                                         (lambda d: 3, {'v': 'int64'}, 'DataFrame or a dict'),
                                         (lambda d: d, {'x': 'int64'}, "gives no column 'x'"),
                                         (lambda d: 1 / 0, {}, 'ZeroDivisionError')):
            with self.assertRaisesRegex(granary.Error, words):
                self.frame.map_chunk(function, columns=columns).collect()
        with self.assertRaisesRegex(granary.Error, 'signal 11'):
            self.frame.map_chunk(f.crash, columns={}).collect()
        with self.assertRaisesRegex(TypeError, "no parameter 'retry'"):
            self.frame.map_chunk(f.add, retry=1)


if __name__ == '__main__':
    unittest.main()
