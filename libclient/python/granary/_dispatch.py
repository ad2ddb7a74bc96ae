"""A queue of calls of Python functions, and the threads that have them run: one for each call that may run at a time.

Two kinds of threads stand on this: _graphs.py makes each call a graph of its own, _lanes.py hands calls to slots that it keeps.
"""
from __future__ import annotations

import atexit
import collections
import os
import threading
import weakref
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Deque, Optional

_BATCH_SECONDS = 0.002  # that short calls of one batch take together
_BATCH_MAX = 512


class SlotDied(BrokenProcessPool):
    """The process that ran a call ended before it returned: it was killed, it crashed, or it ran out of memory."""


class Call:
    """A call, or several of one map(), with the future of the result."""

    __slots__ = ("function", "arguments", "future", "options", "many", "key", "alone", "taken")

    def __init__(
        self,
        function: str,
        arguments: list[tuple[tuple[Any, ...], dict[str, Any]]],
        future: "Future[Any]",
        options: Optional[dict[str, Any]] = None,
        many: bool = False,
    ) -> None:
        self.function = function  # id of its object
        self.arguments = arguments
        self.future = future
        self.options = options or {}
        self.many = many  # the result is a list of outcomes
        self.key: Optional[str] = None  # of its graph
        self.alone = many  # no other call goes with it
        self.taken = False  # its future says that it runs

    def take(self) -> bool:
        """It is about to run. False: it was cancelled."""
        if not self.taken:
            self.taken = self.future.set_running_or_notify_cancel()
        return self.taken

    def settle(self, outcomes: list[tuple[bool, Any]]) -> None:
        """What it came to: (True, value) or (False, exception), of each of its arguments."""
        if self.many:
            self.future.set_result(outcomes)
        elif outcomes[0][0]:
            self.future.set_result(outcomes[0][1])
        else:
            self.future.set_exception(outcomes[0][1])


class Dispatcher:
    """The queue. Any thread may use it."""

    def __init__(self, client: Any, workers: int) -> None:
        self.client = client
        self.workers = workers
        self.lock = threading.Lock()
        self.changed = threading.Condition(self.lock)
        self.queue: Deque[Call] = collections.deque()
        self.threads: set[threading.Thread] = set()
        self.idle = 0
        self.ended = False
        self.seconds = 1.0  # a call takes, lately
        self.batch_most = _BATCH_MAX
        _alive.add(self)

    def submit(self, call: Call) -> None:
        """Have it run, in its turn."""
        with self.lock:
            if self.ended:
                raise RuntimeError("cannot schedule new futures: it was shut down, or made by the process that this one was forked from")
            self.queue.append(call)
            if self.idle > 0:
                self.changed.notify()
            elif len(self.threads) < self.workers:
                thread = threading.Thread(target=self._run, name="granary-dispatch", daemon=True)
                self.threads.add(thread)
                thread.start()

    def again(self, calls: list[Call]) -> None:
        """Calls that may have been at fault for what became of others: each runs by itself now."""
        with self.lock:
            for call in reversed(calls):
                call.alone = True
                self.queue.appendleft(call)
            self.changed.notify_all()

    def shutdown(self, wait: bool, cancel: bool) -> None:
        """No more calls come; what is queued is still run, or cancelled."""
        with self.lock:
            self.ended = True
            dropped = list(self.queue) if cancel else []
            if cancel:
                self.queue.clear()
            self.changed.notify_all()
        for call in dropped:
            if not call.taken and call.future.cancel():
                call.future.set_running_or_notify_cancel()
        if wait:
            self.join()

    def join(self) -> None:
        """Until all threads have ended."""
        while True:
            with self.lock:
                others = [one for one in self.threads if one is not threading.current_thread()]
            if not others:
                return
            for thread in others:
                thread.join()

    # ---- for threads ----

    def take(self, timeout: Optional[float] = None) -> Optional[list[Call]]:
        """What is to be done at once. Empty: nothing in this time; None: nothing will come."""
        with self.lock:
            while not self.queue:
                if self.ended:
                    return None
                self.idle += 1
                woken = self.changed.wait(timeout)
                self.idle -= 1
                if not woken and not self.queue:
                    return []
            share = -(-len(self.queue) // self.workers)
            most = min(share, self.batch_most, max(1, int(_BATCH_SECONDS / max(self.seconds, 1e-6))))
            batch: list[Call] = []
            while self.queue and len(batch) < most and (not batch or not (self.queue[0].alone or batch[0].alone)):
                call = self.queue.popleft()
                if call.take():
                    batch.append(call)
            return batch

    def took(self, calls: int, seconds: float) -> None:
        """So many calls took so long."""
        self.seconds = 0.5 * self.seconds + 0.5 * seconds / max(calls, 1)

    def _run(self) -> None:
        try:
            self.work()
        finally:
            with self.lock:
                self.threads.discard(threading.current_thread())

    def work(self) -> None:
        """A thread: until take() returns None."""
        raise NotImplementedError


_alive: "weakref.WeakSet[Dispatcher]" = weakref.WeakSet()


def _at_exit() -> None:
    for dispatcher in list(_alive):
        dispatcher.shutdown(wait=True, cancel=False)


def _forked() -> None:
    """A child has none of the threads, and calls of its parent are the parent's."""
    for dispatcher in list(_alive):
        dispatcher.lock = threading.Lock()
        dispatcher.changed = threading.Condition(dispatcher.lock)
        dispatcher.threads.clear()
        dispatcher.queue.clear()
        dispatcher.ended = True
    _alive.clear()


os.register_at_fork(after_in_child=_forked)
# Before threads are not waited for any more, as concurrent.futures does it.
getattr(threading, "_register_atexit", atexit.register)(_at_exit)
