"""What arrays need of a session: graphs run, tensors put and read. All that this package knows of a granary instance is here."""
from __future__ import annotations

from typing import Any, NamedTuple, Optional, Protocol, Sequence


class Result(NamedTuple):
    """Where a target lies: chunks in row-major order of a grid."""

    chunks: Sequence[str]
    """Ids of objects, 32 hex digits each."""
    shape: tuple[int, ...]
    """Of the whole."""
    splits: tuple[int, ...]
    """Chunks along each dimension."""


class Engine(Protocol):
    """A connection to an instance. Failures raise whatever the engine raises."""

    def run(self, graph: str, *, key: Optional[str] = None, chunk_bytes: int = 0) -> str:
        """Submit a graph and wait until it has succeeded; its key. One that fails leaves nothing."""

    def result(self, key: str, target: str) -> Result:
        """Where a target of a graph lies."""

    def read(self, chunk: str) -> Any:
        """A chunk as a read-only NumPy array over the store's memory, leased as long as the array or a view of it lives."""

    def put(self, array: Any) -> str:
        """Put a NumPy array (C order, native byte order) as a tensor object; its id, which keeps it."""

    def delete(self, key: str) -> None:
        """Forget a graph and its results; it may be gone."""

    def rename(self, key: str, new: str, replace: bool) -> None:
        """Give a graph another key."""


_engine: Optional[Engine] = None


def use(engine: Optional[Engine]) -> Optional[Engine]:
    """Run arrays on this engine from now on; the one that was used before. None: that of the default session."""
    global _engine
    before, _engine = _engine, engine
    return before


def engine() -> Engine:
    """The engine in use."""
    if _engine is not None:
        return _engine
    from ._session import default

    return default()
