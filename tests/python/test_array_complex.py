"""Complex arrays beside NumPy: functions, sums, chunks, elements, transforms, eigenvalues, and what refuses them."""
import itertools
import json
import os
import unittest
import warnings

import numpy as np
from array_test import ArrayTest, xp
from dlpack_structs import Producer

from granary.array._node import Node
from granary.array._operators import BINARY, UNARY

warnings.simplefilter("ignore", RuntimeWarning)

DTYPES = ["complex64", "complex128"]
NUMPY = {"acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atanh": "arctanh", "pow": "power"}
KINDS = ("numeric", "floating", "any")
LENGTHS = [1, 2, 3, 4, 7, 15, 30, 67, 128, 142]  # test_kernel_fft has them all


def numpy_function(name):
    return getattr(np, NUMPY.get(name, name))


class Complex(ArrayTest):
    def complex(self, shape, dtype="complex128"):
        return (self.random.normal(0, 2, shape) + 1j * self.random.normal(0, 2, shape)).astype(dtype)

    def near(self, got, want, tolerance=None):
        """The same dtype and shape, and elements as near as the dtype lets them be."""
        got, want = np.asarray(got), np.asarray(want)
        single = got.dtype in (np.float32, np.complex64)
        self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape))
        if got.dtype == bool:
            np.testing.assert_array_equal(got, want)
            return
        scale = max(float(np.abs(want).max()), 1.0) if want.size else 1.0
        self.assertLessEqual(float(np.abs(got - want).max()) if want.size else 0.0, (tolerance or (2e-5 if single else 1e-12)) * scale)

    # ---- functions ----

    def test_functions_of_one(self):
        for (name, function), dtype in itertools.product(UNARY.items(), DTYPES):
            x = self.complex((3, 5), dtype)
            with self.subTest(name, dtype=dtype):
                if function.takes not in KINDS:
                    self.assertRaisesRegex(TypeError, dtype, getattr(xp, name), xp.asarray(x))
                    continue
                want = x / np.abs(x) if name == "sign" else numpy_function(name)(x)
                self.near(getattr(xp, name)(xp.asarray(x)), want)

    def test_functions_of_two(self):
        for (name, function), dtype in itertools.product(BINARY.items(), DTYPES):
            x, y = self.complex((3, 5), dtype), self.complex((5,), dtype)
            with self.subTest(name, dtype=dtype):
                if function.takes not in KINDS:
                    self.assertRaisesRegex(TypeError, dtype, getattr(xp, name), xp.asarray(x), xp.asarray(y))
                    continue
                self.near(getattr(xp, name)(xp.asarray(x), xp.asarray(y)), numpy_function(name)(x, y), 1e-3 if dtype == "complex64" else 1e-9)

    def test_parts_of_real_numbers(self):
        x = np.array([-2.0, 0.0, 3.0])
        for name in ("conj", "real", "imag", "angle"):
            self.near(getattr(xp, name)(xp.asarray(x)), getattr(np, name)(x))
        self.near(xp.asarray(x).imag, np.zeros(3))
        self.near(xp.asarray(x).conj(), x)

    def test_numbers_beside_arrays(self):
        x = self.complex((4,))
        a = xp.asarray(x)
        self.near(a + (1 + 2j), x + (1 + 2j))
        self.near((1 - 2j) / a, (1 - 2j) / x)
        self.near(a * 2, x * 2)
        self.near(a - 0.5, x - 0.5)
        self.near(xp.asarray(x.real) * 2j, x.real * 2j)
        self.assertEqual((xp.ones(2, dtype=xp.float32) + 1j).dtype, xp.complex64)
        self.near(a * complex("nan") == a, np.zeros(4, bool))
        for wrong in (lambda: xp.ones(2, dtype=xp.int64) + 1j, lambda: a < 1j, lambda: a // 2, lambda: xp.ones(2) @ 1j):
            self.assertRaises(TypeError, wrong)

    def test_dtypes_meet(self):
        pairs = [("complex64", "float32", "complex64"), ("complex64", "float64", "complex128"), ("complex64", "complex128", "complex128")]
        for one, other, want in pairs:
            self.assertEqual(xp.result_type(np.dtype(one), np.dtype(other)), np.dtype(want))
        self.assertRaises(TypeError, xp.result_type, xp.complex64, xp.int8)
        self.assertTrue(xp.isdtype(xp.complex64, "complex floating") and xp.isdtype(xp.complex64, "numeric"))
        self.assertFalse(xp.isdtype(xp.complex64, "real floating") or xp.isdtype(xp.float64, "complex floating"))
        self.assertEqual(xp.finfo(xp.complex64).bits, 32)
        self.near(xp.astype(xp.arange(3), xp.complex64), np.arange(3).astype("complex64"))
        self.near(xp.astype(xp.asarray(np.array([0j, 1j])), xp.bool), np.array([False, True]))
        self.assertRaisesRegex(TypeError, "real\\(\\)", xp.astype, xp.asarray([1j]), xp.float64)
        self.assertRaises(TypeError, xp.asarray, xp.asarray([1j]), dtype=xp.int64)

    # ---- sums, moves, products ----

    def test_reductions(self):
        for dtype, name, (axis, keepdims) in itertools.product(DTYPES, ("sum", "prod", "mean", "var", "std", "any", "all"), ((None, False), (0, True), ((0, 2), False))):
            x = self.complex((7, 5, 4), dtype) / (2 if name == "prod" else 1)
            xp.set_chunk_bytes(64)
            with self.subTest(name, dtype=dtype, axis=axis, keepdims=keepdims):
                got = np.asarray(getattr(xp, name)(xp.asarray(x), axis=axis, keepdims=keepdims))
                want = getattr(np, name)(x, axis=axis, keepdims=keepdims)
                self.near(got, want.astype(got.dtype) if name in ("sum", "prod") else want, 1e-4 if dtype == "complex64" else 1e-11)
        self.near(xp.sum(xp.zeros((0, 2), dtype=xp.complex128), axis=0), np.zeros(2, "complex128"))
        self.near(xp.prod(xp.zeros((0, 2), dtype=xp.complex128), axis=0), np.ones(2, "complex128"))
        self.near(xp.computed("cumsum", xp.asarray(x), dtype=x.dtype, shape=x.shape, axis=1), x.cumsum(1), 1e-4)

    def test_moves(self):
        for dtype, pieces in itertools.product(DTYPES, (0, 64)):
            x = self.complex((6, 4), dtype)
            xp.set_chunk_bytes(pieces)
            a = xp.asarray(x)
            for one in (lambda xp, a: a[1:, ::-2], lambda xp, a: a.T, lambda xp, a: xp.flip(a), lambda xp, a: xp.roll(a, 2, axis=0),
                        lambda xp, a: xp.reshape(a, (3, 8)), lambda xp, a: xp.stack([a, a]), lambda xp, a: xp.tril(a),
                        lambda xp, a: xp.broadcast_to(a[0], (3, 4)), lambda xp, a: a[a.real > 0], lambda xp, a: xp.where(a.imag > 0, a, a[0])):
                self.near(one(xp, a), one(np, x), 1e-30)
            self.near(xp.concat([a, xp.ones((1, 4), dtype=a.dtype)]), np.concatenate([x, np.ones((1, 4), dtype)]), 1e-30)
            b, y = xp.asarray(x), x.copy()
            b[2, 1], y[2, 1] = 7j, 7j
            b[0], y[0] = xp.asarray(x[1]), x[1]
            self.near(b, y, 1e-30)
        with self.assertRaises(TypeError):
            real = xp.ones(3)
            real[0] = 1j

    def test_made(self):
        for dtype in DTYPES:
            self.near(xp.zeros(3, dtype=dtype), np.zeros(3, dtype))
            self.near(xp.eye(3, dtype=dtype), np.eye(3, dtype=dtype))
            self.near(xp.full((2, 2), 1.5 - 2j, dtype=dtype), np.full((2, 2), 1.5 - 2j, dtype))
        self.assertEqual(xp.full(2, 1j).dtype, xp.complex128)
        strange = np.asarray(xp.full(3, complex("nan-infj")))
        self.assertTrue(np.isnan(strange.real).all() and (strange.imag == -np.inf).all())
        self.assertRaises(TypeError, xp.full, 2, 1j, dtype=xp.float64)

    def test_products(self):
        for dtype, pieces in itertools.product(DTYPES, (0, 64)):
            x, y = self.complex((7, 6), dtype), self.complex((6, 5), dtype)
            xp.set_chunk_bytes(pieces)
            a, b = xp.asarray(x), xp.asarray(y)
            self.near(a @ b, x @ y)
            self.near(xp.tensordot(a, b, axes=1), np.tensordot(x, y, 1))
            self.near(xp.asarray(x.real) @ b, x.real @ y)
            self.near(xp.vecdot(a, a), (x.conj() * x).sum(-1))
            self.near(xp.linalg.outer(a[0], b[0]), np.outer(x[0], y[0]))
            self.near(xp.linalg.trace(a), np.trace(x).astype(a.dtype))
            for order in (1, 2, 3, np.inf):
                self.near(xp.linalg.vector_norm(a, ord=order), np.linalg.norm(x.ravel(), order).astype(x.real.dtype))
            self.near(xp.linalg.matrix_norm(a), np.linalg.norm(x))
            for given in ({}, {'ord': 1}, {'ord': 'fro'}, {'axis': 0}, {'axis': 1, 'ord': np.inf}, {'axis': (1, 0), 'ord': np.inf, 'keepdims': True}):
                self.near(xp.linalg.norm(a, **given), np.linalg.norm(x, **given))

    # ---- transforms ----

    def test_transforms(self):
        for place, (dtype, n) in enumerate(itertools.product(DTYPES, LENGTHS)):
            x = self.complex((3, n), dtype)
            norm = ("backward", "ortho", "forward")[place % 3]
            for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
                source = x.real.copy() if name in ("rfft", "ihfft") else x
                if name in ("irfft", "hfft") and n < 2:
                    self.assertRaises(ValueError, getattr(xp.fft, name), xp.asarray(source))
                    continue
                with self.subTest(name, n=n, dtype=dtype, norm=norm):
                    self.transformed(getattr(xp.fft, name)(xp.asarray(source), norm=norm), getattr(np.fft, name)(source, norm=norm), dtype)
            for name, count in (("fft", n + 3), ("ifft", max(1, n - 2)), ("rfft", n + 2), ("irfft", 2 * n + 3))[place % 2 :: 2]:
                source = (x.real if name == "rfft" else x).T.copy()
                with self.subTest(name, n=n, dtype=dtype, count=count):
                    self.transformed(getattr(xp.fft, name)(xp.asarray(source), n=count, axis=0), getattr(np.fft, name)(source, count, axis=0), dtype)

    def transformed(self, got, want, dtype):
        got = np.asarray(got)
        want = want.astype(f"{want.dtype.kind}{want.dtype.itemsize // 2}") if dtype == "complex64" else want
        self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape))
        size = float(np.abs(want).max()) or 1.0
        self.assertLessEqual(float(np.abs(got - want).max()) / size, 3e-7 if dtype == "complex64" else 3e-15)

    def test_transforms_of_several_axes(self):
        x = self.complex((5, 6, 7))
        xp.set_chunk_bytes(128)
        for name in ("fftn", "ifftn", "fft2", "ifft2", "rfftn", "irfftn"):
            source = x.real.copy() if name == "rfftn" else x
            for more in ({}, {"s": (5, 11), "axes": (0, 1)}, {"axes": (2, 0)}, {"norm": "ortho"}):
                with self.subTest(name, **more):
                    self.near(getattr(xp.fft, name)(xp.asarray(source), **more), getattr(np.fft, name)(source, **more))
        for n in (1, 2, 5, 8):
            self.near(xp.fft.fftfreq(n, d=0.3), np.fft.fftfreq(n, 0.3))
            self.near(xp.fft.rfftfreq(n, d=0.3), np.fft.rfftfreq(n, 0.3))
            places = np.arange(3 * n).reshape(n, 3)
            for name, more in itertools.product(("fftshift", "ifftshift"), ({}, {"axes": 0}, {"axes": (0, 1)})):
                self.near(getattr(xp.fft, name)(xp.asarray(places), **more), getattr(np.fft, name)(places, **more))

    def test_transforms_refused(self):
        x = xp.asarray(self.complex((4,)))
        for error, words, wrong in ((TypeError, "rfft.*complex128", lambda: xp.fft.rfft(x)), (TypeError, "int64", lambda: xp.fft.fft(xp.arange(3))),
                                    (ValueError, "one or more", lambda: xp.fft.fft(x, n=0)), (ValueError, "norm", lambda: xp.fft.fft(x, norm="half")),
                                    (IndexError, "axis 1", lambda: xp.fft.fft(x, axis=1)), (ValueError, "2 sides", lambda: xp.fft.fftn(x, s=(2, 2), axes=(0,))),
                                    (ValueError, "one or more", lambda: xp.fft.fftfreq(0))):
            self.assertRaisesRegex(error, words, wrong)
        self.near(xp.fft.fft(xp.zeros((0, 4))), np.zeros((0, 4), "complex128"))

    def test_a_value_stays_in_its_line(self):
        x = np.ones((8, 8))
        x[3, 3] = np.nan
        got = np.asarray(xp.fft.rfft(xp.asarray(x)))
        self.assertTrue(np.isnan(got[3]).all() and np.isfinite(np.delete(got, 3, 0)).all())
        columns = np.asarray(xp.fft.fft(xp.asarray(x), axis=0))
        self.assertTrue(np.isfinite(np.delete(columns, 3, 1)).all())

    # ---- matrices ----

    def test_matrices(self):
        for dtype, n in itertools.product((*DTYPES, "float32", "float64"), (1, 2, 5)):
            x = self.complex((n, n))
            x = (x if dtype.startswith("c") else x.real).astype(dtype)
            y = (self.complex((n, 3)) if dtype.startswith("c") else self.draw((n, 3), "float64")).astype(dtype)
            near, a = 5e-3 if dtype in ("complex64", "float32") else 1e-9, xp.asarray(x)
            values, vectors = xp.linalg.eig(a)
            w, v = np.asarray(values), np.asarray(vectors)
            self.assertEqual((w.dtype, v.dtype), (np.result_type(x.dtype, np.complex64),) * 2)
            self.near(x @ v, (v * w).astype(v.dtype), near)
            self.near(np.linalg.norm(v, axis=0), np.ones(n, v.real.dtype), near)
            self.near(np.sort_complex(np.round(np.asarray(xp.linalg.eigvals(a)), 2)), np.sort_complex(np.round(np.linalg.eigvals(x), 2)).astype(w.dtype), 0.05)
            self.near(xp.linalg.solve(a, xp.asarray(y)), np.linalg.solve(x, y), near)
            self.near(xp.linalg.solve(a, xp.asarray(y[:, 0].copy())), np.linalg.solve(x, y[:, 0]), near)
            self.near(xp.linalg.inv(a), np.linalg.inv(x), near)
            self.near(xp.linalg.det(a), np.linalg.det(x), near)
            h = (x @ x.conj().T + np.eye(n)).astype(dtype)
            w, v = [np.asarray(part) for part in xp.linalg.eigh(xp.asarray(h))]
            self.near(w, np.linalg.eigvalsh(h), near)
            self.near(h @ v, (v * w).astype(v.dtype), near)
            self.near(xp.linalg.cholesky(xp.asarray(h)), np.linalg.cholesky(h), near)
            self.near(xp.linalg.cholesky(xp.asarray(h), upper=True), np.linalg.cholesky(h).conj().T, near)
        with self.assertRaisesRegex(Exception, "NaN"):
            np.asarray(xp.linalg.eigvals(xp.full((2, 2), np.nan)))
        with self.assertRaisesRegex(Exception, "pivot 2"):
            np.asarray(xp.linalg.inv(xp.ones((2, 2), dtype=xp.complex128)))
        for wrong in (xp.linalg.svd, xp.linalg.qr, xp.linalg.pinv, xp.linalg.matrix_rank):
            self.assertRaisesRegex(TypeError, "complex128", wrong, xp.ones((2, 2), dtype=xp.complex128))

    # ---- in and out ----

    def test_objects_and_files(self):
        for dtype in DTYPES:
            x = self.complex((3, 2), dtype)
            ref = self.session.put(x)
            got = self.session.get(ref)
            self.assertEqual(got.dtype, x.dtype)
            self.near(got, x, 1e-30)
            self.near(xp.from_object(ref), x, 1e-30)
            path = os.path.join(self.instance.base, f"{dtype}.npy")
            np.save(path, x)
            self.near(xp.computed("read_npy", dtype=x.dtype, shape=x.shape, path=path), x, 1e-30)
        with self.session.empty(2, "complex64") as room:
            room[:] = [1j, 2]

    def test_half(self):
        x = np.array([[1.5, -2.0, 65504.0], [6e-8, np.inf, np.nan]], "float16")
        self.near(xp.asarray(x).T[:2, 0], x.T[:2, 0].astype("float32"), 1e-30)
        path = os.path.join(self.instance.base, "half.npy")
        np.save(path, x)
        for pieces in (0, 4):
            xp.set_chunk_bytes(pieces)
            got = np.asarray(xp.computed("read_npy", dtype=xp.float32, shape=x.shape, path=path))
            np.testing.assert_array_equal(got, x.astype("float32"))
        with open(path, "rb") as file:
            ref = self.session.put(file.read())  # an object as it is
        got = np.asarray(self.read_object(ref, x.shape) * 1)
        np.testing.assert_array_equal(got, x.astype("float32"))

    def read_object(self, ref, shape):
        """An array over an object, whatever is in it."""
        node = Node("array", (), {"ids": [ref.id.hex()], "shape": list(shape), "dtype": "float32"}, xp.float32, shape)
        return xp.Array(node)

    def test_dlpack(self):
        x = np.array([1 + 2j, -3j], "complex64")
        self.near(xp.from_dlpack(Producer(x)), x, 1e-30)
        half = np.array([1.5, -2.0], "float16")
        self.near(xp.from_dlpack(Producer(half)), half.astype("f4"), 1e-30)
        self.near(self.session.get(self.session.put(Producer(half))), half.astype("f4"), 1e-30)
        self.near(np.from_dlpack(xp.asarray(x) * 2), x * 2, 1e-30)

    def test_printed(self):
        x = np.array([1 + 2j, complex(0.5, -np.inf)])
        ref = self.session.put(x)
        text = self.instance.must("read", ref.id.hex())
        self.assertIn("1.0+2.0j", text)
        self.assertIn("0.5-infj", text)
        self.assertIn('"values":[[1.0,2.0],[0.5,"-Infinity"]]', self.instance.must("read", ref.id.hex(), "--json"))

    def test_frames_have_none(self):
        with self.assertRaisesRegex(Exception, "from_tensor is not for tensors of complex128"):
            np.asarray(xp.computed("to_tensor", xp.computed("from_tensor", xp.asarray(self.complex((2, 1))), dtype=xp.float64, shape=(2,), columns=["x"]),
                                   dtype=xp.float64, shape=(2, 1)))
        answer = self.instance.call("sql", "SELECT CAST(1 AS complex128)")
        self.assertNotEqual(answer.returncode, 0)
        nodes = {"t": {"op": "arange", "stop": 3}, "f": {"op": "from_tensor", "input": "t", "columns": ["x"]},
                 "c": {"op": "clip_columns", "input": "f", "lower": "1j"}}
        path = os.path.join(self.instance.base, "clip.json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump({"nodes": nodes, "targets": ["c"]}, out)
        self.assertIn("frames have none", self.instance.call("run", path).stderr)


if __name__ == "__main__":
    unittest.main()
