"""The seam: what frames need of a connection. Nothing else in this package talks to granary.

An Engine submits graphs as text, waits for them, reads and puts chunks. use() installs one; engine() gives it.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Protocol, Sequence

import numpy as np

from .._errors import Error

GranaryError = Error

Array = np.ndarray[Any, Any]


def retold(error: GranaryError, message: str) -> GranaryError:
    """The same error with another message."""
    error.args = (message, *error.args[1:])
    return error


@dataclass
class Column:
    """A column of a chunk in Arrow's layout. The arrays may lie in the store: they are read-only then, and hold their lease."""

    name: str
    dtype: str  # as granary names it: 'int64', 'decimal(2)'
    rows: int
    values: Optional[Array]  # numbers and times: one a row; bool: bits; strings: bytes; decimals: 16 bytes a row; dictionary: int32 places
    validity: Optional[Array] = None  # bits, 1: there is a value; None: all are there
    offsets: Optional[Array] = None  # plain strings and lists: int32, rows + 1
    dictionary: Optional[Column] = None  # plain strings without nulls
    items: Optional[Column] = None  # of lists, one behind the other


@dataclass
class Result:
    """Where a target lies: its chunks in order."""

    chunks: List[str]
    rows: List[int]


class Engine(Protocol):
    """Errors are GranaryError; a wait that takes too long is a TimeoutError. timeout: seconds, None: forever."""

    def submit(self, graph: str, *, key: Optional[str] = None, chunk_bytes: int = 0, recall: bool = True) -> str:
        """Submit a graph's JSON; gives its key."""

    def submit_sql(self, text: str, *, chunk_bytes: int = 0, recall: bool = True) -> str:
        """Submit a SELECT as a graph, whose target is `result`; gives its key."""

    def wait(self, key: str, *, timeout: Optional[float] = None, progress: Optional[Callable[[float], object]] = None,
             sql: Optional[str] = None) -> None:
        """Wait for a graph. progress is called with shares from 0 to 1. sql: the text whose places messages shall name."""

    def sql_changes(self, text: str) -> bool:
        """Whether a statement changes tables."""

    def sql_bind(self, text: str, names: Sequence[str], values: Sequence[str]) -> str:
        """Put literals in the place of parameters; names: (): they are $1, $2, ..."""

    def sql_execute(self, text: str, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        """Run a statement that changes tables; gives command, rows, and time."""

    def result(self, key: str, target: str) -> Result:
        """Where the result of a graph that has succeeded lies."""

    def explain(self, key: str) -> str:
        """The plan of a graph."""

    def analyze(self, key: str) -> str:
        """The plan with its costs."""

    def rename(self, key: str, new: str, replace: bool) -> None:
        """Give a graph another key."""

    def delete(self, key: str) -> None:
        """Stop and forget a graph. One that is gone is no error."""

    def read_chunk(self, chunk: str, start: int = 0, rows: Optional[int] = None,
                   columns: Optional[Sequence[str]] = None) -> List[Column]:
        """Columns of a chunk; all of it without a copy, some rows as a copy."""

    def put_chunk(self, columns: Sequence[Column], rows: int) -> str:
        """Copy columns into the store; gives the object's id, which keeps it."""

    def arrow_stream(self, chunks: Sequence[str], requested_schema: object = None) -> object:
        """A PyCapsule with an ArrowArrayStream over chunks; as far as can be, with the columns of a PyCapsule with an ArrowSchema."""

    def arrow_schema(self, chunk: str) -> object:
        """A PyCapsule with the ArrowSchema of a chunk."""

    def put_arrow(self, capsule: object) -> List[str]:
        """Put all that an ArrowArrayStream's PyCapsule gives; ids of the chunks."""

    def put_arrow_array(self, schema: object, array: object) -> List[str]:
        """Put a record batch, given as PyCapsules with an ArrowSchema and an ArrowArray; the id of its chunk."""


_engine: Optional[Engine] = None


def use(engine: Optional[Engine]) -> Optional[Engine]:
    """Frames go there from now on; gives what was used before."""
    global _engine
    before, _engine = _engine, engine
    return before


def engine() -> Engine:
    """The one in use."""
    if _engine is not None:
        return _engine
    from .._engine import SessionEngine
    from .._session import default_session

    return SessionEngine(default_session())
