"""Objects: any value there and back, references, names, waits, errors, forks, and nothing left."""
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

from package_test import BIN, HERE, PackageTest, granary, store_of


class Local:
    def __init__(self, n):
        self.n = n


class Objects(PackageTest):
    def setUp(self):
        self.before = self.count()

    def tearDown(self):
        self.assertEqual(list(self.session.names), [])
        self.assertEqual(self.count(), self.before)

    def await_freed(self):
        """The store gives memory back when it comes by."""
        ends = time.monotonic() + 30
        gc.collect()
        while self.session.stat()['retiring_bytes'] > 0:
            self.assertLess(time.monotonic(), ends)
            time.sleep(0.01)

    # ---- values ----

    def test_bytes(self):
        for given in (b'', b'abc', bytearray(b'x' * 100000), memoryview(b'12345')[1:3]):
            ref = self.session.put(given)
            back = ref.get()
            self.assertIsInstance(back, memoryview)
            self.assertTrue(back.readonly)
            self.assertEqual(bytes(back), bytes(given))

    def test_arrays(self):
        given = [np.arange(12, dtype=t).reshape(3, 4) for t in ('i1', 'i2', 'i4', 'i8', 'u1', 'u2', 'u4', 'u8', 'f4', 'f8')]
        given += [np.array([True, False]), np.array(3.5), np.zeros((0, 3)), np.arange(24.).reshape(2, 3, 4)[:, ::2, ::-1],
                  np.asfortranarray(np.arange(6.).reshape(2, 3))]
        for one in given:
            back = self.session.put(one).get()
            self.assertIsInstance(back, granary.SharedArray)
            self.assertEqual((back.dtype, back.shape), (one.dtype, one.shape))
            np.testing.assert_array_equal(back, one)
            self.assertFalse(back.flags.writeable)

    def test_other_arrays(self):
        """What no tensor can be goes by pickle, and comes back as it was."""
        given = [np.arange(3, dtype='>i8'), np.array(['a', None], object), np.array([(1, 2.)], 'i4,f8'),
                 np.array(['2020-01-01'], 'M8[ns]'), np.array(['2020-01-01'], 'M8[D]'), np.array([1 + 2j]), np.array(['abc']),
                 np.arange(4, dtype='f2')]
        for one in given:
            back = self.session.put(one).get()
            self.assertEqual(back.dtype, one.dtype)
            np.testing.assert_array_equal(back, one)

    def test_objects(self):
        for one in (None, 3, 'text', [1, {'a': (2, 3)}], {1, 2}, ValueError('x')):
            self.assertEqual(repr(self.session.put(one).get()), repr(one))
        self.assertEqual(self.session.put(Local(4)).get().n, 4)
        self.assertEqual(self.session.put(lambda x: x + 1).get()(2), 3)
        big = {'a': np.arange(100000.), 'b': np.ones(3)}
        back = self.session.put(big).get()
        np.testing.assert_array_equal(back['a'], big['a'])
        self.assertFalse(back['a'].flags.writeable)
        with self.assertRaises(TypeError):
            self.session.put(threading.Lock())
        loop = []
        loop.append(loop)
        self.assertIs(type(self.session.put(loop).get()[0]), list)

    def test_frames(self):
        given = pd.DataFrame({'i': [1, 2, 3], 'f': [1.5, np.nan, 2.], 's': ['x', None, 'ü'], 'b': [True, False, True],
                              't': pd.to_datetime(['2020-01-01', None, '1999-12-31 23:59:59.000001']),
                              'n': pd.array([1, None, 3], 'Int64'), 'c': pd.Categorical(['p', 'q', 'p'])})
        back = self.session.put(given).get()
        self.assertEqual(back.columns, list(given))
        self.assertEqual(back.to_pandas()['s'].tolist(), ['x', None, 'ü'])
        self.assertEqual(back.to_pandas()['i'].tolist(), [1, 2, 3])
        self.assertEqual(back.to_pandas()['c'].tolist(), ['p', 'q', 'p'])
        self.assertEqual(len(back.lazy().filter('i > 1').collect()), 2)
        for bad, words in ((pd.DataFrame([[1, 2]], columns=['a', 'a']), "two columns are called 'a'"),
                           (pd.DataFrame([[1]]), 'names of columns are strings'),
                           (pd.DataFrame({'p': pd.period_range('2020', periods=2)}), 'p'),
                           (pd.DataFrame(), 'at least one column'),
                           (pd.DataFrame({'t': pd.to_datetime([1], unit='ns')}), "'t'"),
                           (pd.DataFrame({'o': [1, 'x']}), "'o'")):
            with self.assertRaisesRegex((TypeError, ValueError), words):
                self.session.put(bad)

    # ---- arrays ----

    def test_read_only(self):
        back = self.session.put(np.arange(3)).get()
        with self.assertRaisesRegex(ValueError, 'read-only'):
            back[0] = 1
        with self.assertRaises(ValueError):
            back.flags.writeable = True
        mine = granary.writable(back)
        mine[0] = 7
        self.assertEqual((type(mine), mine[0], back[0]), (np.ndarray, 7, 0))
        self.assertIs(type(back + 1), np.ndarray)
        self.assertIsInstance(back.sum(), np.integer)

    def test_life(self):
        """A view of an array keeps the object; without one it goes."""
        ref = self.session.put(np.arange(1000000))
        part = ref.get()[10:20]
        ref.delete()
        self.assertNotIn(ref, self.session)
        self.assertEqual(part.tolist(), list(range(10, 20)))
        self.assertGreater(self.session.stat()['retiring_bytes'], 7000000)
        del part, ref
        self.await_freed()
        kept = self.session.put(np.arange(10)).get()
        self.assertEqual(pickle.loads(pickle.dumps(kept)).sum(), 45)  # the array keeps the reference it came from
        ref = self.session.put(np.arange(10))
        kept = ref.get()
        ref.delete()
        with self.assertRaises(granary.NotFound):
            ref.get(0)

    def test_zero_copy(self):
        ref = self.session.put(np.arange(1000.))
        a, b = ref.get(), ref.get()
        self.assertEqual(a.__array_interface__['data'], b.__array_interface__['data'])
        self.assertEqual(np.asarray(a).__array_interface__['data'], b.__array_interface__['data'])
        self.assertEqual(memoryview(a).nbytes, 8000)

    def test_references(self):
        """Arrays pickle as references, also parts of them; changed ones as they are."""
        ref = self.session.put(np.arange(100000.).reshape(100, 1000))
        array = ref.get()
        for part in (array, array[3:70:2, ::-1], array[5], array.T):
            data = pickle.dumps(part)
            self.assertLess(len(data), 500)
            back = pickle.loads(data)
            np.testing.assert_array_equal(back, part)
            self.assertEqual(back.__array_interface__['data'], part.__array_interface__['data'])
        self.assertGreater(len(pickle.dumps(array + 1)), 100000)
        self.assertEqual(pickle.loads(pickle.dumps(ref)), ref)
        data = pickle.dumps(array)
        del ref, array, part, back
        gc.collect()
        with self.assertRaisesRegex(granary.NotFound, 'was deleted before this process had it'):
            pickle.loads(data)

    def test_a_deleted_array_goes_by_value(self):
        ref = self.session.put(np.arange(1000))
        array = ref.get()
        ref.delete()
        data = pickle.dumps(array[1:])
        self.assertGreater(len(data), 999 * 8)
        del array
        np.testing.assert_array_equal(pickle.loads(data), np.arange(1, 1000))

    def test_references_in_values(self):
        """An object keeps those that its value refers to, as long as it is there."""
        inner = self.session.put(b'inner')
        array = self.session.put(np.arange(1000)).get()
        outer = self.session.put({'ref': inner, 'arrays': [array, array[1:]]})
        ids = inner.id, array._id
        del inner, array
        gc.collect()
        self.assertEqual(self.session.wait(ids, timeout=0), [True, True])
        got = outer.get()
        self.assertEqual(bytes(got['ref'].get()), b'inner')
        self.assertEqual(got['arrays'][1].sum(), 499500)
        del got, outer
        gc.collect()
        self.assertEqual([id in self.session for id in ids], [False, False])

    def test_empty(self):
        with self.session.empty((3, 4), 'f4') as a:
            a[:] = 7
            inner = a[1:]
        self.assertFalse(a.flags.writeable)
        self.assertEqual(inner.sum(), 56)
        making = self.session.empty(5, 'i8', name='made')
        with making as a:
            a[:] = range(5)
        self.assertEqual(making.ref.get().tolist(), [0, 1, 2, 3, 4])
        self.assertEqual(self.session.get('made').tolist(), [0, 1, 2, 3, 4])
        del self.session.names['made']
        with self.assertRaises(ZeroDivisionError):
            with self.session.empty(5) as b:
                1 / 0
        with self.assertRaises(TypeError):
            self.session.empty(3, 'M8[ns]')
        with self.assertRaises(granary.Full), self.session.empty(1 << 40, timeout=0):
            pass

    # ---- names, waits, errors ----

    def test_names(self):
        names = self.session.names
        ref = self.session.put(b'1', 'one')
        self.assertIn('one', names)
        self.assertEqual((bytes(self.session.get('one')), len(names)), (b'1', 1))
        other = self.session.put(b'2')
        with self.assertRaises(FileExistsError):
            names.replace('one', other)
        names.replace('one', other, ref)
        self.assertEqual(names['one'], other)
        del ref, other
        gc.collect()
        self.assertEqual(bytes(names['one'].get()), b'2')
        del names['one']
        for use in (lambda: names['one'], lambda: names.__delitem__('one'), lambda: self.session.get('one')):
            with self.assertRaises(KeyError):
                use()
        threading.Timer(0.05, lambda: self.session.put(b'late', 'late')).start()
        self.assertEqual(bytes(names.wait('late', 10).get()), b'late')
        del names['late']

    def test_waits(self):
        ids = [os.urandom(16) for _ in range(3)]
        self.assertEqual(self.session.wait(ids, timeout=0.01), [False] * 3)
        made = []
        threading.Timer(0.05, lambda: made.append(self.session.put(b'x', id=ids[1]))).start()
        self.assertEqual(self.session.wait(ids, least=1, timeout=10), [False, True, False])
        self.assertEqual([None if v is None else bytes(v) for v in self.session.get_many(ids)], [None, b'x', None])
        with self.assertRaises(TimeoutError):
            self.session.get(ids[0], 0.05)
        begun = time.monotonic()
        with self.assertRaises(KeyError) as told:
            self.session.get(ids[0], 0)
        self.assertLess(time.monotonic() - begun, 5)
        self.assertIn('not found', str(told.exception))
        self.assertEqual((told.exception.name, told.exception.code), ('ENOENT', -4))
        for bad in (b'short', 3):
            with self.assertRaises((ValueError, TypeError)):
                self.session.get(bad)
        with self.assertRaises(ValueError):
            self.session.get(ids[0], -1)

    def test_signal(self):
        """A wait ends by a signal's handler that raises."""
        def interrupt(number, frame):
            raise InterruptedError('by hand')

        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            for wait in (lambda: self.session.get(os.urandom(16)), lambda: self.session.wait([os.urandom(16)]),
                         lambda: self.session.names.wait('never'), lambda: self.session.get_many([os.urandom(16)], timeout=60)):
                with self.assertRaisesRegex(InterruptedError, 'by hand'):
                    signal.setitimer(signal.ITIMER_REAL, 0.05)
                    wait()
        finally:
            signal.signal(signal.SIGALRM, before)

    def test_cycles(self):
        for _ in range(100):
            cycle = [self.session.put(np.zeros(1000)).get()]
            cycle.append(cycle)
        del cycle
        self.await_freed()

    def test_many(self):
        """No lease, no memory, no descriptor is left of many."""
        ref = self.session.put(np.arange(100))
        files = len(os.listdir('/proc/self/fd'))
        for _ in range(20000):
            ref.get()
        self.assertEqual(len(os.listdir('/proc/self/fd')), files)
        holds = self.session._client.holds(ref.id)
        self.assertEqual([h['kind'] for h in holds if h['kind'] == 'lease'], [])

    # ---- processes ----

    def test_fork(self):
        ref = self.session.put(np.arange(1000))
        array = ref.get()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                good = array.sum() == 499500 and self.session.get(ref.id, 0).sum() == 499500
                own = self.session.put(b'of the child', 'child')
                del array, ref
                gc.collect()
                status = 0 if good and bytes(own.get()) == b'of the child' else 2
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(array.sum(), 499500)
        self.assertEqual(ref.get().sum(), 499500)
        self.assertEqual(bytes(self.session.get('child', 5)), b'of the child')
        del self.session.names['child']

    def test_other_process(self):
        ref = self.session.put(np.arange(10))
        data = pickle.dumps((ref, ref.get())).hex()
        text = f'import pickle; r, a = pickle.loads(bytes.fromhex({data!r})); print(r.get().sum(), a.sum())'
        done = subprocess.run([sys.executable, '-c', text], env={**os.environ, 'PYTHONPATH': os.path.join(os.path.dirname(BIN), 'python')},
                              capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), ('45 45\n', ''))

    def test_close(self):
        other = granary.Session(self.session.instance, 'other')
        array = other.put(np.arange(5)).get()
        other.close()
        self.assertEqual(array.sum(), 10)
        with self.assertRaisesRegex(ValueError, 'closed'):
            other.put(b'x')
        del array
        self.session._client.session_delete('other')


