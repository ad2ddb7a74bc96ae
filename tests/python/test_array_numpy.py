"""NumPy's functions beyond the array API: indices with arrays, curves, lines, edits, norms, bins, rows of chance."""
import itertools
import unittest
import warnings

import numpy as np
from array_test import ArrayTest, xp

warnings.simplefilter("ignore", RuntimeWarning)
PIECES = 64


class Indices(ArrayTest):
    def keys(self, x):
        """Indices with arrays for three dimensions (4, 5, 6)."""
        one, two = np.array([2, 0, -1]), np.array([[1], [0]])
        rows, plane = self.random.integers(0, 2, 4).astype(bool), self.random.integers(0, 2, (4, 5)).astype(bool)
        columns = self.random.integers(0, 2, 6).astype(bool)
        return [one, [1, 3, 1], two, (one, one), (one, two), (slice(None), one), (slice(1, 3), [0, 4]), (0, one), (one, 0), (one, slice(None), one), (0, slice(None), one),
                (Ellipsis, one), (None, one), (one, None, one), (slice(None), one, two), np.array([], dtype=np.int64), [], rows, plane, (rows, 0), (rows, slice(1, None, 2)),
                (plane, 1), (rows, slice(None), one[:1]), (slice(None), slice(None), columns), (Ellipsis, columns), (0, slice(None), columns), (rows, one[:1], 2),
                (slice(None, None, 2), one), np.uint8([3, 1]), (np.array(2), one)]

    def test_getitem(self):
        x = np.arange(120).reshape(4, 5, 6)
        for chunk, key in itertools.product((0, PIECES), self.keys(x)):
            with self.subTest(key=key, chunk=chunk):
                xp.set_chunk_bytes(chunk)
                self.same(xp.asarray(x)[key], x[key])

    def test_arrays_of_granary_choose(self):
        x = self.draw((5, 3), "float64")
        array, order = xp.asarray(x), xp.argsort(xp.asarray(x[:, 0]))
        self.same(array[order], x[np.argsort(x[:, 0])])
        self.same(array[order, xp.asarray([0, 1, 2, 0, 1])], x[np.argsort(x[:, 0]), [0, 1, 2, 0, 1]])
        self.same(array[xp.nonzero(array[:, 1] > 0)[0]], x[np.nonzero(x[:, 1] > 0)[0]])
        self.same(array[array[:, 2] > 0, 1:], x[x[:, 2] > 0, 1:])

    def test_setitem(self):
        for key in self.keys(None):
            x = np.arange(120).reshape(4, 5, 6)
            if isinstance(key, tuple) and any(one is None or isinstance(one, slice) and one.step for one in key):
                with self.assertRaises(IndexError):
                    xp.asarray(x)[key] = 7
                continue
            hole = x[key].shape
            for value in (np.array(7), self.draw(hole, "int64"), self.draw(hole[-1:], "int64")):
                array, want = xp.asarray(x), x.copy()
                with self.subTest(key=key, value=value.shape):
                    try:
                        want[key] = value
                    except ValueError:
                        with self.assertRaises(Exception):
                            array[key] = xp.asarray(value)
                            np.asarray(array)
                        continue
                    array[key] = xp.asarray(value)
                    self.same(array, want)

    def test_of_equal_positions_the_last_counts(self):
        x = xp.zeros(4)
        x[[1, 3, 1]] = xp.asarray([1.0, 2.0, 3.0])
        self.same(x, [0, 3, 0, 2.0])

    def test_refused(self):
        x = xp.ones((3, 4))
        for key in ([3], [-4], (0, [4]), [0.5], np.array(["a"]), xp.asarray([True, False]), (slice(None), xp.asarray([True])), ([0, 1], [0, 1, 2]), (0, 0, [0]), (..., ..., [0])):
            with self.assertRaises((IndexError, ValueError), msg=key):
                x[key]
        with self.assertRaises(TypeError):
            xp.ones(3, dtype=xp.int8)[[0]] = xp.asarray([1.5])
        with self.assertRaises(Exception) as raised:  # what this process does not know is an error when it runs
            np.asarray(x[xp.arange(3) + 1])
        self.assertIn("position 3", str(raised.exception))


