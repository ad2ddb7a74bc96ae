"""Channels: values there and back, other processes, deaths, waits, asyncio, and nothing left."""
import asyncio
import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import unittest

import numpy as np
import pandas as pd

from package_test import BIN, PackageTest, granary

ENV = {**os.environ, 'PYTHONPATH': os.path.join(os.path.dirname(BIN), 'python')}


class Channels(PackageTest):
    def setUp(self):
        self.before = self.count()

    def tearDown(self):
        for info in self.session.channels():
            self.session._client.channel_delete(info['name'])
        ends = time.monotonic() + 10
        while self.count() != self.before:
            self.assertLess(time.monotonic(), ends)
            time.sleep(0.01)

    def start(self, text, ready=True):
        """Another process with the session `s`; it says READY once it has begun."""
        head = f'import granary, time\ns = granary.connect({self.session.instance!r}, {self.session.session!r})\n'
        process = subprocess.Popen([sys.executable, '-c', head + text], env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), 'READY\n')
        return process

    def test_values(self):
        frame = pd.DataFrame({'x': [1, 2], 's': ['a', None]})
        with self.session.channel('c') as c:
            given = [b'', b'abc', bytearray(b'x' * 300000), None, {'a': [1, (2, 'ü')]}, np.arange(5.), np.arange(200000)]
            for one in given:
                c.put(one)
                back = c.get(5)
                if isinstance(one, np.ndarray):
                    np.testing.assert_array_equal(back, one)
                elif isinstance(one, (bytes, bytearray)):
                    self.assertEqual(bytes(back), bytes(one))
                else:
                    self.assertEqual(back, one)
            c.put(frame)
            self.assertEqual(c.get(5).to_dict(), {'x': [1, 2], 's': ['a', None]})
            ref = self.session.put(np.arange(1000))
            c.put(ref)
            c.put({'ref': ref})
            back = c.get(5)
            self.assertIsInstance(back, granary.SharedArray)
            c.done()
            self.assertEqual(back.sum(), 499500)
            self.assertEqual(c.get(5)['ref'], ref)
            del ref, back
            c.put(np.ones(100000))
            kept = c.get(5)
            c.put(b'next')
            self.assertEqual((c.get(5), kept.sum()), (b'next', 100000))
        with self.assertRaisesRegex(ValueError, 'closed'):
            c.get(0)

    def test_messages(self):
        c = self.session.channel('c')
        c.put('one')
        c.put('two')
        first, second = c.receive(1), c.receive(1)
        self.assertEqual((first.value, first.number, second.number, first.again, first.missed), ('one', 0, 1, False, 0))
        info = c.info
        self.assertEqual((info['messages'], info['broadcast'], info['sealed'], info['name']), (2, False, False, 'c'))
        self.assertEqual([one['name'] for one in self.session.channels()], ['c'])
        same = pickle.loads(pickle.dumps(c))
        same.put('three')
        self.assertEqual(c.get(1), 'three')
        same.close()
        c.close()

    def test_broadcast(self):
        c = self.session.channel('c', broadcast=True, ring_bytes=4096)
        readers = [self.session.channel('c').join(oldest=True) for _ in range(3)]
        looks = self.session.channel('c').observe()
        named = self.session.channel('c').join('name')
        for i in range(5):
            c.put(i)
        c.seal()
        for one in (*readers, named):
            self.assertEqual(list(one), list(range(5)))
            one.close()
        with self.assertRaises(granary.Sealed):
            c.put(1)
        self.assertIn(looks.get(5), range(5))
        looks.close()
        c.forget('name')
        with self.assertRaises(granary.NotFound):
            c.forget('name')
        with self.assertRaises(TypeError):
            self.session.channel('c', broadcast=False)
        c.close()

    def test_full(self):
        c = self.session.channel('c', ring_bytes=4096)
        with self.assertRaises(TimeoutError):
            for _ in range(100):
                c.put(b'x' * 500, 0.02)
        reader = threading.Timer(0.05, lambda: [c.get(1) for _ in range(3)])
        reader.start()
        c.put(b'last', 10)
        reader.join()
        for bad in (lambda: self.session.channel('d', ring_bytes=5), lambda: self.session.channel('d', objects=10**6), lambda: c.put(b'', -1)):
            with self.assertRaises(ValueError):
                bad()
        with self.assertRaises(TypeError):
            c.put(threading.Lock())
        c.close()

    def test_deleted(self):
        c = self.session.channel('c')
        threading.Timer(0.05, lambda: self.session.channel('c').drop()).start()
        with self.assertRaisesRegex(granary.WrongState, 'deleted'):
            c.get(10)
        with self.assertRaises(granary.WrongState):
            c.put(b'x', 1)
        c.close()
        self.session.put(b'x', 'c')
        with self.assertRaises(TypeError):
            self.session.channel('c')
        del self.session.names['c']

    def test_other_process(self):
        to, back = self.session.channel('to'), self.session.channel('back')
        echo = self.start("to, back = s.channel('to'), s.channel('back')\nprint('READY', flush=True)\n"
                          "for v in to: back.put(v)\nback.seal()\n")
        given = [*range(300), np.arange(100000), b'z' * 400000]
        for one in given:
            to.put(one)
        to.seal()
        got = list(back)
        self.assertEqual(got[:300], given[:300])
        self.assertEqual((got[300].sum(), bytes(got[301])), (given[300].sum(), given[301]))
        self.assertEqual(echo.wait(30), 0)
        del got
        to.close()
        back.close()

    def test_killed_reader(self):
        """The message that a reader died with goes to another one."""
        c = self.session.channel('c')
        reader = self.start("c = s.channel('c')\nprint('READY', flush=True)\nprint(c.get(), flush=True)\ntime.sleep(100)\n")
        c.put('first')
        self.assertEqual(reader.stdout.readline(), 'first\n')
        c.put('second')
        reader.kill()
        reader.wait()
        got = [c.receive(20) for _ in range(2)]
        self.assertEqual(sorted((m.value, m.again) for m in got), [('first', True), ('second', False)])
        c.close()

    def test_killed_writer(self):
        """What a put has returned from is there."""
        c = self.session.channel('c')
        writer = self.start("c = s.channel('c')\nprint('READY', flush=True)\n"
                            "for i in range(10**9):\n    c.put(i)\n    print(i, flush=True) if i == 200 else None\n")
        got = []
        while not got or got[-1] < 150:
            got.append(c.get(20))
        self.assertEqual(writer.stdout.readline(), '200\n')
        writer.kill()
        writer.wait()
        c.put('mine')
        c.done()
        while c.info['waiting']:
            got.append(c.get(20))
            c.done()
        got.remove('mine')
        self.assertGreater(len(got), 200)
        self.assertEqual(got, list(range(len(got))))
        c.close()

    def test_fork(self):
        c = self.session.channel('c')
        child = os.fork()
        if child == 0:
            status = 1
            try:
                c.put('of the child')
                status = 0
            finally:
                os._exit(status)
        self.assertEqual(c.get(20), 'of the child')
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        c.close()

    def test_signal(self):
        def interrupt(number, frame):
            raise InterruptedError('by hand')

        c = self.session.channel('c', ring_bytes=4096)
        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            for wait in (c.get, lambda: [c.put(b'x' * 1000) for _ in range(10)]):
                with self.assertRaisesRegex(InterruptedError, 'by hand'):
                    signal.setitimer(signal.ITIMER_REAL, 0.05)
                    wait()
        finally:
            signal.signal(signal.SIGALRM, before)
            c.close()

    def test_asyncio(self):
        """One thread an iterator; a step that was cancelled loses no message."""
        c = self.session.channel('c')

        async def main():
            steps = c.__aiter__()
            for _ in range(3):
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(steps.__anext__(), 0.02)
            c.put('a')
            c.put('b')
            c.put('c')
            got = [await asyncio.wait_for(steps.__anext__(), 10)]
            c.seal()
            got += [one async for one in steps]
            return got, [one.name for one in threading.enumerate() if 'granary-steps' in one.name]

        got, threads = asyncio.run(main())
        self.assertEqual(got, ['a', 'b', 'c'])
        self.assertLessEqual(len(threads), 1)
        ends = time.monotonic() + 10
        while any('granary-steps' in one.name for one in threading.enumerate()):
            self.assertLess(time.monotonic(), ends)
            time.sleep(0.01)
        c.close()
        gc.collect()

    def test_two_loops(self):
        """A message that came behind a cancelled step of one loop is the first one of the next."""
        c = self.session.channel('c')
        steps = c.__aiter__()

        async def first():
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(steps.__anext__(), 0.02)
            c.put('kept')

        async def second():
            return await asyncio.wait_for(steps.__anext__(), 10)

        asyncio.run(first())
        self.assertEqual(asyncio.run(second()), 'kept')
        asyncio.run(steps.aclose())
        c.close()

    def test_close(self):
        """A close by another thread ends a wait."""
        told = ''
        while 'closed by another thread' not in told:  # it may have been closed before
            c = self.session.channel('c')
            threading.Timer(0.05, c.close).start()
            with self.assertRaisesRegex(ValueError, 'closed') as raised:
                c.get(20)
            told = str(raised.exception)

    def test_threads(self):
        """One puts while another gets, through one handle."""
        c = self.session.channel('c', ring_bytes=4096)
        writer = threading.Thread(target=lambda: ([c.put(i) for i in range(3000)], c.seal()))
        writer.start()
        self.assertEqual(list(c), list(range(3000)))
        writer.join()
        c.close()


if __name__ == '__main__':
    unittest.main()
