"""Live queries: the result of a SELECT, again and again as its tables grow."""
from __future__ import annotations

from typing import Any, Iterator, Optional

from ._errors import Sealed
from ._session import Session, milliseconds
from ._tables import Read
from ._waits import Handles, Steps

_TARGET = "result"  # GRANARY_SQL_TARGET


class Live:
    """Results of a SELECT over tables that change: the first one at once, each later one when something was written.

    A result is a frame. Its `.time` is the cut that it is of. `.added`: it has only the rows that come to those of the results
    before. `.anew`: all rows were read for it. The iteration ends when the tables are sealed.

    One thread at a time. A forked child begins anew.
    """

    def __init__(self, session: Session, sql: str) -> None:
        self.session = session
        self.sql = sql
        self._handles = Handles("live query", lambda: session._client.live_open(sql))
        self._handles.get()

    @property
    def kind(self) -> str:
        """How results are made: 'whole' of all rows, 'groups' of those that are known and new rows, 'rows' of new rows alone."""
        kind: str = self._handles.get().kind()
        return kind

    def next(self, timeout: Optional[float] = None) -> Read:
        """The next result. timeout: seconds to wait for something to be written; TimedOut. Sealed: there is none to come."""
        key, time, added, anew, rows_read = self._handles.get().next(milliseconds(timeout))
        client = self.session._client
        ids = client.result(key, _TARGET)[0]
        made = Read(self.session, [client.get(id).frame() for id in ids], time)
        made.added, made.anew, made.rows_read = added, anew, rows_read
        return made

    def __iter__(self) -> Iterator[Read]:
        while True:
            try:
                result = self.next()
            except Sealed:
                return
            yield result

    def __aiter__(self) -> Steps[Read]:
        """The same for asyncio. There is no descriptor to wait on: a thread of the iterator's own waits, one for all its steps."""
        return Steps(self.next, Sealed)

    def close(self) -> None:
        """End it. Results stay valid."""
        self._handles.close()

    def __enter__(self) -> "Live":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<granary.Live {self.sql!r}>"
