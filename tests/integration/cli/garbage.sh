#!/bin/bash
# Garbage on every endpoint: the one who sends it is dropped, everybody else is served.
. "$(dirname "$0")/lib.sh"

granary up --executors 1 >/dev/null
id=$(granary put $birds)
/usr/bin/python3 - "$work/i" <<'PY'
import os, socket, sys
for name in ("store.sock", "sched.sock", "pool.sock"):
    for size in (1, 8, 24, 4096, 100000):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        s.settimeout(2)
        s.connect(os.path.join(sys.argv[1], name))
        try:
            s.sendall(os.urandom(size))
            s.shutdown(socket.SHUT_WR)
            while s.recv(65536):
                pass
        except OSError:
            pass
        s.close()
PY
granary get "$id" | cmp - $birds || fail "the store"
granary run --discard --csv libclient/examples/damaging.json | grep -qx 'Taxi,2,0,0' || fail "the scheduler"
granary status | grep -q '^executors  1' || fail "the executors"
