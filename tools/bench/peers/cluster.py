"""Several machines, played by two workers of Dask on this one: says "KEY VALUE" a line. argv: quick or full. Medians; runs of all take turns.

An empty fragment is beside a task of Dask that does nothing, in a graph of the same shape. A transfer is beside what a socket and memory
can do at most.
"""
import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

os.environ["GRANARY_RECALL"] = "off"  # so that what is asked again is made again
import granary
import granary.dask
from distributed import Client, wait
from granary import _granary
from granary.dask import _drive, _plan

QUICK = sys.argv[1:2] == ["quick"]
COUNTS = (10, 100) if QUICK else (10, 100, 300, 1000)
RUNS = 3 if QUICK else 11
LARGE = 256 << 20
WORDS = ["--host", "127.0.0.1", "--port", "0"]
BATCH_S = 0.03
"""Longer than Dask's client holds messages back after it has sent some: what comes next does not wait for the last one's."""


def say(key, values):
    print(key, statistics.median(values), flush=True)


@contextlib.contextmanager
def cluster(memory="1G"):
    """A scheduler and two workers as processes; each worker has an instance of one executor."""
    with tempfile.TemporaryDirectory(prefix="granary-bench-cluster-") as directory:
        file, started = os.path.join(directory, "head.json"), []

        def start(program, *words):
            started.append(subprocess.Popen([sys.executable, f"/usr/bin/{program}", "--scheduler-file", file, "--no-dashboard", *words],
                                            cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

        try:
            start("dask-scheduler", *WORDS)
            for number in "12":
                start("dask-worker", "--no-nanny", "--nthreads", "2", "--memory-limit", "0", "--local-directory", os.path.join(directory, number))
            while not os.path.exists(file):
                time.sleep(0.05)
            with Client(scheduler_file=file) as client:
                client.wait_for_workers(2)
                granary.dask.start_nodes(client, executors=1, memory=memory)
                yield client, started
        finally:
            for these in (started[1:], started[:1]):
                for one in these:
                    one.terminate()
                for one in these:
                    one.wait()


def empty(count, mark):
    """A plan of so many fragments that do nothing, and one that reads them all."""
    def stage(name, graph, partitions, inputs):
        return {"name": name, "digest": f"{mark}{name}", "partitions": partitions, "inputs": inputs, "graph": {"nodes": graph, "targets": ["out"]}}

    stages = [stage("s0", {"out": {"op": "date_range", "start": "2000-01-01", "periods": 0}}, count, {}),
              stage("s1", {"in": {"op": "table"}, "out": {"op": "head", "input": "in", "rows": 1}}, 1, {"in": {"stage": "s0", "take": "all"}})]
    return _plan.Plan.of(json.dumps({"granary_fragments": 1, "version": granary.__version__, "partitions": count, "stages": stages,
                                     "targets": [{"name": "out", "stage": "s1", "kind": "frame"}]}))


def no_ops(client, count, mark):
    from dask.highlevelgraph import HighLevelGraph, MaterializedLayer

    first = {f"{mark}-{p}": (bool, p) for p in range(count)}
    graph = HighLevelGraph({"a": MaterializedLayer(first), "b": MaterializedLayer({f"{mark}-all": (len, list(first))})}, {"a": set(), "b": {"a"}})
    futures = client.get(graph, [*first, f"{mark}-all"], sync=False)
    wait(futures)


def overhead(client):
    """Both take turns, so a busy machine is busy for both."""
    for count in COUNTS:
        ours, theirs, more = [], [], []
        for run in range(RUNS + 1):
            mark = os.urandom(14).hex()
            times = []
            for do in (lambda: no_ops(client, count, mark), lambda: _drive.run(client, empty(count, mark))):
                begun = time.perf_counter()
                kept = do()
                times.append((time.perf_counter() - begun) * 1e3)
                del kept
                client.run(lambda: None)  # what it leaves is let go of
                time.sleep(BATCH_S)
            if run > 0:
                theirs.append(times[0])
                ours.append(times[1])
                more.append((times[1] - times[0]) / 2)
        say(f"dask_nothing_{count}_ms", theirs)
        say(f"empty_{count}_ms", ours)
        say(f"more_{count}_ms", more)


def pipe(send, receive):
    """Seconds for one thread to send what another one receives, through a connection of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as one:
        other, _ = listener.accept()
        with other:
            begun = time.perf_counter()
            thread = threading.Thread(target=send, args=(other,))
            thread.start()
            receive(one)
            thread.join()
            return time.perf_counter() - begun


def transfer():
    """An object from one store into another: the first time into fresh memory, then into memory that was used."""
    source, target = np.frombuffer(os.urandom(1 << 20) * (LARGE >> 20), "u1"), np.zeros(LARGE, "u1")
    here, there = (granary.up(executors=1, memory="1G") for _ in range(2))
    figures = {key: [] for key in ("memcpy_ms", "loopback_ms", "transfer_ms")}
    try:
        held = here.put(source)
        size = here._client.info_object(held.id)["size"]

        def send_object(to):
            here._client.write_object(held.id, to.fileno(), 1000)

        def receive_object(of):
            id = _granary.id_random()
            there._client.read_object(id, of.fileno(), size)
            there._client.delete(id)

        def receive(of):
            view, done = memoryview(target), 0
            while done < LARGE:
                done += of.recv_into(view[done:])

        def copy():
            target[:] = source

        say("transfer_first_ms", [pipe(send_object, receive_object) * 1e3])
        for _ in range(RUNS):
            begun = time.perf_counter()
            copy()
            figures["memcpy_ms"].append((time.perf_counter() - begun) * 1e3)
            figures["loopback_ms"].append(pipe(lambda to: to.sendall(source), receive) * 1e3)
            figures["transfer_ms"].append(pipe(send_object, receive_object) * 1e3)
    finally:
        here.down()
        there.down()
    for key, values in figures.items():
        say(key, values)


if __name__ == "__main__":
    transfer()
    with cluster() as (client, _):
        overhead(client)
