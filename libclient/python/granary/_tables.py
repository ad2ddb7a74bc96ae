"""Tables and tensors that change: many processes append to one, and read it at any moment of its past."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from ._engine import SessionEngine, column_of, given_of
from ._errors import Sealed
from ._session import Session, milliseconds
from ._waits import Handles
from .frames import _columns
from .frames._frame import Frame
from .frames._run import Column

if TYPE_CHECKING:
    from .frames._lazy import LazyFrame

NOW = -(2**63)  # GRANARY_NOW
_OPEN = 1
_SLICE, _LIST, _ELLIPSIS = 0, 1, 3
_US_A_DAY = 86400 * 10**6

Array = np.ndarray[Any, Any]


# ---- frames that are copies ----


class Copies:
    """frames' engine and owner in one (frames._frame.Kept), over frames of the extension's that this process has."""

    alive = True
    key = ""

    def __init__(self, frames: Sequence[Any]) -> None:
        self.engine: Any = self
        self.columns = [[column_of(one) for one in frame.columns()] for frame in frames]
        self.rows = [int(frame.rows) for frame in frames]

    def read_chunk(
        self, chunk: str, start: int = 0, rows: Optional[int] = None, columns: Optional[Sequence[str]] = None
    ) -> List[Column]:
        whole, count = self.columns[int(chunk)], self.rows[int(chunk)]
        some = whole if columns is None else [next(c for c in whole if c.name == name) for name in columns]
        stop = count if rows is None else start + rows
        return some if (start, stop) == (0, count) else [_columns.sliced(c, start, stop) for c in some]

    def release(self) -> None:
        """delete() of a Frame."""
        self.alive = False
        self.columns = []


class Read(Frame):
    """Rows of a table that changes, as they were at a time: a copy, or what a live query has found."""

    __slots__ = ("time", "changes", "added", "anew", "rows_read", "_session", "_numbers")

    def __init__(self, session: Session, frames: Sequence[Any], time: int) -> None:
        copies: Any = Copies(frames)
        super().__init__(copies, "", [str(i) for i in range(len(frames))], copies.rows)
        self._session = session
        self._numbers: Any = None
        self.time = time
        """The time that it was read at, in nanoseconds since 1970."""
        self.changes = 0
        """Of read_since(): how often rows were written over or deleted since then."""
        self.added = False
        """Of a live query: these rows come to those of the results before."""
        self.anew = True
        """Of a live query: all rows were read for it."""
        self.rows_read = 0

    @property
    def numbers(self) -> Array:
        """The numbers of its rows, by which Table.delete() and Table.update() name them."""
        if self._numbers is None:
            raise TypeError("only frames of Table.read() know the numbers of their rows")
        if not isinstance(self._numbers, np.ndarray):
            self._numbers = self._numbers()
        numbers: Array = self._numbers
        return numbers

    def lazy(self) -> LazyFrame:
        """A plan that begins with these rows, which are copied into the store."""
        from .frames import _sources

        at = SessionEngine(self._session)
        chunks = [self._read(i) for i in range(len(self._chunks))]
        return _sources._table([at.put_chunk(columns, rows) for columns, rows in zip(chunks, self._rows)])

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's C stream interface."""
        return self.lazy().collect().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Its columns' names and types."""
        return self.lazy().collect().__arrow_c_schema__()


# ---- columns that fit ----


def _misfit(what: str, name: str, is_: str, want: str) -> TypeError:
    return TypeError(f"{what}: column {name!r} has {is_}, and the table {want}")


def _ints_of(column: Column) -> List[int]:
    raw = b"" if column.values is None else column.values.tobytes()
    if column.dtype.startswith("decimal"):
        return [int.from_bytes(raw[16 * i : 16 * i + 16], "little", signed=True) for i in range(column.rows)]
    assert column.values is not None
    return [int(v) for v in column.values.tolist()]


