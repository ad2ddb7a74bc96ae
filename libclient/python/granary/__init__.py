"""granary: objects, frames, tensors and functions that the processes of one machine share without a copy.

    import granary as gr

    with gr.up(executors=4) as s:                       # an instance of your own, for this block
        ref = s.put(numpy.arange(10))                   # any process maps it: ref.get()
        gr.scan_csv("t.csv").filter(gr.col("x") > 3).collect()
        gr.Executor().submit(len, "abc").result()

docs/python.md is a tutorial. Nothing here connects to an instance before it is needed.
"""
from __future__ import annotations

import importlib
from typing import Any, List, Optional

from ._errors import *  # noqa: F401,F403
from ._errors import __all__ as _errors
from ._granary import VERSION as __version__
from ._instance import up
from ._ref import Ref
from ._session import Session, connect, default_session

# Of modules that need NumPy or concurrent.futures: imported when they are first asked for.
_LATE = {
    "Executor": "_executor",
    "remote": "_remote",
    "RemoteFuture": "_remote",
    "SlotDied": "_dispatch",
    "SharedArray": "_arrays",
    "Table": "_tables",
    "Tensor": "_tables",
    "Channel": "_channels",
    "Live": "_live",
}

__all__ = ["Ref", "Session", "connect", "current", "default_session", "empty", "get", "live", "put", "register_joblib", "up", "why", "writable", *_errors, *_LATE]


def __getattr__(name: str) -> Any:
    if name in _LATE:
        value = getattr(importlib.import_module("." + _LATE[name], __name__), name)
        globals()[name] = value
        return value
    if not name.startswith("_"):
        frames = importlib.import_module(".frames", __name__)
        if name in frames.__all__:
            return getattr(frames, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> List[str]:
    return sorted({*globals(), *__all__, *importlib.import_module(".frames", __name__).__all__})


def put(value: Any, name: Optional[str] = None, **options: Any) -> Ref:
    """Session.put() of the default session."""
    return default_session().put(value, name, **options)


def get(key: Any, timeout: Optional[float] = None) -> Any:
    """Session.get() of the default session; a reference knows its own."""
    return key.get(timeout) if isinstance(key, Ref) else default_session().get(key, timeout)


def empty(shape: Any, dtype: Any = "float64", name: Optional[str] = None) -> Any:
    """Session.empty() of the default session."""
    return default_session().empty(shape, dtype, name)


def live(sql: str) -> Any:
    """Session.live() of the default session."""
    return default_session().live(sql)


def why(what: Any) -> str:
    """Why something waits: a graph by its key, a future, a reference."""
    return default_session().why(what)


def register_joblib() -> None:
    """Make the pool known to joblib: `with joblib.parallel_backend("granary"): joblib.Parallel(n_jobs=-1)(...)`."""
    from . import _joblib

    _joblib.register()


def writable(value: Any) -> Any:
    """A copy of an array of the store that can be written.

    >>> mine = granary.writable(s.put(np.zeros(3)).get())
    >>> mine[0] = 1
    """
    import numpy

    return numpy.array(value, copy=True, subok=False)


def current() -> Any:
    """The call that this code is inside of (session, graph, node, index, attempt, ...); None outside of a slot."""
    import sys

    run = sys.modules.get(__name__ + "._slot.run")
    return None if run is None else run.current
