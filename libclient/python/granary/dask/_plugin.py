"""Nodes come and go with Dask's workers: the plugin that makes them, and what is checked before any work is sent."""
from __future__ import annotations

import logging
import os
import socket
import threading
import weakref
from collections import deque
from typing import Any, Callable, Dict, Mapping, Optional

from distributed import get_worker
from distributed.diagnostics.plugin import WorkerPlugin

from .._granary import VERSION
from .._errors import Unreachable, VersionMismatch
from .._log import logger
from ._node import Node, alone
from ._plan import FORMAT
from ._remains import Remains
from ._slow import everywhere, have_gone

NAME = "granary"

_nodes: "weakref.WeakKeyDictionary[Any, Node]" = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def node_of(worker: Any, private: Optional[Mapping[str, Any]] = None) -> Node:
    """The worker's node, made when there is none. private: arguments for an instance of its own."""
    with _lock:
        node = _nodes.get(worker)
        if node is None:
            node = _nodes[worker] = Node(worker, private)
        return node


def here() -> Node:
    """That of the worker which runs this task."""
    return node_of(get_worker())


class Plugin(WorkerPlugin):  # type: ignore[misc]
    """Makes a worker a node, and tells it what Dask does with its tasks."""

    name = NAME

    def __init__(self, version: str = VERSION, private: Optional[Mapping[str, Any]] = None, instead: bool = False) -> None:
        """private: arguments of granary.up(). instead: start such an instance only where none is up."""
        self.version = version
        self.private = private
        self.instead = instead
        self._node: Optional[Node] = None
        self._remains: Optional[Remains] = None

    def setup(self, worker: Any) -> None:
        try:
            if (VERSION, FORMAT) != (self.version, FORMAT):
                raise VersionMismatch(_differs(worker.address, socket.gethostname(), VERSION, self.version))
            _forgetful(worker)
            self._node = self._made(worker)
            self._remains = Remains(worker, self._node)
            logger.info("worker %s is node %s", worker.address, self._node.name)
        except Exception as error:
            print(f"granary.dask: {worker.address} is refused as a node: {error}", flush=True)
            raise

    def _made(self, worker: Any) -> Node:
        if self.private is None or not self.instead:
            return node_of(worker, self.private)
        try:
            return node_of(worker)
        except Unreachable:
            if os.environ.get("GRANARY_INSTANCE"):  # somebody wants this one
                raise
            return node_of(worker, self.private)

    def teardown(self, worker: Any) -> None:
        """Only of a worker that ends: Dask also takes a plugin out to put in another of its name."""
        from distributed.core import Status

        if worker.status in (Status.running, Status.paused, Status.init):
            return
        with _lock:
            node = _nodes.pop(worker, None)
        if node is not None:
            node.close(keep=worker.batched_stream.closed())

    def transition(self, key: str, start: str, finish: str, **_: Any) -> None:
        """Dask does not want a task any more: it may run still, which Dask cannot stop, or its result may outlive it."""
        if finish not in ("released", "forgotten") or self._node is None or self._remains is None:
            return
        if finish == "released" and start in ("executing", "long-running"):
            self._node.cancel(key)
        self._remains.released()

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_node": None, "_remains": None}


def _forgetful(worker: Any) -> None:
    """Dask's log of events has errors, and an error has what its frames have: also handles that Dask itself was about to pass, and has
    released since. So there is no such log. And what it logs as a server, which a client can ask for, is kept as text."""
    state = getattr(worker, "state", None)
    if state is not None and isinstance(getattr(state, "stimulus_log", None), deque):
        state.stimulus_log = deque(maxlen=0)
    handler = getattr(worker, "_deque_handler", None)
    if isinstance(handler, logging.Handler):
        handler.addFilter(_as_text)


def _as_text(record: logging.LogRecord) -> bool:
    """A record without its objects. Who writes it has the same text of it."""
    record.msg, record.args = record.getMessage(), None
    if record.exc_info:
        record.exc_text = record.exc_text or logging.Formatter().formatException(record.exc_info)
        record.exc_info = None
    return True


def leave() -> None:
    """This worker has not begun, and cannot be a node."""
    if not alone():
        raise RuntimeError("the worker is no node of granary")
    os._exit(1)


def _differs(address: str, host: str, theirs: str, ours: str) -> str:
    return f"node {address} ({host}) has granary {theirs}, and the plan is of granary {ours}: install one version on all nodes"


def _prober() -> Callable[..., Dict[str, str]]:
    """A function that is pickled whole: a node may have no granary, or one without this package."""

    def probe() -> Dict[str, str]:
        import socket
        import sys

        try:
            from granary._granary import VERSION
            from granary.dask._plan import FORMAT

            return {"version": VERSION, "format": str(FORMAT), "host": socket.gethostname()}
        except ImportError as error:
            return {"error": f"{error} ({sys.executable})", "host": socket.gethostname()}

    return probe


_ready: "weakref.WeakSet[Any]" = weakref.WeakSet()


def forget(client: Any) -> None:
    """Its scheduler and workers may be others now."""
    _ready.discard(client)


def ready(client: Any, private: Optional[Mapping[str, Any]] = None) -> None:
    """Every worker is a node, and those that come later become one. VersionMismatch, Unreachable: names the worker that cannot be."""
    if client in _ready and private is None:
        return
    for address, found in everywhere(client, _prober()).items():
        if "error" in found:
            raise VersionMismatch(f"node {address} ({found['host']}) has no granary with a Dask driver: {found['error']}")
        if found["version"] != VERSION:
            raise VersionMismatch(_differs(address, found["host"], found["version"], VERSION))
        if found["format"] != str(FORMAT):
            raise VersionMismatch(f"node {address} ({found['host']}) reads plans of format {found['format']}, this client writes {FORMAT}")
    client.amm.stop()  # Dask would drop one of "two copies": the chunks, of which the other one is but a ticket
    while True:
        try:
            client.register_worker_plugin(Plugin(private=private), name=NAME)
            break
        except OSError:  # of a node; or its machine has died
            if not have_gone(client):
                raise
    _ready.add(client)
