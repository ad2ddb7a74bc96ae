"""Dask's scheduler has gone: the way back to it, or to the one that was started in its place.

A Client finds a scheduler again that has the same address. One that reads a scheduler's file finds the address of another one there.
"""
from __future__ import annotations

import contextlib
import json
import time
from asyncio import CancelledError
from typing import Any, Dict, List, Optional, Sequence, Set

from .._errors import Cancelled, TimedOut, Unreachable
from .._log import logger
from . import _plugin
from ._slow import everywhere

PATIENCE_S = 60
"""For a scheduler and a worker, when the call has no timeout. Results stay as long on nodes."""

_LOOK_S = 0.1
_NOTICE_S = 1.0  # for the client to see that a connection has ended


def scheduler_of(client: Any) -> str:
    """Which scheduler a client speaks with: another one has another id."""
    return str(client._scheduler_identity.get("id", ""))


def is_lost(client: Any, scheduler: str) -> bool:
    """Whether the scheduler of that id has gone."""
    return client.status not in ("running", "newly-created") or scheduler_of(client) != scheduler


def is_why(client: Any, scheduler: str, error: BaseException) -> bool:
    """Whether a call failed because of that."""
    ends = time.monotonic() + (_NOTICE_S if isinstance(error, (OSError, Cancelled, CancelledError)) else 0.0)
    while not (lost := is_lost(client, scheduler)) and time.monotonic() < ends:
        time.sleep(_LOOK_S)
    return lost


def back(client: Any, ends: Optional[float]) -> Any:
    """A client of a scheduler that has a worker: the same one, or a new one. TimedOut, Unreachable: there was none in time."""
    kind = Unreachable if ends is None else TimedOut
    ends = time.monotonic() + PATIENCE_S if ends is None else ends
    logger.warning("granary.dask: the scheduler has gone: waiting for another one")
    _plugin.forget(client)
    while time.monotonic() < ends:
        made = _connected(client)
        if made is not None:
            with contextlib.suppress(Exception):  # it went again, or there is no worker yet
                made.wait_for_workers(1, timeout=max(0.1, ends - time.monotonic()))
                _plugin.ready(made)
                return made
            _plugin.forget(made)
            if made is not client:
                made.close(timeout=1)
        time.sleep(_LOOK_S)
    raise kind("Dask's scheduler has gone, and no other one with a worker came in its place in time")


def _connected(client: Any) -> Any:
    """A client that is connected now, or None."""
    from distributed import Client

    address = _address(client)
    if client.status == "running" and (address is None or address == client.scheduler.address):
        return client
    if client.status == "connecting" and (address is None or address == client.scheduler.address):
        return None  # it tries by itself
    with contextlib.suppress(OSError):
        return Client(address or client.scheduler.address, timeout=5, security=client.security, set_as_default=False)
    return None


def _address(client: Any) -> Optional[str]:
    """That in the scheduler's file, if the client has one."""
    if client.scheduler_file is None:
        return None
    with contextlib.suppress(OSError, ValueError, KeyError):
        with open(client.scheduler_file) as file:
            return str(json.load(file)["address"])
    return None


def _surviving(keys: Sequence[str], dask_worker: Any) -> List[str]:
    return _plugin.node_of(dask_worker).surviving(keys)


def survivors(client: Any, keys: Sequence[str]) -> Dict[str, str]:
    """Fragments whose results are on a node still: by key, the node's worker."""
    found: Dict[str, str] = {}
    seen: Set[str] = set(keys)
    for address, some in everywhere(client, _surviving, list(seen)).items():
        for key in some:
            found.setdefault(key, address)
    return found
