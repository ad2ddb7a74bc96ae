"""Sources that Dask has: partitions of its collections, and results that stayed on the nodes. Fragments read them where they lie.

A plan knows a source by a name. A table of rows is known by that of a graph in the own session, which has just its columns. A tensor is known
by an id that no object has, beside its shape. The rows of a tensor go to fragments as its blocks lie, or, when others have to fit, in even parts.
"""
from __future__ import annotations

import json
import re
import uuid
import weakref
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from .._errors import Invalid, Unreachable, WrongType
from . import _plugin, _results
from ._handle import Handle

Reads = Tuple[List[Any], Dict[str, Any]]
"""Futures of handles, and what of them: `spans` of chunks, by handle, and `rows` of a tensor: how many to skip, and to take."""

_known: "weakref.WeakValueDictionary[str, Source]" = weakref.WeakValueDictionary()


class Piece(NamedTuple):
    """Rows that lie on one node: some chunks of a handle."""

    future: Any
    first: int
    end: int
    rows: int


class Source:
    """Partitions on the nodes. They live as long as this, and as what reads them."""

    def __init__(self, client: Any, pieces: List[Piece], size: int, shape: Optional[Tuple[int, ...]] = None, dtype: str = "") -> None:
        """shape, dtype: of a tensor."""
        self.client = client
        self.pieces = pieces
        self.size = size
        self.shape = shape
        self.dtype = dtype
        key = uuid.uuid4().hex
        if shape is None:
            session = _session()
            self.key = f"dask_{key}"
            self.name = self.evenly = f"{self.key}/source"
            self._none = client.submit(_no_rows, pieces[0].future, pieces[0].first, pure=False)
            self._like = _results.here(client, session, self._none)
            _results.keep(session, self._like, self.key, "source")
            self._end = weakref.finalize(self, _forget, session, self.key)
        else:
            self.name, self.evenly = key, uuid.uuid4().hex
        _known[self.name] = _known[self.evenly] = self

    @property
    def partitions(self) -> int:
        return len(self.pieces)

    def told(self, name: str) -> Tuple[str, int, int]:
        """To the cut: its name, bytes and partitions."""
        return name, self.size, self.partitions

    def lazy(self) -> Any:
        """A LazyFrame, or an array that was not computed. collect(on=client) computes with it."""
        if self.shape is None:
            from ..frames._lazy import LazyFrame
            from ..frames._plan import Node

            return LazyFrame(Node("table", (), {"name": self.name}, self))
        from ..array._engine import Result, engine
        from ..array import _node
        from ..array._object import Array
        import numpy as np

        one = _node.Node("array", (), {}, np.dtype(self.dtype), self.shape)
        source = {"op": "array", "ids": [self.evenly], "shape": list(self.shape), "dtype": self.dtype}
        one.held = _node.Held(engine(), source, Result([self.evenly], self.shape, (1,) * len(self.shape)), self)
        return Array(one)

    def share(self, name: str, partition: int, parts: int) -> Reads:
        """What a fragment reads under that name: of several parts one."""
        if self.shape is None or name == self.name or parts == 1:
            first, end = (self.partitions * p // parts for p in (partition, partition + 1))
            if first == end:  # fewer partitions than parts
                return [self._none], {"spans": [[0, 1]]}
            return self._read(self.pieces[first:end])
        more = self.shape[0] % parts  # as the operator `split` has it: the first ones have one row more
        start = partition * (self.shape[0] // parts) + min(partition, more)
        rows = self.shape[0] // parts + (partition < more)
        at, skip = 0, 0
        chosen: List[Piece] = []
        for piece in self.pieces:
            if at < start + rows and at + piece.rows > start:
                skip = start - at if not chosen else skip
                chosen.append(piece)
            at += piece.rows
        futures, what = self._read(chosen)
        if rows != sum(piece.rows for piece in chosen):
            what["rows"] = [skip, rows]
        return futures, what

    @staticmethod
    def _read(pieces: Sequence[Piece]) -> Reads:
        return [one.future for one in pieces], {"spans": [[one.first, one.end] for one in pieces]}

    def __repr__(self) -> str:
        return f"<granary.dask.Source of {self.partitions} partitions>"


def _forget(session: Any, key: str) -> None:
    try:
        session._client.delete_graph(key)
    except Exception:
        pass  # the session has ended, and the graph with it


def _session() -> Any:
    session = _results.session_here()
    if session is None:
        raise Unreachable("from_dask() needs an instance in this process: use it in `with granary.up():`, or after granary.connect()")
    return session


def find(name: str) -> Source:
    """The source that a plan names."""
    found = _known.get(name)
    if found is None:
        raise Invalid(f"the plan reads source {name!r}, which this process does not have any more: keep what from_dask() gives")
    return found


def of_graph(graph: Mapping[str, Any]) -> Tuple[Mapping[str, Any], Dict[str, Source]]:
    """Sources of a graph, by the names under which it reads them; and the graph, which reads blocks of tensors as they lie where it can."""
    names: Dict[str, str] = {}
    for node, one in graph.get("nodes", {}).items():
        ids = one.get("ids") or [""]
        name = one.get("name") if one.get("op") == "table" else ids[0] if one.get("op") == "array" and len(ids) == 1 else None
        if name in _known:
            names[node] = str(name)
    found = {name: _known[name] for name in names.values()}
    tensors = {node: found[name] for node, name in names.items() if found[name].shape is not None}
    if tensors and _fit(graph, set(names), list(tensors.values())):
        nodes = {node: {**one, "ids": [tensors[node].name]} if node in tensors else one for node, one in graph["nodes"].items()}
        graph = {**graph, "nodes": nodes}
        found = {one.name if one.shape is not None else name: one for name, one in found.items()}
    return graph, found


def _fit(graph: Mapping[str, Any], sources: "set[str]", tensors: Sequence[Source]) -> bool:
    """Whether parts may be as blocks lie: these are alike in all tensors, there are no other sources, and nothing tells places of rows."""
    nodes: Mapping[str, Mapping[str, Any]] = graph["nodes"]
    others = any(node not in sources and not (one.get("input") or one.get("inputs")) for node, one in nodes.items())
    places = any("arg" in str(one.get("op")) for one in nodes.values())
    rows = {tuple(piece.rows for piece in one.pieces) for one in tensors}
    return not others and not places and len(rows) == 1


# ---- partitions into the stores ----

def _told(number: int, error: Exception) -> Exception:
    told = f"partition {number}: {str(error).removeprefix('put(): ')}"
    return TypeError(told) if isinstance(error, TypeError) else ValueError(told) if isinstance(error, ValueError) else Invalid(told)


def _put(value: Any, number: int) -> Handle:
    """A task: the rows of a partition in the store of the node where they are."""
    from .. import _granary, _values

    node = _plugin.here()
    id = _granary.id_random()
    try:
        _values.put_frame(node.client, id, value, {"counted": True})
    except (TypeError, ValueError) as error:
        raise _told(number, error) from None
    node.client.refer(id)
    return node.own(id, "frame", (len(value),), (), ())


def _put_block(value: Any, number: int, dtype: str, shape: Tuple[int, ...]) -> Handle:
    """A task: a block of a tensor in the store of the node where it is."""
    import numpy as np

    from .. import _granary, _values

    node = _plugin.here()
    block = np.asarray(value)
    if block.shape != tuple(shape):
        raise Invalid(f"partition {number}: it has shape {block.shape}, and the collection says {tuple(shape)}")
    if not np.can_cast(block.dtype, dtype, "safe"):
        raise WrongType(f"partition {number}: it has dtype {block.dtype}, and the collection says {dtype}: change it by astype()")
    id = _granary.id_random()
    _values.put(node.client, id, np.ascontiguousarray(block, dtype).reshape(shape), {"counted": True})
    node.client.refer(id)
    return node.own(id, "tensor", (), tuple(shape), (1,) * len(shape))


Kinds = List[Tuple[str, str, bool]]
"""Columns: name, dtype, and whether no row has a value."""


def _kinds(handle: Handle) -> Kinds:
    """A task: what a partition has."""
    import numpy as np

    from .._engine import column_of
    from ..frames import _columns

    node = _plugin.here()
    if handle.origin != node.origin:
        node.bring([(handle, [0])])
    made: Kinds = []
    for given in node.client.get(node.local(handle, 0), 30000).frame().columns():
        column = column_of(given)
        there = _columns.valid(column)
        empty = column.rows == 0 or (there is not None and not there.any())
        if not empty and column.dtype.startswith("float") and column.values is not None:
            empty = bool(np.isnan(column.values).all())
        made.append((column.name, column.dtype, bool(empty)))
    return made


def _no_rows(handle: Handle, place: int) -> Handle:
    """A task: no rows, with the columns of a frame."""
    node = _plugin.here()
    if handle.origin != node.origin:
        node.bring([(handle, [place])])
    nodes = {"all": {"op": "table", "ids": [node.local(handle, place).hex()]}, "out": {"op": "head", "input": "all", "rows": 0}}
    return node.graph(json.dumps({"nodes": nodes, "targets": ["out"]}), "out")


def _changed(handle: Handle, number: int, columns: Sequence[str], changes: Mapping[str, str]) -> Handle:
    """A task: a partition with columns in this order, some of them changed."""
    node = _plugin.here()
    if handle.origin != node.origin:
        node.bring([(handle, [0])])
    nodes: Dict[str, Any] = {"all": {"op": "table", "ids": [node.local(handle, 0).hex()]}}
    nodes["some"] = {"op": "assign", "input": "all", "columns": dict(changes)} if changes else {"op": "head", "input": "all", "rows": handle.rows[0]}
    nodes["out"] = {"op": "select", "input": "some", "columns": list(columns)}
    try:
        return node.graph(json.dumps({"nodes": nodes, "targets": ["out"]}), "out")
    except (WrongType, Invalid) as error:
        raise _told(number, error) from None


# ---- one dtype for all partitions ----

_NUMBER = re.compile(r"u?int(8|16|32|64)|float(32|64)")
_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")
_MOST_DIGITS = 38


def _common(one: str, other: str) -> Optional[str]:
    """The dtype that has the values of both; None: there is none."""
    import numpy as np

    if one == other:
        return one
    if _NUMBER.fullmatch(one) and _NUMBER.fullmatch(other):
        return str(np.promote_types(one, other).name)
    decimals = [_DECIMAL.fullmatch(dtype) for dtype in (one, other)]
    if decimals[0] and decimals[1]:
        digits = [(int(found[1]), int(found[2])) for found in decimals if found]
        scale = max(places for _, places in digits)
        most = max(precision - places for precision, places in digits) + scale
        return f"decimal({most}, {scale})" if most <= _MOST_DIGITS else None
    return None


def unified(kinds: Sequence[Kinds]) -> List[Tuple[str, str]]:
    """Columns of all partitions, with their dtypes. A column without values in a partition takes those of the others there.

    Invalid: partitions have other columns. WrongType: a column's dtypes do not go together. The message names column and partitions.
    """
    made: Dict[str, Tuple[str, bool, int]] = {name: (dtype, empty, 0) for name, dtype, empty in kinds[0]}
    for number, some in enumerate(kinds):
        names = {name for name, _, _ in some}
        for name in [*made, *names]:
            if (name in made) != (name in names):
                has, lacks = (0, number) if name in made else (number, 0)
                raise Invalid(f"column {name!r}: partition {has} has it, and partition {lacks} does not")
        for name, dtype, empty in some:
            before, was_empty, first = made[name]
            if was_empty and not empty:
                made[name] = dtype, False, number
            elif was_empty == empty:
                common = _common(before, dtype) or (before if empty else None)
                if common is None:
                    raise WrongType(f"column {name!r}: partition {first} has {before}, and partition {number} has {dtype}: make them one by astype()")
                made[name] = common, empty, first
    return [(name, dtype) for name, (dtype, _, _) in made.items()]


def _changes(some: Kinds, wanted: Sequence[Tuple[str, str]]) -> Optional[Dict[str, str]]:
    """Expressions that make columns as wanted. None: all of them are."""
    dtypes = {name: (dtype, empty) for name, dtype, empty in some}
    made = {}
    for name, dtype in wanted:
        own, empty = dtypes[name]
        if own != dtype:
            quoted = "`" + name.replace("`", "``") + "`"
            made[name] = f"cast({'null' if empty else quoted} as {dtype})"
    return made if made or [name for name, _, _ in some] != [name for name, _ in wanted] else None


# ---- what from_dask() takes ----

def _computed(client: Any, futures: List[Any]) -> List[Any]:
    """Wait for all; the first error of them is told."""
    from distributed import wait

    wait(futures)
    for one in futures:
        if one.status != "finished":
            try:
                one.result()
            finally:
                client.cancel(futures, force=True)  # and not when the error's frames are collected
    return futures


def _of_frame(client: Any, collection: Any) -> Source:
    _session()
    parts = client.compute(collection.to_delayed())
    futures = _computed(client, client.map(_put, parts, range(len(parts)), pure=False))
    kinds: List[Kinds] = client.gather(client.map(_kinds, futures, pure=False))
    try:
        wanted = unified(kinds)
    except BaseException:
        client.cancel(futures, force=True)
        raise
    changes = [_changes(some, wanted) for some in kinds]
    futures = _computed(client, [one if change is None else client.submit(_changed, one, number, [name for name, _ in wanted], change, pure=False)
                                 for number, (one, change) in enumerate(zip(futures, changes))])
    handles: List[Handle] = client.gather(futures)
    return Source(client, [_whole(one, handle) for one, handle in zip(futures, handles)], sum(handle.size for handle in handles))


def _whole(future: Any, handle: Handle) -> Piece:
    return Piece(future, 0, len(handle.chunks), sum(handle.rows) if handle.kind == "frame" else handle.shape[0] if handle.shape else 1)


def _of_array(client: Any, collection: Any) -> Source:
    import numpy as np

    from .._arrays import DTYPES

    _session()
    if collection.dtype.name not in DTYPES:
        raise WrongType(f"granary has no dtype for dask.array's {collection.dtype}: change it by astype()")
    if any(side != side for side in collection.shape):
        raise Invalid("the sizes of the array's chunks are not known: call its compute_chunk_sizes() first")
    if any(count > 1 for count in collection.numblocks[1:]):
        collection = collection.rechunk({axis: -1 for axis in range(1, collection.ndim)})  # a partition has whole rows
    parts = client.compute(collection.to_delayed().ravel().tolist())
    shapes = [tuple(sides) for sides in _shapes(collection)]
    futures = _computed(client, client.map(_put_block, parts, range(len(parts)), [collection.dtype.name] * len(parts), shapes, pure=False))
    handles: List[Handle] = client.gather(futures)
    pieces = [_whole(one, handle) for one, handle in zip(futures, handles) if not handle.shape or handle.shape[0] > 0]
    size = int(np.prod(collection.shape, dtype=float)) * collection.dtype.itemsize
    return Source(client, pieces or [_whole(futures[0], handles[0])], size, tuple(int(side) for side in collection.shape), collection.dtype.name)


def _shapes(collection: Any) -> List[Tuple[int, ...]]:
    import itertools

    return [tuple(int(side) for side in sides) for sides in itertools.product(*collection.chunks)]


def _of_result(client: Any, future: Any) -> Source:
    """A result that stayed: a partition for each of its chunks."""
    _session()
    handle: Handle = future.result()
    if not isinstance(handle, Handle) or handle.kind not in ("frame", "tensor"):
        raise TypeError(f"from_dask() takes the future of a frame or tensor that stayed, not of {type(handle).__name__}")
    if handle.kind == "frame":
        pieces = [Piece(future, place, place + 1, rows) for place, rows in enumerate(handle.rows)]
        return Source(client, pieces, handle.size)
    pieces = [_whole(future, handle)]
    if len(handle.chunks) > 1 and handle.splits[0] == len(handle.chunks):
        block = handle.block[0]
        pieces = [Piece(future, place, place + 1, min(block, handle.shape[0] - place * block)) for place in range(len(handle.chunks))]
    return Source(client, pieces, handle.size, handle.shape, client.submit(_dtype, future, pure=False).result())


def _dtype(handle: Handle) -> str:
    """A task."""
    node = _plugin.here()
    if handle.origin != node.origin:
        node.bring([(handle, [0])])
    return str(node.client.get(node.local(handle, 0), 30000).tensor()[0])


def from_dask(client: Any, collection: Any) -> Source:
    """Partitions put into the stores of the nodes that have them: of a dask.dataframe, whose index is left out, or of a dask.array.

    What stayed on the nodes, by sql(..., stay=True), is taken as it lies. A Source is given back. Columns have one dtype in all partitions:
    numbers the wider one. WrongType, Invalid, TypeError, ValueError: the message names the column and the partition.
    """
    if isinstance(collection, Source):
        return collection
    from distributed import Future

    make: Any = None
    if isinstance(collection, Future):
        make = _of_result
    elif hasattr(collection, "npartitions") and hasattr(collection, "columns"):
        make = _of_frame
    elif hasattr(collection, "numblocks") and hasattr(collection, "chunks"):
        make = _of_array
    if make is None:
        raise TypeError(f"from_dask() takes a dask.dataframe, a dask.array, or a result that stayed, not {type(collection).__name__}")
    _plugin.ready(client)
    made: Source = make(client, collection)
    return made


Given = Union[Source, Any]