class Curves(ArrayTest):
    def test_interp(self):
        points, values = np.array([0.0, 1.0, 4.0, 9.0]), np.array([1, -2, 3, 0])
        at = np.array([[-1, 0, 0.5, 2], [4, 8.5, 9, 10], [np.nan, np.inf, -np.inf, 1]])
        self.same(xp.interp(xp.asarray(at), points, values), np.interp(at, points, values), 1e-12)
        self.same(xp.interp(at, points, values, left=-7, right=5.5), np.interp(at, points, values, -7, 5.5), 1e-12)
        self.same(xp.interp([370.0, -5.0], [350, 10, 5], [1, 2, 3], period=360), np.interp([370, -5], [350, 10, 5], [1, 2, 3], period=360), 1e-12)
        self.assertRaises(ValueError, xp.interp, 1.0, [1, 2], [1])
        self.assertRaises(ValueError, xp.interp, 1.0, [], [])

    def test_polynomials(self):
        x = np.linspace(-3, 4, 200)
        y = 2 * x**3 - x + self.draw(x.shape, "float64") / 100
        for chunk, degree in itertools.product((0, 256), (0, 1, 3, 6)):
            xp.set_chunk_bytes(chunk)
            self.same(xp.polyfit(xp.asarray(x), xp.asarray(y), degree), np.polyfit(x, y, degree), 1e-8)
        self.same(xp.polyfit(x, np.stack([y, -y], 1), 2, w=np.arange(1.0, 201)), np.polyfit(x, np.stack([y, -y], 1), 2, w=np.arange(1.0, 201)), 1e-8)
        self.same(xp.polyval([2, 0, -1], xp.asarray(x)), np.polyval([2, 0, -1], x), 1e-12)
        self.same(xp.polyval([], xp.asarray(x)), np.zeros(200))
        self.assertRaises(ValueError, xp.polyfit, [1.0], [1.0], -1)
        self.assertRaises(TypeError, xp.polyfit, [1.0, 2.0], [1.0], 1)

    def test_areas(self):
        y, x = self.draw((3, 5), "float64"), np.array([0, 1.5, 2, 4, 9])
        self.same(xp.trapezoid(xp.asarray(y), x), np.trapz(y, x), 1e-12)
        self.same(xp.trapz(xp.asarray(y), dx=0.5, axis=0), np.trapz(y, dx=0.5, axis=0), 1e-12)
        self.same(xp.cumulative_trapezoid(xp.asarray(y)), np.cumsum((y[:, 1:] + y[:, :-1]) / 2, 1), 1e-12)


class Lines(ArrayTest):
    def test_convolve(self):
        for chunk, (n, m), mode, dtype in itertools.product((0, PIECES), ((20, 3), (3, 20), (7, 7), (1, 4)), ("full", "same", "valid"), ("float64", "float32", "int16", "bool")):
            xp.set_chunk_bytes(chunk)
            a, v = self.draw((n,), dtype), self.draw((m,), dtype)
            with self.subTest(chunk=chunk, n=n, m=m, mode=mode, dtype=dtype):
                tolerance = 1e-4 if dtype == "float32" else 1e-12
                self.same(xp.convolve(xp.asarray(a), xp.asarray(v), mode), np.convolve(a, v, mode), tolerance)
                self.same(xp.correlate(xp.asarray(a), xp.asarray(v), mode), np.correlate(a, v, mode), tolerance)

    def test_infinities_stay_where_they_are(self):
        a = np.zeros(50)
        a[20] = np.inf
        xp.set_chunk_bytes(PIECES)
        self.same(xp.convolve(xp.asarray(a), [1, 2.0, 3]), np.convolve(a, [1, 2.0, 3]))

    def test_along_axis(self):
        x = self.draw((6, 5, 4), "float32")
        for chunk, axis in itertools.product((0, PIECES), range(-3, 3)):
            xp.set_chunk_bytes(chunk)
            order = np.argsort(x, axis=axis)
            self.same(xp.take_along_axis(xp.asarray(x), xp.argsort(xp.asarray(x), axis=axis), axis), np.take_along_axis(x, order, axis))
            array, want, largest = xp.asarray(x), x.copy(), np.expand_dims(np.argmax(x, axis), axis)
            xp.put_along_axis(array, largest, np.float32(99), axis)
            np.put_along_axis(want, largest, 99, axis)
            self.same(array, want)
        self.assertRaises(IndexError, xp.take_along_axis, x, x, 0)
        self.assertRaises(ValueError, xp.take_along_axis, x, np.zeros((6, 5), int), 0)


