"""What `granary sql --on dask:ADDRESS` starts: it drives a plan on Dask's workers, and brings the results into the command's instance.

It is told by its standard input, a socket, and answers there (tools/cli/cluster/dask.c). When that ends, so does all that runs.
"""
from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from typing import Any, BinaryIO, List, Optional

_PATIENCE = os.environ.get("GRANARY_DASK_PATIENCE", "30s")  # for Dask's scheduler


def main(address: str, instance: str, session: str, timeline: str = "") -> None:
    with socket.socket(fileno=os.dup(0)) as told:
        try:
            _drive(told, address, instance or None, session or None, timeline or None)
        except BaseException as error:
            code = getattr(error, "code", -3 if isinstance(error, (ImportError, OSError)) else -1)
            code = -6 if isinstance(error, TimeoutError) else -15 if isinstance(error, KeyboardInterrupt) else code
            message = " ".join(str(error.args[0] if error.args else error).split()) or type(error).__name__
            _say(told, f"error {code} {message[:4000]}")
    sys.stdout.flush()
    os._exit(0)  # Dask's threads have nothing to tell


def _say(told: socket.socket, line: str) -> None:
    try:
        told.sendall(line.encode() + b"\n")
    except OSError:
        pass  # nobody listens any more


def _drive(told: socket.socket, address: str, instance: Optional[str], session: Optional[str], timeline: Optional[str]) -> None:
    from .dask import _plugin

    import distributed
    import granary

    client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
    try:
        _plugin.ready(client)
        _say(told, f"workers {len(client.scheduler_info()['workers'])}")
        lines = told.makefile("rb")  # never closed: a thread reads it until the process ends
        words = lines.readline().split()
        if not words:
            return
        text = lines.read(int(words[1]))
        threading.Thread(target=_until_end, args=(lines,), daemon=True).start()
        held = _run(client, text, int(words[2]), granary.connect(instance, session), timeline)
        for one in held:
            ids = f"{len(one.ids)} {' '.join(one.ids)}"
            shape = one.handle.shape
            _say(told, f"frame {ids}" if one.handle.kind == "frame" else f"tensor {len(shape)} {' '.join(map(str, shape))} {ids}")
        _wait.wait()
    finally:
        client.close(timeout=5)


_wait = threading.Event()


def _until_end(lines: BinaryIO) -> None:
    """The command has what it wants, or has ended."""
    lines.read(1)
    _wait.set()
    if not _done:
        os.kill(os.getpid(), signal.SIGINT)


_done: List[bool] = []


def _run(client: Any, text: bytes, timeout_ms: int, session: Any, timeline: Optional[str]) -> List[Any]:
    from .dask import _drive, _results
    from .dask._plan import Plan
    from ._errors import WrongType

    plan = Plan.of(text)

    def take(using: Any, futures: Any) -> List[Any]:
        return [_results.here(using, session, futures[name]) for name, _, _ in plan.targets]

    held: List[Any] = _drive.run(client, plan, "plain" if sys.stderr.isatty() else None, timeout_ms / 1000 if timeout_ms > 0 else None,
                                 take=take, timeline=timeline)
    for (name, _, _), one in zip(plan.targets, held):
        if one.handle.kind == "objects":
            error = WrongType(f"target '{name}': it has objects, which cannot be printed: only frames and tensors can")
            raise error
    _done.append(True)
    return held
