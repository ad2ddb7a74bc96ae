"""Tables and tensors that change: writes against a model, other processes, deaths, seals, errors."""
import datetime
import decimal
import os
import pickle
import random
import signal
import subprocess
import sys
import time
import unittest

import numpy as np
import pandas as pd

from package_test import BIN, PackageTest, granary

ENV = {**os.environ, 'PYTHONPATH': os.path.join(os.path.dirname(BIN), 'python')}


def other(session, text):
    """Another process of the session `s`, which says READY once it has begun."""
    head = f'import granary\ns = granary.connect({session.instance!r}, {session.session!r})\n'
    process = subprocess.Popen([sys.executable, '-c', head + text], env=ENV, stdout=subprocess.PIPE, text=True)
    if process.stdout.readline() != 'READY\n':
        raise RuntimeError('the other process failed')
    return process


class Tables(PackageTest):
    def make(self, schema=None, **options):
        table = self.session.create_table('t', schema or {'x': 'int64', 's': 'string'}, **options)
        self.addCleanup(self.drop, 't')
        self.addCleanup(table.close)
        return table

    def drop(self, name):
        try:
            self.session.table(name).drop()
        except granary.NotFound:
            pass

    def test_rows(self):
        t = self.make()
        self.assertEqual((t.read().to_dict(), len(t), bool(t)), ({'x': [], 's': []}, 0, True))
        first = t.append({'s': ['a', None], 'x': [1, 2]})
        read = t.read()
        self.assertEqual((read.to_dict(), read.time, len(t)), ({'x': [1, 2], 's': ['a', None]}, first, 2))
        self.assertEqual(t.append(pd.DataFrame({'x': [3], 's': ['c']})), t.read().time)
        self.assertEqual(t.read(first).to_dict(), read.to_dict())
        since = t.read_since(first)
        self.assertEqual((since.to_dict(), since.changes), ({'x': [3], 's': ['c']}, 0))
        self.assertEqual(len(t.read_since(None)), 3)
        numbers = t.read().numbers
        self.assertEqual(t.delete(numbers[:1]), 1)
        self.assertEqual(t.delete(numbers[:1].tolist()), 0)
        t.update(numbers[1:], {'s': 'z'})
        t.update([numbers[2]], {'x': [30], 's': [None]})
        self.assertEqual(t.read().to_dict(), {'x': [2, 30], 's': ['z', None]})
        self.assertGreater(t.read_since(first).changes, 0)
        self.assertEqual(t.read().lazy().filter('x > 2').collect().to_dict(), {'x': [30], 's': [None]})
        self.assertEqual(t.lazy().collect().to_pandas()['x'].tolist(), [2, 30])
        self.assertEqual(t.lazy(first).collect().to_pandas()['x'].tolist(), [1, 2])
        t.append(t.read())
        self.assertEqual(len(t), 4)
        self.assertEqual(t.append({'x': [5], 's': ['q']}, token=77), t.append({'x': [5], 's': ['q']}, token=77))
        self.assertEqual(len(t), 5)

    def test_dtypes(self):
        schema = {'i1': 'int8', 'u8': 'uint64', 'f': 'float32', 'b': 'bool', 'd': 'date', 't': 'timestamp', 'u': 'duration',
                  'n': 'decimal(2)', 's': 'string'}
        t = self.make(schema)
        self.assertEqual(t.schema, schema)
        day, moment = datetime.date(2020, 2, 29), datetime.datetime(1969, 12, 31, 23, 59, 59, 1)
        t.append({'i1': [-128, None], 'u8': [2**64 - 1, None], 'f': [1, None], 'b': [True, None], 'd': [day, None],
                  't': [moment, None], 'u': [datetime.timedelta(microseconds=5), None], 'n': [decimal.Decimal('1.5'), None],
                  's': ['ü', None]})
        t.append({'i1': np.array([1]), 'u8': np.array([2], 'u1'), 'f': np.array([.5]), 'b': np.array([False]),
                  'd': np.array(['2020-01-01'], 'M8[D]'), 't': np.array(['2020-01-01'], 'M8[s]'), 'u': np.array([1], 'm8[s]'),
                  'n': np.array([7]), 's': np.array(['text'])})
        t.append({name: [None] for name in schema})
        self.assertEqual(t.read().to_dict(), {
            'i1': [-128, None, 1, None], 'u8': [2**64 - 1, None, 2, None], 'f': [1, None, .5, None], 'b': [True, None, False, None],
            'd': [day, None, datetime.date(2020, 1, 1), None], 't': [moment, None, datetime.datetime(2020, 1, 1), None],
            'u': [datetime.timedelta(microseconds=5), None, datetime.timedelta(seconds=1), None],
            'n': [decimal.Decimal('1.50'), None, decimal.Decimal('7.00'), None], 's': ['ü', None, 'text', None]})

    def test_errors(self):
        t = self.make({'x': 'int8', 's': 'string'})
        good = {'x': [1], 's': ['a']}
        for bad, kind, words in (({'x': [1]}, ValueError, "'s' is missing"), ({**good, 'y': [1]}, ValueError, "no column 'y'"),
                                 ({'x': [300], 's': ['a']}, ValueError, 'beyond int8'), ({'x': [1.5], 's': ['a']}, TypeError, "'x' has float64"),
                                 ({'x': ['q'], 's': ['a']}, TypeError, "'x' has string"), ({'x': [1, 2], 's': ['a']}, ValueError, 'rows'),
                                 ([1, 2], TypeError, 'DataFrame')):
            with self.assertRaisesRegex(kind, words):
                t.append(bad)
        t.append(good)
        time_ = t.cut()
        with self.assertRaisesRegex(granary.WrongState, 'final'):
            t.append(good, time=time_)
        self.assertGreater(t.append(good, time=time_, forward=True), time_)
        with self.assertRaises(granary.NotFound):
            t.update([10**6], {'x': 1})
        with self.assertRaisesRegex(TypeError, 'numbers'):
            t.delete(['a'])
        with self.assertRaisesRegex(ValueError, '2 values for 1 rows'):
            t.update([0], {'x': [1, 2]})
        with self.assertRaises(FileExistsError):
            self.session.create_table('t', {'x': 'int8'})
        with self.assertRaises(TypeError):
            self.session.create_table('t', {'x': 'int8'}, exist_ok=True)
        self.assertEqual(self.session.create_table('t', t.schema, exist_ok=True).read().to_dict(), t.read().to_dict())
        for bad in ({'x': 'int9'}, {'x': 'decimal(99)'}):
            with self.assertRaisesRegex(TypeError, 'no dtype'):
                self.session.create_table('u', bad)
        with self.assertRaises(ValueError):
            self.session.create_table('u', {})
        for bad in ('always', 0, -1.0):
            with self.assertRaisesRegex(ValueError, 'durability'):
                self.session.create_table('u', {'x': 'int8'}, durability=bad)
        with self.assertRaises(granary.NotFound):
            self.session.table('never')
        with self.assertRaises(granary.Unsupported):
            t.flush()
        kept, frame = self.session.table('t'), t.read()
        t.drop()
        with self.assertRaises(granary.WrongState):
            kept.append(good)
        with self.assertRaises(granary.WrongState):
            kept.watch(timeout=5)
        self.assertEqual(len(frame), 2)
        with self.assertRaisesRegex(ValueError, 'closed'):
            t.read()

    def test_seal(self):
        t = self.make()
        t.append({'x': [1], 's': ['a']})
        t.snapshot('kept')
        self.addCleanup(self.drop, 'kept')
        t.append({'x': [2], 's': ['b']})
        t.seal()
        self.assertEqual(t.read().to_dict(), {'x': [1, 2], 's': ['a', 'b']})
        self.assertEqual(self.session.table('kept').read().to_dict(), {'x': [1], 's': ['a']})
        self.assertTrue(self.session.table('t').sealed)
        for write in (lambda: t.append({'x': [1], 's': ['a']}), lambda: t.delete([0]), lambda: t.update([0], {'x': 1}),
                      lambda: self.session.table('t').append({'x': [1], 's': ['a']}), lambda: t.watch(timeout=0)):
            with self.assertRaisesRegex(granary.Sealed, 'sealed'):
                write()

    def test_history(self):
        t = self.make()
        times = [t.append({'x': [i], 's': ['']}) for i in range(10)]
        self.assertEqual(t.retain(writes=3), times[7])
        with self.assertRaises(granary.WrongState):
            t.read_since(times[1])
        self.assertEqual(len(t.read()), 10)
        with self.assertRaises(ValueError):
            t.retain()

    def test_model(self):
        """Random writes against lists."""
        choose = random.Random(7)
        t = self.make()
        model, past = {}, {}
        for step in range(200):
            what = choose.random()
            if what < .5 or not model:
                rows = [(choose.randrange(100), choose.choice([None, 'a', 'bc'])) for _ in range(choose.randrange(1, 6))]
                before = set(model)
                t.append({'x': [r[0] for r in rows], 's': [r[1] for r in rows]})
                new = [n for n in t.read().numbers.tolist() if n not in before]
                model.update(zip(new, rows))
            else:
                some = choose.sample(sorted(model), choose.randrange(1, 1 + min(4, len(model))))
                if what < .7:
                    self.assertEqual(t.delete(some), len(some))
                    for n in some:
                        del model[n]
                else:
                    values = [choose.randrange(1000, 2000) for _ in some]
                    t.update(some, {'x': values})
                    for n, v in zip(some, values):
                        model[n] = (v, model[n][1])
            read = t.read()
            past[read.time] = dict(model)
            if step % 10 == 0:
                at = choose.choice(sorted(past))
                read, now = t.read(at), past[at]
            else:
                now = model
            self.assertEqual(read.numbers.tolist(), sorted(now))
            self.assertEqual(list(zip(*read.to_dict().values())), [now[n] for n in sorted(now)])

    def test_other_process(self):
        t = self.make()
        writer = other(self.session, "t = s.table('t')\nprint('READY', flush=True)\n"
                                     "for i in range(500): t.append({'x': [i, i], 's': [str(i), None]})\n")
        seen, last, ends = [], None, time.monotonic() + 60
        while len(seen) < 1000:
            self.assertLess(time.monotonic(), ends)
            new = t.read_since(last)
            self.assertEqual(len(new) % 2, 0)
            seen += new.to_dict()['x']
            last = new.time
            if len(seen) < 1000:
                t.watch(last, 30)
        self.assertEqual(seen, [i for i in range(500) for _ in range(2)])
        self.assertEqual(writer.wait(30), 0)
        writer.stdout.close()

    def test_killed_writer(self):
        """Of each append all rows are there, or none; others go on."""
        t = self.make()
        for _ in range(3):
            writer = other(self.session, "t = s.table('t')\nprint('READY', flush=True)\n"
                                         "while True: t.append({'x': list(range(50)), 's': [None] * 50})\n")
            t.watch(timeout=30)
            time.sleep(0.05)
            writer.kill()
            writer.wait()
            writer.stdout.close()
            t.append({'x': list(range(50)), 's': ['own'] * 50})
            x = t.read().to_numpy()['x']
            self.assertEqual(len(x) % 50, 0)
            np.testing.assert_array_equal(np.sort(x), np.repeat(np.arange(50), len(x) // 50))

    def test_fork_and_pickle(self):
        t = self.make()
        same = pickle.loads(pickle.dumps(t))
        same.append({'x': [1], 's': ['pickled']})
        child = os.fork()
        if child == 0:
            status = 1
            try:
                t.append({'x': [2], 's': ['child']})
                status = 0 if len(t.read()) == 2 else 2
            finally:
                os._exit(status)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        t.append({'x': [3], 's': ['parent']})
        self.assertEqual(sorted(t.read().to_dict()['x']), [1, 2, 3])

    def test_wait(self):
        t = self.make()
        with self.assertRaises(TimeoutError):
            t.watch(timeout=0.05)

        def interrupt(number, frame):
            raise InterruptedError('by hand')

        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            with self.assertRaisesRegex(InterruptedError, 'by hand'):
                signal.setitimer(signal.ITIMER_REAL, 0.05)
                t.watch()
        finally:
            signal.signal(signal.SIGALRM, before)
        first = t.append({'x': [1], 's': ['a']})
        self.assertEqual((t.watch(first - 1, 0), t.watch(0, 0)), (first, first))

    def test_durable(self):
        t = self.make(durability='commit')
        t.append({'x': [1], 's': ['a']})
        t.flush()
        self.assertEqual(t.info['durability'], 'commit')
        t.drop()
        slow = self.make(durability=0.25)
        self.assertEqual((slow.info['durability'], slow.info['interval']), ('interval', 0.25))
        slow.append({'x': [1], 's': ['a']})
        slow.flush()

    def test_life(self):
        """No handle keeps a session, and a closed session's tables say so."""
        session = granary.Session(self.session.instance, 'tables')
        t = session.create_table('t', {'x': 'int64'})
        t.append({'x': [1]})
        frame = t.read()
        session.close()
        with self.assertRaisesRegex(ValueError, 'closed'):
            t.append({'x': [1]})
        self.assertEqual(frame.to_dict(), {'x': [1]})
        del t, frame
        self.session._client.session_delete('tables')
        self.assertEqual(self.session.tables(), [])


class Tensors(PackageTest):
    def make(self, *arguments, **options):
        tensor = self.session.create_tensor('a', *arguments, **options)
        self.addCleanup(tensor.drop)
        return tensor

    def test_model(self):
        """Random indexes against NumPy."""
        choose = random.Random(3)
        shape = (5, 7, 4)
        t = self.make(shape, 'int32', fill=-3, chunk=(2, 3, 4))
        model = np.full(shape, -3, 'i4')

        def part(n):
            kind = choose.randrange(5)
            if kind == 0:
                return choose.randrange(-n, n)
            if kind == 1:
                step = choose.choice([None, 1, 2, -1, -2])
                return slice(choose.choice([None, *range(-n - 2, n + 3)]), choose.choice([None, *range(-n - 2, n + 3)]), step)
            if kind == 2:
                return [choose.randrange(-n, n) for _ in range(3)]
            if kind == 3:
                return slice(None)
            return choose.choice([np.int64(n - 1), np.array([0, n - 1, 1])])

        for step in range(600):
            key = tuple(part(n) for n in shape[:choose.randrange(4)])
            if choose.random() < .3 and len(key) < 3:
                key += (...,) + ((part(shape[2]),) if len(key) < 2 else ())
            elif choose.random() < .1:
                key = (np.array([choose.random() < .5 for _ in range(35)]).reshape(5, 7),) + ((part(4),) if step % 2 else ())
            try:
                want = model[key]
            except IndexError:
                with self.assertRaises((IndexError, ValueError)):
                    t[key]
                continue
            np.testing.assert_array_equal(t[key], want, str(key))
            self.assertEqual(np.shape(t[key]), want.shape, key)
            values = np.array([choose.randrange(10**6) for _ in range(want.size)], 'i4').reshape(want.shape)
            if choose.random() < .3:
                values = step
            model[key] = values
            t[key] = values
            if step % 20 == 0:
                np.testing.assert_array_equal(t[...], model)
        np.testing.assert_array_equal(np.asarray(t), model)

    def test_values(self):
        t = self.make((3, 4), 'u1', fill=9)
        self.assertEqual((t.shape, t.dtype, t.ndim, t.size, len(t), t[0, 0]), ((3, 4), np.uint8, 2, 12, 3, 9))
        self.assertIsInstance(t[0, 0], np.uint8)
        t[0] = [1, 2, 3, 4]
        t[1] = True
        self.assertEqual(t[:2].tolist(), [[1, 2, 3, 4], [1, 1, 1, 1]])
        self.assertFalse(t[...].flags.writeable)
        before = t.cut()
        t[...] = 0
        self.assertEqual((t[...].sum(), t.read(at=before)[0].tolist()), (0, [1, 2, 3, 4]))
        for bad, kind in ((1.5, TypeError), (256, ValueError), (-1, ValueError), ('x', TypeError), ([1, 2], ValueError)):
            with self.assertRaises(kind):
                t[0] = bad
        for bad in (3, (0, 4), (0, 0, 0), None, 'x', 1.5, ([0, 3],), (..., ...), [[0]], np.ones(2, bool)):
            with self.assertRaises(IndexError):
                t[bad]
        self.assertEqual([row.tolist() for row in t], [[0] * 4] * 3)
        with self.assertRaises(TypeError):
            self.session.create_tensor('b', 3, 'c16')

    def test_kinds(self):
        for dtype, fill, want in (('bool', True, True), ('f8', float('nan'), np.nan), ('f4', 1.5, 1.5), ('i8', None, 0)):
            t = self.session.create_tensor('b', 3, dtype, fill=fill)
            np.testing.assert_array_equal(t[...], np.full(3, want, dtype))
            t[1] = False
            np.testing.assert_array_equal(self.session.table('b')[:], np.array([want, 0, want], dtype))
            t.seal()
            np.testing.assert_array_equal(t[:], np.array([want, 0, want], dtype))
            with self.assertRaises(granary.Sealed):
                t[0] = False
            t.drop()

    def test_other_process(self):
        t = self.make((100, 100), 'i8')
        writer = other(self.session, "t = s.table('a')\nprint('READY', flush=True)\nfor i in range(1, 301): t[:] = i\n")
        ends = time.monotonic() + 60
        while True:
            seen = t[...]
            self.assertEqual(len(np.unique(seen)), 1)  # a write is seen as a whole
            if seen[0, 0] == 300:
                break
            self.assertLess(time.monotonic(), ends)
        self.assertEqual(writer.wait(30), 0)
        writer.stdout.close()


if __name__ == '__main__':
    unittest.main()
