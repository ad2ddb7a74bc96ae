"""What `granary cluster status --on dask:ADDRESS` starts: each worker runs `granary cluster look`, and what it said is printed.

A line `node NAME` begins each worker's lines. `trouble WHY` follows when it did not answer in time (tools/cli/cluster/dask.c).
"""
from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Sequence

_PATIENCE = 4.0  # seconds, for the scheduler and for all workers together; the command itself waits a little longer


def main(address: str) -> None:
    client = connected(address)
    workers = list(client.scheduler_info()["workers"])
    answers = ask_all(client, workers, [])
    for worker in workers:
        print(f"node {worker}\n{answers[worker]}")
    end()


def connected(address: str) -> Any:
    """A client of Dask's scheduler. There is none: the process ends, and says so."""
    import distributed

    try:
        return distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
    except BaseException as error:
        print(f"granary: Dask's scheduler {address}: {' '.join(str(error).split()) or type(error).__name__}", file=sys.stderr, flush=True)
        os._exit(3)


def end() -> None:
    """Dask's threads have nothing to tell."""
    sys.stdout.flush()
    os._exit(0)


def ask_all(client: Any, workers: Sequence[str], options: Sequence[str]) -> Dict[str, str]:
    """What `granary cluster look` says on each of them, or a line with their trouble."""
    answers: Dict[str, str] = {}
    threads = [threading.Thread(target=_ask, args=(client, worker, options, answers), daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + _PATIENCE
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return {worker: answers.get(worker, "trouble no answer from this worker") for worker in workers}


def _ask(client: Any, worker: str, options: Sequence[str], answers: Dict[str, str]) -> None:
    try:
        answers[worker] = client.run(_looker(list(options)), workers=[worker])[worker]
    except BaseException as error:
        answers[worker] = "trouble " + " ".join(str(error).split())


def _looker(options: List[str]) -> Callable[[Any], Any]:
    """A function that is pickled whole: a worker may have no granary, or another one. Its loop goes on meanwhile."""

    async def look(dask_worker: Any) -> str:
        import asyncio
        from subprocess import DEVNULL, PIPE

        from granary import _instance
        from granary.dask import _plugin

        node = _plugin._nodes.get(dask_worker)
        command = [_instance.program(), "cluster", "look", *options]
        command += ["--instance", node.session.instance] if node is not None and node.session.instance else []
        process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
        said, error = await process.communicate()
        if process.returncode != 0:
            return "trouble " + " ".join(error.decode(errors="replace").split())
        running = sum(1 for task in dask_worker.state.tasks.values() if task.state == "executing" and str(task.key).startswith("fragment-"))
        return f"{said.decode(errors='replace')}running {running}"

    return look
