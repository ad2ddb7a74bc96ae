"""What `granary cluster why --on dask:ADDRESS` starts: Dask's scheduler tells of fragments, and their workers of what these wait for.

It prints a line `counts TASKS DONE`, then one for each fact (tools/cli/cluster/look/why_dask.c), with tabs between

    fact CODE STAGE PARTITION NODE SINCE_MS TEXT

Empty is what a fact is not about. PARTITION is -1 then, SINCE_MS 0.
"""
from __future__ import annotations

import re
import statistics
import time
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Sequence, Tuple

from ._nodes import ask_all, connected, end
from .dask._handle import GATHERED
from .dask._slow import COPY, LEAST_S, TIMES

_NAMED = 5
"""Partitions in one sentence."""

_SILENT_S = 5.0

_FRAGMENT = "fragment-"

_KEY = re.compile(rf"{_FRAGMENT}[^-]+-\d+(-\d+)?({COPY})?$")

_WAITING = ("waiting", "queued", "no-worker")


class Task(NamedTuple):
    """What Dask's scheduler has of one."""

    key: str
    stage: str
    state: str
    worker: str
    seconds: float
    error: str
    reads: Sequence[str]
    """Keys of what it waits for."""


class Fact(NamedTuple):
    code: str
    text: str
    stage: str = ""
    partition: int = -1
    node: str = ""
    since_ms: int = 0

    def line(self) -> str:
        words = (self.code, self.stage, self.partition, self.node, self.since_ms, self.text)
        return "fact " + "\t".join(" ".join(str(one).split()) for one in words)


def _teller() -> Callable[..., Any]:
    """For Dask's scheduler, which need not have this package: it is pickled whole."""

    def tell(begins: Tuple[str, ...], dask_scheduler: Any = None) -> Any:
        from distributed.metrics import time

        s = dask_scheduler

        def stage_of(task: Any) -> str:
            return str((getattr(task, "annotations", None) or {}).get("stage", ""))

        tasks = []
        for task in s.tasks.values():
            if not str(task.key).startswith(begins):
                continue
            on = task.processing_on
            seconds = on.executing.get(task, 0.0) + max(0.0, time() - on.last_seen) if on is not None else 0.0
            error = "" if task.exception_text in (None, "") else str(task.exception_text)
            tasks.append((str(task.key), stage_of(task), task.state, "" if on is None else on.address, seconds, error,
                          [str(one.key) for one in task.waiting_on] if task.waiting_on else []))
        return tasks, {one.address: max(0.0, time() - one.last_seen) for one in s.workers.values()}

    return tell


def _partitions(key: str) -> Tuple[int, int]:
    """Of a task's key: the first one, and the one behind the last."""
    numbers = key.removesuffix(COPY).split("-")[2:]
    return (int(numbers[0]), int(numbers[1])) if len(numbers) > 1 else (int(numbers[0]), int(numbers[0]) + 1)


def _some(partitions: Iterable[int]) -> str:
    """Which ones, in words."""
    found = sorted(set(partitions))
    named = ", ".join(map(str, found[:_NAMED])) + (f" and {len(found) - _NAMED} more" if len(found) > _NAMED else "")
    return f"partition{'s' if len(found) > 1 else ''} {named}"


def _age(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def facts_of(tasks: Sequence[Task], silent: Dict[str, float], now_ms: int) -> List[Fact]:
    """Stage by stage: what failed, what runs, what waits for a worker, and what for another stage."""
    fragments = [one for one in tasks if _KEY.match(one.key)]
    by_key = {one.key: one for one in tasks}
    stages: Dict[str, List[Task]] = {}
    for one in fragments:
        stages.setdefault(one.key.split("-")[1], []).append(one)
    running = [one.seconds for one in fragments if one.state == "processing" and one.seconds > 0]
    others = statistics.median(running) if running else 0.0
    facts = []
    for digest, its in sorted(stages.items(), key=lambda one: any(task.state == "waiting" for task in one[1])):  # what runs is told first
        name = next((one.stage for one in its if one.stage), digest)
        for one in its:
            first, end = _partitions(one.key)
            if one.state == "erred":
                facts.append(Fact("failed", f"stage {name}, {_some(range(first, end))} failed: {one.error or 'without a message'}", name, first))
            elif one.state == "processing":
                since = now_ms - int(one.seconds * 1000)
                what = f"stage {name}, {_some(range(first, end))}" + (", a second time," if one.key.endswith(COPY) else "")
                if one.seconds == 0:
                    facts.append(Fact("assigned", f"{what} waits for a thread of {one.worker}", name, first, one.worker))
                elif one.seconds > LEAST_S and one.seconds > TIMES * others:
                    facts.append(Fact("slow", f"{what} runs on {one.worker} for {_age(one.seconds)}, where others run for {_age(others)}", name, first,
                                      one.worker, since))
                else:
                    facts.append(Fact("running", f"{what} runs on {one.worker} for {_age(one.seconds)}", name, first, one.worker, since))
        free = [one for one in its if one.state in _WAITING and not one.reads]
        if free:
            facts.append(Fact("queue", f"stage {name}, {_some(p for one in free for p in range(*_partitions(one.key)))} wait for a worker", name))
        wanted = {key.split("-")[1] for one in its if one.state == "waiting" for key in _through(one, by_key)}
        for other in wanted:
            theirs = stages.get(other, [])
            done = sum(one.state == "memory" for one in theirs)
            called = next((one.stage for one in theirs if one.stage), other)
            facts.append(Fact("input", f"stage {name} waits for stage {called}, of which {done} of {len(theirs)} tasks are done", name))
    facts += [Fact("node", f"{address} has told nothing for {_age(seconds)}", node=address) for address, seconds in silent.items() if seconds > _SILENT_S]
    return facts


def _through(task: Task, by_key: Dict[str, Task]) -> List[str]:
    """Keys of the fragments that it waits for, also where a task between gathers them."""
    found = []
    for key in task.reads:
        if _KEY.match(key):
            found.append(key)
        elif key in by_key:
            found += filter(_KEY.match, by_key[key].reads)
    return found


def _inside(tasks: Sequence[Task], answers: Dict[str, str]) -> List[Fact]:
    """What fragments wait for on their workers, in the words of these."""
    stages = {one.key.split("-")[1]: one.stage for one in tasks if one.stage}
    facts = []
    for node, said in answers.items():
        for line in said.splitlines():
            word, _, rest = line.partition(" ")
            key, _, text = rest.partition(" ")
            if word == "trouble":
                facts.append(Fact("node", f"{node}: {rest}", node=node))
            elif word == "why" and _KEY.match(key) and key.split("-")[1] in stages:
                facts.append(Fact("inside", f"on {node}: {text}", stages[key.split("-")[1]], _partitions(key)[0], node))
    return facts


def main(address: str, subject: str = "") -> None:
    """subject: a stage; "": all."""
    client = connected(address)
    told, silent = client.run_on_scheduler(_teller(), (_FRAGMENT, GATHERED))
    tasks = [Task(*one) for one in told]
    fragments = [one for one in tasks if _KEY.match(one.key)]
    facts = facts_of(tasks, silent, int(time.time() * 1000))
    facts += _inside(fragments, ask_all(client, sorted({one.worker for one in fragments if one.worker}), ["--why"]))
    facts = [one for one in facts if subject in ("", one.stage) or not one.stage]
    print(f"counts {len(fragments)} {sum(one.state == 'memory' for one in fragments)}")
    for one in facts:
        print(one.line())
    end()
