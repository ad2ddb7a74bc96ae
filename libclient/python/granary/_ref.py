"""References to objects: what put() returns, names stand for, and other processes are given."""
from __future__ import annotations

import contextlib
import os
import threading
import weakref
from typing import TYPE_CHECKING, Any, Iterator, Optional

if TYPE_CHECKING:
    from ._session import Session


def _unrefer(session: "Session", id: bytes, pid: int) -> None:
    """The process does not need the object any more."""
    if os.getpid() == pid and not session.closed:
        try:
            session._client.unrefer(id)
        except Exception:
            pass  # the session has ended, and the object with it


_collecting = threading.local()


@contextlib.contextmanager
def collecting(client: Any) -> Iterator[list[bytes]]:
    """Ids of the client's session that are pickled meanwhile by this thread: what the pickle then contains."""
    before = getattr(_collecting, "what", None)
    ids: list[bytes] = []
    _collecting.what = (client, ids)
    try:
        yield ids
    finally:
        _collecting.what = before


def pickled(session: "Session", id: bytes) -> None:
    """An object of a session is being pickled by its id."""
    what = getattr(_collecting, "what", None)
    if what is not None and what[0] is session._client and id not in what[1]:
        what[1].append(id)


class Ref:
    """A reference to an object. The object lives at least as long as one of its references, or a name.

    A reference can be pickled: the process that unpickles it refers to the object, too. Until then the first one has to live.
    """

    __slots__ = ("session", "id", "_finalizer", "_array", "__weakref__")

    def __init__(self, session: "Session", id: bytes, owned: bool) -> None:
        self.session = session
        self.id = id
        self._array: Any = None  # a weak reference to the array that get() gave last
        self._finalizer = weakref.finalize(self, _unrefer, session, id, os.getpid()) if owned else None
        if self._finalizer is not None:
            self._finalizer.atexit = False  # references end with the process

    def get(self, timeout: Optional[float] = None) -> Any:
        """The object's value; see Session.get()."""
        array = self._array() if self._array is not None else None
        if array is not None:
            return array.view()  # of the same lease
        value = self.session.get(self, timeout)
        if hasattr(value, "_ref"):
            self._array = weakref.ref(value)
        return value

    def view(self, timeout: Optional[float] = None) -> memoryview:
        """The object's bytes, in place."""
        return self.session.view(self, timeout)

    def delete(self) -> None:
        """Give this reference up; the object ends with the last one. Who has an array of it keeps that."""
        self._array = None
        if self._finalizer is not None and self._finalizer.alive:
            self._finalizer()
        else:
            self.session._client.delete(self.id)

    @property
    def info(self) -> dict[str, Any]:
        """What the store knows of it."""
        info: dict[str, Any] = self.session._client.info_object(self.id)
        return info

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ref) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<granary.Ref {self.id.hex()}>"

    def __reduce__(self) -> Any:
        pickled(self.session, self.id)
        return _unpickle, (self.session, self.id)


def _unpickle(session: "Session", id: bytes) -> Ref:
    """A reference that came from another process."""
    try:
        session._client.refer(id)
    except Exception:
        return Ref(session, id, False)  # it is gone, or held by others: get() tells
    return Ref(session, id, True)


class Kept(str):
    """The id, as text, of an object that lives at least as long as this. When the process dies, so does its reference."""

    @classmethod
    def of(cls, client: Any, id: bytes) -> "Kept":
        """Of an object that is there. NotFound: it is not."""
        client.refer(id)
        made = cls(id.hex())
        weakref.finalize(made, _let_go, weakref.ref(client), id, os.getpid()).atexit = False
        return made


def _let_go(client: Any, id: bytes, pid: int) -> None:
    here = client()
    if here is not None and os.getpid() == pid:
        try:
            here.unrefer(id)
        except Exception:
            pass  # the session has ended, and the object with it
