"""A session: the objects, names and graphs that processes share. Connections are made when they are needed, also after a fork."""
from __future__ import annotations

import asyncio
import os
import threading
from typing import TYPE_CHECKING, Any, AsyncIterator, Iterable, Iterator, MutableMapping, Optional, Sequence, Union

from . import _granary, _values
from ._errors import NotFound
from ._log import logger
from ._ref import Ref

if TYPE_CHECKING:
    from ._streams import Counter, Events, ObjectReader, ObjectWriter
    from . import _channels, _live, _tables

Key = Union[Ref, bytes, str]

FOREVER = -1


def milliseconds(timeout: Optional[float]) -> int:
    """Seconds, or None for ever, as granary's timeouts."""
    if timeout is None:
        return FOREVER
    if timeout < 0:
        raise ValueError("a timeout is not below 0; None waits for ever")
    return min(int(timeout * 1000 + 0.999), 2**31 - 1)


class Names(MutableMapping[str, Ref]):
    """The session's names: a mapping to references. A name keeps its object."""

    def __init__(self, session: "Session") -> None:
        self._session = session

    def __getitem__(self, name: str) -> Ref:
        return self._session._refer(self._session._client.name_get(name))

    def __setitem__(self, name: str, ref: Ref) -> None:
        self._session._client.name_set(name, ref.id)

    def __delitem__(self, name: str) -> None:
        if self._session._client.name_set(name, None) is None:
            raise NotFound(f"name {name!r}: it is not bound")

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, _ in self._session._client.list_names()])

    def __len__(self) -> int:
        return len(self._session._client.list_names())

    def __contains__(self, name: object) -> bool:
        try:
            self._session._client.name_get(str(name))
            return True
        except NotFound:
            return False

    def wait(self, name: str, timeout: Optional[float] = None) -> Ref:
        """Until the name is bound."""
        return self._session._refer(self._session._client.name_wait(name, milliseconds(timeout)))

    def replace(self, name: str, ref: Ref, expected: Optional[Ref] = None) -> None:
        """Bind it in one step: when it is not bound yet, or when it is bound to what is expected.

        >>> s.names.replace("latest", s.put(1))
        >>> s.names.replace("latest", s.put(2))
        Traceback (most recent call last):
        granary.Exists: ...
        """
        if expected is None:
            self._session._client.name_set(name, ref.id, 1)
        else:
            self._session._client.name_set(name, ref.id, 2, expected.id)


