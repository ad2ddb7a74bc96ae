"""Arrow's C interfaces at their edges: capsules of every state, arrays that say odd things of themselves, producers that fail."""
import ctypes
import errno
import gc
import threading
import unittest

import numpy as np
import pandas as pd

from arrow_structs import GET_NEXT, GET_SCHEMA, RELEASES, VOID, Array, Exporter, Producer, Schema, consume, move, release, stream_of, struct_of
from package_test import PackageTest, granary


def bitmap(flags):
    return np.packbits(flags, bitorder='little')


class Pair:
    """What has __arrow_c_array__ alone."""

    def __init__(self, *capsules):
        self.capsules = capsules

    def __arrow_c_array__(self, requested_schema=None):
        return self.capsules if len(self.capsules) != 1 else self.capsules[0]


class Cases(PackageTest):
    def setUp(self):
        gc.collect()
        self.made = Producer()
        self.before = self.count()

    def tearDown(self):
        """A test leaves no object."""
        self.assertEqual(self.count_when(self.before), self.before)

    def ints(self, values=(1, 2, 3), label='x', format='l', **more):
        raw = np.array(values, {'l': 'i8', 'i': 'i4'}[format])
        buffers = more.pop('buffers', [None, raw])
        length = more.pop('length', len(values))
        return self.made.array(length, buffers, label, **more)

    def careless(self, struct):
        """Its release looks at nothing: what it says of its children is wrong."""
        def ended(pointer):
            self.made.released.append('careless')
            pointer.contents.release = None

        struct.release = ctypes.cast(self.made.keep(RELEASES[type(struct)](ended)), VOID)
        return struct

    def stream_out(self, frame):
        capsule = self.made.keep(frame.__arrow_c_stream__())
        return move(stream_of(capsule))

    def next(self, stream):
        array = Array()
        self.assertEqual(GET_NEXT(stream.get_next)(ctypes.byref(stream), ctypes.byref(array)), 0)
        return array

    def of(self, format, array, rows=None, **batch):
        """A stream of one batch with one column x."""
        rows = array.length if rows is None else rows
        return self.made.exporter([self.made.schema(format, 'x')], [(rows, [array])], **batch)

    def x(self, source):
        return granary.from_arrow(source).collect().to_dict()['x']

    def refused(self, source, words, error=granary.Invalid):
        with self.assertRaisesRegex(error, words):
            granary.from_arrow(source)
        self.assertEqual(self.count(), self.before)

    # ---- capsules ----

    def test_consumed_twice(self):
        source = self.of('l', self.ints())
        self.assertEqual(self.x(source), [1, 2, 3])
        self.assertFalse(stream_of(source.given).release)
        self.refused(source, 'taken before', ValueError)
        self.assertEqual(sorted(self.made.released), ['array batch', 'array x', 'schema ', 'schema x', 'stream'])

    def test_released_stream(self):
        capsule = self.of('l', self.ints()).given
        release(stream_of(capsule))
        self.refused(Exporter(capsule), 'taken before', ValueError)
        self.assertEqual(self.made.released, ['stream'])

    def test_destroyed_unread(self):
        """A capsule that nobody reads is released once, ours as theirs."""
        self.of('l', self.ints())
        gc.collect()
        self.assertEqual(self.made.released, ['stream'])
        frame = granary.from_arrow(self.of('l', self.ints())).collect()
        for _ in range(50):
            frame.__arrow_c_stream__()
            frame.__arrow_c_schema__()
        capsule = frame.__arrow_c_stream__()
        release(stream_of(capsule))  # by hand: the capsule does it no more
        del capsule

    def test_capsule_names(self):
        stream = self.made.capsule(self.made.stream(self.made.schema('+s', ''), []), b'arrow_stream')
        self.refused(Exporter(stream), 'arrow_array_stream', TypeError)
        for given in (None, 3, object(), self.made.capsule(self.made.schema('l'))):
            self.refused(Exporter(given), 'arrow_array_stream', TypeError)
        schema, array = self.made.capsule(self.made.schema('+s', '')), self.made.capsule(self.made.array(0, [None]))
        for pair, words in (((array, schema), 'arrow_schema'), ((schema, schema), 'arrow_array'), ((schema, 3), 'arrow_array'), ((None, array), 'arrow_schema')):
            self.refused(Pair(*pair), words, TypeError)
        for pair in ((schema,), (schema, array, array), (), (None,)):
            self.refused(Pair(*pair), '__arrow_c_array__.*two capsules', TypeError)

    # ---- arrays alone ----

    def batch(self, **more):
        schema = self.made.schema('+s', '', [self.made.schema('l', 'x'), self.made.schema('u', 's')])
        text = self.made.array(3, [None, np.array([0, 1, 1, 3], 'i4'), b'a\xc3\xbc'], 's')
        return self.made.capsule(schema), self.made.capsule(self.made.batch(3, [self.ints(), text], **more))

    def test_array_alone(self):
        schema, array = self.batch()
        self.assertEqual(granary.from_arrow(Pair(schema, array)).collect().to_dict(), {'x': [1, 2, 3], 's': ['a', '', 'ü']})
        self.assertFalse(struct_of(array, Array).release)
        self.assertFalse(struct_of(schema, Schema).release)
        self.refused(Pair(schema, array), 'taken before', ValueError)
        self.assertEqual(sorted(self.made.released), ['array batch', 'array s', 'array x', 'schema ', 'schema s', 'schema x'])

    def test_array_alone_released(self):
        schema, array = self.batch()
        release(struct_of(array, Array))
        self.refused(Pair(schema, array), 'taken before', ValueError)
        self.assertTrue(struct_of(schema, Schema).release)  # it is still the capsule's

    def test_array_alone_of_no_struct(self):
        self.refused(Pair(self.made.capsule(self.made.schema('l', 'x')), self.made.capsule(self.ints())), "'l': a record batch is needed")
        self.assertEqual(sorted(self.made.released), ['array x', 'schema x'])

    def test_array_alone_sliced(self):
        """The batch's own offset counts for its columns."""
        self.assertEqual(granary.from_arrow(Pair(*self.batch())).collect().shape[0], 3)
        schema, array = self.batch()
        struct_of(array, Array).offset, struct_of(array, Array).length = 1, 2
        self.assertEqual(granary.from_arrow(Pair(schema, array)).collect().to_dict(), {'x': [2, 3], 's': ['', 'ü']})

    # ---- what arrays say of themselves ----

    def test_null_count(self):
        """-1: the bits tell. 0: there are none, whatever the bits say."""
        bits = bitmap([1, 0, 1])
        for count, want in ((-1, [1, None, 3]), (1, [1, None, 3]), (3, [1, None, 3]), (0, [1, 2, 3])):
            self.assertEqual(self.x(self.of('l', self.ints(buffers=[bits, np.array([1, 2, 3])], null_count=count))), want, count)
        self.assertEqual(self.x(self.of('l', self.ints(null_count=-1))), [1, 2, 3])  # without a bitmap
        for count in (-2, 4, 2**62):
            self.refused(self.of('l', self.ints(null_count=count)), "column 'x' has .* nulls in 3 rows")
        self.refused(self.of('l', self.ints(null_count=1)), 'no bitmap')

    def test_offsets(self):
        """Rows from the middle of an array, of the batch, and of both, over every layout and bit of a byte."""
        rows = 40
        numbers, flags, there = np.arange(rows), np.arange(rows) % 3 == 0, np.arange(rows) % 5 != 0
        words = [f'w{i}' * (i % 3) for i in range(rows)]
        ends = np.cumsum([0] + [len(w) for w in words]).astype('i4')
        for own in (0, 1, 7, 8, 9, 16):
            for batch in (0, 3, 8):
                length = rows - own - batch
                wide = dict(offset=own, null_count=-1)
                columns = [self.made.array(rows - own, [bitmap(there), numbers], 'x', **wide), self.made.array(rows - own, [bitmap(there), bitmap(flags)], 'b', **wide),
                           self.made.array(rows - own, [bitmap(there), ends, ''.join(words).encode()], 's', **wide)]
                fields = [self.made.schema('l', 'x'), self.made.schema('b', 'b'), self.made.schema('u', 's')]
                source = Exporter(self.made.capsule(self.made.stream(self.made.schema('+s', '', fields), [self.made.batch(length, columns, offset=batch)])))
                got = granary.from_arrow(source).collect().to_dict()
                for name, values in (('x', numbers.tolist()), ('b', flags.tolist()), ('s', words)):
                    self.assertEqual(got[name], [v if ok else None for v, ok in zip(values, there)][own + batch:], (name, own, batch))
                del got

    def test_rows_that_are_not_there(self):
        self.refused(self.of('l', self.ints(length=3), rows=4), 'ends at 4')
        self.refused(self.of('l', self.ints(length=-1), rows=0), '-1 rows')
        self.refused(self.of('l', self.ints(offset=-1)), 'from row -1')
        self.refused(self.of('l', self.ints(length=2**62)), 'rows')
        self.refused(self.of('l', self.ints(), rows=-3), '-3 rows')

    def test_zero_length(self):
        """No rows need no buffers; a stream of no arrays has its columns still."""
        empty = self.made.array(0, [None, None])
        self.assertEqual(self.x(self.of('l', empty)), [])
        self.assertEqual(self.x(self.of('u', self.made.array(0, [None, None, None]))), [])
        self.assertEqual(self.x(self.of('u', self.made.array(0, []))), [])
        self.assertEqual(self.x(self.made.exporter([self.made.schema('l', 'x')], [])), [])
        three = [(0, [self.made.array(0, [None, None])]), (2, [self.ints((5, 6))]), (0, [self.made.array(0, [None, None])])]
        self.assertEqual(self.x(self.made.exporter([self.made.schema('l', 'x')], three)), [5, 6])
        schema = self.made.schema('+s', '', [self.made.schema('l', 'x')])
        self.assertEqual(self.x(Pair(self.made.capsule(schema), self.made.capsule(self.made.batch(0, [self.ints(())])))), [])

    def test_missing_buffers(self):
        self.refused(self.of('l', self.made.array(3, [None, None])), 'values are missing')
        self.refused(self.of('u', self.made.array(3, [None, None, b'abc'])), 'missing')
        self.refused(self.of('u', self.made.array(3, [None, np.array([0, 1, 2, 3], 'i4'), None])), 'text is missing')
        self.assertEqual(self.x(self.of('u', self.made.array(2, [None, np.zeros(3, 'i4'), None]))), ['', ''])
        self.refused(self.of('b', self.made.array(3, [None, None])), 'values are missing')

    def test_number_of_buffers(self):
        for format, buffers, needed in (('l', [None], 2), ('l', [], 2), ('u', [None, np.zeros(4, 'i4')], 3), ('b', [None], 2)):
            self.refused(self.of(format, self.made.array(3, buffers)), f'{len(buffers)} buffers, {needed} are needed')
        array = self.ints()
        array.n_buffers = -1
        self.refused(self.of('l', array), '-1 buffers')
        array = self.ints()
        array.buffers = ctypes.POINTER(VOID)()
        self.refused(self.of('l', array), 'buffers')

    def test_children(self):
        """The batch has as many columns as its schema; columns have none of their own."""
        for count in (0, 2, -1):
            array = self.careless(self.made.batch(3, [self.ints()]))
            array.n_children = count
            stream = self.made.stream(self.made.schema('+s', '', [self.made.schema('l', 'x')]), [array])
            self.refused(Exporter(self.made.capsule(stream)), f'has {count} columns, its schema has 1')
        batch = self.careless(self.made.batch(3, [self.ints()]))
        batch.children = ctypes.POINTER(ctypes.POINTER(Array))()
        stream = self.made.stream(self.made.schema('+s', '', [self.made.schema('l', 'x')]), [batch])
        self.refused(Exporter(self.made.capsule(stream)), 'columns')
        self.assertEqual(self.made.released.count('careless'), 4)
        column = self.ints(children=[self.ints(label='y')])
        self.refused(self.of('l', column), 'children')

    def test_released_child(self):
        column = self.ints()
        column.release = None
        self.refused(self.of('l', column, rows=3), 'released')

    def test_schemas(self):
        for top, words in ((self.made.schema('l', 'x'), "'l': a record batch"), (self.made.schema('', ''), 'record batch'), (self.made.schema('+l', ''), r"'\+l'")):
            self.refused(Exporter(self.made.capsule(self.made.stream(top, []))), words)
        self.refused(self.of('zz', self.ints()), "column 'x'.*zz", granary.Error)
        self.refused(self.of('tiM', self.ints()), "column 'x'", granary.Unsupported)
        twice = [self.made.schema('l', 'x'), self.made.schema('l', 'x')]
        self.refused(self.made.exporter(twice, [(3, [self.ints(), self.ints(label='y')])]), "'x'")
        self.assertEqual(granary.from_arrow(self.made.exporter([], [(3, [])])).collect().shape, (3, 0))
        field = self.made.schema('l', 'x')
        field.name = b'\xff'
        self.refused(self.made.exporter([field], [(3, [self.ints()])]), 'UTF-8')

    def test_metadata(self):
        """It is left out, also when it makes no sense; flags and an extension's name do not matter."""
        pair = (1).to_bytes(4, 'little') + (3).to_bytes(4, 'little') + b'key' + (5).to_bytes(4, 'little') + b'value'
        for metadata in (pair, b'\0\0\0\0', b'\xff\xff\xff\x7f'):
            fields = [self.made.schema('l', 'x', metadata=metadata, flags=7)]
            top = self.made.schema('+s', 'top', fields, metadata=metadata)
            source = Exporter(self.made.capsule(self.made.stream(top, [self.made.batch(3, [self.ints()])])))
            self.assertEqual(self.x(source), [1, 2, 3])
        field = self.made.schema('l', None)
        got = granary.from_arrow(self.made.exporter([field], [(3, [self.ints()])])).collect()
        self.assertEqual(got.columns, [''])

    def test_null_rows(self):
        """Rows that are null as a whole have no place; a bitmap of ones is none."""
        for flags, good in (([1, 1, 1], True), ([1, 0, 1], False)):
            batch = self.made.array(3, [bitmap(flags)], 'batch', null_count=-1, children=[self.ints()])
            source = Exporter(self.made.capsule(self.made.stream(self.made.schema('+s', '', [self.made.schema('l', 'x')]), [batch])))
            if good:
                self.assertEqual(self.x(source), [1, 2, 3])
            else:
                self.refused(source, 'null as a whole', granary.Unsupported)

    def test_dictionaries(self):
        def coded(codes, words=('p', 'q'), validity=None, **more):
            ends = np.cumsum([0] + [len(w) for w in words]).astype('i4')
            text = self.made.array(len(words), [None, ends, ''.join(words).encode()], 'words')
            array = self.made.array(len(codes), [validity, np.array(codes, 'i4')], 'x', null_count=-1, dictionary=text, **more)
            field = self.made.schema('i', 'x', dictionary=self.made.schema('u'))
            return self.made.exporter([field], [(array.length, [array])])

        self.assertEqual(self.x(coded([1, 0, 1])), ['q', 'p', 'q'])
        self.assertEqual(self.x(coded([9, 0, 1], validity=bitmap([0, 1, 1]))), [None, 'p', 'q'])
        self.assertEqual(self.x(coded([0, 0], words=(), validity=bitmap([0, 0]))), [None, None])
        for bad in (2, -1, 2**31 - 1):
            self.refused(coded([0, bad]), 'row 1 is not in its dictionary of 2')
        self.refused(self.made.exporter([self.made.schema('i', 'x', dictionary=self.made.schema('u'))], [(3, [self.ints(format='i')])]), 'the array has none')

    # ---- producers that fail ----

    def failing(self, number, told, batches=0, where='next'):
        arrays = [self.made.batch(3, [self.ints()]) for _ in range(batches)]
        stream = self.made.stream(self.made.schema('+s', '', [self.made.schema('l', 'x')]), arrays, fail=(number, told or ''))
        if where == 'schema':
            stream.get_schema = ctypes.cast(self.made.keep(GET_SCHEMA(lambda *_: number)), VOID)
        if told is None:
            stream.get_last_error = None
        return Exporter(self.made.capsule(stream))

    def test_errors_of_get_schema(self):
        for number, error in ((errno.EINVAL, granary.Invalid), (errno.ENOMEM, granary.OutOfMemory), (errno.EIO, granary.IOFailed), (errno.ENOSYS, granary.Unsupported),
                              (errno.ETIMEDOUT, granary.TimedOut), (errno.ECANCELED, granary.Cancelled), (errno.ENOENT, granary.Failed), (-1, granary.Failed)):
            self.refused(self.failing(number, 'no such luck: ü', where='schema'), 'the Arrow stream failed: no such luck: ü', error)
        self.assertEqual(self.made.released.count('stream'), 8)

    def test_errors_of_get_next(self):
        """At the beginning and in the middle; what was put is taken back."""
        for batches in (0, 1, 3):
            self.refused(self.failing(errno.EIO, f'after {batches}', batches), f'failed: after {batches}', granary.IOFailed)
        self.assertEqual(self.made.released.count('array batch'), 4)

    def test_errors_without_text(self):
        self.refused(self.failing(errno.EIO, None, 1), 'Input/output error', granary.IOFailed)
        self.refused(self.failing(12345, None, where='schema'), 'failed: error 12345', granary.Failed)
        self.refused(self.failing(errno.EINVAL, '', 1), 'failed: Invalid argument')

    def test_a_bad_batch_in_the_middle(self):
        batches = [(3, [self.ints(null_count=count)]) for count in (0, -1, 9, 0)]
        self.refused(self.made.exporter([self.made.schema('l', 'x')], batches), '9 nulls')
        self.assertEqual(self.made.released.count('stream'), 1)
        self.assertEqual(self.made.released.count('array batch'), 3)  # the fourth was not asked for

    def test_streams_without_functions(self):
        """A stream that cannot be asked is refused, and released all the same."""
        for name in ('get_schema', 'get_next'):
            stream = self.made.stream(self.made.schema('+s', '', [self.made.schema('l', 'x')]), [])
            setattr(stream, name, None)
            self.refused(Exporter(self.made.capsule(stream)), 'missing')
        self.assertEqual(self.made.released.count('stream'), 2)

    def test_a_schema_that_is_released(self):
        def get_schema(_, given):
            given[0] = Schema()
            return 0

        stream = self.made.stream(self.made.schema('+s', ''), [])
        stream.get_schema = ctypes.cast(self.made.keep(GET_SCHEMA(get_schema)), VOID)
        self.refused(Exporter(self.made.capsule(stream)), 'schema is missing')

    # ---- out ----

    def test_release_elsewhere(self):
        """Streams and arrays of ours are released on whatever thread."""
        frame = granary.from_arrow(self.of('l', self.ints())).collect()
        stream = self.stream_out(frame)
        array = self.next(stream)
        for one in (stream, array):
            thread = threading.Thread(target=release, args=(one,))
            thread.start()
            thread.join()
            self.assertFalse(one.release)

    def test_children_moved_out(self):
        """A column outlives its batch: the batch's release leaves it alone."""
        frame = granary.from_arrow(self.of('l', self.ints())).collect()
        stream = self.stream_out(frame)
        batch = self.next(stream)
        column = move(batch.children[0].contents)
        release(batch)
        release(stream)
        del frame
        gc.collect()
        self.assertEqual(np.frombuffer(ctypes.string_at(column.buffers[1], 24), 'i8').tolist(), [1, 2, 3])
        release(column)

    def test_after_the_end(self):
        """At its end a stream gives released arrays, as often as it is asked."""
        frame = granary.from_arrow(self.of('l', self.ints())).collect()
        stream = self.stream_out(frame)
        for i in range(4):
            array = self.next(stream)
            self.assertEqual(bool(array.release), i == 0)
            if array.release:
                release(array)
        schema = Schema()
        self.assertEqual(GET_SCHEMA(stream.get_schema)(ctypes.byref(stream), ctypes.byref(schema)), 0)
        release(schema)
        release(stream)

    def test_after_close(self):
        """What was given stays readable when the session was closed, and is released after that."""
        session = granary.connect(self.session.instance)
        ref = session.put(pd.DataFrame({'x': [1, 2, 3], 's': ['a', None, 'c']}))
        capsule, unread = ref.get().__arrow_c_stream__(), ref.get().__arrow_c_stream__()
        stream = move(stream_of(self.made.keep(session._client.arrow_frames([ref.id]))))
        array = self.next(stream)
        session.close()
        self.assertEqual(consume(capsule).columns, {'x': [1, 2, 3], 's': ['a', None, 'c']})
        self.assertEqual(np.frombuffer(ctypes.string_at(array.children[0].contents.buffers[1], 24), 'i8').tolist(), [1, 2, 3])
        release(stream)
        release(array)
        del capsule, unread, ref



if __name__ == '__main__':
    unittest.main()
