"""Nodes become a graph, are computed in one submission, and are read."""
from __future__ import annotations

import itertools
import json
import math
import threading
from typing import Any, Iterable, Optional, Sequence

import numpy as np

from ._engine import Engine, Result, engine
from ._node import CACHED_BYTES, Held, Node, Owner
from ._steps import number

BLOCK_BYTES = 32 << 20
"""Arrays beyond this are put into the store in blocks of rows, so that executors can share the work."""

WHOLE_BYTES = 1 << 20
"""Elements of an array up to this size are read from the whole: so a loop over them computes it once."""

PERSISTED = "array"
"""The target of graphs that persist() runs."""

_settling = threading.RLock()
"""Graphs are made, and nodes told of their results, by one thread at a time. Graphs run without it."""

chunk_bytes = 0
"""Wished size of chunks; 0: granary decides."""


def set_chunk_bytes(bytes: int) -> int:
    """From now on results, and arrays that are put, are cut into chunks of about this size; 0: as granary likes. What it was."""
    global chunk_bytes
    before, chunk_bytes = chunk_bytes, bytes
    return before


def put(value: np.ndarray[Any, Any], using: Engine) -> Held:
    """An array as objects in the store: blocks of rows."""
    value = np.ascontiguousarray(value).reshape(value.shape)
    rows = value.shape[0] if value.ndim else 1
    wished = chunk_bytes or BLOCK_BYTES
    step = rows if value.nbytes <= wished or rows == 0 else max(1, wished * rows // value.nbytes)
    blocks = [value] if step == rows else [value[i : i + step] for i in range(0, rows, step)]
    ids: list[str] = []
    for block in blocks:
        ids.append(using.put(block))
    source: dict[str, Any] = {"op": "array", "ids": ids, "shape": list(value.shape), "dtype": value.dtype.name}
    if len(ids) > 1:
        source["chunk"] = [step, *value.shape[1:]]
    splits = (len(ids), *[1] * (value.ndim - 1)) if value.ndim else ()
    return Held(using, source, Result(ids, value.shape, splits), ids)


class Graph:
    """JSON of the nodes that some targets need."""

    def __init__(self, targets: Sequence[Node], using: Engine, name: Optional[str] = None) -> None:
        self.engine = using
        self.nodes: dict[str, Any] = {}
        self.names: dict[int, str] = {}
        self.held: list[Held] = []
        """Sources, which have to stay until the graph has run."""
        for node in _inputs_first(targets):
            own = name if name and node is targets[0] else f"n{len(self.names)}"
            self.names[id(node)] = own
            self.nodes[own] = self._text_of(node)
        self.targets = [self.names[id(node)] for node in targets]

    def _text_of(self, node: Node) -> dict[str, Any]:
        if node.is_there:
            if node.held is None or node.held.engine is not self.engine:
                if node.known is None:
                    raise ValueError("the array was computed by another engine: take its values with numpy.asarray()")
                if node.known.size == 1 and np.isfinite(node.known).all():
                    return _number(node.known)
                node.held = put(node.known, self.engine)
            self.held.append(node.held)
            return node.held.source
        made: dict[str, Any] = {"op": node.op, **node.params}
        inputs = [self.names[id(one)] for one in node.inputs]
        if inputs:
            made["input" if len(inputs) == 1 else "inputs"] = inputs[0] if len(inputs) == 1 else inputs
        return made

    def text(self) -> str:
        return json.dumps({"nodes": self.nodes, "targets": self.targets}, allow_nan=False)


def _number(value: np.ndarray[Any, Any]) -> dict[str, Any]:
    """One element needs no object."""
    only = value.reshape(-1)[0].item()
    if isinstance(only, complex):
        only = number(only, value.dtype)
    written = str(only) if isinstance(only, int) and only >= 2**63 else int(only) if isinstance(only, bool) else only
    return {"op": "full", "shape": list(value.shape), "dtype": value.dtype.name, "value": written}


def _inputs_first(targets: Iterable[Node]) -> list[Node]:
    """All nodes the targets need, each behind its inputs; what is there needs no inputs."""
    found: list[Node] = []
    seen: set[int] = set()
    stack = [(node, False) for node in targets]
    while stack:
        node, is_ready = stack.pop()
        if is_ready:
            found.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            if not node.is_there:
                stack.extend((one, False) for one in node.inputs if id(one) not in seen)
    order = {id(node): i for i, node in enumerate(found)}
    assert all(order[id(one)] < order[id(node)] for node in found if not node.is_there for one in node.inputs)
    return found


def compute(nodes: Sequence[Node]) -> None:
    """Run one graph for all of them, and hold what it gives."""
    wanted = {id(node): node for node in nodes if not node.is_there}
    for node in list(wanted.values()):
        for reference in node.together:
            other = reference()
            if other is not None and not other.is_there:
                wanted[id(other)] = other
    if not wanted:
        return
    using = engine()
    targets = list(wanted.values())
    with _settling:
        graph = Graph(targets, using)
    key = using.run(graph.text(), chunk_bytes=chunk_bytes)
    owner = Owner(using.delete, [key])
    made = [Held(using, {"op": "array", "name": f"{key}/{name}"}, using.result(key, name), owner) for name in graph.targets]
    with _settling:
        for node, held in zip(targets, made):
            if not node.is_there:  # another thread may have been first
                node.settle(held)


def value_of(node: Node) -> np.ndarray[Any, Any]:
    """The elements, read-only: where they lie when they are in one chunk."""
    found = node.value_at_hand
    if found is not None:
        return found
    if node.op == "getitem" and node.key is not None and _is_near(node.inputs[0]):
        found = np.asarray(value_of(node.inputs[0])[node.key])
        found.flags.writeable = False
    else:
        compute([node])
        assert node.held is not None
        found = fetch(node.held)
    if found.dtype != node.dtype or found.shape != node.partial_shape:
        raise RuntimeError(f"{node.op} gave {found.dtype} of shape {found.shape}, not {node.dtype} of {node.partial_shape}")
    node.remember(found)
    return found


def _is_near(node: Node) -> bool:
    """Whether elements are quicker read from the whole: it is in this process, in one chunk of the store, or small."""
    if node.value_at_hand is not None or (node.held is not None and len(node.held.result.chunks) == 1):
        return True
    return None not in node.partial_shape and node.size * node.dtype.itemsize <= WHOLE_BYTES


def fetch(held: Held) -> np.ndarray[Any, Any]:
    """The chunks as one array; of several it is a copy."""
    chunks, shape, splits = held.result
    if len(chunks) == 1:
        only: np.ndarray[Any, Any] = held.engine.read(chunks[0]).reshape(shape)
        if only.nbytes <= CACHED_BYTES:
            only = only.copy()  # so that small values lease nothing
            only.flags.writeable = False
        return only
    whole: Optional[np.ndarray[Any, Any]] = None
    ends = [[0] for _ in shape]  # where the blocks seen so far end along each axis
    for place, chunk in zip(itertools.product(*[range(count) for count in splits]), chunks):
        block = held.engine.read(chunk)
        if whole is None:
            whole = np.empty(shape, block.dtype)
        for axis, i in enumerate(place):
            if i + 1 == len(ends[axis]):
                ends[axis].append(ends[axis][i] + block.shape[axis])
        whole[tuple(slice(ends[axis][i], ends[axis][i + 1]) for axis, i in enumerate(place))] = block
    if whole is None:
        raise RuntimeError(f"a result of shape {shape} has no chunks")
    assert math.prod(shape) == 0 or [axis[-1] for axis in ends] == list(shape)
    whole.flags.writeable = False
    return whole
