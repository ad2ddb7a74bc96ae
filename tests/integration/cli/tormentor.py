#!/usr/bin/python3
"""A campaign that is killed -9 in the middle leaves nothing, also of an instance it was just holding stopped."""
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

GRANARY = os.path.join(os.environ["GRANARY_BIN"], "granary")
MARK = "GRANARY_TEST_TORMENTOR"
WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python/load/worker.py")
PATIENCE = 120
SCHEDULE = """whole seed 1 memory 33554432 clients 2 graphers 1 executors 1 schedulers 2 plain 1
0 stop supervisor 0 600000
0 stop store 0 600000
0 stop executor 0 600000
600000 rest
"""


def read(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read().decode(errors="replace")
    except OSError:  # it has ended
        return ""


def processes(mark):
    """Of the campaign, by what it was given in its environment: pid -> command line."""
    pids = [entry for entry in os.listdir("/proc") if entry.isdigit()]
    return {int(pid): read(pid, "cmdline") for pid in pids if f"{MARK}={mark}\0" in read(pid, "environ")}


def is_stopped(pid):
    return "State:\tT" in read(pid, "status")


def await_processes(run, mark, programs, stopped, instances):
    """Until all those programs run and so many are stopped. The directory; how names in shared memory of its instances begin."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and run.poll() is None:
        found = processes(mark)
        there = all(any(program in line for line in found.values()) for program in programs)
        directories = re.findall(r"/tmp/granary-torture-\w{6}", " ".join(found.values()))
        prefixes = {root for pid in found for root in re.findall(r"/dev/shm/(\S+)root\b", read(pid, "maps"))}
        if there and directories and len(prefixes) >= instances and sum(map(is_stopped, found)) >= stopped:
            return directories[0], sorted(prefixes)
        time.sleep(0.02)
    sys.exit(f"FAILED: {' '.join(run.args)}: it has not come so far")


def names(prefixes):
    return [name for name in os.listdir("/dev/shm") if name.startswith(tuple(prefixes))]


def kill(run, mark):
    """With its children, as ctest does when time is over."""
    run.send_signal(signal.SIGSTOP)
    for pid in processes(mark):
        if f"PPid:\t{run.pid}\n" in read(pid, "status"):
            os.kill(pid, signal.SIGKILL)
    run.kill()


def check(arguments, programs, stopped=0, instances=1):
    mark = f"{os.getpid()}-{arguments[0]}"
    directory, prefixes = None, []
    run = subprocess.Popen([GRANARY, "torture", *arguments], env=os.environ | {MARK: mark}, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, start_new_session=True, text=True)
    try:
        directory, prefixes = await_processes(run, mark, programs, stopped, instances)
        kill(run, mark)
        said = run.communicate(timeout=PATIENCE)[0]  # to the end: then nobody is left who could say anything
        left = list(processes(mark).values())
        left += names(prefixes)
        left += [directory] if os.path.exists(directory) else []
        if left or run.returncode != -signal.SIGKILL:
            sys.exit(f"FAILED: {arguments[0]}: ended with {run.returncode}, left {left}: {said}")
    finally:  # a failed test leaves nothing either
        for pid in processes(mark):
            os.kill(pid, signal.SIGKILL)
        for name in names(prefixes):
            os.unlink(f"/dev/shm/{name}")
        if directory:
            shutil.rmtree(directory, ignore_errors=True)


with tempfile.NamedTemporaryFile("w", suffix=".schedule") as schedule:
    schedule.write(SCHEDULE)
    schedule.flush()
    check(["whole", "--replay", schedule.name], ["granary-store", "granary-sched", "granary-executor"], stopped=3)
check(["sched", "--seconds", "600"], ["granary-store", "granary-sched", "granary-executor"])
check(["soak", "--seconds", "600"], ["granary-store", "granary-sched", "granary-executor"])
check(["store", "--seconds", "600"], ["granary-store"])
check(["mutable", "--seconds", "600"], ["granary-store"])
if importlib.util.find_spec("distributed") and os.path.exists(os.path.join(os.environ["GRANARY_BIN"], "../python/granary")):
    # Two nodes of Dask have an instance each.
    check(["whole", "--seconds", "600", "--python", WORKER], ["granary-store", "/dask-worker"], instances=3)
