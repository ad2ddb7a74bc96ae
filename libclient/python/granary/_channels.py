"""Channels: processes hand one another values, in order, through shared memory."""
from __future__ import annotations

import secrets
import struct
from typing import Any, Dict, Iterator, Optional

from . import _functions, _packed, _values
from ._errors import NotFound, Sealed
from ._ref import Ref
from ._session import Session, milliseconds
from ._waits import Handles, Steps

_OPEN, _BROADCAST = 1, 2
_SEAL = "granary.pickles"
"""A counter of the session. Its number stands before each pickle in a channel: whoever only has bytes to put does not know it."""
_PICKLED = struct.Struct("<8sQ48x")  # buffers stay where they may be read in place
_MAGIC = b"granpkc1"
_OBJECT_BYTES = 1 << 16  # an array from here on is an object, which readers map


class Message:
    """A value, and what is known of it."""

    __slots__ = ("value", "number", "writer", "missed", "again")

    def __init__(self, value: Any, number: int, writer: int, missed: int, again: bool) -> None:
        self.value = value
        self.number = number  # 0, 1, ... of its writer
        self.writer = writer
        self.missed = missed  # by an observer, right before it
        self.again = again  # a reader that died may have seen it

    def __repr__(self) -> str:
        return f"<granary.Message {self.number} of writer {self.writer}{', again' if self.again else ''}: {self.value!r}>"


class Channel:
    """A channel: `for value in channel` gets what others put() until it is sealed.

    Of a queue each message goes to one reader; of a broadcast each reader has every message from its first get() on. A message
    is done with the next get(), or with done(). One whose reader died before that goes to another one.

    One thread may put while another one gets.
    """

    def __init__(self, session: Session, name: str, broadcast: Optional[bool], ring_bytes: int, objects: int) -> None:
        self.session = session
        self.name = name
        self._number = 0
        flags = _OPEN | (_BROADCAST if broadcast else 0)

        def opens() -> Any:
            if broadcast is None:
                try:
                    return session._client.channel_open(name)
                except NotFound:
                    pass
            return session._client.channel_create(name, flags, ring_bytes, objects)

        self._handles = Handles("channel", opens)
        self._handles.get()

    # ---- writing ----

    def put(self, value: Any, timeout: Optional[float] = None) -> None:
        """Put bytes, an array, a DataFrame, any object that can be pickled, or, by a reference, the object that is there.

        timeout   seconds to wait for room while readers are slow; None: for ever. TimedOut: nothing was put
        """
        handle, limit = self._handles.get(), milliseconds(timeout)
        if isinstance(value, Ref):
            handle.put_object(value.id, limit)
        elif isinstance(value, (bytes, bytearray, memoryview)):
            handle.put(value, limit)
        elif _values.is_frame(value) or (_values.is_array(value) and value.nbytes >= _OBJECT_BYTES):
            ref = self.session.put(value)
            handle.put_object(ref.id, limit)  # the channel refers to it now
        else:
            handle.put(_PICKLED.pack(_MAGIC, self._seal()) + _functions.pack_arguments(value).tobytes(), limit)

    def seal(self) -> None:
        """No message may be put any more: readers get what is there, and then end."""
        self._handles.get().seal()

    # ---- reading ----

    def join(self, reader: Optional[str] = None, *, oldest: bool = False) -> "Channel":
        """Say how this handle reads, before its first get().

        reader   of a broadcast: a name that stays when the process ends, so that the next one of that name goes on there
        oldest   begin with what is still there, and not with what comes from now on
        """
        self._handles.get().join(reader, oldest)
        return self

    def observe(self, *, oldest: bool = False) -> "Channel":
        """Only look: nobody waits for this handle, and it may miss messages."""
        self._handles.get().observe(oldest)
        return self

    def receive(self, timeout: Optional[float] = None) -> Message:
        """The next message; the one before is done. Sealed: there is none to come. WrongState: the channel was deleted."""
        data, id, number, writer, missed, again = self._handles.get().get(milliseconds(timeout))
        return Message(self._value(data, id), number, writer, missed, again)

    def _value(self, data: Any, id: Optional[bytes]) -> Any:
        if id is not None:
            return None if data is None else _values.get(data, self.session)
        flat = memoryview(data)
        is_pickle = flat.nbytes >= _PICKLED.size and _PICKLED.unpack_from(flat) == (_MAGIC, self._seal())
        return _packed.unpack(flat[_PICKLED.size :]) if is_pickle else data

    def _seal(self) -> int:
        """The session's number that pickles have, which the first channel makes."""
        if self._number == 0:
            counter = self.session.counter(_SEAL)
            counter.set_if(0, secrets.randbits(62) + 1)
            self._number = counter.get()
        return self._number

    def get(self, timeout: Optional[float] = None) -> Any:
        """The value of the next message: bytes as bytes, large ones as a memoryview of the store; see receive()."""
        return self.receive(timeout).value

    def done(self) -> None:
        """The message that was got is done: nobody else gets it."""
        self._handles.get().done()

    def __iter__(self) -> Iterator[Any]:
        while True:
            try:
                value = self.get()
            except Sealed:
                return
            yield value

    def __aiter__(self) -> Steps[Any]:
        """The same for asyncio. There is no descriptor to wait on: a thread of the iterator's own waits, one for all its steps."""
        return Steps(self.get, Sealed)

    # ---- life ----

    @property
    def info(self) -> Dict[str, Any]:
        """What it is, who writes and reads, and how many messages wait."""
        info: Dict[str, Any] = self._handles.get().describe()
        return info

    def forget(self, reader: str) -> None:
        """Give up a reader by its name, and what waits for it."""
        self._handles.get().forget(reader)

    def drop(self) -> None:
        """Delete it with all that waits in it: those who wait for it get WrongState."""
        self.session._client.channel_delete(self.name)
        self.close()

    def close(self) -> None:
        """A message that is not done goes to another reader."""
        self._handles.close()

    def __enter__(self) -> "Channel":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def __reduce__(self) -> Any:
        return _same, (self.session, self.name)

    def __repr__(self) -> str:
        return f"<granary.Channel {self.name!r}>"


def _same(session: Session, name: str) -> Channel:
    return Channel(session, name, None, 0, 0)
