"""`@granary.remote`: functions whose calls are graphs of their own, with retries, limits and cancelling."""
from __future__ import annotations

import asyncio
import functools
import threading
from concurrent import futures
from typing import Any, Callable, Generator, Generic, Iterable, Optional, TypeVar, Union, overload

from . import _functions
from ._dispatch import Call, Dispatcher
from ._graphs import GraphDispatcher

T = TypeVar("T")

_AT_A_TIME = 16  # graphs of remote calls that are waited for, for each executor of the pool


class RemoteFuture(futures.Future[T]):
    """The result of a remote call, now or later. It can be awaited."""

    _call: Optional[Call] = None
    _client: Any = None

    def __await__(self) -> Generator[Any, None, T]:
        return asyncio.wrap_future(self).__await__()

    @property
    def key(self) -> Optional[str]:
        """Of its graph, for `granary tasks` and `granary logs`; None: it was not sent yet."""
        return self._call.key if self._call is not None else None

    def cancel(self) -> bool:
        """Take it back. One that runs is asked to stop, and killed when it does not within a second."""
        if super().cancel():
            return True
        key = self.key
        if self.done() or key is None:
            return False
        try:
            self._client.cancel_graph(key, 1000)
        except Exception:
            return False
        return True


class RemoteFunction(Generic[T]):
    """A function of which calls can be submitted; called plainly, it runs here."""

    def __init__(self, function: Callable[..., T], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._options = options

    def __call__(self, *args: Any, **kwargs: Any) -> T:
        return self._function(*args, **kwargs)

    def options(self, **options: Any) -> "RemoteFunction[T]":
        """The same function with other options."""
        return RemoteFunction(self._function, dict(self._options, **_checked(options)))

    def submit(self, *args: Any, **kwargs: Any) -> RemoteFuture[T]:
        """Have it called in the pool. An argument may be the future of another call, which is waited for first."""
        future: RemoteFuture[T] = RemoteFuture()
        dispatcher = _dispatcher(self._options.get("session"))
        function = _functions.ship(dispatcher.client, self._function)
        options = dict(self._options, name=_functions.name_of(self._function))
        call = Call(function, [(args, kwargs)], future, options)
        future._call = call
        future._client = dispatcher.client
        _when_ready(call, dispatcher)
        return future

    def map(self, *iterables: Iterable[Any]) -> list[RemoteFuture[T]]:
        """A call for each item."""
        return [self.submit(*args) for args in zip(*iterables)]


def _when_ready(call: Call, dispatcher: Dispatcher) -> None:
    """Submit it when the futures among its arguments have results."""
    args, kwargs = call.arguments[0]
    waited = {one for one in (*args, *kwargs.values()) if isinstance(one, RemoteFuture)}
    left = len(waited)
    lock = threading.Lock()

    def ready(_: Any) -> None:
        nonlocal left
        with lock:
            left -= 1
            if left > 0:
                return
        try:
            call.arguments = [
                (
                    tuple(one.result() if isinstance(one, RemoteFuture) else one for one in args),
                    {key: one.result() if isinstance(one, RemoteFuture) else one for key, one in kwargs.items()},
                )
            ]
        except BaseException as error:
            if call.future.set_running_or_notify_cancel():
                call.future.set_exception(error)
            return
        dispatcher.submit(call)

    if not waited:
        dispatcher.submit(call)
    for one in waited:
        one.add_done_callback(ready)


_dispatchers: dict[int, GraphDispatcher] = {}
_lock = threading.Lock()


def _dispatcher(session: Any) -> GraphDispatcher:
    """The session's, made when it is first needed."""
    from ._session import default_session

    session = session if session is not None else default_session()
    client = session._client
    with _lock:
        dispatcher = _dispatchers.get(id(client))
        if dispatcher is None or dispatcher.client is not client or dispatcher.ended:
            dispatcher = GraphDispatcher(client, session.executors * _AT_A_TIME)
            _dispatchers[id(client)] = dispatcher
        return dispatcher


_OPTIONS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "retries": ("retries", int),
    "timeout": ("timeout_ms", lambda seconds: int(seconds * 1000)),
    "memory": ("memory", int),
    "resources": ("resources", lambda given: {name: str(amount) for name, amount in given.items()}),
    "priority": ("priority", int),
    "deterministic": ("deterministic", bool),
    "session": ("session", lambda session: session),
}


def _checked(given: dict[str, Any]) -> dict[str, Any]:
    options = {}
    for name, value in given.items():
        if name not in _OPTIONS:
            raise TypeError(f"remote() has no option {name!r}; there are: {', '.join(_OPTIONS)}")
        key, convert = _OPTIONS[name]
        options[key] = convert(value)
    return options


@overload
def remote(function: Callable[..., T]) -> RemoteFunction[T]: ...
@overload
def remote(**options: Any) -> Callable[[Callable[..., T]], RemoteFunction[T]]: ...
def remote(
    function: Optional[Callable[..., T]] = None, **options: Any
) -> Union[RemoteFunction[T], Callable[[Callable[..., T]], RemoteFunction[T]]]:
    """Make a function one whose calls run in the pool.

    retries        times it is called again after an exception or a crash
    timeout        seconds; then it is stopped
    memory         bytes of private memory it may use
    resources      resource -> amount it takes while it runs
    priority       calls of a higher one go first
    deterministic  it gives the same for the same arguments, so results may be recalled
    session        a Session; default the default one

    >>> granary.remote(len).submit("abc").result()
    3
    """
    checked = _checked(options)
    if function is not None:
        return RemoteFunction(function, checked)
    return lambda one: RemoteFunction(one, checked)


def end_of(session: Any) -> None:
    """The session ends: its dispatcher takes no more calls."""
    with _lock:
        for key, dispatcher in list(_dispatchers.items()):
            if dispatcher.client is session._own:
                dispatcher.shutdown(wait=False, cancel=True)
                del _dispatchers[key]
