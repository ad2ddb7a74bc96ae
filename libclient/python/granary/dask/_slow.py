"""Nodes that are slow, or stopped: what they do not finish runs elsewhere, too.

Dask tells how long tasks run. One that takes three times as long as others of its stage, and at least two seconds, starts a second time on a
node that has nothing to do. When the second one ends first, the task itself goes to that node, which has the results already. They have
the same bytes. Only tasks on nodes count that run, or whose node is silent: what waits for a busy node does not.
"""
from __future__ import annotations

import asyncio
import statistics
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from .._log import logger
from ._packs import handles

TIMES = 3
LEAST_S = 2.0
ALONE_S = 10.0
"""When there is nothing to compare with."""

LOOK_S = 1.0
"""After so long without an end it is asked what runs."""

COPY = "~copy"
"""Behind the key of a task that runs a second time."""

ANSWER_S = 10.0
"""For a result, before nodes are asked whether they are there."""

lapses = [0]
"""How often an answer did not come in that time. What was given up then refers to itself, and to futures, until a collection of garbage."""


def _answering() -> Callable[..., Any]:
    """For Dask's scheduler, which need not have this package: it is pickled whole."""

    async def answering(asked: Optional[Sequence[str]], dask_scheduler: Any = None) -> List[str]:
        """Workers that are there, once those that were asked and do not answer are taken out. None: all that have been silent for long."""
        import asyncio

        from distributed.metrics import time
        from distributed.protocol.pickle import dumps

        s = dask_scheduler
        out: List[str] = []

        async def ask(address: str) -> None:
            try:
                await asyncio.wait_for(s.rpc(address).identity(), 5)
            except (OSError, asyncio.TimeoutError):
                if address in s.workers:
                    await s.remove_worker(address, stimulus_id="granary-silent", close=False)
                    out.append(address)

        def part(addresses: Sequence[str], dask_worker: Any = None) -> None:
            """Of a stopped process the system answers still, so Dask would wait for its results as long as it is stopped."""
            for address in addresses:
                dask_worker.rpc.remove(address)

        silent = [one.address for one in s.workers.values() if time() - one.last_seen > 10]
        await asyncio.gather(*[ask(address) for address in (silent if asked is None else asked) if address in s.workers])
        if out:
            told = s.broadcast(msg={"op": "run", "function": dumps(part), "args": dumps((out,))}, on_error="ignore")
            try:
                await asyncio.wait_for(told, 5)
            except asyncio.TimeoutError:
                pass  # the next silent one is taken out in its turn
        return list(s.workers)

    return answering


def _looker() -> Callable[..., Any]:
    """For Dask's scheduler, too."""

    answering = _answering()

    async def look(keys: Sequence[str], done: Mapping[str, Sequence[str]], dask_scheduler: Any = None) -> Any:
        """Tasks that run, with their nodes and seconds; nodes with fewer tasks than threads; and of what is done some results that can be had."""
        from distributed.metrics import time

        s = dask_scheduler

        def silent(worker: Any) -> float:
            return float(max(0.0, time() - worker.last_seen))

        await answering(None, dask_scheduler=s)
        found = []
        for key in keys:
            task = s.tasks.get(key)
            on = task.processing_on if task is not None else None
            if on is not None:
                found.append((key, on.address, on.executing.get(task, 0.0) + silent(on)))
        idle = [one.address for one in s.workers.values() if len(one.processing) < one.nthreads and one.status.name == "running" and silent(one) < 2]
        there = {}
        for stage, some in done.items():
            tasks = [s.tasks[key] for key in some if key in s.tasks]
            there[stage] = [task.key for task in tasks if task.who_has and all(silent(one) < 2 for one in task.who_has)][:16]
        return found, idle, there

    return look


