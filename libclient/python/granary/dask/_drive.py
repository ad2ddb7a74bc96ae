"""A plan on a cluster: fragments are tasks, alone or in packs, and their keys are the fragments'. Dask orders, places, retries and recomputes them."""
from __future__ import annotations

import contextlib
import gc
import time
import traceback
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from distributed import as_completed

from .._errors import Cancelled, TimedOut, Unreachable, Unsupported, VersionMismatch
from .._granary import VERSION
from .._log import logger
from .._progress import Progress, shown
from . import _lost, _packs, _plugin, _results
from ._cut import Again
from ._handle import Handle
from ._node import causes, place_of
from ._packs import Pack, Range
from ._plan import Plan, Stage
from ._slow import COPY, Watch, everywhere, gathered, lapses
from ._sources import find
from ._timeline import Timeline


_RETRIES = 20
"""Tasks of a plan that may run again when Dask has lost what they read."""

_TOLD_S = 10.0


def fragment(stage: Stage, partition: int, reads: Sequence[Any]) -> Handle:
    """A task."""
    return pack(stage, (partition, partition + 1), reads).handles[0]


def pack(stage: Stage, these: Range, reads: Sequence[Any]) -> Pack:
    """A task of several fragments."""
    try:
        return Pack(_plugin.here().run_all(stage, these, reads))
    except BaseException as error:
        for one in reads:
            one[2].clear()
        _clear_frames(error)
        raise


def _clear_frames(error: BaseException) -> None:
    """Dask and the error refer to each other, so what their frames have would stay until a collection of garbage."""
    for one in causes(error):
        traceback.clear_frames(one.__traceback__)


def packs_of(client: Any, plan: Plan) -> Dict[str, List[Range]]:
    """By stage: which partitions share a task."""
    many = max(stage.partitions for stage in plan.stages.values()) >= 2 * _packs.EACH
    threads = sum(one["nthreads"] for one in client.scheduler_info()["workers"].values()) if many else 0
    return {name: _packs.ranges(stage.partitions, max(1, threads), not stage.sources) for name, stage in plan.stages.items()}


def tasks(plan: Plan, packs: Mapping[str, List[Range]], home: Sequence[str] = (), where: Mapping[str, str] = {}) -> Dict[str, Dict[Any, Any]]:
    """Dask's tasks, by stage and by the workers where they run: () means all. home: where stages run that are at home.

    where: by key, the worker that has its results already.
    """
    layers: Dict[str, Dict[Any, Any]] = {}
    for stage in plan.stages.values():
        made: Dict[Any, Any] = layers.setdefault(stage.name, {})
        for place, these in enumerate(packs[stage.name]):
            reads: List[List[Any]] = []
            for node, one in stage.inputs.items():
                other = plan.stages[one.stage]
                keys = [_packs.key(other, its) for its in packs[one.stage]]
                if one.take == "same":
                    keys = keys[place : place + 1]
                elif len(keys) * len(packs[stage.name]) > _packs.EDGES:
                    layers[one.stage].setdefault((), {})[_packs.gather_key(other)] = (_packs.gather, keys)
                    keys = [_packs.gather_key(other)]
                reads.append([node, one.take, keys])
            for node, name in stage.sources.items():
                futures, what = find(name).share(name, these[0], stage.partitions if node in stage.part_of else 1)
                reads.append([node, "all", futures, what])
            key = _packs.key(stage, these)
            there = where.get(stage.key(these[0]))
            workers = tuple(home) if _reads_here(stage) else (there,) if there is not None else ()
            alone = these[1] - these[0] == 1
            made.setdefault(workers, {})[key] = (fragment, stage, these[0], reads) if alone else (pack, stage, these, reads)
    return layers


def graph_of(plan: Plan, layers: Mapping[str, Mapping[Any, Any]], home: Sequence[str]) -> Any:
    """Dask's graph: a layer for each stage, or for a stage on some workers."""
    from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

    names = {stage: [f"{stage}@{' '.join(workers)}" for workers in some] for stage, some in layers.items()}
    made, needs = {}, {}
    for stage, some in layers.items():
        for name, (workers, these) in zip(names[stage], some.items()):
            only = {"workers": list(workers), "allow_other_workers": workers != tuple(home)} if workers else {}
            made[name] = MaterializedLayer(these, annotations={"stage": stage, **only})  # the stage for `granary cluster why`
            needs[name] = {other for one in plan.stages[stage].inputs.values() for other in names[one.stage]}
            if _packs.gather_key(plan.stages[stage]) in these:
                needs[name].update(other for other in names[stage] if other != name)
    return HighLevelGraph(made, needs)


def _reads_here(stage: Stage) -> bool:
    """Whether it reads tables or objects of this process's session."""
    nodes = [one for name, one in stage.graph["nodes"].items() if name not in stage.inputs and name not in stage.sources]
    return any(one["op"] in ("table", "array", "object") for one in nodes)