class Sets(ArrayTest):
    def test_unique(self):
        x = self.random.integers(0, 4, (9, 2))
        flags = [dict(zip(("return_index", "return_inverse", "return_counts"), one)) for one in itertools.product((False, True), repeat=3)]
        for chunk, axis, options in itertools.product((0, PIECES), (None, 0, 1, -1), flags):
            xp.set_chunk_bytes(chunk)
            got, want = xp.unique(xp.asarray(x), axis=axis, **options), np.unique(x, axis=axis, **options)
            got, want = (got, want) if isinstance(want, tuple) else ((got,), (want,))
            want = list(want)
            if options["return_inverse"] and axis is None:
                want[1 + options["return_index"]] = want[1 + options["return_index"]].reshape(x.shape)
            with self.subTest(axis=axis, chunk=chunk, **options):
                self.assertEqual(len(got), len(want))
                for one, other in zip(got, want):
                    self.same(one, other)
        self.same(xp.unique(xp.asarray([[[1, 2]], [[1, 2]]]), axis=0), [[[1, 2]]])
        self.same(xp.unique(xp.zeros(0)), np.zeros(0))


class Statistics(ArrayTest):
    def test_quantiles(self):
        x = self.draw((7, 5), "float64")
        for name, q in itertools.product(("quantile", "nanquantile", "percentile", "nanpercentile"), (0.5, [0.25], [0, 0.1, 1])):
            scaled = np.multiply(q, 100) if "percentile" in name else q
            for axis, keepdims in itertools.product((None, 0, -1), (False, True)):
                with self.subTest(name, q=q, axis=axis, keepdims=keepdims):
                    self.same(getattr(xp, name)(xp.asarray(x), scaled, axis, keepdims=keepdims), getattr(np, name)(x, scaled, axis, keepdims=keepdims), 1e-12)
        self.same(xp.median(xp.asarray(x), 0), np.median(x, 0), 1e-12)
        self.same(xp.nanmedian(xp.asarray(x)), np.nanmedian(x), 1e-12)
        for wrong in (1.5, [0.5, -0.1], [], [[0.5]]):
            self.assertRaises(ValueError, xp.quantile, x, wrong)

    def test_histograms(self):
        x, y, weights = self.draw((30,), "float64"), self.draw((30,), "float64"), np.arange(30) / 4
        for options in ({}, {"bins": 4}, {"bins": [-2.0, 0, 1, 5]}, {"bins": 3, "range": (-1, 2)}, {"density": True}, {"weights": weights}, {"weights": weights, "bins": [-9.0, 0, 9]}):
            for got, want in zip(xp.histogram(xp.asarray(x), **options), np.histogram(x, **options)):
                self.same(got, want, 1e-12)
        for options in ({}, {"bins": [3, 4]}, {"bins": [[-9.0, 0, 9], [-5.0, 5]]}, {"bins": [[-9.0, 0, 9], 4]}, {"range": [[-1, 1], [0, 3]]}, {"density": True, "weights": weights}):
            for got, want in zip(xp.histogram2d(xp.asarray(x), xp.asarray(y), **options), np.histogram2d(x, y, **options)):
                self.same(got, want, 1e-12)
        self.same(xp.histogram_bin_edges(xp.asarray(x), 5), np.histogram_bin_edges(x, 5), 1e-12)


