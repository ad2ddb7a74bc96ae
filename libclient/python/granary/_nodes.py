"""What `granary cluster status --on dask:ADDRESS` starts: each worker runs `granary cluster look`, and what it said is printed.

A line `node NAME` begins each worker's lines. `trouble WHY` follows when it did not answer in time (tools/cli/cluster/dask.c).
"""
from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any, Callable, Dict

_PATIENCE = 4.0  # seconds, for the scheduler and for all workers together; the command itself waits a little longer


def main(address: str) -> None:
    import distributed

    try:
        client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
    except BaseException as error:
        print(f"granary: Dask's scheduler {address}: {' '.join(str(error).split()) or type(error).__name__}", file=sys.stderr, flush=True)
        os._exit(3)
    answers: Dict[str, str] = {}
    workers = list(client.scheduler_info()["workers"])
    threads = [threading.Thread(target=_ask, args=(client, worker, answers), daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + _PATIENCE
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    for worker in workers:
        print(f"node {worker}\n{answers.get(worker, 'trouble no answer from this worker')}")
    sys.stdout.flush()
    os._exit(0)  # Dask's threads have nothing to tell


def _ask(client: Any, worker: str, answers: Dict[str, str]) -> None:
    try:
        answers[worker] = client.run(_looker(), workers=[worker])[worker]
    except BaseException as error:
        answers[worker] = "trouble " + " ".join(str(error).split())


def _looker() -> Callable[[], str]:
    """A function that is pickled whole: a worker may have no granary, or another one."""

    def look() -> str:
        import subprocess

        from distributed import get_worker
        from granary import _instance
        from granary.dask import _plugin

        worker = get_worker()
        node = _plugin._nodes.get(worker)
        command = [_instance.program(), "cluster", "look"]
        command += ["--instance", node.session.instance] if node is not None and node.session.instance else []
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            return "trouble " + " ".join(done.stderr.split())
        running = sum(1 for task in worker.state.tasks.values() if task.state == "executing" and str(task.key).startswith("fragment-"))
        return f"{done.stdout}running {running}"

    return look
