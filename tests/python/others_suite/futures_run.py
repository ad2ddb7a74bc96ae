"""CPython's test_concurrent_futures for others_suites.py: its process pools, which are those that $OTHERS_EXECUTOR names.

    OTHERS_EXECUTOR=process|granary OTHERS_RESULTS=FILE futures_run.py [ID]...

Outcomes go to the file, a line of JSON for each test. The classes for thread pools are left out.
"""
from __future__ import annotations

import concurrent.futures
import json
import os
import signal
import sys
import unittest
from typing import Any, Iterator

GRANARY = os.environ["OTHERS_EXECUTOR"] == "granary"
NAME = "test.test_concurrent_futures"
PATHS = os.environ.get("PYTHONPATH", "").split(os.pathsep)

if GRANARY:
    import granary

    concurrent.futures.ProcessPoolExecutor = granary.Executor  # type: ignore[misc]


class Results(unittest.TextTestResult):
    def _row(self, test: unittest.TestCase, outcome: str, text: str = "") -> None:
        with open(os.environ["OTHERS_RESULTS"], "a", encoding="utf-8") as results:
            results.write(json.dumps({"id": test.id(), "when": "call", "outcome": outcome, "text": text}) + "\n")

    def addSuccess(self, test: Any) -> None:
        super().addSuccess(test)
        self._row(test, "passed")

    def addSkip(self, test: Any, reason: str) -> None:
        super().addSkip(test, reason)
        self._row(test, "skipped", reason)

    def addFailure(self, test: Any, err: Any) -> None:
        super().addFailure(test, err)
        self._row(test, "failed", self.failures[-1][1])

    def addError(self, test: Any, err: Any) -> None:
        super().addError(test, err)
        self._row(test, "failed", self.errors[-1][1])


def isolated(run: Any) -> Any:
    """Scripts that the tests run in an interpreter of their own import this executor, too, by the name of its class."""
    first = f"import sys; sys.path[:0] = {PATHS!r}; import concurrent.futures, granary; concurrent.futures.Executor = granary.Executor\n"

    def wrapped(*arguments: str, **options: Any) -> Any:
        return run(*arguments[:-1], first + arguments[-1], **options)

    return wrapped


def each(suite: Any) -> Iterator[unittest.TestCase]:
    for one in suite:
        if isinstance(one, unittest.TestSuite):
            yield from each(one)
        else:
            yield one


def run() -> None:
    module = __import__(NAME, fromlist=["*"])
    if GRANARY:
        module.assert_python_ok = isolated(module.assert_python_ok)  # type: ignore[attr-defined]
    wanted = set(sys.argv[1:])
    found = unittest.defaultTestLoader.loadTestsFromModule(module)
    tests = [one for one in each(found) if type(one).__name__.startswith("ProcessPool") and (not wanted or one.id() in wanted)]
    unittest.TextTestRunner(resultclass=Results, verbosity=2).run(unittest.TestSuite(tests))


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the instance ends, too
    if not GRANARY:
        run()
        return
    with granary.up(executors=5, memory="512M") as instance:
        os.environ["GRANARY_INSTANCE"] = instance.instance  # for the scripts of tests
        run()


if __name__ == "__main__":
    main()
