"""Answer calls until the executor ends. Its socket is descriptor 3."""
from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys

SOCKET = 3


def main() -> int:
    parent = os.getppid()
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG: no slot without its executor
    if os.getppid() != parent:
        return 1
    path = os.environ.get("GRANARY_SLOT_PATH")
    if path is not None:
        sys.path[:] = path.split(os.pathsep)
    try:
        sock = socket.socket(fileno=SOCKET)
    except OSError:
        print("python -m granary._slot is started by executors: see docs/python.md", file=sys.stderr)
        return 2
    sock.set_inheritable(False)
    from . import run

    run.Slot(sock).serve()
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # threads of users' functions hold nobody up
