"""Objects as files, events and counters."""
import asyncio
import contextlib
import gc
import io
import os
import select
import shutil
import threading
import time
import unittest

import numpy as np

from package_test import PackageTest, granary


class StreamsTest(PackageTest):
    def setUp(self):
        self.before = self.count()

    def tearDown(self):
        self.assertEqual(list(self.session.names), [])
        self.assertEqual(self.count(), self.before)


class Files(StreamsTest):
    def test_write(self):
        with self.session.writer('written') as file:
            for i in range(1000):
                self.assertEqual(file.write(b'%06d' % i), 6)
            self.assertEqual((file.tell(), file.ref), (6000, None))
            self.assertNotIn('written', self.session.names)
        self.assertEqual(file.ref, self.session.names['written'])
        data = bytes(self.session.get('written'))
        self.assertEqual((len(data), data[-6:]), (6000, b'000999'))
        del self.session.names['written']
        self.assertEqual(bytes(file.ref.get()), data)  # the reference keeps it
        self.assertTrue(file.closed)
        file.close()
        with self.assertRaises(ValueError):
            file.write(b'x')

    def test_given_up(self):
        with self.assertRaises(ZeroDivisionError), self.session.writer('dropped') as file:
            file.write(b'x' * 100000)
            1 / 0
        self.assertIsNone(file.ref)
        self.assertNotIn('dropped', self.session.names)
        with self.assertRaises(ValueError):
            file.write(b'x')
        left = self.session.writer('dropped')
        left.write(b'x')
        del left
        gc.collect()
        self.assertNotIn('dropped', self.session.names)
        with self.assertRaises(TypeError), self.session.writer() as file:
            file.write('text')

    def test_text_and_arrays(self):
        with self.session.writer() as raw, io.TextIOWrapper(io.BufferedWriter(raw), 'utf-8') as file:
            file.write('a\nä\n')
        with io.TextIOWrapper(io.BufferedReader(self.session.reader(raw.ref)), 'utf-8') as lines:
            self.assertEqual(list(lines), ['a\n', 'ä\n'])
        with self.session.writer() as file:
            np.save(file, np.arange(5))
        self.assertEqual(file.ref.get().tolist(), [0, 1, 2, 3, 4])  # an NPY file is an array

    def test_read(self):
        data = bytes(range(256)) * 100
        ref = self.session.put(data)
        with self.session.reader(ref) as file:
            self.assertEqual(file.read(10), data[:10])
            self.assertEqual(file.seek(-5, io.SEEK_END), len(data) - 5)
            self.assertEqual(file.read(), data[-5:])
            self.assertEqual(file.read(1), b'')
            self.assertEqual(file.seek(3), 3)
            self.assertEqual(file.seek(2, io.SEEK_CUR), 5)
            self.assertEqual((file.read(1), file.tell()), (data[5:6], 6))
            self.assertEqual(file.seek(10**9), len(data))
            for bad in ((-1,), (0, 7)):
                with self.assertRaises(ValueError):
                    file.seek(*bad)
        for use in (lambda: file.read(1), lambda: file.seek(0)):
            with self.assertRaises(ValueError):
                use()

    def test_life(self):
        """A reader keeps the reference that it was given."""
        file = self.session.reader(self.session.put(b'kept'))
        gc.collect()
        self.assertEqual(file.read(), b'kept')
        file.close()

    def test_copy(self):
        source = self.session.put(os.urandom(3 << 20))
        with self.session.reader(source, window=1 << 20) as reader, self.session.writer() as writer:
            shutil.copyfileobj(reader, writer)
        self.assertEqual(bytes(writer.ref.get()), bytes(source.get()))

    def test_missing(self):
        with self.assertRaises(KeyError):
            self.session.reader(os.urandom(16), timeout=0)
        with self.assertRaises(TimeoutError):
            self.session.reader(os.urandom(16), timeout=0.05)
        with self.assertRaises(KeyError):
            self.session.reader('no such name')

    def test_full(self):
        with self.assertRaises(MemoryError), self.session.writer(timeout=0) as file:
            for _ in range(100):
                file.write(bytes(10 << 20))

    def test_closed_session(self):
        """A file that is open keeps the connection, and a closed session opens none."""
        other = granary.Session(self.session.instance)
        file = other.reader(self.session.put(b'x' * 10))
        other.close()
        self.assertEqual(len(file.read()), 10)
        for use in (other.writer, lambda: other.reader(b'0' * 16), other.events, lambda: other.counter('c')):
            with self.assertRaisesRegex(ValueError, 'closed'):
                use()
        del file

    def test_threads(self):
        with self.session.events('seal') as events:
            def wait():
                while True:
                    with contextlib.suppress(RuntimeError):  # this thread's turn may come first, for a moment
                        return events.next(60)

            thread = threading.Thread(target=wait)
            thread.start()
            with self.assertRaisesRegex(RuntimeError, 'another thread'):
                while True:
                    with contextlib.suppress(TimeoutError):
                        events.next(0)
                    time.sleep(0.01)
            with self.assertRaisesRegex(RuntimeError, 'another thread'):
                events.close()
            self.session.put(b'the end of the wait')
            thread.join()


