"""Frame: a table that is computed. Its chunks lie in the store; nothing is copied before somebody asks for it.

A Frame owns the graph that made it. When the last Frame and plan that rest on the graph are gone, it is deleted.
"""
from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence

from . import _columns, _show
from ._plan import Node
from ._run import Array, Column, Engine
from ._tables import nearest

if TYPE_CHECKING:
    from ._lazy import LazyFrame


def _forget(at: Engine, key: str) -> None:
    """At the end of a program the connection may be gone: then its graphs are deleted with the session."""
    try:
        at.delete(key)
    except Exception:
        pass


class Kept:
    """A graph's results, until nobody needs them. keeps: owners of chunks that may be among them."""

    def __init__(self, at: Engine, key: str, keeps: Any = None) -> None:
        self.engine = at
        self.key = key
        self.keeps = keeps
        self._finalizer = weakref.finalize(self, _forget, at, key)

    def release(self) -> None:
        """Now."""
        self._finalizer()

    @property
    def alive(self) -> bool:
        return self._finalizer.alive


class Frame:
    """A computed table."""

    __slots__ = ("_kept", "_target", "_chunks", "_rows", "_schema", "__weakref__")

    def __init__(self, kept: Kept, target: str, chunks: List[str], rows: List[int]) -> None:
        self._kept = kept
        self._target = target
        self._chunks = chunks
        self._rows = rows
        self._schema: Optional[Dict[str, str]] = None

    @classmethod
    def _of_target(cls, kept: Kept, target: str) -> Frame:
        result = kept.engine.result(kept.key, target)
        return cls(kept, target, result.chunks, result.rows)

    # ---- what it is ----

    def __len__(self) -> int:
        return sum(self._rows)

    def __bool__(self) -> bool:
        raise TypeError("the truth value of a Frame is ambiguous: use len(frame) > 0")

    @property
    def schema(self) -> Dict[str, str]:
        """Columns and their dtypes."""
        if self._schema is None:
            some = self._read(0, 0, min(1, self._rows[0]))
            self._schema = {c.name: c.dtype for c in some}
        return dict(self._schema)

    @property
    def columns(self) -> List[str]:
        return list(self.schema)

    @property
    def dtypes(self) -> List[str]:
        """granary's names of the dtypes."""
        return list(self.schema.values())

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self), len(self.schema)

    @property
    def chunk_count(self) -> int:
        return len(self._chunks)

    def __repr__(self) -> str:
        if not self._kept.alive:
            return "<Frame: deleted>"
        return _show.text(self.shape, self.schema, *self._ends())

    def _repr_html_(self) -> str:
        return _show.html(self.shape, self.schema, *self._ends())

    def _ends(self) -> tuple[List[List[Any]], List[List[Any]]]:
        """The first and the last rows, as columns of values: 10 in all."""
        whole = len(self)
        first = whole if whole <= _show.ROWS else _show.ROWS // 2
        return self._shown_rows(0, first), self._shown_rows(whole - (_show.ROWS - first), whole) if first < whole else []

    def _shown_rows(self, start: int, stop: int) -> List[List[Any]]:
        pieces: List[List[Column]] = []
        at = 0
        for number, rows in enumerate(self._rows):
            a, b = max(start - at, 0), min(stop - at, rows)
            if a < b or (not pieces and number == len(self._rows) - 1):
                pieces.append(self._read(number, a if a < b else 0, max(0, b - a)))
            at += rows
        return [[v for piece in pieces for v in _show.values(piece[i])] for i in range(len(pieces[0]))]

    # ---- reading ----

    def _read(self, chunk: int, start: int = 0, rows: Optional[int] = None, columns: Optional[Sequence[str]] = None) -> List[Column]:
        if not self._kept.alive:
            raise RuntimeError("the frame was deleted: nothing of it is there any more")
        return self._kept.engine.read_chunk(self._chunks[chunk], start, rows, columns)

    def _column(self, name: str) -> List[Column]:
        if name not in self.schema:
            raise KeyError(f"no column {name!r}{nearest(str(name), self.schema)}")
        place = self.columns.index(name)
        return [self._read(i)[place] for i in range(len(self._chunks))]

    def _all(self) -> List[List[Column]]:
        """Each column's pieces."""
        chunks = [self._read(i) for i in range(len(self._chunks))]
        return [list(pieces) for pieces in zip(*chunks)]

    def __getitem__(self, name: str) -> Array:
        """A column as an array: of one chunk without nulls where it lies in the store, read-only. With nulls, integers and bools
        are masked arrays."""
        if not isinstance(name, str):
            raise TypeError(f"frame['name'] is a column; {name!r} is no str. Rows are taken by frame.lazy().slice(...)")
        return _columns.to_numpy(self._column(name))

    def __contains__(self, name: object) -> bool:
        return name in self.schema

    def __iter__(self) -> Iterator[Frame]:
        """Its chunks, each a Frame."""
        return self.chunks()

    def chunks(self) -> Iterator[Frame]:
        """Its chunks, each a Frame: what is larger than memory is read one after the other."""
        for chunk, rows in zip(self._chunks, self._rows):
            yield Frame(self._kept, self._target, [chunk], [rows])

    def to_numpy(self) -> Dict[str, Array]:
        """Every column as an array, by name."""
        return {pieces[0].name: _columns.to_numpy(pieces) for pieces in self._all()}

    def to_dict(self) -> Dict[str, List[Any]]:
        """Every column as a list of Python values, by name; None is null."""
        return {pieces[0].name: _columns.to_list(pieces) for pieces in self._all()}

    def to_pandas(self, *, nullable: bool = False, categories: bool = False) -> Any:
        """A DataFrame. Nulls are NaN in floats, NaT in times, None in strings and decimals; integers and bools with nulls get pandas'
        nullable dtypes. nullable: all numbers get them. categories: strings become a Categorical. Dates and timestamps become
        datetime64[ns]; an OverflowError names what that cannot hold."""
        import pandas as pd
        columns = self._all()
        series = [_columns.to_pandas(pieces, nullable, categories) for pieces in columns]
        made = pd.concat(series, axis=1, copy=False) if series else pd.DataFrame()
        made.columns = [pieces[0].name for pieces in columns]
        return made

    def lazy(self) -> LazyFrame:
        """A plan that begins with these rows."""
        from ._lazy import LazyFrame
        return LazyFrame(Node("table", (), {"ids": list(self._chunks)}, self._kept))

    def item(self) -> Any:
        """The one value of a frame of one row and one column."""
        if self.shape != (1, 1):
            raise ValueError(f"item() is for one row and one column, not {self.shape}")
        return _columns.to_list(self._all()[0])[0]

    def delete(self) -> None:
        """Delete it now, and not when it is garbage."""
        self._kept.release()

    # ---- protocols of others ----

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        """The interchange protocol, by pandas."""
        if not allow_copy:
            raise RuntimeError("a copy is needed")
        return self.to_pandas().__dataframe__(nan_as_null=nan_as_null, allow_copy=True)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's C stream interface: chunk after chunk, where they lie. requested_schema: what can be is given so (docs/arrow.md)."""
        return self._kept.engine.arrow_stream(self._chunks, requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Its columns' names and types."""
        return self._kept.engine.arrow_schema(self._chunks[0])