class Life(unittest.TestCase):
    def test_store_is_killed(self):
        """Arrays stay readable, and calls go on when the store is back."""
        with granary.up(executors=1, memory='256M') as session:
            ref = session.put(np.arange(100000))
            array = ref.get()
            os.kill(store_of(session), signal.SIGKILL)
            self.assertEqual(array.sum(), 4999950000)
            self.assertEqual(ref.get().sum(), 4999950000)
            self.assertEqual(bytes(session.put(b'after').get()), b'after')

    def test_down(self):
        with granary.up(executors=1, memory='256M') as session:
            ref = session.put(np.arange(5))
            array = ref.get()
        self.assertEqual(array.sum(), 10)
        self.assertEqual(ref.get().sum(), 10)  # the same lease
        del array
        with self.assertRaises(ValueError):
            ref.get()
        self.assertFalse(os.path.exists(session.instance))
        with self.assertRaises(ConnectionError):
            granary.connect(session.instance)

    def test_errors_are_what_python_expects(self):
        for name, base in (('NotFound', KeyError), ('TimedOut', TimeoutError), ('Full', MemoryError), ('NotPermitted', PermissionError),
                           ('Invalid', ValueError), ('WrongType', TypeError), ('Unreachable', ConnectionError), ('Exists', FileExistsError)):
            self.assertTrue(issubclass(getattr(granary, name), base) and issubclass(getattr(granary, name), granary.Error))

    def test_import_is_light(self):
        text = 'import sys, granary; print([m for m in ("numpy", "pandas", "multiprocessing") if m in sys.modules])'
        done = subprocess.run([sys.executable, '-c', text], env={**os.environ, 'PYTHONPATH': os.path.join(os.path.dirname(BIN), 'python')},
                              capture_output=True, text=True, cwd=HERE)
        self.assertEqual((done.stdout, done.stderr), ('[]\n', ''))


if __name__ == '__main__':
    unittest.main()
