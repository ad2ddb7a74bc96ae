#!/usr/bin/env python3
"""guard.py PID DIRECTORY: clean up after a test that was killed.

The guard waits until the test's process, PID, has ended. A test that cleaned up itself has removed DIRECTORY, and then
nothing is left to do. Otherwise the guard stops each process that names DIRECTORY in its command line or environment,
has `granary down` clean each instance below DIRECTORY, and removes DIRECTORY and what is called DIRECTORY.*.

DIRECTORY must be a unique name, as mktemp makes them. Start the guard by `setsid --fork`: what kills the test's process
group must spare the guard.
"""
import glob
import os
import select
import shutil
import signal
import subprocess
import sys

STOP_MS = 10000


def wait_ended(fds, timeout_ms=None):
    """Wait until the processes of these pidfds have ended; close the pidfds."""
    for fd in fds:
        poller = select.poll()
        poller.register(fd, select.POLLIN)
        poller.poll(timeout_ms)
        os.close(fd)


def naming(directory):
    """The processes that name the directory, by pid; the guard is not among them."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        texts = b""
        for file in ("cmdline", "environ"):
            try:
                with open(f"/proc/{entry}/{file}", "rb") as stream:
                    texts += stream.read()
            except OSError:
                pass  # it has ended, or it is somebody else's
        if directory in texts and int(entry) != os.getpid():
            found.append(int(entry))
    return found


def stop(directory):
    """First in order; who does not end, or came meanwhile, is killed."""
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGKILL):
        fds = []
        for pid in naming(directory):
            try:
                fds.append(os.pidfd_open(pid))
                os.kill(pid, number)
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass
        wait_ended(fds, STOP_MS)


def main():
    pid, directory = int(sys.argv[1]), sys.argv[2]
    try:
        wait_ended([os.pidfd_open(pid)])
    except ProcessLookupError:
        pass  # it ended before the guard came
    if not os.path.exists(directory):
        return
    program = os.path.join(os.environ["GRANARY_BIN"], "granary") if "GRANARY_BIN" in os.environ else "granary"
    stop(directory.encode())
    for file in glob.glob(f"{directory}/**/instance.json", recursive=True):
        subprocess.run([program, "down", "--instance", os.path.dirname(file)], stdout=subprocess.DEVNULL, check=False)
    for path in [directory, *glob.glob(f"{directory}.*")]:
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
        elif os.path.exists(path):
            os.unlink(path)


main()
