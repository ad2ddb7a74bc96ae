"""What a fragment's task returns: a handle to the chunks that it left in the store of its node.

A handle that goes to another process is a ticket: it says where the chunks are, and the secret with which they are given away. Its
bytes go by the node's own server (_wire.py), and not by Dask.
"""
from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

TICKET_BYTES = 512
"""What Dask may think that a ticket takes."""

GATHERED = "tickets-"
"""Dask's keys of tasks that gather tickets begin so."""


@dataclass(frozen=True)
class Origin:
    """The process that has the chunks."""

    worker: str
    """Dask's address of it."""
    node: str
    """For messages: its host and instance."""
    place: str
    """The same for two processes that use the same session of the same instance."""
    host: str
    port: int
    secret: bytes = field(repr=False)  # logs and Dask's pages have no secrets


@dataclass(frozen=True)
class Chunk:
    id: bytes
    size: int
    """Bytes of data."""
    meta_size: int


_alive: "weakref.WeakSet[Handle]" = weakref.WeakSet()
_lock = threading.Lock()


class Handle:
    """The result of a fragment."""

    __slots__ = ("key", "origin", "kind", "chunks", "rows", "shape", "splits", "keeps", "taken", "lock", "task", "ran", "block", "__weakref__")

    def __init__(self, key: str, origin: Origin, kind: str, chunks: Tuple[Chunk, ...], rows: Tuple[int, ...],
                 shape: Tuple[int, ...], splits: Tuple[int, ...], keeps: Any = None, task: Optional[str] = None,
                 ran: Tuple[float, float, int] = (0.0, 0.0, 0), block: Tuple[int, ...] = ()) -> None:
        self.key = key
        self.origin = origin
        self.kind = kind
        """'frame', 'tensor' or 'objects'."""
        self.chunks = chunks
        self.rows = rows
        self.shape = shape
        self.splits = splits
        self.keeps = keeps
        """Of the process that has the chunks: what ends them. None: this is a ticket."""
        self.taken: Dict[int, Any] = {}
        """Of a ticket: chunks that were fetched, by their places, which stay as long as Dask keeps it here."""
        self.lock = threading.Lock()
        self.task = task or key
        """Dask's key of the task that made it: that of the fragment, or of its pack."""
        self.block = block or shape
        """Of a tensor: the shape of its blocks, but for the last ones."""
        self.ran = ran
        """When the fragment began, in seconds since 1970 by its node's clock, how long it took, and which thread ran it."""
        with _lock:
            _alive.add(self)

    @property
    def size(self) -> int:
        """Bytes of all chunks."""
        return sum(one.size + one.meta_size for one in self.chunks)

    def __sizeof__(self) -> int:
        return TICKET_BYTES if self.keeps is None else max(self.size, TICKET_BYTES)

    def __reduce__(self) -> Any:
        return Handle, (self.key, self.origin, self.kind, self.chunks, self.rows, self.shape, self.splits, None, self.task, self.ran, self.block)

    def __repr__(self) -> str:
        return f"<granary.dask.Handle {self.key}: {len(self.chunks)} chunks of {self.size} bytes, {self.origin.node}>"


def alive() -> "List[Handle]":
    """All handles of this process."""
    with _lock:
        return list(_alive)


def same_instance(handle: Handle, place: Optional[str]) -> bool:
    """Whether the chunks lie where this process can map them."""
    return place is not None and handle.origin.place == place
