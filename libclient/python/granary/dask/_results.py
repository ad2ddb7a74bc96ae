"""Results of a plan in the process that asked for it: in its own instance, or as values when it has none."""
from __future__ import annotations

import os
import ssl
import uuid
from typing import Any, List, Optional, Sequence, Tuple

from .. import _session
from .._errors import Error, Unreachable
from .._granary import OWN
from .._ref import Kept
from .._session import Session
from ._handle import Handle
from ._node import attributes, grid_of, place_of, take
from ._slow import gathered
from ._wire import TransferFailed

Bytes = Tuple[bytes, bytes]


def session_here() -> Optional[Session]:
    """The session of this process: the default one, if its instance is up."""
    if _session._default and not _session._default[-1].closed:
        return _session._default[-1]
    try:
        return _session.default_session()
    except Unreachable:
        if os.environ.get("GRANARY_INSTANCE"):
            raise
        return None


def _context(client: Any) -> Optional[ssl.SSLContext]:
    if not client.scheduler.address.startswith("tls"):
        return None
    context: ssl.SSLContext = client.security.get_connection_args("client")["ssl_context"]
    return context


def read(handle: Handle, places: Optional[Sequence[int]] = None) -> List[Bytes]:
    """A task: data and metadata of chunks, or of all, as bytes that Dask carries."""
    from . import _plugin

    node = _plugin.here()
    wanted = range(len(handle.chunks)) if places is None else places
    if handle.origin != node.origin:
        node.bring([(handle, wanted)])
    views: List[Any] = [node.client.get(node.local(handle, place), 30000) for place in wanted]
    return [(bytes(memoryview(view)), bytes(view.meta)) for view in views]


class Here:
    """A result whose chunks are in this process's session. They live at least as long as this."""

    alive = True
    key = ""

    def __init__(self, session: Session, handle: Handle, ids: List[Kept]) -> None:
        from .._engine import SessionEngine

        self.engine = SessionEngine(session)
        self.handle = handle
        self.ids = ids

    def release(self) -> None:
        self.ids = []
        self.alive = False


def here(client: Any, session: Session, future: Any) -> Here:
    """Bring a result into a session: where it lies already, directly from its node, or by Dask when the node cannot be reached."""
    handle: Handle = gathered(client, [future])[0]
    own = session._client
    try:
        ids = take(own, [(handle, chunk) for chunk in handle.chunks], place_of(session), _context(client))
    except TransferFailed:
        ids = [_put(own, data, meta) for data, meta in _by_dask(client, future)]
    return Here(session, handle, [_counted(own, id) for id in ids])


def _by_dask(client: Any, future: Any) -> List[Bytes]:
    made: List[Bytes] = gathered(client, [client.submit(read, future, pure=False)])[0]
    return made


def _put(client: Any, data: bytes, meta: bytes) -> bytes:
    from .. import _granary

    id = _granary.id_random()
    buffer = client.create(id, len(data), len(meta), 30000, counted=True)
    try:
        with memoryview(buffer) as to:
            to[:] = data
        buffer.set_meta(meta)
    except BaseException:
        buffer.abort()
        raise
    buffer.seal()
    client.refer(id)
    return id


def _counted(client: Any, id: bytes) -> Kept:
    kept = Kept.of(client, id)
    client.unrefer(id)  # what it came with
    return kept


def frame(held: Here) -> Any:
    """A Frame over chunks of frames."""
    from ..frames._frame import Frame

    return Frame(held, "", list(held.ids), list(held.handle.rows))  # type: ignore[arg-type]


def array(held: Here) -> Any:
    """An array over blocks of a tensor."""
    from ..array._engine import Result
    from ..array._node import Held, Node
    from ..array._object import Array
    from ..array._session import SessionEngine

    handle = held.handle
    engine = SessionEngine(held.engine.session)
    dtype = engine.read(held.ids[0]).dtype
    source = attributes("here", {"op": "array", "dtype": dtype.name}, [grid_of(handle)], [list(held.ids)])["here"]
    node = Node("array", (), {}, dtype, handle.shape)
    node.held = Held(engine, source, Result(list(held.ids), handle.shape, handle.splits), held)
    return Array(node)


def value(held: Here) -> Any:
    """A Frame, an array, or of other objects a list of what they are."""
    if held.handle.kind == "frame":
        return frame(held)
    if held.handle.kind == "tensor":
        return array(held)
    return [held.engine.session.get(bytes.fromhex(one)) for one in held.ids]


def without(client: Any, future: Any) -> Any:
    """A result for a process without an instance: a DataFrame, a NumPy array, or a list of bytes."""
    import io

    import numpy as np

    handle: Handle = gathered(client, [future])[0]
    parts = _by_dask(client, future)
    if handle.kind == "frame":
        return pandas(parts)
    if handle.kind == "tensor":
        blocks = np.empty(handle.splits, object)
        for place, (data, _) in zip(np.ndindex(*handle.splits), parts):
            blocks[place] = np.load(io.BytesIO(data))
        return np.block(blocks.tolist()) if handle.shape else blocks[()]
    return [data for data, _ in parts]


def pandas(parts: List[Bytes]) -> Any:
    """Chunks of a frame as one DataFrame."""
    import pandas as pd

    from .. import _granary
    from .._engine import column_of
    from ..frames import _columns

    chunks = [[column_of(one) for one in _granary.frame_of_bytes(data, meta).columns()] for data, meta in parts]
    pieces = [list(some) for some in zip(*chunks)]
    made = pd.concat([_columns.to_pandas(some, False, False) for some in pieces], axis=1, copy=False)
    made.columns = [some[0].name for some in pieces]
    return made


def keep(session: Session, held: Here, key: str, target: str) -> None:
    """A graph of the session whose target is the result, under a key of the caller's: it is printed and kept as any other."""
    nodes = {}
    if held.handle.kind == "tensor":
        nodes = {target: array(held)._node.held.source}
    elif held.handle.kind == "frame":
        nodes = {target: {"op": "table", "ids": list(held.ids)}}
    else:
        raise Error(f"target {target} is neither a frame nor a tensor: it cannot be printed")
    import json

    session._client.run_json(json.dumps({"nodes": nodes, "targets": [target]}), key=key, flags=OWN)


def fresh() -> str:
    return uuid.uuid4().hex
