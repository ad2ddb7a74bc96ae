"""Run suites of other projects with granary.Executor, and with ProcessPoolExecutor beside it.

    GRANARY_BIN=build/release/bin others_suites.py futures                     CPython's test_concurrent_futures
    GRANARY_BIN=build/release/bin others_suites.py dask [--part PART]...       dask's tests, array/tests and dataframe/tests

It prints how many tests pass with each, and every test that passes with ProcessPoolExecutor only. Such a test is run again before
it counts. Those of others_suite/exceptions.tsv may fail. The exit status is 1 when another one is left.

What passes with ProcessPoolExecutor is asked once, and kept in the directory of --baseline. The suites are those that are
installed (Debian: libpython3-testsuite, python3-dask, python3-distributed, python3-pytest); nothing is written to them.
"""
from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

import suite_exceptions

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.path.abspath(os.environ.get("GRANARY_BIN", "build/release/bin"))
SUPPORT = os.path.join(HERE, "others_suite")
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "granary-others-suites")
PARTS = {"tests": "dask/tests", "array": "dask/array/tests", "dataframe": "dask/dataframe/tests"}
RERUNS = 2
INTERNAL_ERROR = 3  # pytest's status

Rows = dict[str, dict[str, Any]]


class Suite:
    """A suite: its name, and the command that runs all of its tests, or some."""

    def __init__(self, name: str, options: argparse.Namespace, directory: str) -> None:
        self.name = name
        self.options = options
        self.directory = directory

    def version(self) -> str:
        if self.name == "futures":
            return platform.python_version()
        import dask  # type: ignore[import]

        return str(dask.__version__)

    def command(self, ids: list[str]) -> list[str]:
        python = [sys.executable, "-B"]
        if self.name == "futures":
            return [*python, os.path.join(SUPPORT, "futures_run.py"), *ids]
        found = importlib.util.find_spec("dask")
        if found is None or found.origin is None:
            raise SystemExit("dask is not installed (Debian: python3-dask)")
        root = os.path.dirname(os.path.dirname(found.origin))
        paths = [os.path.join(root, one) for one in ids or [PARTS[self.name]]]
        given = ["-p", "dask_plugin", "-p", "no:cacheprovider", "-q", "--tb=native", "--continue-on-collection-errors"]
        given += ["-c", os.path.join(self.directory, "pytest.ini"), "--basetemp", os.path.join(self.directory, "tests")]
        return [*python, "-m", "pytest", *given, "--rootdir", root, *paths]

    def run(self, kind: str, ids: list[str]) -> tuple[Rows, float]:
        """Outcomes by id, and the seconds it took."""
        results = os.path.join(self.directory, "results")
        log = os.path.join(self.options.baseline, f"{self.name}-{kind}{'-again' if ids else ''}.log")
        open(os.path.join(self.directory, "pytest.ini"), "w").close()
        open(results, "w").close()
        paths = [SUPPORT, os.path.join(os.path.dirname(BIN), "python")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1", "GRANARY_BIN": BIN,
                       "OTHERS_EXECUTOR": kind, "OTHERS_RESULTS": results, "OTHERS_TIMEOUT": str(self.options.timeout),
                       "TMPDIR": self.directory}
        begun = time.monotonic()
        with open(log, "w") as to:
            goes_on, size = True, -1
            while goes_on and os.path.getsize(results) > size:
                size = os.path.getsize(results)
                child = subprocess.Popen(self.command(ids), env=environment, cwd=self.directory, stdin=subprocess.DEVNULL,
                                         stdout=to, stderr=subprocess.STDOUT, start_new_session=True)
                try:
                    status = child.wait(begun + self.options.limit * 60 - time.monotonic())
                    goes_on = self.name != "futures" and (status < 0 or status == INTERNAL_ERROR)  # the tests behind that one
                except subprocess.TimeoutExpired:
                    print(f"{self.name}: not done after {self.options.limit} minutes: see {log}")
                    goes_on = False
                finally:
                    end(child)
        return read(results), time.monotonic() - begun


def end(child: "subprocess.Popen[bytes]") -> None:
    """Nothing of it stays."""
    if child.poll() is None:
        child.terminate()
    try:
        child.wait(30)
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()


def read(path: str) -> Rows:
    """The last outcome of each test: one that passed may fail when it is torn down."""
    rows: Rows = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            rows[re.sub("0x[0-9a-f]+", "0x", row["id"])] = row
    return rows


def passed(rows: Rows) -> set[str]:
    return {id for id, row in rows.items() if row["outcome"] == "passed"}


def baseline(suite: Suite) -> tuple[Rows, float]:
    path = os.path.join(suite.options.baseline, f"{suite.name}-{suite.version()}.json")
    if not os.path.exists(path):
        rows, seconds = suite.run("process", [])
        with open(path + ".new", "w", encoding="utf-8") as to:
            json.dump({"rows": rows, "seconds": seconds}, to)
        os.rename(path + ".new", path)
    with open(path, encoding="utf-8") as found:
        kept = json.load(found)
    return kept["rows"], kept["seconds"]


def compare(suite: Suite) -> int:
    """How many tests pass with ProcessPoolExecutor only, and are no exception."""
    reasons = suite_exceptions.read(os.path.join(SUPPORT, "exceptions.tsv"))
    before, took_before = baseline(suite)
    now, took = suite.run("granary", [])
    lost = passed(before) - passed(now)
    again: set[str] = set()
    seconds = took
    for _ in range(RERUNS):
        ids = [now[id]["id"] if id in now else before[id]["id"] for id in sorted(lost - again - set(reasons))]
        if ids:
            rows, more = suite.run("granary", ids)
            again |= passed(rows)
            now.update({id: row for id, row in rows.items() if id in lost})
            seconds += more
    with open(os.path.join(suite.options.baseline, f"{suite.name}-granary.json"), "w", encoding="utf-8") as to:
        json.dump({"rows": now, "seconds": seconds}, to)
    print(f"{suite.name} {suite.version()}: ProcessPoolExecutor passes {len(passed(before))} of {len(before)} in {took_before:.0f} s, "
          f"granary.Executor {len(passed(now))} of {len(now)} in {took:.0f} s")
    for id in sorted(again & lost):
        print(f"  passed when run again: {id}")
    left = lost - again
    for id in sorted(left & set(reasons)):
        print(f"  known: {id}: {reasons[id]}")
    for id in sorted(left - set(reasons)):
        text = now[id]["text"].strip().splitlines() if id in now else []
        print(f"  NOT PASSED: {id}: {now[id]['outcome'] if id in now else 'not run'}: {text[-1] if text else ''}")
    return len(left - set(reasons))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=["futures", "dask"])
    parser.add_argument("--part", action="append", choices=list(PARTS), help="of dask's tests; default all")
    parser.add_argument("--baseline", default=CACHE, help="where outcomes and logs are kept; default %(default)s")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for a test of dask")
    parser.add_argument("--limit", type=float, default=60, help="minutes for a run of a suite or part")
    options = parser.parse_args()
    os.makedirs(options.baseline, exist_ok=True)
    left = 0
    for name in ["futures"] if options.suite == "futures" else options.part or list(PARTS):
        with tempfile.TemporaryDirectory(prefix="granary-others-") as directory:
            left += compare(Suite(name, options, directory))
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
