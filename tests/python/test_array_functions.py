"""Every function of granary.array beside NumPy: dtypes, many chunks, empty arrays, none and several dimensions, broadcasting."""
import itertools
import unittest
import warnings

import numpy as np
from array_test import DTYPES, FLOATS, SIGNED, UNSIGNED, ArrayTest, xp

from granary.array._operators import BINARY, UNARY

warnings.simplefilter("ignore", RuntimeWarning)

NUMPY = {"acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atanh": "arctanh",
         "bitwise_invert": "invert", "round": "rint", "atan2": "arctan2", "bitwise_left_shift": "left_shift",
         "bitwise_right_shift": "right_shift", "pow": "power"}
KINDS = {"numeric": [*SIGNED, *UNSIGNED, *FLOATS], "real numeric": [*SIGNED, *UNSIGNED, *FLOATS], "real floating": FLOATS, "floating": FLOATS, "integral": [*SIGNED, *UNSIGNED],
         "integral or bool": ["bool", *SIGNED, *UNSIGNED], "bool": ["bool"], "any": DTYPES}
SHAPES = [(), (0,), (7,), (3, 5), (2, 0, 3), (2, 3, 4), (1, 2, 1, 3, 2)]
PIECES = 32  # bytes of a chunk, so that nearly all arrays have many


def numpy_function(name):
    return getattr(np, NUMPY.get(name, name))


