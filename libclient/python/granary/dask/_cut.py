"""From SQL and graphs to plans of fragments: granary's own command cuts them, here or, for a process without an instance, on a node."""
from __future__ import annotations

import hashlib
import json
import os
import subprocess
from typing import Any, Dict, List, Mapping, Optional, Union

from .. import _instance
from .._errors import Invalid
from .._granary import VERSION
from ._plan import Plan


def sql(client: Any, text: str, partitions: Optional[int]) -> Plan:
    return _plan(client, "sql", text, partitions)


def graph(client: Any, given: Union[str, Mapping[str, Any]], partitions: Optional[int]) -> Plan:
    """A graph as text or object; a plan is taken as it is."""
    value = json.loads(given) if isinstance(given, str) else given
    if "granary_fragments" in value:
        return Plan.of(value)
    return _plan(client, "run", json.dumps(value), partitions)


def _plan(client: Any, command: str, text: str, partitions: Optional[int]) -> Plan:
    from . import _results

    count = partitions or max(1, len(client.scheduler_info()["workers"]))
    session = _results.session_here()
    if session is not None:
        return Plan.of(cut(command, text, count, session.instance, session.session, os.getcwd()))
    return Plan.of(client.submit(_on_node, command, text, count, os.getcwd(), pure=False).result())


def _on_node(command: str, text: str, partitions: int, directory: str) -> Dict[str, Any]:
    """A task."""
    from . import _plugin

    session = _plugin.here().session
    return cut(command, text, partitions, session.instance, session.session, directory)


def cut(command: str, text: str, partitions: int, instance: Optional[str], session: Optional[str], directory: str) -> Dict[str, Any]:
    """What `granary sql` or `granary run` makes of it."""
    words = [_instance.program(), command, "--graph"]
    words += ["--instance", instance] if instance else []
    words += ["--session", session] if session else []
    given = text if command == "sql" else "-"
    done = subprocess.run([*words, "--", given], input=None if command == "sql" else text, capture_output=True, text=True, cwd=directory)
    if done.returncode != 0:
        raise Invalid(done.stderr.strip().removeprefix(f"granary: {command}: "))
    return _whole(json.loads(done.stdout), directory)


def _whole(graph_: Mapping[str, Any], directory: str) -> Dict[str, Any]:
    """A plan that runs a graph as it is, in one place: a stage for each of its targets."""
    for node in graph_["nodes"].values():
        if node["op"].startswith("read_"):
            node["path"] = os.path.join(directory, node["path"])
    stages: List[Dict[str, Any]] = []
    targets: List[Dict[str, Any]] = []
    for place, name in enumerate(graph_["targets"]):
        alone = {**graph_, "nodes": _needed(graph_["nodes"], name), "targets": [name]}
        digest = hashlib.md5(json.dumps(alone, sort_keys=True).encode()).hexdigest()
        stages.append({"name": f"s{place}", "digest": digest, "partitions": 1, "graph": alone})
        targets.append({"name": name, "stage": f"s{place}", "kind": ""})
    return {"granary_fragments": 1, "version": VERSION, "partitions": 1, "stages": stages, "targets": targets}


def _needed(nodes: Mapping[str, Any], target: str) -> Dict[str, Any]:
    found: Dict[str, Any] = {}
    left: List[str] = [target]
    while left:
        name = left.pop()
        if name not in found:
            node = found[name] = nodes[name]
            left += [node["input"]] if "input" in node else node.get("inputs", [])
    return {name: node for name, node in nodes.items() if name in found}
