"""Objects as files, which are written or read piece by piece; what happens to objects, as an iterator."""
from __future__ import annotations

import asyncio
import io
from typing import TYPE_CHECKING, Any, Iterable, NamedTuple, Optional, Union

from ._errors import TimedOut
from ._ref import Ref

if TYPE_CHECKING:
    from ._session import Session

KINDS = ("", "seal", "delete", "spill", "evict", "restore", "lost", "restart")


class ObjectWriter(io.RawIOBase):
    """A file that becomes an object when it is closed. What was written is given up when its `with` block raises.

    `ref` is the object's reference, once the file is closed.
    """

    _writer: Any = None

    def __init__(self, session: "Session", id: bytes, name: Optional[str], options: dict[str, Any]) -> None:
        super().__init__()
        self._writer = session._client.writer(id, counted=True, **options)
        self._session = session
        self._id = id
        self._name = name
        self._position = 0
        self.ref: Optional[Ref] = None

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if self._writer is None:
            raise ValueError("write to a closed file")
        count: int = self._writer.write(data)
        self._position += count
        return count

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        """Seal the object."""
        writer, self._writer = self._writer, None
        super().close()
        if writer is not None:
            writer.seal()
            self.ref = self._session._made(self._id, self._name)

    def abort(self) -> None:
        """Give up what was written."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.abort()
        super().close()

    def __exit__(self, *error: Any) -> None:
        if error[0] is None:
            self.close()
        else:
            self.abort()

    def __del__(self) -> None:
        self.abort()  # nobody said that it is complete


class ObjectReader(io.RawIOBase):
    """The bytes of an object as a file, in which one can seek. An object that was spilled is read from the disk."""

    _reader: Any = None

    def __init__(self, session: "Session", key: Any, window: int, timeout_ms: int) -> None:
        super().__init__()
        self._key = key  # a reference lives as long as this does
        self._reader = session._client.reader(session.id_of(key), window, timeout_ms)
        self._size: int = self._reader.size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._reader is None:
            raise ValueError("read of a closed file")
        count: int = self._reader.readinto(buffer)
        self._position += count
        return count

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if self._reader is None:
            raise ValueError("seek in a closed file")
        if whence not in (io.SEEK_SET, io.SEEK_CUR, io.SEEK_END):
            raise ValueError(f"whence {whence}: it is 0, 1 or 2")
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise ValueError("a position before the beginning")
        position = min(base + offset, self._size)
        self._reader.seek(position)
        self._position = position
        return position

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        """Let go of the object."""
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()
        self._key = None
        super().close()


class Event(NamedTuple):
    """Something that happened to an object.

    kind     seal, delete, spill, evict, restore; lost: `size` events are missing, list anew; restart: of the store
    id       of the object
    size     bytes of its data
    time_ns  since 1970
    """

    kind: str
    id: bytes
    size: int
    time_ns: int


def _wake(ready: "asyncio.Future[None]") -> None:
    if not ready.done():
        ready.set_result(None)


class Events:
    """Events from now on. An iteration waits for the next one, for ever; next() takes a timeout. One thread at a time."""

    def __init__(self, session: "Session", kinds: Union[str, Iterable[str]], existing: bool) -> None:
        chosen = {kinds} if isinstance(kinds, str) else set(kinds)
        for kind in chosen:
            if kind not in KINDS[1:]:
                raise ValueError(f"there is no kind of event {kind!r}; there are: {', '.join(KINDS[1:])}")
        self._subscription = session._client.subscribe(sum(1 << KINDS.index(kind) for kind in chosen), existing)

    def next(self, timeout: Optional[float] = None) -> Event:
        """The next event; TimedOut when none came in so many seconds."""
        from ._session import milliseconds

        kind, id, size, time_ns = self._subscription.next(milliseconds(timeout))
        return Event(KINDS[kind] if kind < len(KINDS) else str(kind), id, size, time_ns)

    def fileno(self) -> int:
        """A descriptor, readable when there may be an event. Then call next(0) until it raises TimedOut."""
        return self._subscription.fileno()

    def close(self) -> None:
        """Watch no more."""
        self._subscription.close()

    def __iter__(self) -> "Events":
        return self

    def __next__(self) -> Event:
        return self.next()

    def __aiter__(self) -> "Events":
        return self

    async def __anext__(self) -> Event:
        loop = asyncio.get_running_loop()
        while True:
            try:
                return self.next(0)
            except TimedOut:
                pass
            ready: "asyncio.Future[None]" = loop.create_future()
            descriptor = self.fileno()
            loop.add_reader(descriptor, _wake, ready)
            try:
                await ready
            finally:
                loop.remove_reader(descriptor)

    def __enter__(self) -> "Events":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


class Counter:
    """A named number that the processes of a session share. It lives as long as the session. Any number of threads."""

    def __init__(self, session: "Session", name: str) -> None:
        self.name = name
        self._counter = session._client.counter(name)

    def add(self, delta: int = 1) -> int:
        """Add to it, in one step with what others add. Returns the new value."""
        return self._counter.add(delta)

    def get(self) -> int:
        """The value it has now."""
        return self._counter.get()

    def set(self, value: int) -> int:
        """Set it. Returns what it was."""
        return self._counter.set(value)

    def set_if(self, expected: int, value: int) -> bool:
        """Set it when it is what is expected. Returns whether it was."""
        return self._counter.set_if(expected, value)

    def wait(self, least: int, timeout: Optional[float] = None) -> int:
        """Until it is that or more. Returns the value."""
        from ._session import milliseconds

        return self._counter.wait(least, milliseconds(timeout))

    def __repr__(self) -> str:
        return f"<granary.Counter {self.name!r}: {self.get()}>"
