"""A plan on a cluster: fragments are tasks, alone or in packs, and their keys are the fragments'. Dask orders, places, retries and recomputes them."""
from __future__ import annotations

import time
import traceback
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from distributed import as_completed

from .._errors import Cancelled, TimedOut, Unsupported, VersionMismatch
from .._granary import VERSION
from .._log import logger
from .._progress import Progress, shown
from . import _packs, _plugin, _results
from ._cut import Again
from ._handle import Handle
from ._node import place_of
from ._packs import Pack, Range
from ._plan import Plan, Stage
from ._sources import find


def fragment(stage: Stage, partition: int, reads: Sequence[Any]) -> Handle:
    """A task."""
    return pack(stage, (partition, partition + 1), reads).handles[0]


def pack(stage: Stage, these: Range, reads: Sequence[Any]) -> Pack:
    """A task of several fragments."""
    try:
        return Pack(_plugin.here().run_all(stage, these, reads))
    except BaseException as error:
        # Dask and the error refer to each other, so what their frames have would stay until a collection of garbage.
        for one in reads:
            one[2].clear()
        failed: Optional[BaseException] = error
        while failed is not None:
            traceback.clear_frames(failed.__traceback__)
            failed = failed.__cause__ or failed.__context__
        raise


def packs_of(client: Any, plan: Plan) -> Dict[str, List[Range]]:
    """By stage: which partitions share a task."""
    many = max(stage.partitions for stage in plan.stages.values()) >= 2 * _packs.EACH
    threads = sum(one["nthreads"] for one in client.scheduler_info()["workers"].values()) if many else 0
    return {name: _packs.ranges(stage.partitions, max(1, threads), not stage.sources) for name, stage in plan.stages.items()}


def tasks(plan: Plan, packs: Mapping[str, List[Range]], home: Sequence[str] = ()) -> Any:
    """Dask's graph, a layer for each stage. home: workers where stages run that are at home."""
    from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

    layers: Dict[str, Any] = {}
    needs: Dict[str, Set[str]] = {}
    for stage in plan.stages.values():
        needs[stage.name] = set()
        made: Dict[str, Tuple[Any, ...]] = {}
        for place, these in enumerate(packs[stage.name]):
            reads: List[List[Any]] = []
            for node, one in stage.inputs.items():
                other = plan.stages[one.stage]
                keys = [_packs.key(other, its) for its in packs[one.stage]]
                layer = one.stage
                if one.take == "same":
                    keys = keys[place : place + 1]
                elif len(keys) * len(packs[stage.name]) > _packs.EDGES:
                    layer = f"{one.stage} {_packs.gather_key(other)}"
                    layers[layer] = MaterializedLayer({_packs.gather_key(other): (_packs.gather, keys)})
                    needs[layer] = {one.stage}
                    keys = [_packs.gather_key(other)]
                reads.append([node, one.take, keys])
                needs[stage.name].add(layer)
            for node, name in stage.sources.items():
                futures, what = find(name).share(name, these[0], stage.partitions if node in stage.part_of else 1)
                reads.append([node, "all", futures, what])
            alone = these[1] - these[0] == 1
            made[_packs.key(stage, these)] = (fragment, stage, these[0], reads) if alone else (pack, stage, these, reads)
        layers[stage.name] = MaterializedLayer(made, annotations={"workers": list(home)} if _reads_here(stage) else None)
    return HighLevelGraph(layers, needs)


def _reads_here(stage: Stage) -> bool:
    """Whether it reads tables or objects of this process's session."""
    nodes = [one for name, one in stage.graph["nodes"].items() if name not in stage.inputs and name not in stage.sources]
    return any(one["op"] in ("table", "array", "object") for one in nodes)


def _at_home(client: Any, plan: Plan) -> List[str]:
    """Workers that use the session of this process."""
    if not any(_reads_here(stage) for stage in plan.stages.values()):
        return []
    session = _results.session_here()
    places = {address: one for address, one in client.run(_place).items()}
    here = place_of(session) if session is not None else ""
    found = [address for address, place in places.items() if place == here]
    if not found:
        raise Unsupported("the plan reads tables of this instance, and no worker is a node of it: start one here, with GRANARY_INSTANCE as it is here")
    return found


def _place(dask_worker: Any) -> str:
    return _plugin.node_of(dask_worker).place


class _Run:
    """Futures of a plan. Those of a stage are let go when all that read them are done."""

    def __init__(self, client: Any, plan: Plan, priority: int) -> None:
        self.client = client
        self.plan = plan
        packs = packs_of(client, plan)
        graph = tasks(plan, packs, _at_home(client, plan))
        self.of = {_packs.key(stage, these): stage.name for stage in plan.stages.values() for these in packs[stage.name]}
        futures = client.get(graph, list(self.of), sync=False, priority=priority)
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
                sizes[digest] = sum(handle.size for handle in self.client.gather(self.futures[name]))
                larger = larger or sizes[digest] > float(one["most_bytes"])
        return larger

    def cancel(self) -> None:
        """Nothing is left on any node, also of what runs."""
        futures = self.all()
        self.client.cancel(futures, force=True)
        self.futures.clear()


def run(client: Any, plan: Plan, progress: Progress = None, timeout: Optional[float] = None, priority: int = 0,
        again: Optional[Again] = None) -> Dict[str, Any]:
    """Run a plan; futures of handles, by target. What fails, is interrupted, or takes too long, leaves nothing.

    again: cuts the plan once more when a stage is larger than was believed. Stages that are done keep their keys, and are not done again.
    """
    if plan.version != VERSION:
        raise VersionMismatch(f"the plan was cut by granary {plan.version}, and this is granary {VERSION}: cut it again")
    _plugin.ready(client)
    ends = None if timeout is None else time.monotonic() + timeout
    sizes: Dict[str, int] = {}
    going = _Run(client, plan, priority)
    try:
        with shown(progress) as tell:
            while not _follow(going, tell, ends, sizes if again is not None else None):
                assert again is not None
                logger.info("the plan is cut again: %s", sizes)
                going = _Run(client, again(sizes), priority)  # before the futures of what is done are let go
    except BaseException as error:
        going.cancel()
        if isinstance(error, TimeoutError) and timeout is not None:
            raise TimedOut(f"not done after {timeout} s: {error}") from None
        raise
    return {name: going.futures[stage][0] for name, stage, _ in going.plan.targets}


def _follow(going: _Run, tell: Any, ends: Optional[float], sizes: Optional[Dict[str, int]]) -> bool:
    """Wait for all fragments. False: some stage is larger than was believed; sizes has how large."""
    total, done = len(going.of), 0
    watched = as_completed(going.all(), loop=going.client.loop)
    while done < total:
        if ends is not None and not _comes(watched, ends - time.monotonic()):
            raise TimedOut(f"{done} of {total} tasks were done")
        future = next(watched)
        if future.status == "cancelled":
            raise Cancelled(f"{future.key} was cancelled")
        if future.status != "finished":
            future.result()
        done += 1
        going.done(future.key)
        if sizes is not None and going.beyond(sizes):
            return False
        if tell is not None:
            tell(done / total)
    return True


def _comes(watched: Any, seconds: float) -> bool:
    """Whether one of them has ended in time."""
    with watched.thread_condition:
        return bool(watched.thread_condition.wait_for(lambda: not watched.queue.empty(), max(0.0, seconds)))