class Events(StreamsTest):
    def test_in_order(self):
        with self.session.events(['seal', 'delete']) as events:
            ref = self.session.put(b'seen')
            ref.delete()
            seal, gone = next(events), events.next(20)
            self.assertEqual([(seal.kind, seal.id, seal.size), (gone.kind, gone.id)], [('seal', ref.id, 4), ('delete', ref.id)])
            self.assertLess(abs(seal.time_ns / 1e9 - time.time()), 3600)
            with self.assertRaises(TimeoutError):
                events.next(0.02)
        with self.assertRaisesRegex(ValueError, 'closed'):
            events.next(0)
        with self.assertRaisesRegex(ValueError, "'sealed'; there are: seal"):
            self.session.events('sealed')

    def test_existing(self):
        refs = [self.session.put(b'before') for _ in range(3)]
        with self.session.events('seal', existing=True) as events:
            seen = {events.next(20).id for _ in self.session.objects()}
        self.assertLessEqual({one.id for one in refs}, seen)

    def test_descriptor(self):
        with self.session.events('seal') as events:
            ends = time.monotonic() + 20
            while True:  # it may be readable without an event, but does not stay so
                with self.assertRaises(TimeoutError):
                    events.next(0)
                if select.select([events], [], [], 0.05)[0] == []:
                    break
                self.assertLess(time.monotonic(), ends)
            ref = self.session.put(b'x')
            self.assertEqual(select.select([events], [], [], 20)[0], [events])
            self.assertEqual(events.next(20).id, ref.id)

    def test_async(self):
        kept = []

        async def watch():
            found = []
            with self.session.events('seal') as events:
                asyncio.get_running_loop().call_later(0.05, lambda: kept.append(self.session.put(1)))
                asyncio.get_running_loop().call_later(0.1, lambda: kept.append(self.session.put(2)))
                async for event in events:
                    found.append(self.session.get(event.id, 0))
                    if len(found) == 2:
                        return found

        self.assertEqual(asyncio.run(asyncio.wait_for(watch(), 20)), [1, 2])

    def test_async_given_up(self):
        async def watch():
            with self.session.events('lost') as events:
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(events.__anext__(), 0.05)

        asyncio.run(watch())

    def test_many(self):
        """No descriptor is left of many."""
        files = len(os.listdir('/proc/self/fd'))
        ref = self.session.put(b'x')
        for _ in range(20):
            with self.session.events() as events, self.session.reader(ref), self.session.writer() as writer:
                events.fileno()
                writer.write(b'y')
            self.session.events('seal')
        gc.collect()
        self.assertLessEqual(len(os.listdir('/proc/self/fd')), files + 1)


class Counters(StreamsTest):
    def test_all(self):
        counter, same = self.session.counter('c'), self.session.counter('c')
        self.assertEqual((counter.add(), counter.add(-3), same.get()), (1, -2, -2))
        self.assertEqual((same.set(7), counter.get()), (-2, 7))
        self.assertEqual((counter.set_if(8, 9), counter.set_if(7, 2**62), counter.get()), (False, True, 2**62))
        with self.assertRaises(OverflowError):
            counter.set(2**63)
        with self.assertRaises(granary.Invalid):
            self.session.counter('')
        self.assertIn("'c': ", repr(counter))

    def test_wait(self):
        counter = self.session.counter('waited')
        with self.assertRaises(TimeoutError):
            counter.wait(1, 0.05)
        threading.Timer(0.05, counter.add, (5,)).start()
        self.assertEqual(counter.wait(3, 20), 5)


if __name__ == '__main__':
    unittest.main()
