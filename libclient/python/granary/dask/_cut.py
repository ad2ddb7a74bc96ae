"""From SQL and graphs to plans of fragments: granary's own command cuts them, here or, for a process without an instance, on a node."""
from __future__ import annotations

import json
import os
import subprocess
from typing import Any, Callable, Mapping, Optional, Tuple, Union

from .. import _instance
from .._errors import Invalid
from ._plan import Plan


Again = Callable[[Mapping[str, int]], Plan]
"""Cuts the same once more, with sizes of stages that were found, by their digests."""


def sql(client: Any, text: str, partitions: Optional[int], smallest: Optional[int]) -> Tuple[Plan, Optional[Again]]:
    """A plan, and what cuts it again when sizes turn out otherwise."""
    from . import _results

    session = _results.session_here()
    if session is None:
        return _plan(client, "sql", text, partitions, smallest), None
    count = partitions or _workers(client)
    own = session._client

    def again(sizes: Mapping[str, int]) -> Plan:
        return Plan.of(own.sql_cut(text, count, smallest or 0, list(sizes.items())))

    return again({}), again


def _workers(client: Any) -> int:
    return max(1, len(client.scheduler_info()["workers"]))


def graph(client: Any, given: Union[str, Mapping[str, Any]], partitions: Optional[int], smallest: Optional[int]) -> Plan:
    """A graph as text or object; a plan is taken as it is."""
    value = json.loads(given) if isinstance(given, str) else given
    if "granary_fragments" in value:
        return Plan.of(value)
    return _plan(client, "run", json.dumps(value), partitions, smallest)


def _plan(client: Any, command: str, text: str, partitions: Optional[int], smallest: Optional[int]) -> Plan:
    from . import _results

    count = partitions or _workers(client)
    session = _results.session_here()
    if session is not None:
        return Plan.of(cut(command, text, count, smallest, session.instance, session.session, os.getcwd()))
    return Plan.of(client.submit(_on_node, command, text, count, smallest, os.getcwd(), pure=False).result())


def _on_node(command: str, text: str, partitions: int, smallest: Optional[int], directory: str) -> str:
    """A task."""
    from . import _plugin

    session = _plugin.here().session
    return cut(command, text, partitions, smallest, session.instance, session.session, directory)


def cut(command: str, text: str, partitions: int, smallest: Optional[int], instance: Optional[str], session: Optional[str],
        directory: str) -> str:
    """What `granary sql` or `granary run` makes of it. Paths are relative to the directory."""
    words = [_instance.program(), command, "--fragments", str(partitions)]
    words += ["--fragment-bytes", str(smallest)] if smallest else []
    words += ["--instance", instance] if instance else []
    words += ["--session", session] if session else []
    given = text if command == "sql" else "-"
    done = subprocess.run([*words, "--", given], input=None if command == "sql" else text, capture_output=True, text=True, cwd=directory)
    if done.returncode != 0:
        raise Invalid(done.stderr.strip().removeprefix(f"granary: {command}: "))
    return done.stdout