def gathered(client: Any, futures: Sequence[Any]) -> List[Any]:
    """Results. A node that has them and does not answer is taken out, and they are made again."""
    patience = ANSWER_S
    while True:
        try:
            made: List[Any] = client.sync(client._gather, list(futures), callback_timeout=patience)
            return made
        except (TimeoutError, asyncio.TimeoutError):
            if any(one.status == "error" for one in futures):  # it is the error of one of them
                raise
            lapses[0] += 1
            client.run_on_scheduler(_answering(), None)
            patience *= 2


def everywhere(client: Any, function: Callable[..., Any], *given: Any) -> Dict[str, Any]:
    """What a function gives on each worker, by address. One that does not answer is taken out, and one that has gone is left out."""
    patience = ANSWER_S
    while True:
        try:
            found: Dict[str, Any] = client.sync(client._run, function, *given, on_error="return", callback_timeout=patience)
        except (TimeoutError, asyncio.TimeoutError):
            lapses[0] += 1
            client.run_on_scheduler(_answering(), None)
            patience *= 2
            continue
        failed = {address: one for address, one in found.items() if isinstance(one, Exception)}
        there = set(client.run_on_scheduler(_answering(), list(failed))) if failed else set()
        for address, error in failed.items():
            if address in there:
                raise error
            del found[address]
        return found


def have_gone(client: Any) -> bool:
    """Whether a worker that the scheduler still has does not answer. It is taken out."""
    before = set(client.scheduler_info()["workers"])
    return not before <= set(client.run_on_scheduler(_answering(), list(before)))


def _mover() -> Callable[..., Any]:
    def late(s: Any) -> None:
        """What was moved may be about to end where it was: its end, or its error, counts no more. Dask would part with that worker for it."""

        def is_elsewhere(key: str, worker: str) -> bool:
            task = s.tasks.get(key)
            return task is not None and task.state == "processing" and task.processing_on is not s.workers.get(worker)

        def guarded(told: Callable[..., Any], frees: bool) -> Callable[..., Any]:
            def guard(key: str, worker: str, stimulus_id: str, **what: Any) -> Any:
                if not is_elsewhere(key, worker):
                    return told(key=key, worker=worker, stimulus_id=stimulus_id, **what)
                return {}, {}, {worker: [{"op": "free-keys", "keys": [key], "stimulus_id": stimulus_id}]} if frees else {}
            return guard

        if not hasattr(s, "_granary_late"):
            s._granary_late = True
            s.stimulus_task_finished = guarded(s.stimulus_task_finished, True)
            s.stimulus_task_erred = guarded(s.stimulus_task_erred, False)

    def move(key: str, address: str, dask_scheduler: Any = None) -> bool:
        """A task that runs goes to a node that has its results."""
        s = dask_scheduler
        task = s.tasks.get(key)
        if task is None or task.state != "processing" or address not in s.workers:
            return False
        late(s)
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
        keys = [key for key in left if key not in self._copies]  # none: a node may be silent still, and what runs wait for it
        running: List[Tuple[str, str, float]]
        running, idle, there = self._client.run_on_scheduler(_looker(), keys, {stage: [one.key for one in some] for stage, some in done.items()})
        made = []
        for key, address, seconds in sorted(running, key=lambda one: -one[2]):
            free = [one for one in idle if one != address]
            if seconds > LEAST_S and free and seconds > self._most(left[key], done, there):
                logger.warning("granary.dask: %s runs for %.1f s on %s, and now on %s, too", key, seconds, address, free[0])
                copy = self._again(key, key + COPY, free[0])
                self._copies[key] = copy, free[0]
                idle.remove(free[0])
                made.append(copy)
        return made

    def _most(self, stage: str, done: Mapping[str, Sequence[Any]], there: Mapping[str, Sequence[str]]) -> float:
        for name in there:
            if not self._took.get(name):
                some = [one for one in done[name] if one.key in there[name]]
                self._took[name] = [sum(one.ran[1] for one in handles([result])) for result in gathered(self._client, some)] if some else []
        took = self._took.get(stage) or [one for name in there for one in self._took[name]]
        return TIMES * statistics.median(took) if took else ALONE_S

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
