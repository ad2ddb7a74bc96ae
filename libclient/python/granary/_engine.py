"""What frames and tensors need of a session: graphs submitted as text and waited for, chunks read and put."""
from __future__ import annotations

import time
from typing import Any, Callable, Dict, List, Optional, Sequence

import numpy as np

from ._granary import NO_RECALL, OWN, PASSING
from ._errors import NotFound, TimedOut
from ._log import logger
from ._ref import Kept
from ._session import Session, milliseconds
from .frames._run import Column, Result

_NUMPY = {
    "int8": "i1", "int16": "i2", "int32": "i4", "int64": "i8", "uint8": "u1", "uint16": "u2", "uint32": "u4", "uint64": "u8",
    "float32": "f4", "float64": "f8", "date": "i4", "timestamp": "i8", "duration": "i8",
    "timestamptz": "i8", "time": "i8",
}  # fmt: skip

_LOOK = 0.1  # seconds between two looks at how far a graph is


def column_of(given: Any) -> Column:
    """A column of the extension's as arrays over the same memory."""
    name, dtype, rows, _, validity, values, offsets, dictionary = given
    made = Column(name, dtype, rows, None)
    if validity is not None:
        made.validity = np.frombuffer(validity, "u1")
    if dtype.startswith("list("):
        made.offsets = np.frombuffer(offsets, "i4") if offsets is not None else np.zeros(rows + 1, "i4")
        made.items = column_of(dictionary) if dictionary is not None else Column(name, dtype[5:-1], 0, None)
    elif dictionary is not None:
        made.dictionary = column_of(dictionary)
        made.values = np.frombuffer(values, "i4")
    elif dtype in ("string", "binary"):
        made.offsets = np.frombuffer(offsets, "i4") if offsets is not None else np.zeros(1, "i4")
        made.values = np.frombuffer(values, "u1")
    elif dtype == "bool" or dtype.startswith("decimal"):
        made.values = np.frombuffer(values, "u1")
    elif dtype != "null":
        made.values = np.frombuffer(values, _NUMPY[dtype])
    return made


def given_of(column: Column) -> Any:
    """The other way round."""
    arrays = [None if one is None else np.ascontiguousarray(one) for one in (column.validity, column.values, column.offsets)]
    child = column.dictionary if column.items is None else column.items
    dictionary = None if child is None else given_of(child)
    return (column.name, column.dtype, column.rows, 0, *arrays, dictionary)


class SessionEngine:
    """frames' Engine (frames/_run.py) over a session."""

    def __init__(self, session: Session) -> None:
        self.session = session

    @property
    def _client(self) -> Any:
        return self.session._client

    def submit(self, graph: str, *, key: Optional[str] = None, chunk_bytes: int = 0, recall: bool = True) -> str:
        flags = (OWN if key is None else PASSING) | (0 if recall else NO_RECALL)
        made: str = self._client.submit_json(graph, key=key, chunk_bytes=chunk_bytes, flags=flags)
        return made

    def submit_sql(self, text: str, *, chunk_bytes: int = 0, recall: bool = True) -> str:
        flags = OWN | (0 if recall else NO_RECALL)
        made: str = self._client.sql_submit(text, chunk_bytes=chunk_bytes, flags=flags)
        return made

    def wait(
        self,
        key: str,
        *,
        timeout: Optional[float] = None,
        progress: Optional[Callable[[float], object]] = None,
        sql: Optional[str] = None,
    ) -> None:
        client = self._client
        left = milliseconds(timeout)
        begun = time.monotonic()
        try:
            while progress is not None:
                slice_ms = int(_LOOK * 1000) if left < 0 else min(left, int(_LOOK * 1000))
                status = client.wait_graph(key, slice_ms)
                progress(1.0 if status["state"] == "succeeded" else status["progress"])
                left -= slice_ms if left > 0 else 0
                if status["state"] == "succeeded":
                    break
                if left == 0:
                    break
            else:
                status = client.wait_graph(key, left)
        except KeyboardInterrupt:
            client.cancel_graph(key, 1000)
            raise
        except Exception as error:
            if sql is not None and hasattr(error, "code"):
                client.sql_fail(key, sql)
            raise
        logger.debug("graph %s: %s after %.3f s", key, status["state"], time.monotonic() - begun)
        if status["state"] == "running":
            raise TimedOut(f"the graph still runs after {timeout} s: `granary why {key}` tells what it waits for")

    def sql_changes(self, text: str) -> bool:
        changes: bool = self._client.sql_changes(text)
        return changes

    def sql_bind(self, text: str, names: Sequence[str], values: Sequence[str]) -> str:
        bound: str = self._client.sql_bind(text, tuple(names), tuple(values))
        return bound

    def sql_execute(self, text: str, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        command, rows, time = self._client.sql_execute(text)
        return {"command": command, "rows": rows, "time": time}

    def result(self, key: str, target: str) -> Result:
        chunks, rows = self._client.result(key, target)[:2]
        return Result([one.hex() for one in chunks], rows)

    def explain(self, key: str) -> str:
        text: str = self._client.explain(key)
        return text

    def analyze(self, key: str) -> str:
        text: str = self._client.analyze(key)
        return text

    def rename(self, key: str, new: str, replace: bool) -> None:
        self._client.rename_graph(key, new, replace)

    def delete(self, key: str) -> None:
        try:
            self._client.delete_graph(key)
        except NotFound:
            pass

    def read_chunk(
        self, chunk: str, start: int = 0, rows: Optional[int] = None, columns: Optional[Sequence[str]] = None
    ) -> List[Column]:
        id = bytes.fromhex(chunk)
        if rows is None and columns is None:
            frame = self._client.get(id).frame()
        else:
            frame = self._client.read_rows(id, start, -1 if rows is None else rows, columns)
        return [column_of(one) for one in frame.columns()]

    def put_chunk(self, columns: Sequence[Column], rows: int) -> str:
        client = self._client
        return Kept.of(client, client.frame_put([given_of(one) for one in columns], rows, counted=True))

    def arrow_stream(self, chunks: Sequence[str], requested_schema: object = None) -> object:
        capsule: object = self._client.arrow_frames([bytes.fromhex(one) for one in chunks], requested_schema)
        return capsule

    def arrow_schema(self, chunk: str) -> object:
        capsule: object = self._client.arrow_schema(bytes.fromhex(chunk))
        return capsule

    def put_arrow(self, capsule: object) -> List[str]:
        return [self._keep(one) for one in self._client.arrow_put(capsule)]

    def put_arrow_array(self, schema: object, array: object) -> List[str]:
        return [self._keep(self._client.arrow_put_array(schema, array))]

    def _keep(self, id: bytes) -> str:
        kept = Kept.of(self._client, id)
        self._client.delete(id)  # from here on only references keep it
        return kept