class Edits(ArrayTest):
    def test_insert(self):
        x = self.draw((4, 5), "int64")
        cases = [(1, 7, 0), (1, 7, 1), (2, [1, 2, 3, 4], 1), ([1, 3], 7, 1), ([1, 3, 1], [[1], [2], [3], [4]], 1), (-1, 9, 0), (slice(0, 4, 2), 5, 0), (3, [1, 2], None), ([0, 20], [1, 2], None), ([], 1, 0)]
        for obj, values, axis in cases:
            with self.subTest(obj=obj, axis=axis):
                if obj == [] and axis == 0:
                    self.same(xp.insert(xp.asarray(x), obj, values, axis), x)
                    continue
                self.same(xp.insert(xp.asarray(x), obj, values, axis), np.insert(x, obj, values, axis))
        self.assertRaises(IndexError, xp.insert, x, 5, 1, 0)
        self.assertRaises(TypeError, xp.insert, x, 1, 0.5, 0)

    def test_delete(self):
        x = self.draw((4, 5), "float64")
        for obj, axis in [(1, 0), (-1, 1), ([0, 2], 1), ([3, 3, 0], 0), (slice(1, 3), 0), (slice(None, None, 2), 1), (slice(5, 9), None), ([True, False, True, False], 0), ([], 0), (slice(None), 0)]:
            with self.subTest(obj=obj, axis=axis):
                self.same(xp.delete(xp.asarray(x), obj, axis), np.delete(x, np.array(obj, bool) if isinstance(obj, list) and obj and isinstance(obj[0], bool) else np.array(obj, int) if isinstance(obj, list) else obj, axis))
        mask = np.array([True, False, True, False])
        self.same(xp.delete(xp.asarray(x), xp.asarray(mask), 0), x[~mask])
        self.assertRaises(IndexError, xp.delete, x, 4, 0)

    def test_append(self):
        x = self.draw((4, 5), "int32")
        self.same(xp.append(xp.asarray(x), x, 1), np.append(x, x, 1))
        self.same(xp.append(xp.asarray(x), [1.5]), np.append(x, [1.5]))


