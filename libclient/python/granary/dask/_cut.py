"""From SQL and graphs to plans of fragments: granary's own command cuts them, here or, for a process without an instance, on a node."""
from __future__ import annotations

import json
import os
import subprocess
from typing import Any, Callable, Mapping, Optional, Sequence, Tuple, Union

from .. import _instance
from .._errors import Invalid
from . import _sources
from ._plan import Plan
from ._sources import Source


Again = Callable[[Mapping[str, int]], Plan]
"""Cuts the same once more, with sizes of stages that were found, by their digests."""


_MOST_PARTITIONS = 32
"""Into which a plan is cut for the sake of a collection's, unless there are more workers: a shuffle has as many times as many chunks."""


def sql(client: Any, text: str, partitions: Optional[int], smallest: Optional[int],
        sources: Sequence[Source] = ()) -> Tuple[Plan, Optional[Again]]:
    """A plan, and what cuts it again when sizes turn out otherwise. sources: that the text names."""
    from . import _results

    session = _results.session_here()
    if session is None:
        return _plan(client, "sql", text, partitions, smallest), None
    count = partitions or _count(client, sources)
    told = [one.told(one.name) for one in sources]
    own = session._client

    def again(sizes: Mapping[str, int]) -> Plan:
        return Plan.of(own.sql_cut(text, count, smallest or 0, list(sizes.items()), told))

    return again({}), again


def _count(client: Any, sources: Sequence[Source]) -> int:
    """As many parts as there are workers, or as a collection has partitions."""
    workers = max(1, len(client.scheduler_info()["workers"]))
    most = max((one.partitions for one in sources), default=0)
    return max(workers, min(most, max(_MOST_PARTITIONS, 2 * workers))) if most > 1 else workers


def graph(client: Any, given: Union[str, Mapping[str, Any]], partitions: Optional[int], smallest: Optional[int]) -> Plan:
    """A graph as text or object; a plan is taken as it is."""
    value = json.loads(given) if isinstance(given, str) else given
    if "granary_fragments" in value:
        return Plan.of(value)
    value, sources = _sources.of_graph(value)
    return _plan(client, "run", json.dumps(value), partitions, smallest, sources)


def _plan(client: Any, command: str, text: str, partitions: Optional[int], smallest: Optional[int],
          sources: Mapping[str, Source] = {}) -> Plan:
    from . import _results

    count = partitions or _count(client, list(sources.values()))
    session = _results.session_here()
    if session is not None:
        told = [one.told(name) for name, one in sources.items()]
        return Plan.of(cut(command, text, count, smallest, session.instance, session.session, os.getcwd(), told))
    return Plan.of(client.submit(_on_node, command, text, count, smallest, os.getcwd(), pure=False).result())


def _on_node(command: str, text: str, partitions: int, smallest: Optional[int], directory: str) -> str:
    """A task."""
    from . import _plugin

    node = _plugin.here()
    try:
        return cut(command, text, partitions, smallest, node.session.instance, node.session.session, directory)
    except Invalid:
        node.look()  # a node whose instance has gone leaves, and another one cuts the plan
        raise


def cut(command: str, text: str, partitions: int, smallest: Optional[int], instance: Optional[str], session: Optional[str],
        directory: str, sources: Sequence[Tuple[str, int, int]] = ()) -> str:
    """What `granary sql` or `granary run` makes of it. Paths are relative to the directory."""
    words = [_instance.program(), command, "--fragments", str(partitions)]
    words += ["--fragment-bytes", str(smallest)] if smallest else []
    for name, size, count in sources:
        words += ["--fragment-source", f"{name}={count}:{size}"]
    words += ["--instance", instance] if instance else []
    words += ["--session", session] if session else []
    given = text if command == "sql" else "-"
    done = subprocess.run([*words, "--", given], input=None if command == "sql" else text, capture_output=True, text=True, cwd=directory)
    if done.returncode != 0:
        raise Invalid(done.stderr.strip().removeprefix(f"granary: {command}: "))
    return done.stdout
