"""Expressions with aggregates and windows inside, as steps: nodes that make a column of each part, and what uses them.

A part's column has a name that no user's column has. `made()` makes those that a list of expressions needs; `without()` drops them.
"""
from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from . import _literals as literals
from ._plan import Node
from ._expr import Expr, Over, Part, as_column, expr, lit

Named = Dict[str, Expr]


def name_of(expression: Expr) -> str:
    if expression._label is None:
        return "literal"
    return expression._label


def named(positional: Iterable[Any], keyword: Dict[str, Any], what: str) -> Named:
    """Expressions under the names of the columns that they make; a str is a column."""
    made: Named = {}
    for one in positional:
        if isinstance(one, dict):
            for name, value in one.items():
                made[name] = as_column(value) if isinstance(value, Expr) else _text_or_value(value)
            continue
        expression = as_column(one)
        name = name_of(expression)
        if name in made:
            raise ValueError(f"{what}: two columns have the name {name!r}: give one another name by alias()")
        made[name] = expression
    for name, value in keyword.items():
        made[name] = value if isinstance(value, Expr) else _text_or_value(value)
    return made


def _text_or_value(value: Any) -> Expr:
    """Behind a name, a str is an expression's text, as in pandas' eval()."""
    return expr(value) if isinstance(value, str) else lit(value)


def parts_of(expressions: Iterable[Expr]) -> List[Part]:
    return list(dict.fromkeys(p for e in expressions for p in e._parts))


def columns_map(expressions: Named) -> Dict[str, str]:
    return {name: e._text for name, e in expressions.items()}


def made(node: Node, parts: Sequence[Part]) -> Tuple[Node, List[str]]:
    """The node with a column for each part, and the names of all columns that came."""
    names: List[str] = []
    waiting = list(dict.fromkeys(_all_needed(parts)))
    while waiting:
        ready = [p for p in waiting if all(n.name in names for n in p.needs)]
        windows: Dict[Over, List[Part]] = {}
        for part in ready:
            windows.setdefault(part.over or Over(), []).append(part)
        for over, some in windows.items():
            node = _over(node, over, some)
        names += [p.name for p in ready]
        waiting = [p for p in waiting if p not in ready]
    return node, names


def _all_needed(parts: Iterable[Part]) -> List[Part]:
    found: List[Part] = []
    for part in parts:
        found += _all_needed(part.needs) + [part]
    return found


def _over(node: Node, over: Over, parts: List[Part], names: Optional[Dict[str, str]] = None) -> Node:
    """names: of the columns, by those of the parts; for windows only."""
    windows = [p for p in parts if p.windows]
    others = [p for p in parts if not p.windows]
    if windows:
        parameters: Dict[str, Any] = {"columns": {(names or {}).get(p.name, p.name): p.text for p in windows}}
        if over.partition:
            parameters["partition"] = list(over.partition)
        if over.by:
            parameters.update(by=list(over.by), descending=list(over.descending))
            if over.nulls:
                parameters["nulls"] = list(over.nulls)
        node = Node("window", (node,), parameters)
    if others:
        aggregates = {p.name: p.group_text for p in others}
        if over.partition:
            groups = Node("groupby", (node,), {"keys": list(over.partition), "aggregate": aggregates})
            node = Node("join", (node, groups), {"on": list(over.partition), "how": "left"})
        else:
            node = Node("join", (node, Node("aggregate", (node,), {"aggregate": aggregates})), {"how": "cross"})
    return node


def without(node: Node, names: List[str]) -> Node:
    return Node("drop", (node,), {"columns": names}) if names else node


def with_columns(node: Node, expressions: Named) -> Node:
    if not expressions:
        return node
    parts = parts_of(expressions.values())
    if len(parts) == len(expressions) and _are_one_window(expressions):
        return _over(node, parts[0].over or Over(), parts, dict(zip((p.name for p in parts), expressions)))
    node, temporary = made(node, parts)
    return without(Node("assign", (node,), {"columns": columns_map(expressions)}), temporary)


def _are_one_window(expressions: Named) -> bool:
    """Whether each is a window function and nothing else, over the same rows."""
    bare = [e._parts[0] for e in expressions.values() if len(e._parts) == 1 and e._text == literals.name(e._parts[0].name)]
    return (len(bare) == len(expressions) and all(p.windows and not p.needs for p in bare)
            and len({p.over or Over() for p in bare}) == 1)