def _at_home(client: Any, plan: Plan) -> List[str]:
    """Workers that use the session of this process."""
    if not any(_reads_here(stage) for stage in plan.stages.values()):
        return []
    session = _results.session_here()
    places = {address: one for address, one in everywhere(client, _place).items()}
    here = place_of(session) if session is not None else ""
    found = [address for address, place in places.items() if place == here]
    if not found:
        raise Unsupported("the plan reads tables of this instance, and no worker is a node of it: start one here, with GRANARY_INSTANCE as it is here")
    return found


def _place(dask_worker: Any) -> str:
    return _plugin.node_of(dask_worker).place


class _Run:
    """Futures of a plan. Those of a stage are let go when all that read them are done."""

    def __init__(self, client: Any, plan: Plan, priority: int, where: Mapping[str, str] = {}) -> None:
        self.client = client
        self.plan = plan
        self.priority = priority
        self.retries = _RETRIES
        packs = packs_of(client, plan)
        home = _at_home(client, plan)
        layers = tasks(plan, packs, home, where)
        self.tasks = {key: task for some in layers.values() for these in some.values() for key, task in these.items()}
        self.of = {_packs.key(stage, these): stage.name for stage in plan.stages.values() for these in packs[stage.name]}
        futures = client.get(graph_of(plan, layers, home), list(self.of), sync=False, priority=priority)
        self.futures: Dict[str, List[Any]] = {}
        for name, future in zip(self.of.values(), futures):
            self.futures.setdefault(name, []).append(future)
        self.left = {name: len(these) for name, these in packs.items()}
        self.readers = {name: len(readers) for name, readers in plan.readers().items()}
        self.wanted = {stage for _, stage, _ in plan.targets}

    def all(self) -> List[Any]:
        return [one for some in self.futures.values() for one in some]

    def done(self, key: str) -> None:
        name = self.of[key]
        self.left[name] -= 1
        if self.left[name] == 0:
            for one in self.plan.stages[name].inputs.values():
                self.readers[one.stage] -= 1
                if self.readers[one.stage] == 0 and one.stage not in self.wanted:
                    self.futures.pop(one.stage, None)

    def beyond(self, sizes: Dict[str, int]) -> bool:
        """Whether a stage, whose size decided something, has turned out larger. sizes: takes those of all such stages that are done."""
        larger = False
        for one in self.plan.decided:
            name, digest = str(one["stage"]), str(one["digest"])
            if self.left.get(name) == 0 and name in self.futures and digest not in sizes:
                sizes[digest] = sum(handle.size for handle in gathered(self.client, self.futures[name]))
                larger = larger or sizes[digest] > float(one["most_bytes"])
        return larger

    def again(self, key: str, copy: str, address: str) -> Any:
        """A task that runs already, once more, under another key and on that worker."""
        there = {one.key: one for one in self.all()}
        function, stage, which, reads = self.tasks[key]
        alone = [[node, take, [each for one in of for each in self._behind(one)], *what] for node, take, of, *what in reads]
        given = [[node, take, [there[one] if isinstance(one, str) else one for one in of], *what] for node, take, of, *what in alone]
        return self.client.submit(function, stage, which, given, key=copy, workers=[address], allow_other_workers=False, priority=self.priority + 1)

    def _behind(self, one: Any) -> List[Any]:
        """What a task reads: of gathered tickets those who gave them."""
        return list(self.tasks[one][1]) if isinstance(one, str) and self.tasks[one][0] is _packs.gather else [one]

    def pending(self) -> Dict[str, str]:
        """Tasks that are not done, and may run twice, with their stages."""
        twice = {name for name in self.futures if self.left[name] > 0 and _may_run_twice(self.plan.stages[name])}
        return {one.key: name for name in twice for one in self.futures[name] if one.status == "pending"}

    def retried(self, future: Any) -> bool:
        """Whether a task runs again that has failed by no fault of its own: Dask began it, and let go of what it reads meanwhile. Dask's
        error is the key of that then."""
        error = future.exception()
        lost = error.args[0] if isinstance(error, KeyError) and error.args else None
        if lost not in self.tasks or self.retries == 0:
            return False
        self.retries -= 1
        logger.warning("granary.dask: %s runs again: its input %s had gone", future.key, lost)
        self.client.run_on_scheduler(_retrier(), future.key)
        ends = time.monotonic() + _TOLD_S
        while future.status == "error" and time.monotonic() < ends:  # the client is told of it
            time.sleep(0.005)
        return True

    def finished(self) -> Dict[str, List[Any]]:
        return {name: [one for one in some if one.status == "finished"] for name, some in self.futures.items()}

    def cancel(self) -> None:
        """Nothing is left on any node, also of what runs. A scheduler that has gone has told the nodes so."""
        futures = self.all()
        comm = self.client.scheduler_comm
        if self.client.status == "running" and comm is not None and not comm.closed():
            with contextlib.suppress(OSError):
                self.client.cancel(futures, force=True)
        self.futures.clear()


def _retrier() -> Callable[..., None]:
    """For Dask's scheduler, which need not have this package: it is pickled whole."""

    def retry(key: str, dask_scheduler: Any = None) -> None:
        task = dask_scheduler.tasks.get(key)
        if task is not None and task.state == "erred":  # else it runs again already, for what it depends on
            dask_scheduler.stimulus_retry([key])

    return retry


