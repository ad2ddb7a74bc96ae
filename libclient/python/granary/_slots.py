"""How executors are told to have Python run: the command of a slot, and graphs of one node that reach it."""
from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import threading
import weakref
from typing import Any, Optional

_token = secrets.token_hex(8)
"""Of this process: it has slots of its own, in which modules are as they were when it came."""


_BOOT = "import sys; sys.path[:] = [{!r}, *filter(None, sys.path)]; import runpy; runpy.run_module('granary._slot', run_name='__main__', alter_sys=True)"
"""`-m granary._slot`, also of an interpreter that heeds no PYTHONPATH (-I, -E). Nothing is imported from where an executor happens to be."""


def _package() -> str:
    """The directory that has this package."""
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def command() -> str:
    """What executors start: this interpreter."""
    if not sys.executable:
        raise RuntimeError("this Python does not know its own program (sys.executable): Python functions cannot be run in the pool")
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return "\n".join([sys.executable, *flags, "-c", _BOOT.format(_package())])


def environment(extra: Optional[dict[str, str]] = None) -> str:
    """With this process's module path."""
    path = [os.path.abspath(one) if one else os.getcwd() for one in sys.path]
    variables = {
        "PYTHONPATH": _package(),
        "GRANARY_SLOT_OWNER": f"{os.getpid()} {_token}",
        "GRANARY_SLOT_PATH": os.pathsep.join(one for one in path if "\n" not in one and os.pathsep not in one),
        **(extra or {}),
    }
    for name, value in variables.items():
        if "\n" in value or "\n" in name or "=" in name or not name:
            raise ValueError(f"environment variable {name!r}: names and values are of one line")
    return "\n".join(f"{name}={value}" for name, value in variables.items())


_exported: "weakref.WeakKeyDictionary[Any, str]" = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def function(client: Any) -> str:
    """The function by which executors call programs, made known to the client's session."""
    with _lock:
        if client not in _exported:
            path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "host.so")
            version = client.export(path, "granary_host")
            _exported[client] = f"granary_host@{version}:call"
        return _exported[client]


def node(client: Any, params: dict[str, str], request: dict[str, Any], **members: Any) -> dict[str, Any]:
    """A node of a graph that has a slot do what the request says."""
    return {"op": "call", "function": function(client), "params": dict(params, request=json.dumps(request)), **members}
