"""Forked children: what they inherit stays readable, however soon their parent drops it; they connect anew."""
import contextlib
import gc
import os
import pickle
import subprocess
import sys
import threading
import time
import unittest

import numpy as np

from package_test import BIN, PackageTest, granary


class Children(PackageTest):
    executors = 1
    memory = '256M'

    def retiring(self):
        """What only leases keep. Looks for children that have ended, as each new lease does."""
        gc.collect()
        self.session.view(self.looked_at)
        return self.session.stat()['retiring_bytes']

    def until(self, condition):
        ends = time.monotonic() + 20
        while not condition():
            self.assertLess(time.monotonic(), ends)
            time.sleep(0.01)

    def setUp(self):
        self.looked_at = self.session.put(b'')

    def tearDown(self):
        self.until(lambda: self.retiring() == 0)

    def fork(self, work):
        """A child that works once it is told. Returns what tells it, and gives what it returned, as text."""
        go, told = os.pipe(), os.pipe()
        pid = os.fork()
        if pid == 0:
            text = 'failed'
            try:
                os.close(go[1])
                os.read(go[0], 1)
                text = str(work())
            except BaseException as error:
                text = repr(error)
            finally:
                os.write(told[1], text.encode())
                os._exit(0)
        os.close(go[0])
        os.close(told[1])

        def finish():
            with contextlib.suppress(BrokenPipeError):  # it was killed
                os.write(go[1], b'x')
            text = os.read(told[0], 1000).decode()
            os.waitpid(pid, 0)
            os.close(go[1])
            os.close(told[0])
            return text

        finish.pid = pid
        return finish

    def overwrite(self):
        """Objects that would lie where others have gone."""
        for i in range(100):
            self.session.put(np.full(100000, i))

    # ---- what a child inherits ----

    def test_read(self):
        array = self.session.put(np.arange(1000)).get()
        view = self.session.view(self.session.put(b'inherited'))
        held = [array, view, array[3:]]

        def work():
            nonlocal array, view
            good = array.sum() == 499500 and bytes(view) == b'inherited'
            held.clear()
            del array, view
            gc.collect()
            return good

        self.assertEqual(self.fork(work)(), 'True')
        self.assertEqual((array.sum(), bytes(view)), (499500, b'inherited'))

    def test_parent_drops_it(self):
        """Arrays, parts, bytes and frames, of which the parent has nothing any more."""
        import pandas as pd

        n = 100000
        arrays = [self.session.put(np.arange(n)).get()[5:], self.session.view(self.session.put(b'b' * n))]
        arrays.append(self.session.put(pd.DataFrame({'x': np.arange(n)})).get()['x'])
        with self.session.empty(n, 'i8') as made:
            made[:] = 7
        arrays.append(made)

        def work():
            return [int(arrays[0].sum()), bytes(arrays[1]) == b'b' * n, int(arrays[2].sum()), int(arrays[3].sum())]

        finish = self.fork(work)
        arrays.clear()
        del made
        self.overwrite()
        self.assertGreaterEqual(self.retiring(), 16 * n)
        self.assertEqual(finish(), str([n * (n - 1) // 2 - 10, True, n * (n - 1) // 2, 7 * n]))
        self.until(lambda: self.retiring() == 0)

    def test_grandchild(self):
        """It reads on when its parent has gone."""
        array = self.session.put(np.arange(100000)).get()
        go, told = os.pipe(), os.pipe()
        pid = os.fork()
        if pid == 0:
            if os.fork() == 0:
                os.close(go[1])
                os.read(go[0], 1)
                os.write(told[1], b'y' if (array == np.arange(100000)).all() else b'n')
            os._exit(0)
        os.waitpid(pid, 0)
        del array
        self.overwrite()
        self.assertGreaterEqual(self.retiring(), 800000)
        os.write(go[1], b'x')
        self.assertEqual(os.read(told[0], 1), b'y')
        for fd in (*go, *told):
            os.close(fd)

    def test_killed(self):
        array = self.session.put(np.arange(100000)).get()
        finish = self.fork(lambda: 0)
        del array
        self.assertGreaterEqual(self.retiring(), 800000)
        os.kill(finish.pid, 9)
        self.until(lambda: self.retiring() == 0)
        finish()

    def test_several(self):
        """Each child has its own time."""
        array = self.session.put(np.arange(100000)).get()
        first = self.fork(lambda: int(array[-1]))
        second = self.fork(lambda: int(array[-1]))
        del array
        self.assertEqual(first(), '99999')
        self.overwrite()
        self.assertGreaterEqual(self.retiring(), 800000)
        self.assertEqual(second(), '99999')

    def test_after_the_fork(self):
        """What came later ends at once."""
        ref = self.session.put(b'o' * 100000)
        old = ref.get()
        finish = self.fork(lambda: bytes(old) == b'o' * 100000)
        new = self.session.put(b'n' * 100000).get()
        del new
        self.until(lambda: self.retiring() == 0)
        self.assertEqual(finish(), 'True')
        del old

    def test_threads(self):
        """Of two that fork at a time."""
        for _ in range(20):
            arrays = [self.session.put(np.arange(10000)).get()]
            found = []
            threads = [threading.Thread(target=lambda: found.append(self.fork(lambda: int(arrays[0].sum())))) for _ in range(3)]
            for one in threads:
                one.start()
            for one in threads:
                one.join()
            arrays.clear()
            self.assertEqual([finish() for finish in found], ['49995000'] * 3)

    def test_exec(self):
        """A child that executes another program keeps nothing."""
        view = self.session.put(b'e' * 100000).get()
        with subprocess.Popen(['/bin/sleep', '60'], preexec_fn=lambda: None) as process:
            del view
            self.until(lambda: self.retiring() == 0)
            process.kill()

    def test_no_descriptor(self):
        """A fork that cannot be watched keeps what there was, for ever; an instance of its own, for that."""
        text = ('import gc, os, resource, granary\n'
                'with granary.up(executors=1, memory="64M") as s:\n'
                '    view = s.put(b"x" * 100000).get()\n'
                '    limit = resource.getrlimit(resource.RLIMIT_NOFILE)\n'
                '    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limit[1]))\n'
                '    pid = os.fork()\n'
                '    if pid == 0: os._exit(0)\n'
                '    resource.setrlimit(resource.RLIMIT_NOFILE, limit)\n'
                '    os.waitpid(pid, 0)\n'
                '    del view\n'
                '    later = s.put(b"y" * 50000).get()\n'
                '    del later\n'
                '    gc.collect()\n'
                '    print(100000 <= s.stat()["retiring_bytes"])\n')
        self.assertEqual(self.program(text), 'True\n')

    def test_nothing_is_left(self):
        """No descriptor, of many children."""
        files = len(os.listdir('/proc/self/fd'))
        array = self.session.put(np.arange(10)).get()
        for _ in range(50):
            self.assertEqual(self.fork(lambda: int(array.sum()))(), '45')
        time.sleep(0.02)
        self.retiring()
        self.assertEqual(len(os.listdir('/proc/self/fd')), files)
        del array
        self.fork(lambda: 0)()
        self.assertEqual(len(os.listdir('/proc/self/fd')), files)

    def test_end_of_a_program(self):
        """An instance that goes down before the child ends, with a lease that waits for it."""
        text = ('import os, granary, time\n'
                'with granary.up(executors=1, memory="64M") as s:\n'
                '    view = s.put(b"x" * 100000).get()\n'
                '    pid = os.fork()\n'
                '    if pid == 0: time.sleep(0.3); os._exit(0 if bytes(view) == b"x" * 100000 else 3)\n'
                '    del view\n'
                'print(os.waitpid(pid, 0)[1])\n')
        self.assertEqual(self.program(text), '0\n')

    def program(self, text):
        done = subprocess.run([sys.executable, '-X', 'dev', '-c', text], env={**os.environ, 'PYTHONPATH': os.path.join(os.path.dirname(BIN), 'python')},
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return done.stdout

    # ---- what a child opens, and may not use ----

    def test_connections(self):
        client, ref = self.session._client, self.session.put("parent's")

        def work():
            try:
                client.get(ref.id)
                return 'an inherited client was used'
            except granary.Forked:
                client.close()
            good = self.session.get(ref) == "parent's" and self.session._client is not client
            self.session.put("child's", 'child')
            self.session.close()
            return good

        self.assertEqual(self.fork(work)(), 'True')
        self.assertEqual(self.session.get('child'), "child's")
        self.assertIs(self.session._client, client)
        del self.session.names['child']

    def test_streams(self):
        ref = self.session.put(b'0123456789')
        writer, reader, events, counter = self.session.writer(), self.session.reader(ref), self.session.events('seal'), self.session.counter('forked')
        writer.write(b'abc')
        buffer = self.session._client.create(granary._granary.id_random(), 10)

        def work():
            nonlocal writer, reader, events, buffer
            refused = 0
            for use in (lambda: writer.write(b'x'), lambda: reader.read(1), lambda: events.next(0), events.fileno):
                try:
                    use()
                except granary.Forked:
                    refused += 1
            counter.add(2)
            reader.close()
            events.close()
            writer.abort()
            del writer, reader, events, buffer
            gc.collect()
            return refused

        self.assertEqual(self.fork(work)(), '4')
        self.assertEqual(counter.get(), 2)
        writer.close()
        self.assertEqual((bytes(writer.ref.get()), reader.read(), events.next(20).id), (b'abc', b'0123456789', writer.ref.id))
        events.close()
        reader.close()
        buffer.abort()

    def test_references(self):
        """A child's end of a reference is nothing to the parent's."""
        ref = self.session.put({'a': 1})
        text = pickle.dumps(ref)

        def work():
            nonlocal ref
            got = pickle.loads(text).get()
            del ref
            gc.collect()
            return got

        self.assertEqual(self.fork(work)(), "{'a': 1}")
        time.sleep(0.1)
        self.assertEqual(ref.get(), {'a': 1})


if __name__ == '__main__':
    unittest.main()