class Matrices(ArrayTest):
    def test_norms(self):
        for shape in ((5,), (3, 4), (2, 3, 4)):
            x = self.draw(shape, "float64")
            for ord in (None, 0, 1, 2, 3, np.inf, -np.inf):
                for axis, keepdims in itertools.product(range(len(shape)), (False, True)):
                    self.same(xp.linalg.norm(xp.asarray(x), ord, axis, keepdims), np.linalg.norm(x, ord, axis, keepdims), 1e-10)
            self.same(xp.linalg.norm(xp.asarray(x)), np.linalg.norm(x), 1e-10)
            for ord, keepdims in itertools.product((None, "fro", "nuc", 1, 2, np.inf, -1, -2, -np.inf), (False, True)):
                for axis in itertools.permutations(range(len(shape)), 2):
                    with self.subTest(shape=shape, ord=ord, axis=axis):
                        self.same(xp.linalg.norm(xp.asarray(x), ord, axis, keepdims), np.linalg.norm(x, ord, axis, keepdims), 1e-10)
        self.assertRaises(ValueError, xp.linalg.norm, xp.ones((2, 2, 2)), 1)

    def test_cond(self):
        x = self.draw((2, 3, 3), "float64") + 9 * np.eye(3)
        for p in (None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"):
            self.same(xp.linalg.cond(xp.asarray(x), p), np.linalg.cond(x, p), 1e-8)
        self.same(xp.linalg.cond(xp.zeros((2, 2))), np.linalg.cond(np.zeros((2, 2))))
        self.assertRaises(ValueError, xp.linalg.cond, xp.ones((2, 2)), 3)

    def test_slogdet_of_singular_matrices(self):
        for got, want in zip(xp.linalg.slogdet(xp.asarray([[1.0, 2], [2, 4]])), np.linalg.slogdet([[1.0, 2], [2, 4]])):
            self.same(got, want)


class Chance(ArrayTest):
    def test_multivariate_normal(self):
        mean, cov = np.array([1.0, -2, 5]), np.array([[2.0, 0.5, 0], [0.5, 1, -0.3], [0, -0.3, 3]])
        for method in ("eigh", "cholesky"):
            made = np.asarray(xp.random.multivariate_normal(mean, cov, (4, 10_000), method=method, seed=3))
            self.assertEqual((made.shape, made.dtype), ((4, 10_000, 3), np.float64))
            flat = made.reshape(-1, 3)
            np.testing.assert_allclose(flat.mean(0), mean, atol=0.05)
            np.testing.assert_allclose(np.cov(flat.T), cov, atol=0.08)
        whole = np.asarray(xp.random.multivariate_normal(mean, cov, 100, seed=3))
        xp.set_chunk_bytes(PIECES)
        np.testing.assert_allclose(np.asarray(xp.random.multivariate_normal(mean, cov, 100, seed=3)), whole, rtol=1e-12)
        self.assertEqual(xp.random.multivariate_normal(mean, cov).shape, (3,))
        flat = np.asarray(xp.random.multivariate_normal([0, 0], [[1, 1], [1, 1]], 50))
        np.testing.assert_allclose(flat[:, 0], flat[:, 1], atol=1e-6)
        self.assertTrue(np.isnan(np.asarray(xp.random.multivariate_normal([0, 0], [[1, 2], [2, 1]], 5))).any())
        self.assertRaises(ValueError, xp.random.multivariate_normal, [0, 0], [[1.0]])

    def test_multinomial(self):
        made = np.asarray(xp.random.multinomial(50, [0.2, 0.3, 0.5], (5, 4000), seed=1))
        self.assertEqual((made.shape, made.dtype), ((5, 4000, 3), np.int64))
        self.assertTrue((made.sum(-1) == 50).all() and (made >= 0).all())
        flat = made.reshape(-1, 3)
        np.testing.assert_allclose(flat.mean(0), [10, 15, 25], atol=0.15)
        np.testing.assert_allclose(np.cov(flat.T), 50 * (np.diag([0.2, 0.3, 0.5]) - np.outer([0.2, 0.3, 0.5], [0.2, 0.3, 0.5])), atol=0.5)
        xp.set_chunk_bytes(PIECES)
        self.same(xp.random.multinomial(50, [0.2, 0.3, 0.5], (5, 40), seed=1)[0], made[0, :40])
        self.same(xp.random.multinomial(9, [0, 1, 0]), [0, 9, 0])
        self.assertRaises(Exception, lambda: np.asarray(xp.random.multinomial(5, [0.7, 0.7, 0])))

    def test_dirichlet(self):
        alpha = np.array([0.5, 2, 3.5])
        made = np.asarray(xp.random.dirichlet(alpha, 20_000, seed=2))
        np.testing.assert_allclose(made.sum(-1), 1)
        np.testing.assert_allclose(made.mean(0), alpha / 6, atol=0.01)
        np.testing.assert_allclose(made.var(0), alpha * (6 - alpha) / (36 * 7), atol=0.004)
        tiny = np.asarray(xp.random.dirichlet([1e-3, 1e-3], 1000))
        self.assertTrue(np.isfinite(tiny).all())
        xp.set_chunk_bytes(PIECES)
        self.same(xp.random.dirichlet(alpha, 20, seed=2), made[:20])
        self.assertRaises(Exception, lambda: np.asarray(xp.random.dirichlet([1, 0])))


if __name__ == "__main__":
    unittest.main()
