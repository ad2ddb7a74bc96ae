"""Nodes that are slow, or stopped: what they do not finish runs elsewhere, too.

Dask tells how long tasks run. One that takes three times as long as others of its stage, and at least two seconds, starts a second time on a
node that has nothing to do. When the second one ends first, the task itself goes to that node, which has the results already. They have
the same bytes. Only tasks on nodes count that run, or whose node is silent: what waits for a busy node does not.
"""
from __future__ import annotations

import statistics
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from .._log import logger
from ._packs import Pack

TIMES = 3
LEAST_S = 2.0
ALONE_S = 10.0
"""When there is nothing to compare with."""

LOOK_S = 1.0
"""After so long without an end it is asked what runs."""

COPY = "~copy"
"""Behind the key of a task that runs a second time."""

_SAMPLE = 16


def _looker() -> Callable[..., Any]:
    """For Dask's scheduler, which need not have this package: it is pickled whole."""

    def look(keys: Sequence[str], dask_scheduler: Any = None) -> Any:
        """Tasks that run, with their nodes and seconds; and nodes that have fewer tasks than threads."""
        from distributed.metrics import time

        s = dask_scheduler
        found = []
        for key in keys:
            task = s.tasks.get(key)
            on = task.processing_on if task is not None else None
            if on is not None:
                silent = max(0.0, time() - on.last_seen)
                found.append((key, on.address, on.executing.get(task, 0.0) + silent))
        idle = [one.address for one in s.workers.values() if len(one.processing) < one.nthreads and one.status.name == "running"]
        return found, idle

    return look


def _mover() -> Callable[..., Any]:
    def move(key: str, address: str, dask_scheduler: Any = None) -> bool:
        """A task that runs goes to a node that has its results."""
        s = dask_scheduler
        task = s.tasks.get(key)
        if task is None or task.state != "processing" or address not in s.workers:
            return False
        task.worker_restrictions = {address}
        task.loose_restrictions = True
        s.transitions({key: "released"}, stimulus_id="granary-slow")
        return True

    return move


class Watch:
    """Looks at what a plan's tasks take. again: submits a task once more, under a key and on a node."""

    def __init__(self, client: Any, again: Callable[[str, str, str], Any]) -> None:
        self._client = client
        self._again = again
        self._took: Dict[str, List[float]] = {}
        self._copies: Dict[str, Tuple[Any, str]] = {}
        self.due = time.monotonic() + LOOK_S

    def heard(self) -> None:
        """Something has ended."""
        self.due = time.monotonic() + LOOK_S

    def look(self, left: Mapping[str, str], done: Mapping[str, Sequence[Any]]) -> List[Any]:
        """Start copies of what is slow. left: stages of tasks that are not done; done: by stage, futures that are. Gives the copies."""
        self.heard()
        keys = [key for key in left if key not in self._copies]
        running: List[Tuple[str, str, float]] = []
        idle: List[str] = []
        if keys:
            running, idle = self._client.run_on_scheduler(_looker(), keys)
        made = []
        for key, address, seconds in sorted(running, key=lambda one: -one[2]):
            free = [one for one in idle if one != address]
            if seconds > LEAST_S and free and seconds > self._most(left[key], done):
                logger.warning("granary.dask: %s runs for %.1f s on %s, and now on %s, too", key, seconds, address, free[0])
                copy = self._again(key, key + COPY, free[0])
                self._copies[key] = copy, free[0]
                idle.remove(free[0])
                made.append(copy)
        return made

    def _most(self, stage: str, done: Mapping[str, Sequence[Any]]) -> float:
        took = self._times(stage, done) or [one for name in done for one in self._times(name, done)]
        return TIMES * statistics.median(took) if took else ALONE_S

    def _times(self, stage: str, done: Mapping[str, Sequence[Any]]) -> List[float]:
        """What some of a stage's tasks took."""
        known = self._took.setdefault(stage, [])
        if not known:
            results = self._client.gather(list(done.get(stage, ()))[:_SAMPLE], errors="skip")
            known += [sum(handle.ran[1] for handle in (one.handles if isinstance(one, Pack) else (one,))) for one in results]
        return known

    def ended(self, future: Any) -> bool:
        """Whether it is a copy. One that has ended first has its task come to where it is."""
        key = future.key.removesuffix(COPY)
        if key == future.key:
            self._end(key)
            return False
        copy = self._copies.get(key)
        if copy is not None and future.status == "finished":
            self._client.run_on_scheduler(_mover(), key, copy[1])
        return True

    def _end(self, key: str) -> None:
        """The task itself is done."""
        copy: Optional[Tuple[Any, str]] = self._copies.pop(key, None)
        if copy is not None and copy[0].status == "pending":
            self._client.cancel([copy[0]], force=True)

    def cancel(self) -> None:
        for key in list(self._copies):
            self._end(key)