def _may_run_twice(stage: Stage) -> bool:
    """Whether nothing shows that it ran, but for its results."""
    ops = [str(one["op"]) for one in stage.graph["nodes"].values()]
    return not _reads_here(stage) and not any(op in ("exec", "append_to") or op.startswith("write_") for op in ops)


Take = Callable[[Any, Dict[str, Any]], Any]
"""What becomes of a client and its futures, by target."""


def run(client: Any, plan: Plan, progress: Progress = None, timeout: Optional[float] = None, priority: int = 0,
        again: Optional[Again] = None, take: Optional[Take] = None, timeline: Any = None) -> Any:
    """Run a plan; futures of handles, by target, or what take makes of them. What fails, is interrupted, or takes too long, leaves nothing.

    again: cuts the plan once more when a stage is larger than was believed. Stages that are done keep their keys, and are not done again.
    When the scheduler goes, all is submitted again to the one that comes in its place.
    """
    if plan.version != VERSION:
        raise VersionMismatch(f"the plan was cut by granary {plan.version}, and this is granary {VERSION}: cut it again")
    _plugin.ready(client)
    ends = None if timeout is None else time.monotonic() + timeout
    line = None if timeline is None else Timeline(timeline)
    where: Dict[str, str] = {}
    given, in_time = client, lapses[0]
    try:
        with shown(progress) as tell:
            while True:
                scheduler = _lost.scheduler_of(client)
                try:
                    return _once(_Run(client, plan, priority, where), tell, ends, again, take, line)
                except BaseException as error:
                    _clear_frames(error)  # its futures would keep results of a call that is made again
                    if isinstance(error, (KeyboardInterrupt, SystemExit)) or not _lost.is_why(client, scheduler, error):
                        raise
                    _has_to_stay(plan, error)
                client = _lost.back(client, ends)
                where = _lost.survivors(client, [stage.key(p) for stage in plan.stages.values() for p in range(stage.partitions)])
    except TimeoutError as error:
        if timeout is None:
            raise
        raise TimedOut(f"not done after {timeout} s: {error}") from None
    finally:
        if lapses[0] != in_time:
            gc.collect()  # else nodes would keep results for what was given up
        if line is not None:
            line.write()
        if client is not given and take is not None:  # else the futures need it
            client.close(timeout=1)


def _has_to_stay(plan: Plan, error: BaseException) -> None:
    """Partitions of collections go with their scheduler."""
    if any(stage.sources for stage in plan.stages.values()):
        raise Unreachable("Dask's scheduler has gone, and with it the partitions that the plan reads: call from_dask() again") from error


def _once(going: _Run, tell: Any, ends: Optional[float], again: Optional[Again], take: Optional[Take], line: Optional[Timeline]) -> Any:
    """Run it with the scheduler that there is."""
    sizes: Dict[str, int] = {}
    try:
        while not _follow(going, tell, ends, sizes if again is not None else None, line):
            assert again is not None
            logger.info("the plan is cut again: %s", sizes)
            going = _Run(going.client, again(sizes), going.priority)  # before the futures of what is done are let go
        futures = {name: going.futures[stage][0] for name, stage, _ in going.plan.targets}
        return futures if take is None else take(going.client, futures)
    except BaseException:
        going.cancel()
        raise


def _follow(going: _Run, tell: Any, ends: Optional[float], sizes: Optional[Dict[str, int]], line: Optional[Timeline]) -> bool:
    """Wait for all fragments. False: some stage is larger than was believed; sizes has how large."""
    total, done = len(going.of), 0
    watched = as_completed(going.all(), loop=going.client.loop)
    slow = Watch(going.client, going.again)
    try:
        while done < total:
            if not _comes(watched, min(slow.due, slow.due if ends is None else ends) - time.monotonic()):
                if ends is not None and time.monotonic() >= ends:
                    raise TimedOut(f"{done} of {total} tasks were done")
                watched.update(slow.look(going.pending(), going.finished()))
                continue
            future = next(watched)
            slow.heard()
            is_copy = slow.ended(future)
            if line is not None and future.status == "finished":
                line.add(going.of[future.key.removesuffix(COPY)], gathered(going.client, [future])[0], "copy" if is_copy else "done")
            if is_copy:
                continue
            if future.status == "cancelled":
                raise Cancelled(f"{future.key} was cancelled")
            if future.status == "error" and not going.retried(future):
                future.result()
            if future.status != "finished":  # it runs again
                watched.add(future)
                continue
            done += 1
            going.done(future.key)
            if sizes is not None and going.beyond(sizes):
                return False
            if tell is not None:
                tell(done / total)
    finally:
        slow.cancel()
    return True


def _comes(watched: Any, seconds: float) -> bool:
    """Whether one of them has ended in time."""
    with watched.thread_condition:
        return bool(watched.thread_condition.wait_for(lambda: not watched.queue.empty(), max(0.0, seconds)))
