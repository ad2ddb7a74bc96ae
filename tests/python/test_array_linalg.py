"""granary.array's products, its extension linalg, and random numbers, beside NumPy."""
import itertools
import unittest

import numpy as np
from array_test import ArrayTest, xp

STACKS = [(), (3,), (2, 2), (0,)]


class Products(ArrayTest):
    def test_matmul(self):
        shapes = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 1, 2, 3), (4, 3, 2)),
                  ((2, 0), (0, 3)), ((0, 3), (3, 2))]
        for (one, other), dtype, chunk in itertools.product(shapes, ("int8", "uint32", "float32", "float64"), (0, 32)):
            xp.set_chunk_bytes(chunk)
            x, y = self.draw(one, dtype), self.draw(other, dtype)
            with self.subTest(one=one, other=other, dtype=dtype, chunk=chunk):
                self.same(xp.asarray(x) @ xp.asarray(y), np.asarray(x @ y), 1e-5 if dtype == "float32" else 1e-12)
        self.assertRaises(ValueError, xp.matmul, xp.ones((2, 3)), xp.ones((2, 3)))
        self.assertRaises(ValueError, xp.matmul, xp.asarray(1.0), xp.ones(3))
        self.assertRaises(TypeError, xp.matmul, xp.ones((2, 2)), xp.ones((2, 2), dtype=xp.int8))
        self.assertRaises(TypeError, lambda: xp.ones((2, 2)) @ 2)

    def test_tensordot(self):
        x, y = self.draw((2, 3, 4), "float64"), self.draw((4, 3, 5), "float64")
        for axes in (0, 1, ([1], [1]), ([2, 1], [0, 1]), ((-1,), (0,))):
            self.same(xp.tensordot(xp.asarray(x), xp.asarray(y), axes=axes), np.tensordot(x, y, axes), 1e-12)

    def test_vecdot(self):
        x, y = self.draw((2, 3, 4), "int16"), self.draw((3, 4), "int8")
        self.same(xp.vecdot(xp.asarray(x), xp.asarray(y)), (x * y).sum(-1).astype("int16"))
        self.same(xp.vecdot(xp.asarray(x), xp.asarray(y), axis=1), (x * y).sum(1).astype("int16"))


