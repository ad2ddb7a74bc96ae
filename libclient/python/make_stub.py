"""_made.pyi: what type checkers and editors know of the methods that are made from the table of operators.

    make_stub.py DIRECTORY       DIRECTORY/granary has _operators.json and frames; granary/frames/_made.pyi is written there

It looks at the methods as Python has them, so there is no second description of their signatures.
"""
from __future__ import annotations

import inspect
import os
import sys
from typing import Any, Dict, List

KINDS = {"int": "int", "number": "float", "value": "Union[int, float]", "bool": "bool", "string": "str", "ints": "Union[int, Sequence[int]]",
         "bools": "Union[bool, Sequence[bool]]", "numbers": "Union[float, Sequence[float]]", "strings": "Names", "map": "Mapping[Any, Any]"}
HEAD = '''"""Made by make_stub.py from granary's table of operators: change that."""
import os
from typing import IO, Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from ._tables import Function, Operator
from ._expr import Expr
from ._lazy import LazyFrame

Names = Union[str, Expr, Sequence[Union[str, int, float, Expr]]]
ACTS: Dict[str, str]
NOT_METHODS: Dict[str, str]
ALIASES: Dict[str, str]
EXPRESSION_ALIASES: Dict[str, str]
STR_ALIASES: Dict[str, str]
DT_ALIASES: Dict[str, str]
SOURCES: Dict[str, Callable[..., LazyFrame]]
FUNCTIONS: Dict[str, Callable[..., Expr]]

def is_method(op: Operator) -> bool: ...
def is_source(op: Operator) -> bool: ...
def method_name(op: Operator) -> str: ...
def source_name(op: Operator) -> str: ...
def subject_of(function: Function) -> Optional[str]: ...
def is_expression_method(function: Function) -> bool: ...

'''


def shown_default(value: Any) -> str:
    return " = ..." if value is not inspect.Parameter.empty else ""


def signature(function: Any, types: Dict[str, str]) -> str:
    shown: List[str] = []
    for p in inspect.signature(function).parameters.values():
        kind = types.get(p.name, "Any")
        optional = f"Optional[{kind}]" if p.default is None and kind != "Any" else kind
        star = "*" if p.kind is inspect.Parameter.VAR_POSITIONAL else ""
        shown.append(p.name if p.name == "self" else f"{star}{p.name}: {optional}{shown_default(p.default)}")
    return ", ".join(shown)


def written(owner: Any, name: str) -> bool:
    """Whether a class, or one that it is made of, has the method in a file of its own."""
    return any(name in vars(c) for c in owner.__mro__ if c.__module__ not in ("granary.frames._made", "builtins"))


def method(name: str, function: Any, types: Dict[str, str], gives: str) -> str:
    first = (function.__doc__ or "").split("\n")[0].replace("\\", "\\\\").replace('"', "'")
    return f'    def {name}({signature(function, types)}) -> {gives}:\n        """{first}"""\n'


def main() -> None:
    directory = sys.argv[1]
    sys.path.insert(0, directory)
    from granary.frames import _made, _expr as expr, _lazy as lazy
    from granary.frames._tables import VALUES, operators

    def types_of(op: Any) -> Dict[str, str]:
        made = {p.name: "Any" if p.expression or (op.name, p.name) in VALUES else KINDS[p.kind] for p in op.parameters.values()}
        one = "Union[str, os.PathLike[str]]"
        if "paths" in made:
            return {**made, "path": f"Union[{one}, Sequence[{one}], IO[Any]]", "paths": f"Sequence[{one}]", "hive": "Union[bool, str]"}
        return {**made, **({"path": one} if "path" in made else {})}

    text = HEAD
    for owner, methods in (("ExprMethods", expr.Expr), ("StrMethods", None), ("DtMethods", None)):
        text += f"class {owner}:\n" + ("" if methods else "    def __init__(self, expression: Expr) -> None: ...\n")
        for name, function in sorted(vars(getattr(_made, owner)).items()):
            if callable(function) and not name.startswith("_") and (methods is None or not written(methods, name)):
                text += method(name, function, {}, "Expr")
        text += "\n"
    text += "class FrameMethods:\n"
    by_method = {_made.method_name(op): op for op in operators().values()}
    for name, function in sorted(vars(_made.FrameMethods).items()):
        if name.startswith("_") or written(lazy.LazyFrame, name):
            continue
        op = operators()[_made.ALIASES[name]] if name in _made.ALIASES else by_method[name]
        gives = "Dict[str, Any]" if op.name in _made.ACTS else "LazyFrame"
        text += method(name, function, types_of(op), gives)
    with open(os.path.join(directory, "granary", "frames", "_made.pyi"), "w", encoding="utf-8") as out:
        out.write(text)


if __name__ == "__main__":
    main()
