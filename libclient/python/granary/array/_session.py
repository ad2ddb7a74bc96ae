"""The engine over a session of the package: its client runs the graphs."""
from __future__ import annotations

import contextlib
import importlib
import uuid
import weakref
from typing import Any, Iterator, Optional

import numpy as np

from .. import _granary, _values
from .._granary import OWN
from .._ref import Kept
from ._engine import Result


class SessionEngine:
    """Engine of arrays over a session; a child process has a connection of its own."""

    def __init__(self, session: Any) -> None:
        self.session = session

    def run(self, graph: str, *, key: Optional[str] = None, chunk_bytes: int = 0) -> str:
        client = self.session._client
        if key is None:
            return self._run_own(client, graph, chunk_bytes)
        made: str = client.submit_json(graph, key=key, chunk_bytes=chunk_bytes)  # it may be refused: another one has that key
        with self._ending(client, made):
            client.wait_graph(made)
        return made

    def _run_own(self, client: Any, graph: str, chunk_bytes: int) -> str:
        """Submitted and waited for in one message."""
        key = uuid.uuid4().hex
        with self._ending(client, key):
            client.run_json(graph, key=key, chunk_bytes=chunk_bytes, flags=OWN)
        return key

    @contextlib.contextmanager
    def _ending(self, client: Any, key: str) -> Iterator[None]:
        """A graph that fails, or that the user interrupts, leaves nothing."""
        try:
            yield
        except BaseException as error:
            with contextlib.suppress(Exception):
                if isinstance(error, KeyboardInterrupt):
                    client.cancel_graph(key, 1000)
                client.delete_graph(key)
            raise

    def result(self, key: str, target: str) -> Result:
        found = self.session._client.result(key, target)
        return Result([one.hex() for one in found[0]], tuple(found[3]), tuple(found[4]))

    def read(self, chunk: str) -> Any:
        dtype, shape, memory = self.session._client.get(bytes.fromhex(chunk)).tensor()
        return np.frombuffer(memory, np.dtype(dtype)).reshape(shape)

    def put(self, array: Any) -> str:
        client, id = self.session._client, _granary.id_random()
        _values.put(client, id, array, {"counted": True})
        return Kept.of(client, id)

    def delete(self, key: str) -> None:
        self.session._client.delete_graph(key)

    def rename(self, key: str, new: str, replace: bool) -> None:
        self.session._client.rename_graph(key, new, replace)


_engines: "weakref.WeakKeyDictionary[Any, SessionEngine]" = weakref.WeakKeyDictionary()


def default() -> SessionEngine:
    """Over the default session of the package: one engine a session."""
    session = importlib.import_module("granary").default_session()
    if session not in _engines:
        _engines[session] = SessionEngine(weakref.proxy(session))
    return _engines[session]
