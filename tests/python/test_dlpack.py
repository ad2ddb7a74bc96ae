"""DLPack: tensors of other libraries put without a copy between, and arrays of the store given to other libraries."""
import gc
import threading
import unittest
import weakref

import numpy as np

from dlpack_structs import BFLOAT, COMPLEX, FLOAT, Consumed, Producer, Versioned, name_of
from package_test import PackageTest, granary

import granary.array as xp
from granary import _dlpack, _granary, _values
from granary.array._session import SessionEngine

DTYPES = ['bool', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'float32', 'float64']
BOTH = [{}, {'kind': Versioned}]

try:
    import torch
except ImportError:
    torch = None


def address(array):
    return array.__array_interface__['data'][0]


class In(PackageTest):
    def taken(self, want, **options):
        """The same elements at the same place, read-only; deleted once, when nobody has them any more."""
        source = Producer(want, **options)
        got = _dlpack.borrowed(source)
        self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape))
        np.testing.assert_array_equal(got, want)
        self.assertFalse(got.flags.writeable)
        if want.size:
            self.assertEqual(address(got), address(want))
        part = got[..., None]
        del got
        self.assertEqual(source.deleted, 0)
        del part
        gc.collect()
        self.assertEqual(source.deleted, 1)

    def test_dtypes(self):
        for dtype in DTYPES:
            for options in BOTH:
                self.taken(np.arange(6).reshape(2, 3).astype(dtype), **options)

    def test_layouts(self):
        base = np.arange(4 * 6 * 5, dtype='i4').reshape(4, 6, 5)
        for want in (base, base[:, ::2], base[::-1, :, ::-2], base.T, base[1:3, 2:, 4], np.broadcast_to(base[0], base.shape), base[:0], base[:, 3:3],
                     np.array(7.5), np.zeros((1,) * 8, 'u1'), np.broadcast_to(np.float32(2), (3, 4))):
            for options in BOTH:
                self.taken(want, **options)
        self.taken(base, strides=False)
        self.taken(base[:0], strides=False)
        self.taken(base[:0], data=None)

    def test_byte_offset(self):
        base = np.arange(10, dtype='f8')
        got = _dlpack.borrowed(Producer(base[3:], data=base.ctypes.data, byte_offset=24))
        self.assertEqual(address(got), address(base) + 24)
        np.testing.assert_array_equal(got, base[3:])

    def test_refused_by_name(self):
        """What is refused stays in its capsule, whose destructor deletes it once."""
        one, pair = np.zeros(2, 'f4'), np.zeros(2, 'c8')
        for error, words, options in (
            (TypeError, 'bfloat16.*convert', {'code': BFLOAT, 'bits': 16}), (TypeError, 'float8', {'code': FLOAT, 'bits': 8}),
            (TypeError, 'complex32', {'code': COMPLEX, 'bits': 32}), (TypeError, 'float32 of 4 lanes', {'lanes': 4}),
            (TypeError, 'float32 of 0 lanes', {'lanes': 0}), (TypeError, 'int4', {'code': 0, 'bits': 4}), (TypeError, 'code 99', {'code': 99}),
            (TypeError, 'bool16', {'code': 6, 'bits': 16}), (ValueError, 'dimensions', {'ndim': 9}), (ValueError, 'dimensions', {'ndim': -1}),
            (ValueError, 'without a shape', {'shape': None}), (ValueError, 'no memory', {'data': None}),
        ):
            for kind in BOTH:
                source = Producer(pair if 'complex' in words else one, **options, **kind)
                with self.assertRaisesRegex(error, words):
                    _dlpack.borrowed(source)
                self.assertEqual(source.deleted, 1, words)
        for shape in ([-1], [2**62], [2**33, 2**33], [0, 2**62, 2**62]):
            source = Producer(np.zeros((1,) * len(shape), 'i8'), strides=False)
            source.struct.tensor.shape = source.sides(shape)
            with self.assertRaises(ValueError):
                _dlpack.borrowed(source)
        source = Producer(one)
        source.struct.tensor.strides = source.sides([2**62])
        self.assertRaises(ValueError, _dlpack.borrowed, source)

    def test_devices(self):
        for device in (2, 4, 10, 13):
            source = Producer(np.zeros(3), device_type=device, device_id=1)
            for take in (self.session.put, xp.from_dlpack):
                with self.assertRaisesRegex(BufferError, rf'\({device}, 1\).*copy it there first'):
                    take(source)
            self.assertEqual(source.asked, [])  # nothing was begun on that device
            with self.assertRaisesRegex(BufferError, rf'\({device}, 1\)'):
                capsule = source.capsule()
                _granary.dlpack_take(capsule)

    def test_versions(self):
        source = Producer(np.zeros(3), Versioned, major=2)
        with self.assertRaisesRegex(BufferError, 'version 2.0'):
            _dlpack.borrowed(source)
        self.assertEqual(source.deleted, 1)
        self.assertEqual(source.asked, [{'max_version': (1, 0)}])
        source = Producer(np.zeros(3))
        _dlpack.borrowed(source)
        self.assertEqual(source.asked, [{'max_version': (1, 0)}, {}])

    def test_capsules(self):
        """One is taken once; one of another name, or no capsule, is refused."""
        for kind in BOTH:
            source = Producer(np.arange(3), **kind)
            capsule = source.capsule()
            taken = _granary.dlpack_take(capsule)
            self.assertTrue(name_of(capsule).startswith('used_dltensor'))
            with self.assertRaisesRegex(ValueError, 'before'):
                _granary.dlpack_take(capsule)
            del capsule
            self.assertEqual(source.deleted, 0)
            del taken
            self.assertEqual(source.deleted, 1)
        for bad in (None, 3, 'dltensor', Producer(np.arange(3)).capsule(b'other')):
            with self.assertRaisesRegex(TypeError, 'dltensor'):
                _granary.dlpack_take(bad)
        with self.assertRaisesRegex(TypeError, '__dlpack_device__'):
            xp.from_dlpack(3)

    def test_no_deleter(self):
        for kind in BOTH:
            source = Producer(np.arange(3), **kind)
            source.struct.deleter = None
            self.assertEqual(_dlpack.borrowed(source).tolist(), [0, 1, 2])

    def test_buffer(self):
        taken = _granary.dlpack_take(Producer(np.arange(6, dtype='i2').reshape(2, 3)).capsule())
        view = memoryview(taken)
        self.assertEqual((view.format, view.shape, view.strides, view.readonly, view.nbytes), ('h', (2, 3), (6, 2), True, 12))
        self.assertRaises(BufferError, _granary.address, taken)  # it has strides, which that does not ask for

    def test_deleted_while_an_exception_is_raised(self):
        def fail():
            held = _dlpack.borrowed(source)
            raise KeyError(held.size)

        source = Producer(np.arange(3))
        with self.assertRaisesRegex(KeyError, '3'):
            fail()
        gc.collect()
        self.assertEqual(source.deleted, 1)

    def test_deleted_on_another_thread(self):
        source = Producer(np.arange(3))
        held = [_dlpack.borrowed(source)]
        thread = threading.Thread(target=held.clear)
        thread.start()
        thread.join()
        self.assertEqual(source.deleted, 1)

    def test_put(self):
        for want in (np.arange(100_000, dtype='f4').reshape(100, -1), np.arange(12, dtype='i8').reshape(3, 4).T, np.array(True), np.zeros((0, 3), 'u2')):
            for kind in BOTH:
                source = Producer(want, **kind)
                ref = self.session.put(source)
                self.assertEqual(source.deleted, 1)  # the store has them now
                got = ref.get()
                self.assertIsInstance(got, granary.SharedArray)
                self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape))
                np.testing.assert_array_equal(got, want)

    def test_put_of_others(self):
        """Arrow's arrays and what has no device are pickled as before."""
        class Column(list):
            def __arrow_c_array__(self):
                raise NotImplementedError

            def __dlpack__(self):
                raise NotImplementedError

            __dlpack_device__ = __dlpack__

        self.assertFalse(_values.is_tensor(Column()))
        self.assertFalse(_values.is_tensor(np.arange(3)))
        self.assertFalse(_values.is_tensor(xp.arange(3)))
        self.assertFalse(_values.is_tensor(Producer))  # the class itself
        self.assertTrue(_values.is_tensor(Producer(np.arange(3))))

    def test_array_reads_in_place(self):
        """granary.array's from_dlpack() hands the tensor's own memory to the store."""
        places = []

        class Watching(SessionEngine):
            def put(self, array):
                places.append(address(array))
                return super().put(array)

        before = xp.use(Watching(self.session))
        try:
            want = np.arange(50_000, dtype='f8')
            source = Producer(want)
            made = xp.from_dlpack(source)
            self.assertEqual(places, [address(want)])
            self.assertEqual(source.deleted, 1)
            want[:] = 0  # it is the producer's again
            self.assertEqual(float(xp.sum(made)), 49_999 * 25_000)
            small = np.arange(5)
            made = xp.from_dlpack(Producer(small))
            small[:] = 0
            self.assertEqual(np.asarray(made).tolist(), [0, 1, 2, 3, 4])
        finally:
            del made
            gc.collect()
            xp.use(before)


