"""concurrent.futures on the pool: `granary.Executor` in the place of `ProcessPoolExecutor`."""
from __future__ import annotations

import time
import weakref
from concurrent import futures
from typing import Any, Callable, Iterable, Iterator, Optional, TypeVar

from . import _functions
from ._dispatch import Call
from ._lanes import LaneDispatcher

T = TypeVar("T")

_CHUNKS = 4  # of a map(), for each worker


class Executor(futures.Executor):
    """Calls of Python functions, run by executors of the instance.

    Functions run in processes of their own, with this interpreter and its modules. A process that dies takes the call it had with
    it, and nothing else: that call's future raises SlotDied. A call may run again when another one of its batch kills the process.
    They print where this program prints. An array is a copy where the original can be written; others lie in the store.

    max_workers   calls that run at a time; None: as many as the pool has executors
    mp_context    not used: it is there for programs that used ProcessPoolExecutor
    initializer   called once in each process, with initargs
    max_tasks_per_child
                  calls after which a process is replaced
    environment   variables for the processes
    memory        bytes of private memory that a process may use
    session       a Session; None: the default one

    Threads: any number at a time.

    >>> with granary.Executor(2) as pool:
    ...     pool.submit(pow, 2, 10).result(), list(pool.map(abs, [-1, 2]))
    (1024, [1, 2])
    """

    def __init__(
        self,
        max_workers: Optional[int] = None,
        mp_context: Any = None,
        initializer: Optional[Callable[..., Any]] = None,
        initargs: tuple[Any, ...] = (),
        *,
        max_tasks_per_child: Optional[int] = None,
        environment: Optional[dict[str, str]] = None,
        memory: Optional[int] = None,
        session: Any = None,
    ) -> None:
        if max_workers is not None and (not isinstance(max_workers, int) or max_workers <= 0):
            raise ValueError("max_workers must be greater than 0")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        from ._session import default_session

        session = session if session is not None else default_session()
        client = session._client
        workers = max_workers or session.executors
        self._max_workers = workers
        if max_tasks_per_child is not None and not isinstance(max_tasks_per_child, int):
            raise TypeError("max_tasks_per_child must be an integer")
        if max_tasks_per_child is not None and max_tasks_per_child <= 0:
            raise ValueError("max_tasks_per_child must be >= 1")
        begin = (initializer, initargs) if initializer is not None else None
        self._dispatcher = LaneDispatcher(client, workers, begin, environment, memory, max_tasks_per_child)
        self._finalizer = weakref.finalize(self, self._dispatcher.shutdown, False, False)
        self._finalizer.atexit = False
        self._ended = False

    def _check(self) -> None:
        if self._ended:
            raise RuntimeError("cannot schedule new futures after shutdown")
        if self._dispatcher.broken is not None:
            raise self._dispatcher.broken

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> "futures.Future[T]":
        """Have fn(*args, **kwargs) called. Returns a future of its result."""
        self._check()
        future: "futures.Future[T]" = futures.Future()
        self._dispatcher.submit(Call(_functions.ship(self._dispatcher.client, fn), [(args, kwargs)], future))
        return future

    def map(
        self, fn: Callable[..., T], *iterables: Iterable[Any], timeout: Optional[float] = None, chunksize: Optional[int] = None
    ) -> Iterator[T]:
        """fn on the items, in their order. chunksize: calls that go together; None: chosen."""
        self._check()
        if chunksize is not None and chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        deadline = None if timeout is None else time.monotonic() + timeout
        items: list[tuple[tuple[Any, ...], dict[str, Any]]] = [(args, {}) for args in zip(*iterables)]
        if chunksize is None:
            chunksize = max(1, min(4096, len(items) // (self._max_workers * _CHUNKS)))
        function = _functions.ship(self._dispatcher.client, fn)
        pending: list["futures.Future[Any]"] = []
        for at in range(0, len(items), chunksize):
            future: "futures.Future[Any]" = futures.Future()
            pending.append(future)
            self._dispatcher.submit(Call(function, items[at : at + chunksize], future, many=True))
        pending.reverse()  # each goes as soon as it was given
        return _results(pending, deadline)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """No more calls; those that were submitted still run, unless they are cancelled."""
        self._ended = True
        self._dispatcher.shutdown(wait, cancel_futures)


def _results(pending: list["futures.Future[Any]"], deadline: Optional[float]) -> Iterator[Any]:
    try:
        while pending:
            left = None if deadline is None else deadline - time.monotonic()
            outcomes = pending[-1].result(left)
            pending.pop()
            outcomes.reverse()
            while outcomes:
                if not outcomes[-1][0]:
                    raise outcomes[-1][1]
                yield outcomes.pop()[1]  # nothing here refers to it meanwhile
    finally:
        for future in pending:
            future.cancel()
