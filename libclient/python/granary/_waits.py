"""What tables, channels and live queries share: a handle for each process, and iteration by asyncio."""
from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Generic, Optional, TypeVar

from ._errors import TimedOut

T = TypeVar("T")

_LOOK = 0.2  # seconds until a thread whose task has gone sees that


class Handles:
    """A handle of the extension's, opened again in a forked child: there the parent's is of no use."""

    def __init__(self, what: str, opens: Callable[[], Any], first: Any = None) -> None:
        self._what = what
        self._opens = opens
        self._own = first
        self._pid = os.getpid() if first is not None else 0
        self._closed = False
        self._lock = threading.Lock()

    def get(self) -> Any:
        if self._closed:
            raise ValueError(f"the {self._what} was closed")
        if self._pid != os.getpid():
            if not self._lock.acquire(timeout=10):
                self._lock = threading.Lock()  # a thread of the parent had it
                self._lock.acquire()
            try:
                if self._pid != os.getpid():
                    self._own = self._opens()
                    self._pid = os.getpid()
            finally:
                self._lock.release()
        return self._own

    def again(self) -> Any:
        """Open it anew, as after a seal."""
        with self._lock:
            self._own = self._opens()
            self._pid = os.getpid()
        return self._own

    def close(self) -> None:
        self._closed = True
        own, self._own = self._own, None
        if own is not None and self._pid == os.getpid():
            own.close()


class Steps(Generic[T]):
    """An asynchronous iterator over what a wait gives. One thread of its own waits, from the first step to the last."""

    def __init__(self, step: Callable[[float], T], end: Any) -> None:
        self._step = step
        self._end = end
        self._pool: Optional[ThreadPoolExecutor] = None
        self._pending: Any = None

    def __aiter__(self) -> "Steps[T]":
        return self

    async def __anext__(self) -> T:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "granary-steps")
        while True:
            if self._pending is None:
                self._pending = self._pool.submit(self._step, _LOOK)
            try:
                # Of a task that is cancelled the next one gets it, also in another loop.
                given: T = await asyncio.shield(asyncio.wrap_future(self._pending))
            except TimedOut:
                self._pending = None
                continue
            except self._end:
                self._pending = None
                await self.aclose()
                raise StopAsyncIteration from None
            except asyncio.CancelledError:
                raise
            except BaseException:
                self._pending = None
                raise
            self._pending = None
            return given

    async def aclose(self) -> None:
        """End its thread."""
        self._shut()

    def _shut(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False)

    def __del__(self) -> None:
        self._shut()