def select(node: Node, expressions: Named) -> Node:
    """All of them aggregates: one row."""
    chosen = list(expressions.values())
    parts = parts_of(chosen)
    if parts and all(p.aggregates for p in parts) and not any(e._roots for e in chosen):
        return aggregate(node, [], expressions)
    node, _ = made(node, parts)
    if all(e._column and name_of(e) == name for name, e in expressions.items()):
        return Node("select", (node,), {"columns": list(expressions)})
    return Node("project", (node,), {"columns": columns_map(expressions)})


def keep(node: Node, conditions: List[Expr]) -> Node:
    """Rows for which all are true."""
    node, temporary = made(node, parts_of(conditions))
    whole = conditions[0]
    for other in conditions[1:]:
        whole = whole & other
    return without(Node("filter", (node,), {"where": whole._text}), temporary)


def checked(keys: List[str], expressions: Named) -> List[Part]:
    """The aggregates that expressions of groups are made of."""
    parts = parts_of(expressions.values())
    for name, e in expressions.items():
        outside = e._roots - set(keys) - {"*"}
        if outside:
            raise TypeError(f"{name!r} needs an aggregate of {sorted(outside)[0]!r}: sum(), first(), ... (one value a group)")
    for name in set(expressions) & set(keys):
        raise ValueError(f"{name!r} is a key, and an aggregate: give one another name by alias()")
    if not keys and not expressions:
        raise TypeError("agg() needs an aggregate, or group_by() a key")
    wrong = [p for p in parts if not p.aggregates]
    if wrong:
        known = "a window function" if wrong[0].windows else "no aggregate"
        raise TypeError(f"{wrong[0].function}() is {known}: a group has one value")
    return parts


def moved(op: str, node: Node, keys: List[str], kept: List[str], expressions: Named, entries: str, **parameters: Any) -> Node:
    """rolling and resample, which have aggregates as `entries`, and a step behind: the kept columns, and what is computed of aggregates."""
    parts = checked(kept, expressions)
    node, _ = made(node, [n for p in parts for n in p.needs])
    if keys:
        parameters["keys"] = keys
    moving = Node(op, (node,), {entries: {p.name: p.group_text for p in parts}, **parameters})
    return Node("project", (moving,), {"columns": {**{k: literals.name(k) for k in kept}, **columns_map(expressions)}})


def aggregate(node: Node, keys: List[str], expressions: Named, **parameters: Any) -> Node:
    """groupby, and a step behind it for what is computed of aggregates."""
    parts = checked(keys, expressions)
    node, _ = made(node, [n for p in parts for n in p.needs])
    direct = all(len(e._parts) == 1 and e._text == literals.name(e._parts[0].name) for e in expressions.values())
    if direct and expressions:
        texts = {name: e._parts[0].group_text for name, e in expressions.items()}
        return Node("groupby", (node,), {"keys": keys, "aggregate": texts, **parameters})
    grouped = Node("groupby", (node,), {"keys": keys, "aggregate": {p.name: p.group_text for p in parts} or {"__size": "size"}, **parameters})
    columns = {**{k: literals.name(k) for k in keys}, **columns_map(expressions)}
    return Node("project", (grouped,), {"columns": columns})


def single(expression: Expr, op: str) -> str:
    """Of an expression for a parameter of an operator: its text. groupby and window take the text of the function itself."""
    if not expression._parts:
        return expression._text
    if len(expression._parts) == 1 and expression._text == literals.name(expression._parts[0].name):
        part = expression._parts[0]
        fits = part.aggregates or part.over == Over() if op in ("groupby", "aggregate") else part.windows if op == "window" else False
        if fits and not part.needs and (op != "window" or part.over in (None, Over())):
            return part.text if op == "window" else part.group_text
    raise TypeError(f"{expression!r} has an aggregate or a window inside: with_columns(), select(), filter() and agg() take it")


def keyed(node: Node, keys: Sequence[Any]) -> Tuple[Node, List[str], Dict[str, str]]:
    """Columns to order or group by: a column of its own for each expression. Gives their names, and the new ones' own names."""
    names: List[str] = []
    new: Named = {}
    renamed: Dict[str, str] = {}
    for number, key in enumerate(keys):
        expression = as_column(key)
        if expression._column:
            names.append(name_of(expression))
            continue
        temporary = f"__key_{number}"
        new[temporary] = expression
        renamed[temporary] = name_of(expression)
        names.append(temporary)
    return with_columns(node, new), names, renamed