class Out(PackageTest):
    def setUp(self):
        self.given = np.arange(24, dtype='i4').reshape(2, 3, 4)
        self.ref = self.session.put(self.given)

    def test_alias(self):
        """Consumers that know the mark get the store's memory, also of parts of it."""
        array = self.ref.get()
        for part in (array, array[1], array[:, ::-1, ::2], array.T, array[0, 0, 0:1]):
            got = Consumed(part.__dlpack__(max_version=(1, 0)))
            self.assertEqual((got.kind, got.flags, got.struct.major), (Versioned, 1, 1))
            self.assertEqual(got.address, address(part))
            np.testing.assert_array_equal(got.array, part)
            got.delete()
        got = Consumed(array.__dlpack__(max_version=(2, 3), dl_device=(1, 0)))
        self.assertEqual(got.address, address(array))
        got.delete()

    def test_legacy_gets_a_copy(self):
        array = self.ref.get()
        for options in ({}, {'max_version': None}, {'max_version': (0, 8)}, {'copy': True}):
            got = Consumed(array.__dlpack__(**options))
            self.assertEqual((got.kind is Versioned, got.flags), (False, 0))
            got.array[0, 0, 0] = 99  # it may write
            got.delete()
        np.testing.assert_array_equal(array, self.given)
        got = Consumed(array.__dlpack__(max_version=(1, 0), copy=True))
        self.assertEqual(got.flags, 2)
        self.assertNotEqual(got.address, address(array))
        got.array[:] = 0
        got.delete()
        np.testing.assert_array_equal(array, self.given)
        with self.assertRaisesRegex(BufferError, 'max_version'):
            array.__dlpack__(copy=False)
        Consumed(array.__dlpack__(copy=False, max_version=(1, 0))).delete()
        copied = np.from_dlpack(array)
        np.testing.assert_array_equal(copied, self.given)
        self.assertFalse(np.shares_memory(copied, array))

    def test_refused(self):
        array = self.ref.get()
        self.assertEqual(array.__dlpack_device__(), (1, 0))
        self.assertRaises(ValueError, array.__dlpack__, stream=1)
        with self.assertRaisesRegex(BufferError, 'CPU'):
            array.__dlpack__(dl_device=(2, 0))
        with self.assertRaisesRegex(BufferError, 'datetime64.*astype'):
            array.astype('M8[D]').view(granary.SharedArray).__dlpack__()

    def test_life(self):
        """The consumer keeps the object in memory; a capsule that nobody takes does not. It may delete on any thread."""
        array = self.ref.get()
        seen = weakref.ref(array)
        for version in (None, (1, 0)):
            for _ in range(20):
                array.__dlpack__(max_version=version)
        got = Consumed(array.__dlpack__(max_version=(1, 0)))
        del array
        gc.collect()
        self.ref.delete()
        np.testing.assert_array_equal(got.array, self.given)
        thread = threading.Thread(target=got.delete)  # ctypes lets go of the interpreter's lock
        thread.start()
        thread.join()
        gc.collect()
        self.assertIsNone(seen())

    def test_round_trip(self):
        """Through both directions of our own: at the same place."""
        for dtype in DTYPES:
            array = self.session.put(self.given.astype(dtype)).get()
            back = _dlpack.borrowed(type('Other', (), {'__dlpack__': lambda self, **o: array.__dlpack__(**o), '__dlpack_device__': lambda self: (1, 0)})())
            self.assertEqual((back.dtype, address(back)), (array.dtype, address(array)))
            np.testing.assert_array_equal(back, array)
        array = self.session.put(np.array(2.5)).get()
        got = Consumed(array.__dlpack__(max_version=(1, 0)))
        self.assertEqual((got.array.shape, float(got.array)), ((), 2.5))
        got.delete()

    def test_lazy_arrays(self):
        before = xp.use(SessionEngine(self.session))
        try:
            x = xp.arange(100_000) * 2
            got = Consumed(x.__dlpack__(max_version=(1, 0)))
            self.assertEqual((got.flags, int(got.array[-1])), (1, 199_998))
            got.delete()
            self.assertEqual(xp.from_dlpack(x).shape, x.shape)
            got = Consumed(xp.asarray([True, False]).__dlpack__())
            self.assertEqual(got.array.tolist(), [True, False])
            got.delete()
            del x
        finally:
            gc.collect()
            xp.use(before)


