"""What tests of arrays share: granary.array, and an instance of their own."""
from __future__ import annotations

import gc
import json
import os
import sys
import unittest
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.path.abspath(os.environ.get("GRANARY_BIN", "build/release/bin"))
sys.path[:0] = [os.path.join(os.path.dirname(BIN), "python"), HERE, os.path.join(HERE, "../support/py")]

import numpy as np  # noqa: E402
from command_line import CommandLine  # noqa: E402

import granary  # noqa: E402
import granary.array as xp  # noqa: E402
from granary.array._session import SessionEngine  # noqa: E402

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
DTYPES = ["bool", *SIGNED, *UNSIGNED, *FLOATS]


class Counting(SessionEngine):
    """An engine that counts the graphs it runs."""

    runs = 0

    def run(self, *args: Any, **kwargs: Any) -> str:
        self.runs += 1
        return super().run(*args, **kwargs)


class ArrayTest(unittest.TestCase):
    """An instance for the class; when its tests have run, no graph of them is left."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.instance = CommandLine(BIN, memory="512M")
        cls.instance.__enter__()
        cls.addClassCleanup(cls.instance.__exit__)
        cls.session = granary.connect(cls.instance.environment["GRANARY_INSTANCE"])
        cls.addClassCleanup(cls.session.close)
        cls.engine = Counting(cls.session)
        before = xp.use(cls.engine)
        cls.addClassCleanup(xp.use, before)
        cls.random = np.random.default_rng(1)
        cls.addClassCleanup(cls._nothing_left)

    @classmethod
    def _nothing_left(cls) -> None:
        left = cls.graphs()
        assert left == [], left

    def tearDown(self) -> None:
        xp.set_chunk_bytes(0)

    @classmethod
    def graphs(cls) -> list[str]:
        gc.collect()
        return [row["key"] for row in json.loads(cls.instance.must("graphs", "--json"))]

    def objects(self) -> list[str]:
        gc.collect()
        return [line.split()[0] for line in self.instance.must("ls").splitlines()[1:]]

    def draw(self, shape: Any, dtype: str) -> np.ndarray:
        """Small random numbers."""
        if dtype == "bool":
            return self.random.integers(0, 2, shape).astype(bool)
        if dtype.startswith("float"):
            return self.random.normal(0, 3, shape).astype(dtype)
        return self.random.integers(0 if dtype.startswith("u") else -9, 10, shape).astype(dtype)

    def same(self, got: Any, want: Any, tolerance: float = 0.0) -> None:
        """The same dtype, shape and elements; floats up to a tolerance, any nan like any other."""
        want = np.asarray(want)
        self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape))
        value = np.asarray(got)
        self.assertEqual((value.dtype, value.shape), (want.dtype, want.shape))
        if tolerance:
            np.testing.assert_allclose(value, want, tolerance, tolerance)
        else:
            np.testing.assert_array_equal(value, want)