class Session:
    """A session of an instance. Any thread may use it; a forked child gets a connection of its own.

    instance   name or directory; None: $GRANARY_INSTANCE, else "default"
    session    its name
    existing   NotFound instead of making a session that is not there
    """

    def __init__(self, instance: Optional[str] = None, session: Optional[str] = None, *, existing: bool = False) -> None:
        self.instance = os.fspath(instance) if instance is not None else os.environ.get("GRANARY_INSTANCE")
        self.session = session if session is not None else os.environ.get("GRANARY_SESSION")
        self.existing = existing
        self.closed = False
        self._lock = threading.Lock()
        self._own: Optional[_granary.Client] = None
        self.names = Names(self)

    @property
    def _client(self) -> _granary.Client:
        """This process's connection."""
        own = self._own
        if own is not None and own.pid == os.getpid() and not own.closed:
            return own
        if self.closed:
            raise ValueError("the session was closed")
        with self._lock:
            own = self._own
            if own is None or own.pid != os.getpid():
                self._own = own = _granary.Client(self.instance, self.session, existing=self.existing)
                logger.info("connected to session %s of instance %s", self.session or "default", self.instance or "default")
        return own

    # ---- objects ----

    def put(
        self,
        value: Any,
        name: Optional[str] = None,
        *,
        id: Optional[bytes] = None,
        importance: int = 0,
        persist: bool = False,
        timeout: Optional[float] = 30.0,
    ) -> Ref:
        """Put a value into the store: bytes, an array, a pandas DataFrame, or any object that can be pickled.

        name        binds it, so that it outlives the reference that is returned
        importance  0 to 255: a more important object leaves memory later
        persist     it survives the machine's restart, once it has a name
        timeout     seconds to wait for room

        >>> s.put({"any": ["object"]}).get()
        {'any': ['object']}
        """
        id = _granary.id_random() if id is None else id
        options = {
            "counted": True,
            "importance": importance,
            "persist": persist,
            "timeout_ms": -2 if timeout == 0 else milliseconds(timeout),
        }
        _values.put(self._client, id, value, options)
        return self._made(id, name)

    def empty(self, shape: Any, dtype: Any = "float64", name: Optional[str] = None, *, timeout: Optional[float] = 30.0) -> Any:
        """An array to be written in place: `with session.empty((n,), "f8") as a: a[:] = ...`. Its `.ref` is set at the end.

        >>> making = s.empty((3,), "i8", name="threes")
        >>> with making as a:
        ...     a[:] = 3
        >>> int(s.get("threes").sum()), making.ref == s.names["threes"]
        (9, True)
        """
        from ._arrays import Empty

        options = {"counted": True, "timeout_ms": -2 if timeout == 0 else milliseconds(timeout)}
        return Empty(self, _granary.id_random(), shape, dtype, options, name)

    def _made(self, id: bytes, name: Optional[str]) -> Ref:
        ref = self._refer(id)  # in the place of its creator's
        if name is not None:
            self.names[name] = ref
        return ref

    def _refer(self, id: bytes) -> Ref:
        """A reference to an object that is there."""
        self._client.refer(id)
        return Ref(self, id, True)

    def id_of(self, key: Key) -> bytes:
        """The id that a reference, a name, or an id stands for."""
        if isinstance(key, Ref):
            return key.id
        if isinstance(key, str):
            return self._client.name_get(key)
        return key

    def view(self, key: Key, timeout: Optional[float] = None) -> memoryview:
        """The bytes of an object, read-only and in place."""
        view: Any = self._client.get(self.id_of(key), milliseconds(timeout))
        return memoryview(view)

    def get(self, key: Key, timeout: Optional[float] = None) -> Any:
        """The value of an object, or of what a name stands for.

        Arrays, frames and bytes are read where they lie. They are read-only, and keep the object in memory as long as they live.

        timeout   seconds to wait for an object that is not there yet; None: for ever; 0: NotFound at once
        """
        view = self._client.get(self.id_of(key), milliseconds(timeout))
        return _values.get(view, self, key if isinstance(key, Ref) else None)

    def get_many(self, keys: Sequence[Key], timeout: float = 0.0) -> list[Any]:
        """The values of several; None for those that are not there.

        >>> s.get_many([s.put("here"), bytes(16)])
        ['here', None]
        """
        ids, limit = [self.id_of(one) for one in keys], milliseconds(timeout)
        if limit != 0:
            self._client.wait_objects(ids, -1, limit)  # looks for signals meanwhile
        views = self._client.get_each(ids, 0)
        return [None if isinstance(view, int) else _values.get(view, self) for view in views]

    def wait(self, keys: Sequence[Key], least: Optional[int] = None, timeout: Optional[float] = None) -> list[bool]:
        """Until at least so many of them are there (None: all). Returns which ones are.

        >>> s.wait([s.put(1), bytes(16)], least=1)
        [True, False]
        """
        return self._client.wait_objects([self.id_of(one) for one in keys], -1 if least is None else least, milliseconds(timeout))

    def __contains__(self, key: Key) -> bool:
        try:
            return self._client.contains(self.id_of(key))
        except NotFound:
            return False

    def delete(self, key: Key) -> None:
        """End an object, as soon as nobody else refers to it; who has an array of it keeps that."""
        if isinstance(key, Ref):
            key.delete()
        else:
            self._client.delete(self.id_of(key))

    def objects(self, **filter: Any) -> list[dict[str, Any]]:
        """What is there. filter: prefix, least_size, most_size, pinned, owner."""
        return self._client.list_objects(**filter)

    def pin(self, key: Key, scope: str = "client", reason: str = "") -> "Pin":
        """Keep an object in memory, until the pin is released, or its `with` block is left. scope: client, session, persistent."""
        scopes = ("client", "session", "persistent")
        if scope not in scopes:
            raise ValueError(f"scope {scope!r}: it is one of {', '.join(scopes)}")
        return Pin(self, self._client.pin(self.id_of(key), scopes.index(scope), reason))

    def prefetch(self, keys: Iterable[Key]) -> None:
        """Bring spilled objects back before they are needed."""
        for one in keys:
            self._client.prefetch(self.id_of(one))

    def evict(self, size: int, timeout: float = 30.0) -> int:
        """Free so many bytes of memory now: objects go to disk. Returns how many were freed."""
        return self._client.evict(size, milliseconds(timeout))

    # ---- files, events, counters ----

    def writer(
        self,
        name: Optional[str] = None,
        *,
        size_hint: int = 0,
        importance: int = 0,
        persist: bool = False,
        timeout: Optional[float] = 30.0,
    ) -> "ObjectWriter":
        """A binary file that becomes an object when it is closed; its `ref` is set then. An exception in its block gives it up.

        size_hint  bytes that are expected; 0: unknown. For the rest see put().
        """
        from ._streams import ObjectWriter

        timeout_ms = -2 if timeout == 0 else milliseconds(timeout)
        options = {"size_hint": size_hint, "importance": importance, "persist": persist, "timeout_ms": timeout_ms}
        return ObjectWriter(self, _granary.id_random(), name, options)

    def reader(self, key: Key, *, window: int = 0, timeout: Optional[float] = None) -> "ObjectReader":
        """The bytes of an object as a binary file.

        window   bytes of a spilled object that are in memory at a time; 0: 8 MiB
        timeout  as of get()
        """
        from ._streams import ObjectReader

        return ObjectReader(self, key, window, milliseconds(timeout))

    def events(self, kinds: Union[str, Iterable[str]] = (), *, existing: bool = False) -> "Events":
        """What happens to the session's objects from now on: an iterator, and an async iterator.

        kinds     of seal, delete, spill, evict, restore; none: all. `lost` and `restart` are always told.
        existing  objects that are there come first, as `seal`
        """
        from ._streams import Events

        return Events(self, kinds, existing)

    def counter(self, name: str) -> "Counter":
        """The session's number of that name; made, and 0, when there is none.

        >>> s.counter("example").add(2)
        2
        """
        from ._streams import Counter

        return Counter(self, name)

    # ---- what there is ----

    def sessions(self) -> list[dict[str, Any]]:
        """All sessions of the instance."""
        return self._client.session_list()

    def stat(self) -> dict[str, int]:
        """The account of the store's memory, in bytes."""
        return self._client.stat()

    def info(self, subject: str) -> list[dict[str, Any]]:
        """A table of what the scheduler knows: executors, graphs, subtasks, ... (`granary info`)."""
        return self._client.info(subject)[0]

    def why(self, what: Any) -> str:
        """Why something waits: a graph by its key, a subtask, an object."""
        subject = what if isinstance(what, str) else what.key if getattr(what, "key", None) else self.id_of(what).hex()
        return self._client.why(subject)

    # ---- tables, channels, live queries ----

    def create_table(
        self, name: str, schema: Any, *, durability: Union[str, float] = "none", exist_ok: bool = False
    ) -> "_tables.Table":
        """A table that changes. schema: dtypes by columns. durability: 'none', 'commit', or seconds (docs/mutable.md).

        exist_ok   open the one that is there, if it has the same columns
        """
        from . import _tables

        return _tables.create_table(self, name, schema, durability, exist_ok)

    def create_tensor(
        self,
        name: str,
        shape: Any,
        dtype: Any = "float64",
        *,
        fill: Any = None,
        chunk: Any = None,
        durability: Union[str, float] = "none",
        exist_ok: bool = False,
    ) -> "_tables.Tensor":
        """A tensor that changes. fill: the value of what was never written; chunk: its sizes, None: chosen."""
        from . import _tables

        return _tables.create_tensor(self, name, shape, dtype, fill, chunk, durability, exist_ok)

    def table(self, name: str) -> Any:
        """The table or tensor of that name, sealed or not: a Table or a Tensor."""
        from . import _tables

        return _tables.opened(self, name)

    def tables(self) -> list[dict[str, Any]]:
        """All tables and tensors that change, or were sealed."""
        return self._client.table_list()

    def channel(
        self, name: str, *, broadcast: Optional[bool] = None, ring_bytes: int = 0, objects: int = 0
    ) -> "_channels.Channel":
        """The channel of that name, which is made when it is not there. broadcast: None: as it is, or a queue (docs/channels.md)."""
        from . import _channels

        return _channels.Channel(self, name, broadcast, ring_bytes, objects)

    def channels(self) -> list[dict[str, Any]]:
        """All channels of the session."""
        return self._client.channel_list()

    def live(self, sql: str) -> "_live.Live":
        """The result of a SELECT over tables that change, again and again as they grow: an iterator (docs/live.md)."""
        from . import _live

        return _live.Live(self, sql)

    @property
    def executors(self) -> int:
        """How many executors the pool has; 1 when there is none yet."""
        return max(1, len(self.info("executors")))

    # ---- SQL ----

    def execute(self, sql: str) -> tuple[str, int, int]:
        """Run a statement that changes tables. Returns (command, rows, time of the write)."""
        return self._client.sql_execute(sql)

    # ---- life ----

    def close(self) -> None:
        """Disconnect, when the last array of it has gone. References end now."""
        self.closed = True
        own = self._own
        if own is not None and own.pid == os.getpid():
            own.close()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<granary.Session {self.session or 'default'!r} of {self.instance or 'default'!r}{', closed' if self.closed else ''}>"

    def __reduce__(self) -> Any:
        return _same, (self.instance, self.session)