class ElementWise(ArrayTest):
    def test_unary(self):
        for name, function in UNARY.items():
            for dtype, shape in itertools.product(KINDS[function.takes], [(), (0, 2), (3, 5)]):
                x = self.draw(shape, dtype)
                with self.subTest(name, dtype=dtype, shape=shape):
                    want = x if name in ("ceil", "floor", "round", "trunc") and x.dtype.kind != "f" else numpy_function(name)(x)
                    want = want.astype(dtype) if name == "angle" else want  # NumPy 1 makes float64 of one number
                    self.same(getattr(xp, name)(xp.asarray(x)), np.asarray(want), 1e-5 if dtype == "float32" else 1e-12)

    def test_binary(self):
        for name, function in BINARY.items():
            takes = KINDS[function.takes]
            for one, other in itertools.product(takes, takes):
                x, y = self.draw((3, 1, 4), one), self.draw((2, 4), other)
                if "shift" in name or name == "pow" and y.dtype.kind != "f":
                    y = np.abs(y)
                if name in ("floor_divide", "remainder") and y.dtype.kind != "f":
                    y = np.where(y == 0, y.dtype.type(1), y)
                try:
                    dtype = xp.result_type(xp.asarray(x), xp.asarray(y))
                except TypeError:
                    with self.assertRaises(TypeError, msg=f"{name} {one} {other}"):
                        getattr(xp, name)(xp.asarray(x), xp.asarray(y))
                    continue
                with self.subTest(name, one=one, other=other):
                    want = numpy_function(name)(x.astype(dtype), y.astype(dtype))
                    self.same(getattr(xp, name)(xp.asarray(x), xp.asarray(y)), want, 1e-5 if dtype == "float32" else 1e-12)

    def test_floor_divide_of_infinities(self):
        x = np.array([np.inf, -np.inf, 1.0, -1.0, 7.0, 0.3, 1.0])
        y = np.array([2.0, 2.0, -np.inf, np.inf, 2.0, 0.1, 0.1])
        want = np.array([np.inf, -np.inf, -0.0, -0.0, 3.0, 2.0, 9.0])
        self.same(xp.floor_divide(xp.asarray(x), xp.asarray(y)), want)
        self.same(xp.asarray(x) // 2, np.array([np.inf, -np.inf, 0.0, -1.0, 3.0, 0.0, 0.0]))
        self.same(2 // xp.asarray(x[:2]), np.array([0.0, -0.0]))

    def test_wrong_dtypes(self):
        for name, function in [*UNARY.items(), *BINARY.items()]:
            count = 1 if name in UNARY else 2
            for dtype in set(DTYPES) - set(KINDS[function.takes]):
                with self.assertRaises(TypeError, msg=f"{name} {dtype}"):
                    getattr(xp, name)(*[xp.ones(2, dtype=dtype)] * count)
            with self.assertRaises(TypeError):
                getattr(xp, name)(*[1] * count)

    def test_shapes_that_do_not_broadcast(self):
        with self.assertRaises(ValueError):
            xp.add(xp.ones((2, 3)), xp.ones((2, 4)))

    def test_a_chain_in_chunks(self):
        x, y = self.draw((40, 9), "float64"), self.draw((9,), "float64")
        xp.set_chunk_bytes(512)
        made = xp.exp(-((xp.asarray(x) - xp.asarray(y)) ** 2) / 2) * 3
        self.same(made, np.exp(-((x - y) ** 2) / 2) * 3, 1e-12)


class Reductions(ArrayTest):
    def test_all_of_them(self):
        for shape, chunk in itertools.product(SHAPES, (0, PIECES)):
            xp.set_chunk_bytes(chunk)
            axes = [None, *range(len(shape)), *([(0, len(shape) - 1)] if len(shape) > 1 else [])]
            for dtype, axis, keepdims in itertools.product(["bool", "int8", "uint32", "float32", "float64"], axes, (False, True)):
                x = self.draw(shape, dtype)
                with self.subTest(shape=shape, dtype=dtype, axis=axis, keepdims=keepdims, chunk=chunk):
                    self._each(x, xp.asarray(x), dtype, axis, keepdims)

    def _each(self, x, array, dtype, axis, keepdims):
        options = {"axis": axis, "keepdims": keepdims}
        tolerance = 1e-5 if dtype == "float32" else 1e-12
        for name in ("all", "any"):
            self.same(getattr(xp, name)(array, **options), np.asarray(getattr(np, name)(x, **options)))
        if dtype == "bool":
            return
        for name in ("sum", "prod"):
            wanted = "float64" if x.dtype.kind == "f" else "uint64" if x.dtype.kind == "u" else "int64"
            if name == "sum" or x.dtype.kind == "f":
                self.same(getattr(xp, name)(array, **options), np.asarray(getattr(np, name)(x, **options, dtype=wanted)), tolerance)
        if x.size:
            for name in ("max", "min"):
                self.same(getattr(xp, name)(array, **options), np.asarray(getattr(np, name)(x, **options)))
            if axis is None or isinstance(axis, int):
                for name in ("argmax", "argmin"):
                    self.same(getattr(xp, name)(array, **options), np.asarray(getattr(np, name)(x, **options)))
        if x.dtype.kind == "f" and x.size:
            self.same(xp.mean(array, **options), np.asarray(np.mean(x, **options)), tolerance)
            for name in ("var", "std"):
                want = getattr(np, name)(x, **options, ddof=1)
                self.same(getattr(xp, name)(array, correction=1, **options), np.asarray(want), tolerance)

    def test_dtypes_of_sums(self):
        x = self.draw((5,), "int16")
        for dtype in ["int8", "int16", "uint64", "float32", "float64"]:
            self.same(xp.sum(xp.asarray(np.abs(x)), dtype=dtype), np.asarray(np.abs(x).sum(dtype=dtype)), 1e-5)
        self.same(xp.prod(xp.asarray([2, 3]), dtype=xp.float32), np.float32(6))

    def test_what_does_not_fit(self):
        with self.assertRaises(Exception) as raised:
            np.asarray(xp.sum(xp.full(4, 2**62)))
        self.assertIn("sum", str(raised.exception))
        self.assertEqual(self.graphs(), [])

    def test_refused(self):
        for call in (lambda: xp.max(xp.ones((0,))), lambda: xp.argmin(xp.ones((2, 0)), axis=1), lambda: xp.sum(xp.ones(2), axis=1),
                     lambda: xp.sum(xp.ones((2, 2)), axis=(0, 0))):
            self.assertRaises(ValueError, call)
        for call in (lambda: xp.mean(xp.arange(3)), lambda: xp.sum(xp.asarray([True])), lambda: xp.max(xp.asarray([True]))):
            self.assertRaises(TypeError, call)


class Order(ArrayTest):
    def test_sort(self):
        for shape, dtype, chunk in itertools.product(SHAPES[1:], DTYPES, (0, PIECES)):
            xp.set_chunk_bytes(chunk)
            x = self.draw(shape, dtype)
            for axis in range(len(shape)):
                with self.subTest(shape=shape, dtype=dtype, axis=axis, chunk=chunk):
                    array = xp.asarray(x)
                    self.same(xp.sort(array, axis=axis), np.sort(x, axis=axis))
                    self.same(xp.sort(array, axis=axis, descending=True), np.flip(np.sort(x, axis=axis), axis=axis))
                    self.same(xp.argsort(array, axis=axis), np.argsort(x, axis=axis, kind="stable"))

    def test_descending_keeps_the_order_of_equals(self):
        self.same(xp.argsort(xp.asarray([1, 2, 1, 2]), descending=True), [1, 3, 0, 2])

    def test_sets(self):
        for shape, dtype, chunk in itertools.product(SHAPES, DTYPES, (0, PIECES)):
            xp.set_chunk_bytes(chunk)
            x = np.round(self.draw(shape, dtype)) if dtype in FLOATS else self.draw(shape, dtype)
            x = x + np.zeros((), x.dtype) if dtype in FLOATS else x  # no -0.0
            with self.subTest(shape=shape, dtype=dtype, chunk=chunk):
                values, indices, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
                made = xp.unique_all(xp.asarray(x))
                for got, want in zip(made, (values, indices, inverse.reshape(x.shape), counts)):
                    self.same(got, want)
                self.same(xp.unique_values(xp.asarray(x)), values)
                self.same(xp.unique_counts(xp.asarray(x)).counts, counts)
                self.same(xp.unique_inverse(xp.asarray(x)).inverse_indices, inverse.reshape(x.shape))

    def test_each_nan_is_distinct(self):
        made = xp.unique_all(xp.asarray([xp.nan, 2.0, xp.nan, 2.0]))
        self.same(made.values, [2.0, np.nan, np.nan])
        self.same(made.counts, [2, 1, 1])
        self.same(xp.isnan(made.values), [False, True, True])

    def test_nonzero(self):
        for shape, dtype, chunk in itertools.product(SHAPES[1:], DTYPES, (0, PIECES)):
            xp.set_chunk_bytes(chunk)
            x = self.draw(shape, dtype)
            for got, want in zip(xp.nonzero(xp.asarray(x)), np.nonzero(x)):
                self.same(got, want)

    def test_where(self):
        for one, other in itertools.product(["int8", "int32"], ["int16", "int8"]):
            c, x, y = self.draw((3, 1), "bool"), self.draw((4,), one), self.draw((2, 3, 4), other)
            self.same(xp.where(xp.asarray(c), xp.asarray(x), xp.asarray(y)), np.where(c, x, y))


class Moves(ArrayTest):
    def setUp(self):
        self.cases = [self.draw(shape, dtype) for shape in SHAPES for dtype in ("bool", "int16", "float64")]

    def each(self):
        for x, chunk in itertools.product(self.cases, (0, PIECES)):
            xp.set_chunk_bytes(chunk)
            with self.subTest(shape=x.shape, dtype=x.dtype, chunk=chunk):
                yield x, xp.asarray(x)

    def test_shapes(self):
        for x, array in self.each():
            self.same(xp.reshape(array, (-1,)), x.reshape(-1)) if x.size else None
            self.same(xp.reshape(array, (*x.shape[::-1], 1)), x.reshape((*x.shape[::-1], 1)))
            self.same(xp.broadcast_to(array, (2, *x.shape)), np.broadcast_to(x, (2, *x.shape)))
            self.same(xp.permute_dims(array, tuple(range(x.ndim))[::-1]), x.transpose())
            for axis in range(-x.ndim - 1, x.ndim + 1):
                self.same(xp.expand_dims(array, axis=axis), np.expand_dims(x, axis))
            ones = tuple(i for i, side in enumerate(x.shape) if side == 1)
            self.same(xp.squeeze(array, ones), np.squeeze(x, ones))

    def test_moves(self):
        for x, array in self.each():
            self.same(xp.flip(array), np.flip(x))
            self.same(xp.roll(array, 3), np.roll(x, 3))
            for axis in range(x.ndim):
                self.same(xp.flip(array, axis=axis), np.flip(x, axis))
                self.same(xp.roll(array, -2, axis=axis), np.roll(x, -2, axis))
            if x.ndim > 1:
                self.same(xp.roll(array, (1, 2), axis=(0, 1)), np.roll(x, (1, 2), (0, 1)))
                self.same(xp.matrix_transpose(array), x.swapaxes(-1, -2))
                self.same(xp.tril(array, k=1), np.tril(x, 1))
                self.same(xp.triu(array, k=-1), np.triu(x, -1))

    def test_together(self):
        for x, array in self.each():
            self.same(xp.stack([array, array], axis=-1), np.stack([x, x], -1))
            self.same(xp.concat([array, array], axis=None), np.concatenate([x, x], None))
            for axis in range(x.ndim):
                self.same(xp.concat([array, array, array], axis=axis), np.concatenate([x, x, x], axis))
        wider = xp.concat([xp.asarray([1], dtype=xp.int8), xp.asarray([2], dtype=xp.int16)])
        self.same(wider, np.array([1, 2], "int16"))
        self.same(xp.concat([xp.full(1, i) for i in range(1205)]), np.arange(1205))
        self.assertRaises(TypeError, xp.concat, [xp.ones(1), xp.ones(1, dtype=xp.int8)])

    def test_astype(self):
        for one, other in itertools.product(DTYPES, DTYPES):
            x = np.abs(self.draw((7,), one)) if other.startswith("u") else self.draw((7,), one)
            self.same(xp.astype(xp.asarray(x), getattr(xp, other)), x.astype(other))

    def test_broadcast_arrays(self):
        x, y = self.draw((3, 1), "int8"), self.draw((4,), "float32")
        for got, want in zip(xp.broadcast_arrays(xp.asarray(x), xp.asarray(y)), np.broadcast_arrays(x, y)):
            self.same(got, want)


class Creation(ArrayTest):
    def test_filled(self):
        for dtype, shape in itertools.product(DTYPES, SHAPES):
            for name in ("zeros", "ones", "empty"):
                want = np.ones(shape, dtype) if name == "ones" else np.zeros(shape, dtype)
                self.same(getattr(xp, name)(shape, dtype=getattr(xp, dtype)), want)
                self.same(getattr(xp, name + "_like")(xp.asarray(want)), want)
            value = {"b": True, "f": 2.5}.get(np.dtype(dtype).kind, 7)
            self.same(xp.full(shape, value, dtype=getattr(xp, dtype)), np.full(shape, value, dtype))
            self.same(xp.full_like(xp.zeros(shape, dtype=dtype), value), np.full(shape, value, dtype))
        for value in (xp.nan, xp.inf, -xp.inf, -0.0):
            self.same(xp.full((2, 3), value), np.full((2, 3), value))
        self.same(xp.full(2, 2**64 - 1, dtype=xp.uint64), np.full(2, 2**64 - 1, "uint64"))
        self.assertRaises(OverflowError, xp.full, 2, 256, dtype=xp.uint8)

    def test_ranges(self):
        for arguments in [(5,), (2, 9), (9, 2, -2), (0, 1, 3), (3, 3), (-5, 5, 4), (2.5, 9.0), (1, 0, -0.25), (0.5,)]:
            self.same(xp.arange(*arguments), np.arange(*arguments))
        self.same(xp.arange(2**63, 2**63 + 5, 2, dtype=xp.uint64), np.arange(2**63, 2**63 + 5, 2, dtype="uint64"))
        self.same(xp.arange(3, dtype=xp.float32), np.arange(3, dtype="float32"))
        for count, endpoint in itertools.product((0, 1, 2, 7), (True, False)):
            self.same(xp.linspace(-1, 2, count, endpoint=endpoint), np.linspace(-1, 2, count, endpoint=endpoint), 1e-15)
        self.assertRaises(ValueError, xp.arange, 1, 2, 0)

    def test_eye_and_grids(self):
        for rows, columns, k in itertools.product((0, 1, 3), (None, 0, 4), (-2, 0, 1)):
            self.same(xp.eye(rows, columns, k=k), np.eye(rows, columns, k))
        vectors = [np.arange(n) for n in (2, 3, 4)]
        for indexing, count in itertools.product(("xy", "ij"), (1, 2, 3)):
            made = xp.meshgrid(*[xp.asarray(v) for v in vectors[:count]], indexing=indexing)
            for got, want in zip(made, np.meshgrid(*vectors[:count], indexing=indexing)):
                self.same(got, want)

    def test_asarray(self):
        for value in (True, 3, 2.5, [1, 2], [[1.5], [2]], [], np.float32(2), np.arange(6).reshape(2, 3).T, np.arange(4, dtype=">i4")):
            want = np.asarray(value)
            self.same(xp.asarray(value), want.astype(want.dtype.newbyteorder("=")))
        self.same(xp.asarray([1, 2], dtype=xp.float32), np.array([1, 2], "float32"))
        x = np.ones(3)
        array = xp.asarray(x)
        x[0] = 5
        self.same(array, np.ones(3))  # a copy
        for value in ("text", [None], np.datetime64("2000-01-01"), np.longdouble(1)):
            self.assertRaises((TypeError, ValueError), xp.asarray, value)
        self.assertRaises(OverflowError, xp.asarray, 2**63)
        self.assertRaises(ValueError, xp.asarray, [1], copy=False)

    def test_large(self):
        x = self.random.normal(size=(3000, 1000))
        xp.set_chunk_bytes(1 << 20)
        array = xp.asarray(x)
        self.same(array + 1, x + 1)
        self.same(xp.sum(array, axis=0), x.sum(0), 1e-9)
        self.same(array[17, 3:900:7], x[17, 3:900:7])

    def test_dlpack(self):
        x = self.draw((3, 4), "float32")
        self.same(xp.from_dlpack(x), x)
        self.same(xp.from_dlpack(xp.asarray(x) * 2), x * 2)


class Chains(ArrayTest):
    """Random steps behind one another, so that they are fused, cut and moved in all ways."""

    def step(self, arrays, values):
        """One more pair of the same elements."""
        i, j = self.random.integers(0, len(arrays), 2)
        array, value = arrays[i], values[i]
        axis = int(self.random.integers(0, max(value.ndim, 1)))
        kind = self.random.integers(0, 14 if value.ndim else 4)
        if kind == 0:
            return xp.abs(array) + 1.5, np.abs(value) + 1.5
        if kind == 1:
            return xp.tanh(array), np.tanh(value)
        if kind == 2:
            return xp.where(array > 0.5, array, -array), np.where(value > 0.5, value, -value)
        if kind == 3 or kind == 4:
            try:
                return arrays[j] - array * 0.5, values[j] - value * 0.5
            except ValueError:
                return array * 2, value * 2
        if kind == 5:
            return xp.sum(array, axis=axis), value.sum(axis)
        if kind == 6 and value.shape[axis]:
            return xp.max(array, axis=axis, keepdims=True), value.max(axis, keepdims=True)
        if kind == 7:
            return xp.flip(array, axis=axis), np.flip(value, axis)
        if kind == 8:
            return xp.sort(array, axis=axis), np.sort(value, axis)
        if kind == 9:
            key = tuple(slice(*sorted(self.random.integers(-1, side + 1, 2)), self.random.choice([1, 2])) for side in value.shape)
            return array[key], value[key]
        if kind == 10:
            return xp.permute_dims(array, tuple(range(value.ndim))[::-1]), value.T
        if kind == 11 and value.size < 2000:
            return xp.concat([array, array], axis=axis), np.concatenate([value, value], axis)
        if kind == 12:
            return xp.reshape(array, (-1,)) if value.size else array, value.reshape(-1) if value.size else value
        changed, wanted = array[...], value.copy()
        place = (*[slice(None)] * axis, slice(None, None, 2))
        changed[place], wanted[place] = 0.25, 0.25
        return changed, wanted

    def test_chains(self):
        for number in range(60):
            xp.set_chunk_bytes(int(self.random.choice([0, 40, 200])))
            shape = [int(side) for side in self.random.integers(1, 7, self.random.integers(1, 4))]
            values = [self.draw(shape, "float64")]
            arrays = [xp.asarray(values[0])]
            for _ in range(12):
                array, value = self.step(arrays, values)
                arrays.append(array)
                values.append(np.asarray(value))
            with self.subTest(number=number, shape=shape):
                xp.compute(*arrays[-3:])
                for array, value in zip(arrays[-3:], values[-3:]):
                    self.same(array, value, 1e-9)


if __name__ == "__main__":
    unittest.main()
