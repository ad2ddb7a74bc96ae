"""Packs: fragments of a stage that one task of Dask runs one after the other, and tickets that one task gathers for many.

Dask has work for each task, for each edge between two, and for each copy of a result. So a stage of very many partitions becomes fewer
tasks, as long as every thread of the nodes has some of them to begin with, and to even out what takes longer. Where many fragments read
all of many, a task between them gathers the tickets: N + P edges then stand for N * P.
"""
from __future__ import annotations

from typing import Any, Iterator, List, Sequence, Tuple

from ._handle import GATHERED, TICKET_BYTES, Handle
from ._plan import Stage

EACH = 8
"""Tasks a thread, at least, before fragments share one."""

EDGES = 512
"""More of them between two stages have a task in between."""

Range = Tuple[int, int]
"""Partitions: the first, and the one behind the last."""


class Pack:
    """The handles of a pack, in the order of partitions."""

    __slots__ = ("handles",)

    def __init__(self, handles: Sequence[Handle]) -> None:
        self.handles = tuple(handles)

    @property
    def size(self) -> int:
        """Bytes of all chunks."""
        return sum(one.size for one in self.handles)

    def __sizeof__(self) -> int:
        return sum(one.__sizeof__() for one in self.handles)

    def __reduce__(self) -> Any:
        return Pack, (self.handles,)


class Tickets(Pack):
    """Those of a stage. What they stand for lies elsewhere, also where this process has some of it."""

    __slots__ = ()

    def __sizeof__(self) -> int:
        return TICKET_BYTES * len(self.handles)

    def __reduce__(self) -> Any:
        return Tickets, (self.handles,)


def gather(results: Sequence[Any]) -> Tickets:
    """A task."""
    return Tickets(list(handles(results)))


def gather_key(stage: Stage) -> str:
    return f"{GATHERED}{stage.digest}"


def ranges(partitions: int, threads: int, whole: bool = True) -> List[Range]:
    """The packs of a stage. whole: False when its fragments have to be tasks of their own."""
    each = max(1, partitions // (threads * EACH)) if whole else 1
    return [(first, min(first + each, partitions)) for first in range(0, partitions, each)]


def key(stage: Stage, pack: Range) -> str:
    """Of the task: that of its fragment, when it has one."""
    return stage.key(pack[0]) if pack[1] - pack[0] == 1 else f"{stage.key(pack[0])}-{pack[1]}"


def handles(results: Sequence[Any]) -> Iterator[Handle]:
    """Of packs and fragments, one partition after the other."""
    for one in results:
        yield from one.handles if isinstance(one, Pack) else (one,)


def reads_of(reads: Sequence[Any], place: int) -> List[Any]:
    """What one fragment of a pack reads: of a stage with the same packs, the partition in the same place."""
    return [[node, take, flat[place : place + 1] if take == "same" else flat, *of_source]
            for node, take, flat, of_source in ((node, take, list(handles(results)), more) for node, take, results, *more in reads)]