@unittest.skipIf(torch is None, 'torch is not installed')
class Torch(PackageTest):
    def test_in(self):
        for tensor in (torch.arange(20_000, dtype=torch.float64).reshape(100, 200), torch.arange(12).reshape(3, 4).t(), torch.tensor(3.5),
                       torch.zeros(0, 3), torch.arange(8, dtype=torch.uint8)[::2]):
            got = _dlpack.borrowed(tensor)
            if tensor.numel():
                self.assertEqual(address(got), tensor.data_ptr())
            np.testing.assert_array_equal(got, tensor.numpy())
            np.testing.assert_array_equal(self.session.put(tensor).get(), tensor.numpy())

    def test_owner(self):
        """The memory lives as long as the array, not as the tensor."""
        got = _dlpack.borrowed(torch.arange(1_000_000))
        gc.collect()
        self.assertEqual(int(got.sum()), 499_999_500_000)

    def test_refused(self):
        for tensor, error, words in ((torch.zeros(2, dtype=torch.bfloat16), TypeError, 'bfloat16'), (torch.zeros(2, dtype=torch.complex32), TypeError, 'complex32'), (torch.zeros(2, device='meta'), Exception, 'meta')):
            with self.assertRaisesRegex(error, words):
                self.session.put(tensor)

    def test_out(self):
        array = self.session.put(np.arange(6.0).reshape(2, 3)).get()
        tensor = torch.from_dlpack(array)
        tensor[0, 0] = 99
        self.assertEqual(float(array[0, 0]), 0.0)
        self.assertEqual(tensor.shape, (2, 3))


if __name__ == '__main__':
    unittest.main()