class Pin:
    """Keeps an object in memory."""

    def __init__(self, session: Session, token: int) -> None:
        self._session = session
        self.token = token

    def release(self) -> None:
        """Let the object be spilled again."""
        self._session._client.unpin(self.token)

    def __enter__(self) -> "Pin":
        return self

    def __exit__(self, *error: Any) -> None:
        self.release()


_sessions: dict[tuple[Optional[str], Optional[str]], Session] = {}
_lock = threading.Lock()
_default: list[Session] = []


def _same(instance: Optional[str], session: Optional[str]) -> Session:
    """The session of that name in this process, of which there is one."""
    with _lock:
        known = _sessions.get((instance, session))
        if known is None or known.closed:
            known = _sessions[(instance, session)] = Session(instance, session)
        return known


def _forked() -> None:
    """Locks that a thread of the parent held are nobody's in a child."""
    global _lock
    _lock = threading.Lock()
    for session in {*_sessions.values(), *_default}:
        session._lock = threading.Lock()


os.register_at_fork(after_in_child=_forked)


def connect(instance: Optional[str] = None, session: Optional[str] = None, *, existing: bool = False) -> Session:
    """A session of an instance that is up; see Session. It becomes the default one when there is none."""
    made = Session(instance, session, existing=existing)
    made._client  # so that what is wrong is said here
    with _lock:
        _sessions[(made.instance, made.session)] = made
        if not _default or _default[-1].closed:
            _default[:] = [made]
    return made


def default_session() -> Session:
    """The session that functions without one use: of the innermost up(), else of the first connect(), else a new one."""
    with _lock:
        if _default and not _default[-1].closed:
            return _default[-1]
    return connect()
