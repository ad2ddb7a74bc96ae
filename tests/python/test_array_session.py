"""Arrays over the package's own sessions, when the extension module was built."""
import gc
import pickle
import unittest

import numpy as np
from array_test import xp

try:
    import granary._granary
except ImportError:
    granary = None


@unittest.skipIf(granary is None, "the extension module was not built with arrays")
class Sessions(unittest.TestCase):
    def setUp(self):
        self.session = granary.up(executors=2, memory="256M")
        self.addCleanup(self.session.down)

    def graphs(self):
        gc.collect()
        return [row["key"] for row in self.session.info("graphs")]

    def test_computing(self):
        x = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
        y = (x @ x + 1).compute()
        np.testing.assert_array_equal(np.asarray(y), [[8.0, 11.0], [16.0, 23.0]])
        self.assertEqual(len(self.graphs()), 1)
        del y
        self.assertEqual(self.graphs(), [])

    def test_large_arrays_are_read_in_place(self):
        x = np.random.default_rng(1).normal(size=(500, 400))
        value = (xp.asarray(x) * 2).to_numpy()
        np.testing.assert_array_equal(value, x * 2)
        self.assertFalse(value.flags.writeable)

    def test_references(self):
        ref = self.session.put(np.arange(5))
        x = xp.from_object(ref)
        del ref
        gc.collect()
        np.testing.assert_array_equal(np.asarray(x * 2), np.arange(5) * 2)

    def test_errors_leave_nothing(self):
        with self.assertRaises(granary.Failed):
            np.asarray(xp.linalg.inv(xp.zeros((2, 2))))
        self.assertEqual(self.graphs(), [])

    def test_persist(self):
        xp.arange(5).persist("five")
        with self.assertRaises(granary.Exists):
            xp.ones(5).persist("five")
        np.testing.assert_array_equal(np.asarray(xp.stored("five")), np.arange(5))
        xp.ones(2).persist("five", replace=True)
        np.testing.assert_array_equal(np.asarray(xp.stored("five")), np.ones(2))

    def test_another_instance(self):
        x = (xp.arange(100_000) + 1).compute()
        with granary.up(executors=1, memory="128M"):
            np.testing.assert_array_equal(np.asarray(xp.arange(3) + 1), [1, 2, 3])
            with self.assertRaisesRegex(ValueError, "another engine"):
                np.asarray(x + 1)
        self.assertEqual(int(xp.sum(x)), 100_000 * 100_001 // 2)

    def test_a_small_array_moves_to_another_instance(self):
        x = xp.asarray([1, 2])
        np.testing.assert_array_equal(np.asarray(x + 1), [2, 3])
        with granary.up(executors=1, memory="128M"):
            np.testing.assert_array_equal(np.asarray(x + 1), [2, 3])
        np.testing.assert_array_equal(np.asarray(pickle.loads(pickle.dumps(x)) * 3), [3, 6])


if __name__ == "__main__":
    unittest.main()
