"""Dask's own collections: their partitions as rows and tensors of granary, on the nodes where they lie, and the other way round."""
from __future__ import annotations

import uuid
import weakref
from typing import Any, List, Mapping

from .._errors import Invalid, Unreachable
from . import _plugin, _results
from ._handle import Handle

_sources: "weakref.WeakValueDictionary[str, Source]" = weakref.WeakValueDictionary()


class Source:
    """Partitions of a collection on the nodes. They live as long as this, and as what reads them."""

    def __init__(self, client: Any, futures: List[Any], session: Any) -> None:
        self.client = client
        self.futures = futures
        self.key = "dask_" + uuid.uuid4().hex
        self.name = f"{self.key}/source"
        """Under which plans know it. The session has just its columns, so that plans can be made."""
        self._like = _results.here(client, session, client.submit(_like, futures[0], pure=False))
        _results.keep(session, self._like, self.key, "source")
        self._end = weakref.finalize(self, _forget, session, self.key)
        _sources[self.name] = self

    def lazy(self) -> Any:
        """A LazyFrame of its rows. collect(on=client) computes with them."""
        from ..frames._lazy import LazyFrame
        from ..frames._plan import Node

        return LazyFrame(Node("table", (), {"name": self.name}, self))

    def __repr__(self) -> str:
        return f"<granary.dask.Source of {len(self.futures)} partitions>"


def _forget(session: Any, key: str) -> None:
    try:
        session._client.delete_graph(key)
    except Exception:
        pass  # the session has ended, and the graph with it


def source_of(node: Mapping[str, Any]) -> Any:
    """The source that a node of a plan reads, or None."""
    return _sources.get(str(node.get("name", ""))) if node["op"] == "table" else None


def _put(rows: Any) -> Handle:
    """A task: a partition in the store of the node where it is."""
    from .. import _granary, _values

    node = _plugin.here()
    id = _granary.id_random()
    _values.put_frame(node.client, id, rows, {"counted": True})
    node.client.refer(id)
    return node.own(id, len(rows))


def _like(handle: Handle) -> Handle:
    """A task: no rows, with the columns of a frame."""
    import json

    node = _plugin.here()
    if handle.origin != node.origin:
        node.bring([(handle, [0])])
    nodes = {"all": {"op": "table", "ids": [node.local(handle, 0).hex()]}, "out": {"op": "head", "input": "all", "rows": 0}}
    return node.graph(json.dumps({"nodes": nodes, "targets": ["out"]}), "out")


def from_dask(client: Any, collection: Any) -> Source:
    """The partitions of a dask.dataframe, which is computed, put into the stores of the nodes that have them. The index is left out."""
    from distributed import wait

    if not hasattr(collection, "npartitions") or not hasattr(collection, "columns"):
        raise TypeError(f"from_dask() takes a dask.dataframe, not {type(collection).__name__}")
    _plugin.ready(client)
    session = _results.session_here()
    if session is None:
        raise Unreachable("from_dask() needs an instance in this process: use it in `with granary.up():`, or after granary.connect()")
    parts = client.compute(collection.to_delayed())
    futures = client.map(_put, parts, pure=False)
    wait(futures)
    return Source(client, futures, session)


def _chunk(handle: Handle, place: int) -> Any:
    """A task: a chunk as Dask has it."""
    import io

    import numpy as np

    ((data, meta),) = _results.read(handle, [place])
    return np.load(io.BytesIO(data)) if handle.kind == "tensor" else _results.pandas([(data, meta)])


def to_dask(client: Any, future: Any) -> Any:
    """A result that stayed on the nodes, by sql(..., stay=True), as a dask.dataframe or dask.array: a partition for each chunk."""
    handle: Handle = future.result()
    parts = [client.submit(_chunk, future, place, pure=False) for place in range(len(handle.chunks))]
    if handle.kind == "frame":
        import dask.dataframe as dd

        return dd.from_delayed(parts)
    if handle.kind != "tensor":
        raise Invalid("to_dask() is of frames and tensors")
    import dask.array as da
    import numpy as np

    shapes = [one.shape for one in client.gather([client.submit(np.empty_like, part, pure=False) for part in parts])]
    dtype = client.submit(getattr, parts[0], "dtype", pure=False).result()
    blocks = np.empty(handle.splits, object)
    for place, part, shape in zip(np.ndindex(*handle.splits), parts, shapes):
        blocks[place] = da.from_delayed(part, shape, dtype)
    return da.block(blocks.tolist()) if handle.shape else blocks[()]
