"""A plan on a cluster: each fragment is a task, and its key is the fragment's. Dask orders, places, retries and recomputes them."""
from __future__ import annotations

import time
from typing import Any, Dict, List, Optional, Sequence, Tuple

from distributed import as_completed

from .._errors import Cancelled, TimedOut, Unsupported, VersionMismatch
from .._granary import VERSION
from .._progress import Progress, shown
from . import _plugin, _results
from ._handle import Handle
from ._node import place_of
from ._plan import Plan, Stage


def fragment(stage: Stage, partition: int, reads: Sequence[Any]) -> Handle:
    """A task."""
    return _plugin.here().run(stage, partition, reads)


def tasks(plan: Plan, home: Sequence[str] = ()) -> Any:
    """Dask's graph, a layer for each stage. home: workers where stages run that are at home."""
    from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

    layers, needs = {}, {}
    for stage in plan.stages.values():
        made: Dict[str, Tuple[Any, ...]] = {}
        for p in range(stage.partitions):
            reads = []
            for node, one in stage.inputs.items():
                other = plan.stages[one.stage]
                of = [p] if one.take == "same" else range(other.partitions)
                reads.append([node, one.take, [other.key(q) for q in of]])
            made[stage.key(p)] = (fragment, stage, p, reads)
        layers[stage.name] = MaterializedLayer(made, annotations={"workers": list(home)} if stage.home else None)
        needs[stage.name] = {one.stage for one in stage.inputs.values()}
    return HighLevelGraph(layers, needs)


def _at_home(client: Any, plan: Plan) -> List[str]:
    """Workers that use the session of this process."""
    if not any(stage.home for stage in plan.stages.values()):
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
        graph = tasks(plan, _at_home(client, plan))
        keys = [stage.key(p) for stage in plan.stages.values() for p in range(stage.partitions)]
        futures = client.get(graph, keys, sync=False, priority=priority)
        self.futures: Dict[str, List[Any]] = {}
        self.of: Dict[str, str] = {}
        for stage in plan.stages.values():
            for p in range(stage.partitions):
                self.of[stage.key(p)] = stage.name
        for key, future in zip(keys, futures):
            self.futures.setdefault(self.of[key], []).append(future)
        self.left = {stage.name: stage.partitions for stage in plan.stages.values()}
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

    def cancel(self) -> None:
        """Nothing is left on any node, also of what runs."""
        futures = self.all()
        self.client.cancel(futures, force=True)
        self.futures.clear()


def run(client: Any, plan: Plan, progress: Progress = None, timeout: Optional[float] = None, priority: int = 0) -> Dict[str, Any]:
    """Run a plan; futures of handles, by target. What fails, is interrupted, or takes too long, leaves nothing."""
    if plan.version != VERSION:
        raise VersionMismatch(f"the plan was cut by granary {plan.version}, and this is granary {VERSION}: cut it again")
    _plugin.ready(client)
    going = _Run(client, plan, priority)
    try:
        with shown(progress) as tell:
            _follow(going, tell, timeout)
    except BaseException:
        going.cancel()
        raise
    return {name: going.futures[stage][0] for name, stage, _ in plan.targets}


def _follow(going: _Run, tell: Any, timeout: Optional[float]) -> None:
    begun = time.monotonic()
    total, done = going.plan.fragments, 0
    left = {one.key: one for one in going.all()}
    watched = as_completed(list(left.values()), loop=going.client.loop)
    left.clear()
    while done < total:
        if timeout is not None:
            rest = timeout - (time.monotonic() - begun)
            if rest <= 0 or not _comes(watched, rest):
                raise TimedOut(f"{total - done} of {total} fragments are not done after {timeout} s")
        future = next(watched)
        if future.status == "cancelled":
            raise Cancelled(f"{future.key} was cancelled")
        if future.status != "finished":
            future.result()
        done += 1
        going.done(future.key)
        if tell is not None:
            tell(done / total)


def _comes(watched: Any, seconds: float) -> bool:
    """Whether one of them has ended in time."""
    with watched.thread_condition:
        return bool(watched.thread_condition.wait_for(lambda: not watched.queue.empty(), seconds))
