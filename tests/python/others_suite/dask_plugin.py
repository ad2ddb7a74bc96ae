"""pytest's plugin for others_suites.py: dask computes with the executor that $OTHERS_EXECUTOR names.

It stands in for the conftest.py of dask's sources, which Debian does not ship. Outcomes go to $OTHERS_RESULTS, a line of JSON for
each test. A test that takes longer than $OTHERS_TIMEOUT seconds fails, and later ones have a new executor. Tests that have a line
already are left out: so a run goes on behind a test that ended the interpreter.
"""
from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import multiprocessing
import os
import signal
import sys
from concurrent.futures import Executor, ProcessPoolExecutor
from typing import Any, Iterator, Optional

import dask
import pytest

KIND = os.environ["OTHERS_EXECUTOR"]
LIMIT = float(os.environ["OTHERS_TIMEOUT"])
WORKERS = 2

pytest.register_assert_rewrite("dask.array.utils", "dask.dataframe.utils", "dask.bag.utils")


class Pool:
    """The executor that tests have now."""

    executor: Optional[Executor] = None
    instance: Any = None

    def get(self) -> Executor:
        if self.executor is not None and getattr(self.executor, "_broken", False):
            self.drop()
        if self.executor is None:
            self.executor = self._make()
        return self.executor

    def _make(self) -> Executor:
        if KIND == "process":
            return ProcessPoolExecutor(WORKERS)
        import granary

        if self.instance is None:
            self.instance = granary.up(executors=WORKERS, memory="1G")
        return granary.Executor(WORKERS)

    def drop(self) -> None:
        """What runs in it is not waited for."""
        before, self.executor = self.executor, None
        if before is None:
            return
        for process in list((getattr(before, "_processes", None) or {}).values()):
            process.kill()
        before.shutdown(wait=False, cancel_futures=True)

    def end(self) -> None:
        self.drop()
        if self.instance is not None:
            self.instance.down()


pool = Pool()


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--runslow", action="store_true", help="run slow tests")


def told_to_end(*_: Any) -> None:
    pytest.exit("it takes too long")  # so the instance ends, too


def pytest_configure(config: Any) -> None:
    signal.signal(signal.SIGTERM, told_to_end)
    for marker in ("slow: takes long", "network: needs the network", "gpu: needs a GPU"):
        config.addinivalue_line("markers", marker)


@contextlib.contextmanager
def unchecked(*_: Any, **__: Any) -> Iterator[None]:
    yield


def use_executor(check: Any) -> None:
    """Most tests compute in dask's assert_eq() only, whose own default is scheduler="sync"."""
    parameters = inspect.signature(check).parameters.values()
    defaults = [one.default for one in parameters if one.default is not inspect.Parameter.empty]
    assert "sync" in defaults
    check.__defaults__ = tuple(None if one == "sync" else one for one in defaults)


def pytest_collection_finish() -> None:
    dask.config.set(scheduler=pool.get())  # not before: modules copy the configuration when they are imported
    for module in ("dask.array.utils", "dask.dataframe.utils", "dask.bag.utils"):
        use_executor(importlib.import_module(module).assert_eq)
    distributed = sys.modules.get("distributed.utils_test")
    for name in ("check_process_leak", "check_thread_leak"):  # the executor has some of its own
        if hasattr(distributed, name):
            setattr(distributed, name, unchecked)


def pytest_unconfigure() -> None:
    pool.end()
    for child in multiprocessing.active_children():
        child.join(5)


def pytest_collection_modifyitems(items: list[Any]) -> None:
    with open(os.environ["OTHERS_RESULTS"], encoding="utf-8") as results:
        known = {json.loads(line)["id"] for line in results}
    items[:] = [one for one in items if one.nodeid not in known]


def tell(**row: Any) -> None:
    with open(os.environ["OTHERS_RESULTS"], "a", encoding="utf-8") as results:
        results.write(json.dumps(row) + "\n")


def pytest_runtest_setup(item: Any) -> None:
    tell(id=item.nodeid, when="setup", outcome="failed", text="it ended the interpreter")  # unless another line follows
    if "network" in item.keywords or ("slow" in item.keywords and not item.config.getoption("--runslow")):
        pytest.skip("slow, or needs the network")


def too_long(*_: Any) -> None:
    pool.drop()
    raise TimeoutError(f"it took longer than {LIMIT:.0f} seconds")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    with dask.config.set(scheduler=pool.get()):
        yield
    signal.setitimer(signal.ITIMER_REAL, 0)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Iterator[None]:
    report = (yield).get_result()
    if report.when == "call" or report.outcome != "passed":
        tell(id=item.nodeid, when=report.when, outcome=report.outcome, xfail=hasattr(report, "wasxfail"),
             seconds=round(call.duration, 3), text=report.longreprtext[-6000:])


@pytest.fixture(params=["disk", "tasks"])
def shuffle_method(request: Any) -> Iterator[str]:
    with dask.config.set(shuffle=request.param):
        yield request.param
