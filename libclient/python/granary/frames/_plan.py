"""Nodes of a plan, and the graph's JSON that is made of them. Nodes never change; frames share them."""
from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Optional, Tuple


class Node:
    """An operator, its inputs and parameters. keeps: what must live as long as the node, such as a table's owner."""

    __slots__ = ("op", "inputs", "parameters", "keeps")

    def __init__(self, op: str, inputs: Tuple[Node, ...] = (), parameters: Any = None, keeps: Any = None) -> None:
        self.op = op
        self.inputs = inputs
        self.parameters: Dict[str, Any] = parameters or {}
        self.keeps = keeps


def in_order(root: Node) -> List[Node]:
    """Every node once, inputs first. Not recursive: a plan may be long."""
    done: Dict[int, Node] = {}
    stack = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if id(node) in done:
            continue
        if ready:
            done[id(node)] = node
            continue
        stack.append((node, True))
        stack += [(i, False) for i in reversed(node.inputs) if id(i) not in done]
    return list(done.values())


# Operators whose result may have chunks of their input, under other names: these go with what they stand for.
PASSING = {"table", "head", "tail", "slice", "rebalance", "concat", "filter", "sort", "encode", "dropna", "distinct", "sample", "join"}


def rests_on(root: Node) -> List[Any]:
    """What must live as long as the result: owners of chunks that may be in it."""
    found: Dict[int, Node] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        if id(node) not in found and node.op in PASSING:
            found[id(node)] = node
            stack += node.inputs
    return [node.keeps for node in found.values() if node.keeps is not None]


def named(root: Node) -> Dict[str, Node]:
    """Each node under its operator's name; the second one of an operator is `filter_2`."""
    count: Dict[str, int] = {}
    made: Dict[str, Node] = {}
    for node in in_order(root):
        count[node.op] = count.get(node.op, 0) + 1
        made[node.op if count[node.op] == 1 else f"{node.op}_{count[node.op]}"] = node
    return made


def graph(root: Node) -> Tuple[str, str]:
    """The JSON, and the name of the target."""
    names = named(root)
    by_node = {id(node): name for name, node in names.items()}
    nodes = {}
    for name, node in names.items():
        inputs = [by_node[id(i)] for i in node.inputs]
        more: Dict[str, Any] = {"inputs": inputs} if inputs else {}
        nodes[name] = {"op": node.op, **more, **node.parameters}
    target = by_node[id(root)]
    return json.dumps({"nodes": nodes, "targets": [target]}, ensure_ascii=False), target


def shown(root: Node, most: int = 30) -> str:
    """The operators with their parameters, a line each, inputs first."""
    names = named(root)
    by_node = {id(node): name for name, node in names.items()}
    lines = []
    for name, node in names.items():
        inputs = ", ".join(by_node[id(i)] for i in node.inputs)
        parameters = " ".join(f"{k}={_short(v)}" for k, v in node.parameters.items())
        lines.append(f"  {name} = {node.op}({inputs}) {parameters}".rstrip())
    if len(lines) > most:
        lines = lines[: most // 2] + [f"  ... {len(lines) - most + 1} more"] + lines[-(most // 2) + 1:]
    return "\n".join(lines)


def _short(value: Any, most: int = 120) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= most else text[: most - 3] + "..."


_TEMPORARY = re.compile(r"__\w+_[0-9a-f]{12}")


def told(message: str, text: str) -> str:
    """A message with the functions themselves where it has the names of columns that hold them. text: the graph's."""
    if not _TEMPORARY.search(message):
        return message
    functions: Dict[str, str] = {}
    for node in json.loads(text)["nodes"].values():
        for parameter in ("columns", "aggregate"):
            value = node.get(parameter)
            if isinstance(value, dict):
                functions.update({k: v for k, v in value.items() if _TEMPORARY.fullmatch(k)})
    for _ in range(4):  # one may stand in another
        message = _TEMPORARY.sub(lambda m: functions.get(m.group(), m.group()), message)
    return message


def at_time(text: str, message: str, time: int) -> Optional[str]:
    """A graph whose table, the one that the message wants to have a time, has it. None: the message wants nothing of it."""
    found = re.match(r"node '(.+?)' \(table\): .* names the time", message, re.DOTALL)
    graph_ = json.loads(text)
    node = graph_["nodes"].get(found.group(1)) if found else None
    if node is None or "time" in node:
        return None
    node["time"] = time
    return json.dumps(graph_, ensure_ascii=False)


def with_sources(root: Node, change: Any) -> Node:
    """The same plan, each source replaced by change(source)."""
    made: Dict[int, Node] = {}
    for node in in_order(root):
        inputs = tuple(made[id(i)] for i in node.inputs)
        made[id(node)] = change(node) if not node.inputs else Node(node.op, inputs, node.parameters, node.keeps)
    return made[id(root)]
