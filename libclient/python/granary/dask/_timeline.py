"""Which fragment ran where and when, as a Chrome trace (chrome://tracing, ui.perfetto.dev): a process is a node, a row one of its threads.

The form is that of tools/cli/cluster/look/trace.h. Times are those of the nodes' clocks. Copies of what was slow are there, too.
"""
from __future__ import annotations

import json
import os
import time
from typing import Any, Dict, List

from ._packs import handles


class Timeline:
    """Fragments of a run, until write()."""

    def __init__(self, path: "str | os.PathLike[str]") -> None:
        self._path = os.fspath(path)
        self._began = time.time()
        self._events: List[Dict[str, Any]] = []
        self._nodes: Dict[str, int] = {}
        self._threads: Dict[Any, int] = {}
        with open(self._path, "w"):  # a path that cannot be written is told before anything runs
            pass

    def add(self, stage: str, result: Any, outcome: str) -> None:
        """result: what a task has given."""
        for handle in handles([result]):
            node = self._nodes.setdefault(handle.origin.node, len(self._nodes) + 1)
            began, took, thread = handle.ran
            row = self._threads.setdefault((node, thread), 1 + sum(of == node for of, _ in self._threads))
            self._events.append({"ph": "X", "pid": node, "tid": row, "ts": round((began - self._began) * 1e6, 3), "dur": round(took * 1e6, 3),
                                 "name": stage, "cat": "fragment", "args": {"partition": int(handle.key.rpartition("-")[2]), "bytes": handle.size, "outcome": outcome}})

    def write(self) -> None:
        names = [{"ph": "M", "pid": number, "name": "process_name", "args": {"name": node}} for node, number in self._nodes.items()]
        with open(self._path, "w") as out:
            out.write("[\n" + ",\n".join(json.dumps(one) for one in [*self._events, *names]) + "\n]\n")
