"""Handles that Dask has let go of and Python has not.

An error or a message of Dask's that failed may refer to itself and to a handle. The handle, and its chunks, then stay until a collection
of garbage, which may never come in a process that has little to do. So one is made when a handle outlives its task.
"""
from __future__ import annotations

import gc
import weakref
from typing import Any, Set

from ._handle import alive
from ._node import Node

_LOOK_S = 1.0
"""So long a handle may outlive its task: what is about to go needs no help."""


class Remains:
    """Of a worker. Used in its event loop."""

    def __init__(self, worker: Any, node: Node) -> None:
        self._worker = weakref.ref(worker)
        self._node = node
        self._due = False
        self._seen: Set[int] = set()

    def released(self) -> None:
        """Dask has let go of a task."""
        worker = self._worker()
        if not self._due and worker is not None:
            self._due = True
            worker.loop.call_later(_LOOK_S, self._look)

    def _look(self) -> None:
        self._due = False
        worker = self._worker()
        if worker is None:
            return
        tasks = worker.state.tasks
        left = {id(one) for one in alive() if (one.keeps is not None or one.taken) and one.task not in tasks}
        if left - self._seen:
            self._node.soon(gc.collect)
        self._seen = left  # whoever has those still means to
