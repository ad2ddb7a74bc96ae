"""Arrays as objects: what is known before they run, indices, operators, dtypes, other libraries, and how long results stay."""
import concurrent.futures
import copy
import itertools
import json
import operator
import pickle
import unittest

import numpy as np
from array_test import DTYPES, FLOATS, SIGNED, UNSIGNED, ArrayTest, xp

from granary.array._operators import BINARY, OTHERS, REDUCTIONS, UNARY


class Lazy(ArrayTest):
    def test_nothing_runs_before_it_has_to(self):
        before = self.engine.runs
        x = xp.sqrt(xp.arange(10, dtype=xp.float64)[::2] + 1)
        y = xp.sum(x) > 3
        x[0] = 7
        text = repr(x) + str(x) + f"{y}"
        self.assertEqual((x.shape, x.dtype, x.ndim, x.size, y.shape, y.dtype), ((5,), xp.float64, 1, 5, (), xp.bool))
        self.assertIn("lazy", text)
        self.assertEqual(self.engine.runs, before)
        self.assertTrue(bool(y))
        self.assertEqual(self.engine.runs, before + 1)

    def test_repr(self):
        x = xp.ones((2, 3))
        self.assertEqual(repr(x + 1), "<granary.array (2, 3) float64, lazy: add>")
        self.assertEqual(repr((x + 1).compute()), "<granary.array (2, 3) float64, computed>")
        self.assertEqual(repr(x[x > 0]), "<granary.array (?,) float64, lazy: select_where>")
        self.assertEqual(repr(xp.asarray(1)), "<granary.array () int64, computed>")

    def test_elements_of_small_arrays_are_read_together(self):
        x = xp.sqrt(xp.arange(100, dtype=xp.float64))
        before = self.engine.runs
        self.assertEqual([float(x[i]) for i in range(100)], list(np.sqrt(np.arange(100))))
        self.assertEqual(self.engine.runs, before + 1)

    def test_sizes_that_are_counted(self):
        x = xp.asarray([3, 0, 4])
        found = x[x > 0]
        before = self.engine.runs
        self.assertEqual(found.ndim, 1)
        self.assertEqual(self.engine.runs, before)
        self.assertEqual(found.shape, (2,))
        self.assertEqual(self.engine.runs, before + 1)
        self.same(found[::-1] * xp.asarray([1, 10]), [4, 30])
        self.same(xp.sum(x[x > 3]), 4)  # no size is needed for that
        self.same(-x[x > 0], [-3, -4])

    def test_several_in_one_graph(self):
        x = xp.arange(5) + 1
        arrays = [x * 2, x * 3, x]
        before = self.engine.runs
        xp.compute(*arrays)
        self.same(arrays[1], np.arange(1, 6) * 3)
        self.same(arrays[2], np.arange(1, 6))
        self.assertEqual(self.engine.runs, before + 1)

    def test_the_graph(self):
        graph = json.loads((xp.arange(3) + 1).graph())
        self.assertEqual([node["op"] for node in graph["nodes"].values()], ["arange", "add"])

    def test_the_table_names_operators_that_there_are(self):
        known = json.loads(self.instance.must("operators", "--json-schema"))["$defs"]
        named = {one.operator for one in [*UNARY.values(), *BINARY.values()]} | {*REDUCTIONS.values(), *OTHERS.values()}
        self.assertEqual(named - set(known), set())
        for name in [*UNARY, *BINARY, *REDUCTIONS, *OTHERS]:
            self.assertTrue(callable(getattr(xp, name)), name)

    def test_any_operator(self):
        x = xp.asarray([1.0, 3.0, 2.0])
        self.same(xp.computed("cummax", x, dtype=x.dtype, shape=(3,), axis=0), [1.0, 3.0, 3.0])
        with self.assertRaises(RuntimeError):
            np.asarray(xp.computed("cummax", x, dtype=xp.int8, shape=(3,), axis=0))

    def test_errors_leave_nothing(self):
        with self.assertRaises(Exception):
            np.asarray(xp.linalg.inv(xp.zeros((2, 2))))
        self.assertEqual(self.graphs(), [])


