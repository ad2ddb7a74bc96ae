"""granary on a cluster of Dask: SQL, frames, tensors and graphs on several machines, each with an instance of granary.

    from distributed import Client
    import granary.dask

    client = Client("tcp://head:8786")
    granary.dask.sql(client, "SELECT count(*) FROM '/data/trips.parquet'")      # a Frame

docs/dask.md is a tutorial. Workers are nodes; `dask-worker --preload granary.dask` makes each one when it starts.
"""
from __future__ import annotations

try:
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError("granary.dask needs Dask's scheduler: install Debian's python3-distributed, or distributed with pip") from error

from typing import Any, Mapping, Optional, Union

from .._errors import Invalid
from .._progress import Progress
from . import _cut, _drive, _plugin, _results
from ._collections import to_dask
from ._handle import Handle
from ._plan import Plan
from ._sources import Given, Source, from_dask
from ._wire import TransferFailed

__all__ = ["Handle", "Plan", "Source", "TransferFailed", "from_dask", "run", "sql", "start_nodes", "to_dask"]


def start_nodes(client: Any, executors: Optional[int] = None, memory: Optional[str] = None, **options: Any) -> None:
    """Give each worker an instance of its own, which ends with the worker. Arguments are those of granary.up()."""
    _plugin.ready(client, {"executors": executors, "memory": memory, **options})


def sql(client: Any, text: str, partitions: Optional[int] = None, *, smallest: Optional[int] = None, progress: Progress = None,
        timeout: Optional[float] = None, priority: int = 0, stay: bool = False, timeline: Any = None, **frames: Given) -> Any:
    """Run a SELECT on the cluster. It gives a Frame in the instance of this process, or a DataFrame when it has none.

    partitions  into how many parts large files are cut; default: as many as there are workers
    smallest    bytes: smaller files are read as a whole wherever they are needed; default 64 MiB
    progress    True for a bar, or a function that is told shares from 0 to 1
    timeout     seconds; a TimeoutError then, and nothing is left of it
    priority    of Dask: work of a higher one goes first
    stay        the result stays on the nodes: a future of Dask, which to_dask() takes
    timeline    a file, which becomes a Chrome trace: which fragment ran where and when
    frames      what from_dask() takes or gave, by the names that stand in FROM
    """
    _plugin.ready(client)
    sources = {name: from_dask(client, one) for name, one in frames.items()}
    plan, again = _cut.sql(client, _named(text, sources), partitions, smallest, list(sources.values()))
    return _value(client, plan, progress, timeout, priority, stay, again, timeline)["result"]


def _named(text: str, sources: Mapping[str, Source]) -> str:
    from ..frames._sql import _Statement

    statement = _Statement(text)
    for name, one in sources.items():
        if one.shape is not None:
            raise Invalid(f"{name} is a tensor, and FROM takes rows: use lazy() of what from_dask() gives")
        statement.frames[name] = one  # type: ignore[assignment]
    return statement.written()


def run(client: Any, graph: Union[str, Mapping[str, Any], Plan], partitions: Optional[int] = None, *, smallest: Optional[int] = None,
        progress: Progress = None, timeout: Optional[float] = None, priority: int = 0, stay: bool = False, timeline: Any = None) -> dict[str, Any]:
    """Run a graph (docs/graph-format.md), or a plan of fragments, on the cluster. It gives what each target is, by name."""
    _plugin.ready(client)
    plan = graph if isinstance(graph, Plan) else _cut.graph(client, graph, partitions, smallest)
    return _value(client, plan, progress, timeout, priority, stay, None, timeline)


def _value(client: Any, plan: Plan, progress: Progress, timeout: Optional[float], priority: int, stay: bool,
           again: Optional[_cut.Again], timeline: Any) -> dict[str, Any]:
    session = None if stay else _results.session_here()

    def take(using: Any, futures: Mapping[str, Any]) -> dict[str, Any]:
        if session is None:
            return {name: _results.without(using, one) for name, one in futures.items()}
        return {name: _results.value(_results.here(using, session, one)) for name, one in futures.items()}

    made: dict[str, Any] = _drive.run(client, plan, progress, timeout, priority, again, None if stay else take, timeline)
    return made


async def dask_setup(worker: Any) -> None:
    """Of `dask-worker --preload granary.dask`: the worker is a node of the instance that is up, or else has one of its own.

    A worker that cannot be a node does not start.
    """
    try:
        await worker.plugin_add(_plugin.Plugin(private={}, instead=True), name=_plugin.NAME, catch_errors=False)
    except Exception:  # which has been told, and which Dask would only log
        _plugin.leave()