class Linalg(ArrayTest):
    def each(self, rows, columns):
        for stack, dtype in itertools.product(STACKS, ("float32", "float64")):
            x = self.draw((*stack, rows, columns), dtype)
            with self.subTest(shape=x.shape, dtype=dtype):
                yield x, xp.asarray(x), 2e-3 if dtype == "float32" else 1e-9

    def test_square(self):
        for x, array, tolerance in self.each(3, 3):
            x = x + 9 * np.eye(3, dtype=x.dtype)
            array = xp.asarray(x)
            self.same(xp.linalg.det(array), np.linalg.det(x), tolerance)
            self.same(xp.linalg.inv(array), np.linalg.inv(x), tolerance)
            self.same(xp.linalg.solve(array, array), np.linalg.solve(x, x), tolerance)
            self.same(xp.linalg.matrix_power(array, 3), np.linalg.matrix_power(x, 3), tolerance)
            self.same(xp.linalg.matrix_power(array, -2), np.linalg.matrix_power(x, -2), tolerance)
            self.same(xp.linalg.matrix_power(array, 0), np.linalg.matrix_power(x, 0), tolerance)
            for got, want in zip(xp.linalg.slogdet(array), np.linalg.slogdet(x)):
                self.same(got, want, tolerance)
            symmetric = x @ x.swapaxes(-1, -2)
            self.same(xp.linalg.cholesky(xp.asarray(symmetric)), np.linalg.cholesky(symmetric), tolerance)
            self.same(xp.linalg.eigvalsh(xp.asarray(symmetric)), np.linalg.eigvalsh(symmetric), tolerance)
            values, vectors = [np.asarray(one) for one in xp.linalg.eigh(xp.asarray(symmetric))]
            np.testing.assert_allclose(symmetric @ vectors, vectors * values[..., None, :], tolerance, tolerance * 300)

    def test_a_singular_matrix(self):
        x = np.ones((2, 2))
        self.same(xp.linalg.det(xp.asarray(x)), 0.0)
        self.assertEqual([float(one) for one in xp.linalg.slogdet(xp.asarray(x))][1] < -30, True)
        with self.assertRaisesRegex(Exception, "singular"):
            np.asarray(xp.linalg.inv(xp.asarray(x)))

    def test_vectors_as_right_sides(self):
        a, b = self.draw((2, 3, 3), "float64") + 9 * np.eye(3), self.draw(3, "float64")
        self.same(xp.linalg.solve(xp.asarray(a), xp.asarray(b)), np.stack([np.linalg.solve(one, b) for one in a]), 1e-9)

    def test_decompositions(self):
        for rows, columns in ((4, 2), (2, 4), (3, 3)):
            for x, array, tolerance in self.each(rows, columns):
                for mode in ("reduced", "complete"):
                    q, r = [np.asarray(one) for one in xp.linalg.qr(array, mode=mode)]
                    side = rows if mode == "complete" else min(rows, columns)
                    self.assertEqual((q.shape[-1], r.shape[-2:]), (side, (side, columns)))
                    np.testing.assert_allclose(q @ r, x, tolerance, tolerance)
                    unit = np.broadcast_to(np.eye(side), (*x.shape[:-2], side, side))
                    np.testing.assert_allclose(q.swapaxes(-1, -2) @ q, unit, tolerance, tolerance)
                    np.testing.assert_allclose(np.tril(r, -1), np.zeros_like(r), tolerance, tolerance)
                for full in (True, False):
                    u, s, vh = [np.asarray(one) for one in xp.linalg.svd(array, full_matrices=full)]
                    want = np.linalg.svd(x, full_matrices=full)
                    self.assertEqual((u.shape, s.shape, vh.shape), tuple(one.shape for one in want))
                    least = min(rows, columns)
                    np.testing.assert_allclose((u[..., :least] * s[..., None, :]) @ vh[..., :least, :], x, tolerance, tolerance)
                    for one in (u.swapaxes(-1, -2) @ u, vh @ vh.swapaxes(-1, -2)):
                        np.testing.assert_allclose(one, np.broadcast_to(np.eye(one.shape[-1]), one.shape), tolerance, tolerance)
                self.same(xp.linalg.svdvals(array), np.linalg.svd(x, compute_uv=False), tolerance)
                self.same(xp.linalg.pinv(array), np.linalg.pinv(x), tolerance * 10)
                self.same(xp.linalg.matrix_rank(array), np.asarray(np.linalg.matrix_rank(x)))

    def test_norms(self):
        for x, array, tolerance in self.each(3, 4):
            for ord in ("fro", "nuc", 1, 2, np.inf, -1, -2, -np.inf):
                for keepdims in (False, True):
                    want = np.linalg.norm(x, ord, (-2, -1), keepdims)
                    self.same(xp.linalg.matrix_norm(array, ord=ord, keepdims=keepdims), np.asarray(want), tolerance)
            for ord in (0, 1, 2, 3, 0.5, np.inf, -np.inf):
                self.same(xp.linalg.vector_norm(array, ord=ord, axis=-1), np.linalg.norm(x, ord, -1), tolerance)

    def test_parts(self):
        for x, array, tolerance in self.each(3, 4):
            for offset in (-3, -1, 0, 2, 4):
                self.same(xp.linalg.diagonal(array, offset=offset), np.diagonal(x, offset, -2, -1))
                self.same(xp.linalg.trace(array, offset=offset), np.trace(x, offset, -2, -1), tolerance)

    def test_cross_and_outer(self):
        x, y = self.draw((2, 3), "float64"), self.draw((2, 3), "float64")
        self.same(xp.linalg.cross(xp.asarray(x), xp.asarray(y)), np.cross(x, y), 1e-12)
        self.same(xp.linalg.cross(xp.asarray(x.T), xp.asarray(y.T), axis=0), np.cross(x.T, y.T, axis=0), 1e-12)
        self.same(xp.linalg.outer(xp.asarray(x[0]), xp.asarray(y[1])), np.outer(x[0], y[1]))
        self.assertRaises(TypeError, xp.linalg.det, xp.ones((2, 2), dtype=xp.int64))
        self.assertRaises(ValueError, xp.linalg.det, xp.ones((2, 3)))


class Random(ArrayTest):
    def test_seeds(self):
        one, other = [np.asarray(xp.random.normal((50, 4), seed=seed)) for seed in (1, 2)]
        xp.set_chunk_bytes(64)
        np.testing.assert_array_equal(one, np.asarray(xp.random.normal((50, 4), seed=1)))
        self.assertFalse(np.array_equal(one, other))

    def test_distributions(self):
        for name in ("uniform", "normal", "integers", "poisson", "binomial", "geometric", "gamma", "cauchy"):
            made = xp.random.draw(name, (3, 2), seed=4)
            self.assertEqual(np.asarray(made).shape, (3, 2))
        for shape in ((), 4, (0, 2)):
            self.assertEqual(np.asarray(xp.random.uniform(shape, dtype=xp.float32)).dtype, np.float32)
        drawn = np.asarray(xp.random.integers(1000, -3, 4, seed=1))
        self.assertEqual((drawn.min(), drawn.max()), (-3, 3))
        self.assertRaises(ValueError, xp.random.draw, "nothing", 3)

    def test_orders(self):
        self.same(xp.sort(xp.random.permutation(20, seed=1)), np.arange(20))
        x = self.draw((9, 2), "int8")
        self.same(xp.sum(xp.random.permutation(xp.asarray(x)), axis=0), x.sum(0).astype("int64"))
        drawn = np.asarray(xp.random.choice(xp.arange(5), 40, seed=2))
        self.assertLessEqual(set(drawn), set(range(5)))


if __name__ == "__main__":
    unittest.main()