def _to_decimal(what: str, column: Column, want: str) -> Column:
    """Of integers, and of decimals with other digits behind the point."""
    scale = _columns.scale_of(want)
    own = _columns.scale_of(column.dtype) if column.dtype.startswith("decimal") else 0
    there = _columns.valid(column)
    whole = []
    for i, value in enumerate(_ints_of(column)):
        shifted, rest = divmod(value * 10**scale, 10**own)
        if there is not None and not there[i]:
            shifted = rest = 0
        if rest or abs(shifted) >= 10**38:
            raise ValueError(f"{what}: column {column.name!r}: {want} cannot hold what is in row {i}")
        whole.append(shifted)
    raw = b"".join(v.to_bytes(16, "little", signed=True) for v in whole)
    return Column(column.name, want, column.rows, np.frombuffer(raw, "u1"), column.validity)


def fitted(what: str, column: Column, want: str) -> Column:
    """The column in the table's dtype, where no value is lost."""
    have = column.dtype
    if have == want:
        return column
    rows, there = column.rows, _columns.valid(column)
    if there is not None and not there.any() or rows == 0:  # nulls alone have any dtype
        return _nulls(column.name, want, rows)
    numbers = {n for n in _columns.NUMPY if n.startswith(("int", "uint", "float"))}
    if want in numbers and have in numbers:
        values = column.values
        assert values is not None
        if want.startswith("float") or not have.startswith("float"):
            if not want.startswith("float"):
                limits = np.iinfo(_columns.NUMPY[want])
                some = values if there is None else values[there]
                if int(some.min()) < limits.min or int(some.max()) > limits.max:
                    raise ValueError(f"{what}: column {column.name!r}: values beyond {want}")
            return Column(column.name, want, rows, values.astype(_columns.NUMPY[want]), column.validity)
    if want.startswith("decimal") and (have.startswith("decimal") or have in numbers and not have.startswith("float")):
        return _to_decimal(what, column, want)
    if (have, want) in (("timestamp", "date"), ("date", "timestamp")):
        assert column.values is not None
        whole = column.values.view("i4" if have == "date" else "i8").astype("i8")
        if want == "timestamp":
            return Column(column.name, want, rows, whole * _US_A_DAY, column.validity)
        whole = whole if there is None else np.where(there, whole, 0)
        if (whole % _US_A_DAY).any():
            raise ValueError(f"{what}: column {column.name!r}: a date has no time of day")
        return Column(column.name, want, rows, (whole // _US_A_DAY).astype("i4"), column.validity)
    raise _misfit(what, column.name, have, want)


def _nulls(name: str, dtype: str, rows: int) -> Column:
    validity = np.zeros((rows + 7) // 8, "u1")
    if dtype in ("string", "binary"):
        return Column(name, dtype, rows, np.zeros(0, "u1"), validity, np.zeros(rows + 1, "i4"))
    if dtype == "bool":
        return Column(name, dtype, rows, np.zeros((rows + 7) // 8, "u1"), validity)
    if dtype.startswith("decimal"):
        return Column(name, dtype, rows, np.zeros(16 * rows, "u1"), validity)
    return Column(name, dtype, rows, np.zeros(rows, _columns.NUMPY.get(dtype, "i1")), validity)


def _column(what: str, name: str, values: Any, want: str) -> Column:
    import pandas as pd

    if isinstance(values, pd.Series):
        return fitted(what, _columns.from_series(name, values), want)
    if isinstance(values, np.ndarray) and not isinstance(values, np.ma.MaskedArray):
        if values.ndim != 1:
            raise ValueError(f"{what}: column {name!r} has {values.ndim} dimensions")
        if values.dtype.kind == "U":
            values = values.astype(object)
        elif values.dtype == np.dtype("M8[D]") and want == "date":
            days = np.where(np.isnat(values), 0, values.view("i8")).astype("i4")
            return _columns._column(name, "date", days, len(values), ~np.isnat(values))
        elif values.dtype.kind in "mM":
            values = values.astype(values.dtype.kind + "8[ns]")
        return fitted(what, _columns.from_series(name, pd.Series(values)), want)
    masked: Any = values
    listed = masked.tolist() if isinstance(values, np.ma.MaskedArray) else list(values)
    if want.startswith("float") and all(v is None or isinstance(v, (int, float, np.number)) for v in listed):
        there = np.array([v is not None for v in listed], bool)  # None is a null, NaN a value
        raw = np.array([0.0 if v is None else v for v in listed], _columns.NUMPY[want])
        return _columns._column(name, want, raw, len(listed), there)
    if want == "uint64" and all(v is None or isinstance(v, (int, np.integer)) and v >= 0 for v in listed):
        there = np.array([v is not None for v in listed], bool)
        return _columns._column(name, want, np.array([0 if v is None else v for v in listed], "u8"), len(listed), there)
    return fitted(what, _columns._from_objects(name, listed), want)


def columns_of(what: str, data: Any, schema: Mapping[str, str], some: bool = False) -> Tuple[List[Column], int]:
    """A DataFrame or a dict of columns, in the table's order and dtypes. some: columns may be missing."""
    if isinstance(data, Frame):
        data = data.to_pandas(nullable=True)
    names = list(data.keys()) if hasattr(data, "keys") else None
    if names is None:
        raise TypeError(f"{what}: {type(data).__name__}: rows come as a DataFrame, or as a dict of columns")
    for name in names:
        if name not in schema:
            raise ValueError(f"{what}: the table has no column {name!r}: it has {', '.join(map(repr, schema))}")
    missing = [] if some else [name for name in schema if name not in names]
    if missing:
        raise ValueError(f"{what}: column {missing[0]!r} is missing")
    made = [_column(what, name, data[name], want) for name, want in schema.items() if name in names]
    rows = made[0].rows if made else 0
    for one in made:
        if one.rows != rows:
            raise ValueError(f"{what}: column {one.name!r} has {one.rows} rows, and {made[0].name!r} {rows}")
    return made, rows


def _durability(given: Union[str, float, None]) -> Tuple[str, float]:
    if given is None or isinstance(given, str):
        if given not in (None, "none", "commit"):
            raise ValueError(f"durability {given!r}: it is 'none', 'commit', or a number of seconds")
        return given or "none", 0.0
    if not given > 0:
        raise ValueError("durability: an interval is above 0 seconds")
    return "interval", float(given)


# ---- what both have ----


class _Mutable:
    def __init__(self, session: Session, name: str, handle: Any = None) -> None:
        self.session = session
        self.name = name
        self._handles = Handles("table", lambda: session._client.table_open(name), handle)

    def _read(self, call: Any) -> Any:
        """A call that reads: of a table that was sealed meanwhile it reads the sealed one."""
        try:
            return call(self._handles.get())
        except Sealed:
            return call(self._handles.again())

    @property
    def info(self) -> Dict[str, Any]:
        """What it is: kind, rows, times, writers, durability."""
        info: Dict[str, Any] = self.session._client.table_describe(self.name)
        return info

    @property
    def sealed(self) -> bool:
        return bool(self.info["sealed"])

    def cut(self, at: Optional[int] = None) -> int:
        """A time that is final: no write at or before it becomes visible any more. at: None: of the newest write."""
        time: int = self._read(lambda handle: handle.cut(NOW if at is None else at))
        return time

    def watch(self, after: Optional[int] = None, timeout: Optional[float] = None) -> int:
        """Wait until a write later than a time is visible. Returns the time of the newest one, which is the next `after`.

        after   None: later than the newest write so far
        """
        newest: int = self._handles.get().watch(NOW if after is None else after, milliseconds(timeout))
        return newest

    def snapshot(self, name: Optional[str] = None, at: Optional[int] = None) -> bytes:
        """Keep it as it is at a time under a name, where it does not change. Returns the object's id."""
        id: bytes = self._read(lambda handle: handle.snapshot(name, NOW if at is None else at))
        return id

    def seal(self, at: Optional[int] = None) -> bytes:
        """End all writing: it can be read from now on, by its name, too. Returns the object's id."""
        handle = self._handles.get()
        id: bytes = handle.seal(NOW if at is None else at)
        return id

    def flush(self) -> None:
        """Wait until all that was written so far, by whomever, is on disk. Only of durable ones."""
        self._handles.get().flush()

    def retain(self, *, time: Optional[int] = None, age: Optional[float] = None, writes: int = 0) -> int:
        """Give up history: what is older than a time, an age in seconds, or so many newest writes. Returns how far back it is."""
        if time is None and age is None and not writes:
            raise ValueError("retain(): one of time, age and writes is needed")
        kept: int = self._handles.get().retain(0 if time is None else time, int((age or 0) * 1e9), writes)
        return kept

    def drop(self) -> None:
        """Delete it, and its name. Frames and arrays that were read stay valid."""
        self.session._client.table_delete(self.name)
        self.close()

    def close(self) -> None:
        """What was written stays."""
        self._handles.close()

    def __reduce__(self) -> Any:
        return opened, (self.session, self.name)


# ---- tables ----


class Table(_Mutable):
    """A table that changes. Any thread may use it; a pickled one is the same table in another process."""

    @property
    def schema(self) -> Dict[str, str]:
        """Columns and their dtypes."""
        return dict(self._handles.get().schema())

    @property
    def columns(self) -> List[str]:
        return list(self.schema)

    def __len__(self) -> int:
        rows: int = self.info["rows"]
        return rows

    def __bool__(self) -> bool:
        return True

    def append(self, data: Any, *, time: Optional[int] = None, forward: bool = False, token: int = 0) -> int:
        """Append rows: all become visible at one moment. Returns their time.

        data     a DataFrame, or a dict of lists or arrays, with the table's columns. No value may be lost in the table's dtype
        time     of the write, in nanoseconds since 1970; None: the clock's
        forward  a time that is final already is moved forward, instead of an error
        token    not 0: the table takes one write of each token
        """
        columns, rows = columns_of("append()", data, self.schema)
        written: int = self._handles.get().append([given_of(one) for one in columns], rows, time or 0, forward, token)
        return written

    def read(self, at: Optional[int] = None) -> Read:
        """Its rows as they are at a time, as a copy. The frame's `.time` is that time, and `.numbers` are the rows' numbers."""
        for _ in range(2):  # a table without a write has no time yet
            time = self.cut(at)
            frame = self._read(lambda handle: handle.read(time))
            if time != NOW or not frame.rows:
                break
        made = Read(self.session, [frame], time)
        rows = int(frame.rows)
        made._numbers = lambda: np.frombuffer(self._read(lambda handle: handle.numbers(time, 0, rows)), "i8")
        return made

    def read_since(self, time: Optional[int], at: Optional[int] = None) -> Read:
        """The rows that were appended since an earlier read, of which `time` is the `.time`; None: all. `.changes` not 0: rows
        of earlier reads were written over or deleted."""
        after = NOW if time is None else time
        frame, now, changes = self._handles.get().read_since(after, NOW if at is None else at)
        made = Read(self.session, [frame], now)
        made.changes = changes
        return made

    def delete(self, rows: Any, *, time: Optional[int] = None, forward: bool = False, token: int = 0) -> int:
        """Delete rows by their numbers (Read.numbers). Returns how many were there."""
        count: int = self._handles.get().delete_rows(_numbers("delete()", rows), time or 0, forward, token)[0]
        return count

    def update(self, rows: Any, data: Any, *, time: Optional[int] = None, forward: bool = False, token: int = 0) -> int:
        """Write over values of rows, which are named by their numbers. Returns the time.

        data   some of the columns: a value for each of the rows, or one value for all
        """
        numbers = _numbers("update()", rows)
        plain = (str, bytes, int, float, bool, type(None), np.generic)
        spread = {
            name: [values] * len(numbers) if isinstance(values, plain) or not hasattr(values, "__len__") else values
            for name, values in dict(data).items()
        }
        columns, count = columns_of("update()", spread, self.schema, some=True)
        if count != len(numbers):
            raise ValueError(f"update(): {count} values for {len(numbers)} rows")
        written: int = self._handles.get().write_rows(numbers, [given_of(one) for one in columns], time or 0, forward, token)
        return written

    def lazy(self, at: Optional[int] = None) -> LazyFrame:
        """A plan that begins with the table, as granary.table() of its name does. It reads what is there when it is submitted."""
        from .frames._sources import table

        return table(self.name) if at is None else table(self.name, time=at)

    def __repr__(self) -> str:
        return f"<granary.Table {self.name!r}>"


def _numbers(what: str, rows: Any) -> Array:
    numbers = np.asarray(list(rows) if isinstance(rows, (range, set)) else rows)
    if numbers.size == 0:
        numbers = numbers.astype("i8")
    if numbers.dtype.kind not in "iu":
        raise TypeError(f"{what}: rows are named by their numbers, which are integers: see .numbers of what read() gives")
    return np.ascontiguousarray(numbers.reshape(-1), "i8")


# ---- tensors ----


def _clamped(value: Any) -> int:
    return NOW if value is None else max(-(2**63) + 1, min(int(value.__index__()), 2**63 - 1))


def indexes_of(key: Any, shape: Tuple[int, ...]) -> List[Tuple[Any, ...]]:
    """NumPy's index as the extension's."""
    parts = list(key) if isinstance(key, tuple) else [key]
    made: List[Any] = []
    used = sum(_dims_of(one) for one in parts)
    if used > len(shape):
        raise IndexError(f"{used} indexes for {len(shape)} dimensions")
    if sum(one is Ellipsis for one in parts) > 1:
        raise IndexError("an index has at most one ellipsis")
    axis = 0
    for one in parts:
        if one is Ellipsis:
            made.append(Ellipsis)
            axis += len(shape) - used
        elif isinstance(one, slice):
            step = 1 if one.step is None else int(one.step.__index__())
            if step == 0:
                raise ValueError("the step of a slice is not 0")
            made.append((_SLICE, _clamped(one.start), _clamped(one.stop), step, None, 0))
            axis += 1
        elif _is_int(one):
            place = int(one)
            if not -shape[axis] <= place < shape[axis]:
                raise IndexError(f"index {place} is out of bounds for axis {axis} with size {shape[axis]}")
            made.append(place)
            axis += 1
        else:
            for list_ in _lists(one, shape, axis):
                made.append(list_)
                axis += 1
    arrays = [one for one in made if isinstance(one, np.ndarray)]
    if arrays:  # NumPy takes integers beside lists as lists of one
        longest = max(len(one) for one in arrays) if all(len(one) for one in arrays) else 0
        for one in arrays:
            if len(one) not in (1, longest):
                raise IndexError(f"lists of {len(one)} and {longest} positions do not go together")
        return [
            one if isinstance(one, tuple)
            else (_ELLIPSIS, 0, 0, 0, None, 0) if one is Ellipsis
            else (_LIST, 0, 0, 0, np.ascontiguousarray(np.broadcast_to(one, (longest,)), "i8"), 0)
            for one in made
        ]
    return [
        one if isinstance(one, tuple) else (_ELLIPSIS, 0, 0, 0, None, 0) if one is Ellipsis else (_SLICE, one, 0, 0, None, 0)
        for one in made
    ]


def _is_int(one: Any) -> bool:
    return hasattr(one, "__index__") and not isinstance(one, (bool, np.bool_)) and not (isinstance(one, np.ndarray) and one.ndim > 0)


def _dims_of(one: Any) -> int:
    if one is Ellipsis:
        return 0
    if one is None or isinstance(one, (bool, np.bool_, str, float)):
        raise IndexError(f"{one!r} is no index: integers, slices, an ellipsis, lists and masks are")
    if isinstance(one, slice) or _is_int(one):
        return 1
    array = np.asarray(one)
    return array.ndim if array.dtype == bool else 1


def _lists(one: Any, shape: Tuple[int, ...], axis: int) -> List[Array]:
    array = np.asarray(one)
    if array.size == 0 and array.dtype != bool:
        array = array.astype("i8")
    if array.dtype == bool:
        if array.shape != shape[axis : axis + array.ndim]:
            raise IndexError(f"a mask of {array.shape} for dimensions of {shape[axis:axis + array.ndim]}")
        return list(array.nonzero())
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise IndexError("an index is a list of positions, or a mask")
    if array.size and not (-shape[axis] <= array.min() and array.max() < shape[axis]):
        raise IndexError(f"a position is out of bounds for axis {axis} with size {shape[axis]}")
    return [array.astype("i8")]


class Tensor(_Mutable):
    """A tensor that changes, with NumPy's indexes: `t[1:3] = x`, `t[..., [0, 2]]`. It takes memory only where it was written."""

    def __init__(self, session: Session, name: str, handle: Any = None) -> None:
        super().__init__(session, name, handle)
        dtype, self.shape, self.chunk = self._handles.get().shape()
        self.dtype: Any = np.dtype(dtype)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        size = 1
        for one in self.shape:
            size *= one
        return size

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a tensor of no dimensions has no length")
        length: int = self.shape[0]
        return length

    def read(self, key: Any = ..., at: Optional[int] = None) -> Any:
        """Elements as they are at a time: an array that is read-only, mapped where one chunk has them; of one element a scalar."""
        indexes = indexes_of(key, self.shape)
        dtype, shape, memory, _ = self._read(lambda handle: handle.view(indexes, NOW if at is None else at))
        array = np.frombuffer(memory, self.dtype).reshape(shape) if 0 not in shape else np.zeros(shape, self.dtype)
        is_scalar = shape == () and not any(one is Ellipsis for one in (key if isinstance(key, tuple) else (key,)))
        return array[()] if is_scalar else array

    def write(self, key: Any, values: Any, *, time: Optional[int] = None) -> int:
        """Write elements: all become visible at one moment. Returns the time."""
        indexes = indexes_of(key, self.shape)
        array = self._fitted(values)
        written: int = self._handles.get().write(indexes, self.dtype.name, array.shape, array, time or 0)
        return written

    def __getitem__(self, key: Any) -> Any:
        return self.read(key)

    def __setitem__(self, key: Any, values: Any) -> None:
        self.write(key, values)

    def __array__(self, dtype: Any = None) -> Array:
        array: Array = np.array(self.read(...), dtype=dtype)
        return array

    def _fitted(self, values: Any) -> Array:
        """In the tensor's dtype, where no integer is lost."""
        array = np.asarray(values)
        if array.dtype != self.dtype:
            if not (np.can_cast(array.dtype, self.dtype, "same_kind") or array.dtype.kind in "iu" and self.dtype.kind in "iu"):
                raise TypeError(f"values of {array.dtype} for the tensor {self.name!r} of {self.dtype}")
            if self.dtype.kind in "iu" and array.dtype.kind in "iu" and array.size:
                limits = np.iinfo(self.dtype)
                if int(array.min()) < limits.min or int(array.max()) > limits.max:
                    raise ValueError(f"values beyond {self.dtype} for the tensor {self.name!r}")
        return np.asarray(array, self.dtype, order="C")

    def __repr__(self) -> str:
        return f"<granary.Tensor {self.name!r} {self.shape} {self.dtype}>"


# ---- of a session ----


def create_table(session: Session, name: str, schema: Any, durability: Any, exist_ok: bool) -> Table:
    kind, interval = _durability(durability)
    pairs = [(str(column), str(dtype)) for column, dtype in dict(schema).items()]
    return Table(session, name, session._client.table_create(name, pairs, kind, interval, _OPEN if exist_ok else 0))


def create_tensor(
    session: Session, name: str, shape: Any, dtype: Any, fill: Any, chunk: Any, durability: Any, exist_ok: bool
) -> Tensor:
    kind, interval = _durability(durability)
    sizes = tuple(int(one) for one in shape) if np.iterable(shape) else (int(shape),)
    chunks = None if chunk is None else tuple(int(one) for one in chunk) if np.iterable(chunk) else (int(chunk),)
    wanted = np.dtype(dtype)
    text = None if fill is None else _fill(fill)
    flags = _OPEN if exist_ok else 0
    return Tensor(session, name, session._client.tensor_create(name, wanted.name, sizes, chunks, text, kind, interval, flags))


def _fill(fill: Any) -> str:
    if isinstance(fill, (bool, np.bool_)):
        return "true" if fill else "false"
    return str(fill.item() if isinstance(fill, np.generic) else fill)


def opened(session: Session, name: str) -> Any:
    """The table or tensor of that name, sealed or not."""
    handle = session._client.table_open(name)
    return Tensor(session, name, handle) if handle.schema() is None else Table(session, name, handle)