class Lifetimes(ArrayTest):
    def test_results_go_with_their_array(self):
        self.assertEqual(self.graphs(), [])
        x = (xp.arange(4) + 1).compute()
        y = x * 2
        y.compute()
        self.assertEqual(len(self.graphs()), 2)
        del x
        self.assertEqual(len(self.graphs()), 1)
        self.same(y, [2, 4, 6, 8])
        del y
        self.assertEqual(self.graphs(), [])

    def test_steps_between_are_not_kept(self):
        x = xp.arange(4)
        y = x + 1
        z = (y * 2).compute()
        self.assertIn("lazy", repr(y))
        self.assertEqual(len(self.graphs()), 1)
        del z

    def test_objects_that_were_put_go_too(self):
        before = set(self.objects())
        x = xp.asarray(np.ones(100_000))
        y = np.asarray(x)
        self.assertEqual(len(set(self.objects()) - before), 1)
        del x, y
        self.assertEqual(set(self.objects()) - before, set())

    def test_values_outlive_their_array(self):
        value = (xp.arange(100_000) + 1).to_numpy()
        self.assertEqual(self.graphs(), [])
        self.assertEqual(value.sum(), 100_000 * 100_001 // 2)
        value = np.asarray(xp.arange(100_000) + 1)  # NumPy keeps the array with it
        self.assertEqual(value.sum(), 100_000 * 100_001 // 2)
        del value
        self.assertEqual(self.graphs(), [])

    def test_objects_of_others(self):
        id = self.engine.put(np.arange(6.0).reshape(2, 3))
        x = xp.from_object(id)
        self.same(x + 1, np.arange(6.0).reshape(2, 3) + 1)
        del x
        self.same(xp.from_object(id), np.arange(6.0).reshape(2, 3))  # it was not this array's to end
        del id

    def test_a_loop_is_not_slow(self):
        x = xp.zeros(3)
        for _ in range(3000):
            x = x + 1
        self.same(x, [3000.0] * 3)

    def test_persist(self):
        x = (xp.arange(6) + 1).persist("kept")
        self.same(x, np.arange(1, 7))
        del x
        self.assertEqual(self.graphs(), ["kept"])
        self.same(xp.stored("kept") * 2, np.arange(1, 7) * 2)
        with self.assertRaises(Exception):
            xp.ones(2).persist("kept")
        xp.ones((2, 2), dtype=xp.int8).persist("kept", replace=True)
        self.same(xp.stored("kept"), np.ones((2, 2), "int8"))
        y = xp.asarray([[1, 2], [3, 4]])
        (y.persist("other"), xp.flip(y).persist("third"))
        del y
        self.same(xp.stored("other"), [[1, 2], [3, 4]])
        self.same(xp.stored("third"), [[4, 3], [2, 1]])
        for key in ("kept", "other", "third"):
            self.instance.must("forget", key)
        self.assertEqual(self.graphs(), [])


class Indices(ArrayTest):
    KEYS = [(), ..., 0, -1, slice(None), slice(1, None), slice(None, None, 2), slice(None, None, -1), slice(5, 0, -2),
            slice(3, 1), slice(-100, 100), slice(100, None), (0, ...), (..., 0), (None, ...), (..., None), (slice(None), None, 1),
            (1, 2), (slice(2, 0, -1), slice(None, None, 3)), (slice(None, -1), ..., slice(-2, None)), (None, 1, None, ..., None)]

    def test_reading(self):
        for shape, dtype, chunk in itertools.product([(4,), (4, 5), (3, 4, 5), (4, 5, 0)], ("bool", "int16", "float64"), (0, 32)):
            xp.set_chunk_bytes(chunk)
            x = self.draw(shape, dtype)
            array = xp.asarray(x)
            for key in self.KEYS:
                try:
                    want = x[key]
                except IndexError:
                    self.assertRaises(IndexError, operator.getitem, array, key)
                    continue
                with self.subTest(shape=shape, key=key, chunk=chunk):
                    self.same(xp.positive(array)[key] + 0 if dtype != "bool" else (~array)[key], ~want if dtype == "bool" else want)
                    self.same(array[key], want)

    def test_reading_by_granary_itself(self):
        x = self.random.normal(size=(50, 60, 50))
        array = xp.positive(xp.asarray(x))  # too large to be read as a whole
        for key in self.KEYS:
            self.same(array[key], x[key])

    def test_writing(self):
        for shape, chunk in itertools.product([(4,), (1,), (1, 2), (4, 5), (3, 4, 5), (4, 5, 0)], (0, 32)):
            xp.set_chunk_bytes(chunk)
            for key in self.KEYS:
                x = self.draw(shape, "int32")
                try:
                    part = x[key]
                except IndexError:
                    self.assertRaises(IndexError, operator.setitem, xp.asarray(x), key, 1)
                    continue
                for value in (9, self.draw(part.shape, "int32"), self.draw(part.shape[-1:], "int8")):
                    array, want = xp.asarray(x), x.copy() if x.ndim else x
                    if None in (key if isinstance(key, tuple) else (key,)) and any(
                            isinstance(one, slice) and one.step not in (None, 1, -1) for one in (key if isinstance(key, tuple) else (key,))):
                        continue
                    with self.subTest(shape=shape, key=key, chunk=chunk):
                        old = array + 0
                        want[key] = value
                        array[key] = xp.asarray(value) if isinstance(value, np.ndarray) else value
                        self.same(array, want)
                        self.same(old, x)

    def test_masks(self):
        for shape, count, chunk in itertools.product([(6,), (4, 5), (3, 4, 5), (4, 5, 0)], (1, 2, 3), (0, 32)):
            if count > len(shape):
                continue
            xp.set_chunk_bytes(chunk)
            x, mask = self.draw(shape, "float64"), self.draw(shape[:count], "bool")
            with self.subTest(shape=shape, count=count, chunk=chunk):
                self.same(xp.asarray(x)[xp.asarray(mask)], x[mask])
                for value in (3.0, self.draw(shape[count:], "float64"), self.draw(x[mask].shape, "float64")):
                    array, want = xp.asarray(x), x.copy()
                    want[mask] = value
                    array[xp.asarray(mask)] = xp.asarray(value)
                    self.same(array, want)
        for count in (2, 4, 5):  # three elements are chosen
            x = xp.arange(5)
            x[xp.asarray([True, False, True, False, True])] = xp.ones(count, dtype=xp.int64)
            with self.assertRaisesRegex(Exception, "position|index"):
                np.asarray(x)
        x = xp.arange(5)
        with self.assertRaises(ValueError):
            x[x > 2] = xp.ones(0, dtype=xp.int64)
        x = xp.asarray(5)
        self.same(x[xp.asarray(True)], [5])
        self.same(x[xp.asarray(False)], np.zeros(0, "int64"))
        self.assertRaises(IndexError, lambda: xp.ones((2, 3))[xp.asarray([True, False, True])])
        self.same(xp.ones(3)[xp.asarray([0, 1])], np.ones(2))
        self.same(xp.ones(3)[[0, 1]], np.ones(2))
        self.assertRaises(IndexError, lambda: xp.ones(3)[1.5])

    def test_positions_from_arrays(self):
        self.same(xp.arange(5)[xp.asarray(2)], 2)
        self.same(xp.arange(5)[xp.asarray(1) : xp.asarray(3)], [1, 2])

    def test_dtypes_of_values(self):
        x = xp.zeros(3, dtype=xp.int16)
        for value in (1.5, True, xp.asarray([1.5] * 3), xp.asarray([70000] * 3), "text", None):
            self.assertRaises(TypeError, operator.setitem, x, slice(None), value)
        self.assertRaises(OverflowError, operator.setitem, x, 0, 70000)
        x[:] = xp.asarray([1, 2, 3], dtype=xp.int8)
        self.same(x, np.array([1, 2, 3], "int16"))
        self.assertRaises(ValueError, operator.setitem, x, slice(None), xp.asarray([1, 2], dtype=xp.int8))


OPERATORS = {"add": "numeric", "sub": "numeric", "mul": "numeric", "truediv": "float", "floordiv": "numeric", "mod": "numeric",
             "pow": "numeric", "and_": "bits", "or_": "bits", "xor": "bits", "lshift": "int", "rshift": "int"}
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]


class Operators(ArrayTest):
    def dtypes(self, kind):
        integers = [*SIGNED, *UNSIGNED]
        return {"numeric": integers + FLOATS, "float": FLOATS, "bits": ["bool", *integers], "int": integers}[kind]

    def test_with_arrays_scalars_reflected_and_in_place(self):
        for name, kind in OPERATORS.items():
            function, in_place = getattr(operator, name), getattr(operator, "i" + name.rstrip("_"))
            for dtype in self.dtypes(kind):
                x, y = self.draw((2, 3), dtype), self.draw((3,), dtype)
                if kind == "int" or name in ("pow", "floordiv", "mod", "truediv"):
                    x, y = np.abs(x) + np.ones((), dtype), np.abs(y) % 5 + np.ones((), dtype)
                scalar = True if dtype == "bool" else 2.5 if dtype in FLOATS else 3
                typed = np.dtype(dtype).type(scalar)
                with self.subTest(name, dtype=dtype):
                    array, tolerance = xp.asarray(x), 1e-5 if dtype == "float32" else 1e-12
                    self.same(function(array, xp.asarray(y)), function(x, y), tolerance)
                    self.same(function(array, scalar), function(x, typed), tolerance)
                    self.same(function(scalar, array), function(typed, x), tolerance)
                    own, old = array[...], array
                    own = in_place(own, xp.asarray(y))
                    self.same(own, function(x, y), tolerance)
                    self.same(old, x)
            for dtype in set(DTYPES) - set(self.dtypes(kind)):
                for other in (xp.ones(2, dtype=dtype), 1):
                    self.assertRaises(TypeError, function, xp.ones(2, dtype=dtype), other)

    def test_comparisons(self):
        for name, dtype in itertools.product(COMPARISONS, DTYPES):
            if dtype == "bool" and name not in ("eq", "ne"):
                self.assertRaises(TypeError, getattr(operator, name), xp.asarray([True]), True)
                continue
            x, y = self.draw((9,), dtype), self.draw((9,), dtype)
            scalar = True if dtype == "bool" else 0
            self.same(getattr(operator, name)(xp.asarray(x), xp.asarray(y)), getattr(operator, name)(x, y))
            self.same(getattr(operator, name)(xp.asarray(x), scalar), getattr(operator, name)(x, scalar))
            self.same(getattr(operator, name)(scalar, xp.asarray(x)), getattr(operator, name)(scalar, x))

    def test_special_scalars(self):
        x = np.array([1.0, np.nan, -np.inf])
        for scalar in (np.nan, np.inf, -np.inf, -0.0, 2**53 + 1):
            self.same(xp.asarray(x) + scalar, x + scalar)
            self.same(scalar * xp.asarray(x), scalar * x)
        self.same(xp.asarray([1], dtype=xp.uint64) + (2**64 - 2), np.array([2**64 - 1], "uint64"))
        self.same(xp.asarray([1.5]) * np.float64(2), [3.0])
        self.same(np.float64(2) * xp.asarray([1.5]), [3.0])

    def test_unary(self):
        x = self.draw((5,), "int16")
        self.same(-xp.asarray(x), -x)
        self.same(+xp.asarray(x), x)
        self.same(abs(xp.asarray(x)), abs(x))
        self.same(~xp.asarray(x), ~x)
        self.same(~xp.asarray([True, False]), [False, True])

    def test_mixes_that_the_standard_has_not(self):
        for one, other in [("int8", "float32"), ("uint64", "int64"), ("bool", "int8"), ("bool", "float64"), ("uint64", "int8")]:
            self.assertRaises(TypeError, operator.add, xp.ones(2, dtype=one), xp.ones(2, dtype=other))
        for dtype, scalar in [("int8", 1.0), ("bool", 1), ("int8", True), ("float32", True), ("int8", "1"), ("int8", None), ("int64", 1j)]:
            self.assertRaises(TypeError, operator.add, xp.ones(2, dtype=dtype), scalar)
            self.assertRaises(TypeError, operator.add, scalar, xp.ones(2, dtype=dtype))
        self.assertRaises(OverflowError, operator.add, xp.ones(2, dtype=xp.int8), 128)

    def test_in_place(self):
        x = xp.ones(3, dtype=xp.int8)
        with self.assertRaises(TypeError):
            x += xp.ones(3, dtype=xp.int16)
        with self.assertRaises(ValueError):
            x += xp.ones((2, 3), dtype=xp.int8)
        y = x
        x += 1
        self.assertIs(x, y)
        self.same(y, np.full(3, 2, "int8"))

    def test_as_numbers(self):
        self.assertEqual((int(xp.asarray(3)), float(xp.asarray(2.5)), bool(xp.asarray(True))), (3, 2.5, True))
        self.assertEqual(list(range(5))[xp.asarray(2)], 2)
        self.assertEqual(len(xp.ones((4, 2))), 4)
        for call in (lambda: int(xp.ones(1)), lambda: operator.index(xp.asarray(1.0)), lambda: operator.index(xp.asarray(True)),
                     lambda: len(xp.asarray(1)), lambda: hash(xp.asarray(1)), lambda: bool(xp.ones(2) == xp.ones(2))):
            self.assertRaises(TypeError, call)


class Dtypes(ArrayTest):
    def test_promotion_is_the_standards(self):
        import numpy.array_api as oracle

        for one, other in itertools.product(DTYPES, DTYPES):
            try:
                want = oracle.result_type(getattr(oracle, one), getattr(oracle, other))
            except TypeError:
                self.assertRaises(TypeError, xp.result_type, getattr(xp, one), getattr(xp, other))
            else:
                self.assertEqual(xp.result_type(getattr(xp, one), xp.ones(1, dtype=other)), want)
            self.assertEqual(xp.can_cast(getattr(xp, one), getattr(xp, other)), oracle.can_cast(getattr(oracle, one), getattr(oracle, other)))

    def test_limits(self):
        for name in FLOATS:
            self.assertEqual(xp.finfo(getattr(xp, name)).eps, float(np.finfo(name).eps))
        for name in [*SIGNED, *UNSIGNED]:
            self.assertEqual(xp.iinfo(xp.ones(1, dtype=name)).max, np.iinfo(name).max)
        self.assertRaises(TypeError, xp.finfo, xp.int8)
        self.assertRaises(TypeError, xp.iinfo, xp.float64)

    def test_kinds(self):
        self.assertTrue(xp.isdtype(xp.int8, "signed integer") and xp.isdtype(xp.int8, ("bool", "integral")))
        self.assertFalse(xp.isdtype(xp.uint8, xp.int8) or xp.isdtype(xp.bool, "numeric") or xp.isdtype(xp.float32, "complex floating"))

    def test_names(self):
        self.assertEqual(xp.ones(1, dtype="float32").dtype, xp.float32)
        for wrong in ("float16", "clongdouble", object, "text"):
            self.assertRaises(TypeError, xp.ones, 1, dtype=wrong)


class OtherLibraries(ArrayTest):
    def test_pickled_and_copied(self):
        x = xp.arange(6) * 2
        self.same(pickle.loads(pickle.dumps(x)), np.arange(6) * 2)
        for copied in (copy.copy(x), copy.deepcopy([x])[0]):
            copied[0] = 7
        self.same(x, np.arange(6) * 2)

    def test_going_through(self):
        self.assertEqual([int(one) for one in xp.arange(3)], [0, 1, 2])
        self.assertRaises(TypeError, iter, xp.asarray(1))

    def test_threads(self):
        x = xp.arange(1000, dtype=xp.float64)
        steps = [x := x + i for i in range(20)]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda one: float(xp.sum(one)), steps * 5))
        want = np.cumsum(np.arange(20)) * 1000 + np.arange(1000).sum()
        self.assertEqual(found, list(want) * 5)

    def test_numpy(self):
        x = xp.asarray([[1.5, 2.0]]) * 2
        value = np.asarray(x)
        self.assertFalse(value.flags.writeable)
        with self.assertRaises(ValueError):
            value[0, 0] = 1
        self.assertEqual(np.array(x, dtype="float32").dtype, np.float32)
        self.assertTrue(np.array(x).flags.writeable)
        self.assertEqual(np.sum(np.asarray(x)), 7.0)

    def test_operators_with_numpys_arrays(self):
        x, y = self.draw((2, 3), "float64"), self.draw((3, 2), "float64")
        self.same(xp.asarray(x) - x[0], x - x[0])
        self.same(x[0] - xp.asarray(x), x[0] - x)
        self.same(x[0] > xp.asarray(x), x[0] > x)
        self.same(xp.asarray(x) @ y, x @ y, 1e-12)
        self.same(x @ xp.asarray(y), x @ y, 1e-12)
        self.assertRaises(TypeError, lambda: xp.asarray(x) + np.ones(3, "int8"))
        self.assertRaises(TypeError, lambda: np.ones(3, "longdouble") + xp.asarray(x))
        self.assertIsInstance(np.add(x, xp.asarray(x)), np.ndarray)  # NumPy's functions are NumPy's

    def test_what_was_lent_stays(self):
        x = xp.arange(100_000) * 2
        value = np.asarray(x)  # over the store's memory
        x[:] = 0
        x.compute()
        self.assertEqual(value[-1], 199_998)
        self.assertEqual(int(x[99_999]), 0)

    def test_dlpack_is_a_copy(self):
        x = xp.arange(5) + 1
        value = np.from_dlpack(x)
        self.same(x, value)
        self.assertEqual(x.__dlpack_device__(), (1, 0))
        self.same(x, [1, 2, 3, 4, 5])
        self.assertRaises(ValueError, x.__dlpack__, stream=1)

    def test_torch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("there is no torch")
        x = xp.arange(5, dtype=xp.float32) + 1
        tensor = torch.from_dlpack(x)
        tensor[0] = 100
        self.same(x, np.arange(1, 6, dtype="float32"))
        self.same(xp.from_dlpack(tensor), tensor.numpy())

    def test_namespace(self):
        x = xp.ones(1)
        self.assertIs(x.__array_namespace__(), xp)
        self.assertIs(x.__array_namespace__(api_version="2021.12"), xp)
        self.assertRaises(ValueError, x.__array_namespace__, api_version="2019.01")
        self.assertEqual(x.device, "cpu")
        self.assertIs(x.to_device("cpu"), x)
        self.assertRaises(ValueError, x.to_device, "gpu")
        self.assertRaises(ValueError, xp.ones, 1, device="gpu")

    def test_transposes(self):
        x = self.draw((2, 3, 4), "int8")
        self.same(xp.asarray(x[0]).T, x[0].T)
        self.same(xp.asarray(x).mT, x.swapaxes(-1, -2))
        self.assertRaises(ValueError, lambda: xp.asarray(x).T)
        self.assertRaises(ValueError, lambda: xp.ones(2).mT)


if __name__ == "__main__":
    unittest.main()
