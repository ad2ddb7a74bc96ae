"""Methods and functions made from granary's table of operators and functions: of frames, of expressions, and what opens files.

Every one has its signature and its text from the table. ALIASES gives them the names that pandas and Polars have; there is no other
list here. _made.pyi, for type checkers, is made from the same table (make_stub.py).
"""
from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, List, Optional, Tuple

from ._tables import Function, Operator, functions, nearest, operators

# Methods of frames that compute at once: what they do is outside the frame.
ACTS = {"append_to": "append_to", "write_csv": "sink_csv", "write_ndjson": "sink_ndjson", "write_arrow": "sink_arrow",
        "write_parquet": "sink_parquet"}
# Frames' operators that are no methods, with the reason.
NOT_METHODS = {"from_tensor": "its input is a tensor", "write_npy": "its input is a tensor", "concat": "gr.concat([...])",
               "groupby_combine": "its input are objects", "shuffle": "a part of a plan for several machines",
               "sort_sample": "the same", "shuffle_sorted": "the same"}
# Names that pandas or Polars have for operators.
ALIASES = {"merge": "join", "sort_values": "sort", "limit": "head", "unique": "distinct", "drop_duplicates": "distinct",
           "drop_nulls": "dropna", "fill_null": "fillna", "cast": "astype_columns", "astype": "astype_columns", "clip": "clip_columns",
           "where": "where_columns", "mask": "mask_columns", "top_k": "nlargest", "bottom_k": "nsmallest",
           "with_row_index": "reset_index", "join_asof": "merge_asof", "stack": "stack_columns",
           "unpivot": "melt", "approx_n_unique": "n_unique", "is_duplicated": "duplicated"}
# The same for functions of expressions, aggregates and windows.
EXPRESSION_ALIASES = {"n_unique": "nunique", "approx_n_unique": "nunique", "cum_sum": "cumsum", "cum_mean": "cummean", "cum_prod": "cumprod", "cum_max": "cummax",
                      "cum_min": "cummin", "forward_fill": "ffill", "backward_fill": "bfill", "product": "prod", "kurt": "kurtosis",
                      "implode": "list", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "log": "ln", "is_infinite": "isinf"}
STR_ALIASES = {"to_lowercase": "lower", "to_uppercase": "upper", "len_chars": "length", "strip_chars": "trim",
               "strip_chars_start": "ltrim", "strip_chars_end": "rtrim", "pad_start": "lpad", "pad_end": "rpad", "to_titlecase": "title",
               "slice": "substring", "to_datetime": "strptime", "extract_all": "regexp_extract_all", "split": "string_split"}
DT_ALIASES = {"truncate": "date_trunc", "ordinal_day": "dayofyear", "to_string": "strftime"}
_KEYWORDS = {"from": "start", "with": "value"}
_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
_EMPTY = inspect.Parameter.empty


def _bind(name: str, signature: inspect.Signature, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Dict[str, Any]:
    """Arguments by name; the error for an unknown one says which was meant."""
    for given in kwargs:
        if given not in signature.parameters:
            known = [p for p in signature.parameters if p != "self"]
            raise TypeError(f"{name}() has no parameter {given!r}{nearest(given, known)}; it has: {', '.join(known) or 'none'}")
    try:
        bound = dict(signature.bind(*args, **kwargs).arguments)
    except TypeError as error:
        raise TypeError(f"{name}(): {error}") from None
    return {k: v for k, v in bound.items() if k != "self"}


def _finish(function: Any, name: str, owner: str, signature: inspect.Signature, doc: str) -> Any:
    function.__name__ = name
    function.__qualname__ = f"{owner}.{name}" if owner else name
    function.__module__ = __name__
    function.__signature__ = signature
    function.__doc__ = doc
    return function


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


# ---- operators ----

def operator_parameters(op: Operator) -> List[inspect.Parameter]:
    """Those that must be given first. A default that the table has is shown."""
    ordered = sorted(op.parameters.values(), key=lambda p: not p.required)
    return [inspect.Parameter(p.name, _POSITIONAL, default=_EMPTY if p.required else p.default) for p in ordered]


def operator_doc(op: Operator) -> str:
    rows = [f"{p.name}: {p.kind}{', required' if p.required else f', default {p.default!r}' if p.default is not None else ''}. {p.doc}"
            for p in op.parameters.values()]
    return "\n\n".join(filter(None, [_sentence(op.summary), "\n".join(rows), op.doc]))


def inputs_of(op: Operator) -> List[str]:
    return [] if op.most <= 1 else ["other"]


def _operator_method(op: Operator, name: str) -> Any:
    others = inputs_of(op)
    parameters = [inspect.Parameter("self", _POSITIONAL)] + [inspect.Parameter(o, _POSITIONAL) for o in others] + operator_parameters(op)
    signature = inspect.Signature(parameters)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        bound = _bind(name, signature, (self,) + args, kwargs)
        frames = [bound.pop(o) for o in others]
        return self._act(op, frames, bound) if op.name in ACTS else self._apply(op, frames, bound)

    return _finish(method, name, "LazyFrame", signature, operator_doc(op))


def is_method(op: Operator) -> bool:
    """Whether an operator is one of a frame's methods."""
    return (op.section == "Frames" and op.least > 0 and op.name not in NOT_METHODS) or op.name == "map_chunk"


def method_name(op: Operator) -> str:
    return ACTS.get(op.name, op.name)


def _frame_methods() -> Dict[str, Any]:
    made = {method_name(op): _operator_method(op, method_name(op)) for op in operators().values() if is_method(op)}
    for alias, name in ALIASES.items():
        made[alias] = _operator_method(operators()[name], alias)
    return made


def source_name(op: Operator) -> str:
    return op.name.replace("read_", "scan_", 1) if op.name.startswith("read_") else op.name


def is_source(op: Operator) -> bool:
    return op.section == "Frames" and op.least == 0


def _source(op: Operator) -> Any:
    name = source_name(op)
    signature = inspect.Signature(operator_parameters(op))

    def function(*args: Any, **kwargs: Any) -> Any:
        from ._lazy import make_source
        return make_source(op, _bind(name, signature, args, kwargs))

    return _finish(function, name, "", signature, operator_doc(op))


# ---- functions of expressions ----

def _argument_name(name: str) -> str:
    return _KEYWORDS.get(name, name)


def _arguments_after(function: Function, subject: Optional[str]) -> List[inspect.Parameter]:
    others = [a for a in function.arguments if a != subject]
    needed = len(others) - function.optional + (1 if subject is not None and len(function.arguments) - function.optional <= 0 else 0)
    made = [inspect.Parameter(_argument_name(a), _POSITIONAL, default=_EMPTY if i < needed else None) for i, a in enumerate(others)]
    if function.variadic:
        made.append(inspect.Parameter("more", inspect.Parameter.VAR_POSITIONAL))
    return made


def subject_of(function: Function) -> Optional[str]:
    """Whose method it is: of a string, of a date, else of the first argument."""
    for kind in ("s", "d"):
        if kind in function.arguments:
            return kind
    return function.arguments[0] if function.arguments and not function.name.startswith("make_") else None


def _ordered(function: Function, subject: Optional[str], own: Any, bound: Dict[str, Any]) -> List[Any]:
    """Operands in the function's own order, without those that were left out at the end."""
    given = [own if a == subject else bound.get(_argument_name(a)) for a in function.arguments]
    while len(given) > function.least and given and given[-1] is None:
        given.pop()
    return given + list(bound.get("more", ()))


def _function_method(function: Function, name: str, owner: str) -> Any:
    subject = subject_of(function)
    signature = inspect.Signature([inspect.Parameter("self", _POSITIONAL)] + _arguments_after(function, subject))

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        from ._expr import call
        bound = _bind(name, signature, (self,) + args, kwargs)
        return call(function.name, *_ordered(function, subject, getattr(self, "_expr", self), bound))

    return _finish(method, name, owner, signature, _sentence(function.doc))


def is_expression_method(function: Function) -> bool:
    """Those with a ^ are for SQL."""
    return function.name.isidentifier() and subject_of(function) is not None


def _gap(function: Function, at: int, given: List[Any]) -> Any:
    """What stands for an argument that is left out before others that are given."""
    name = function.arguments[at]
    if name == "min_periods":
        return 0 if function.name == "rolling_count" else given[function.arguments.index("window")]
    return {"method": "average", "descending": False, "n": 1, "adjust": True, "ddof": 1, "fill": False}.get(name)


def _part_method(function: Function, name: str, windows: bool, subject: Optional[str]) -> Any:
    own = inspect.Parameter("self", _POSITIONAL)
    if subject is None:
        parameters = [inspect.Parameter(a, _POSITIONAL, default=_EMPTY if i < function.least else None)
                      for i, a in enumerate(function.arguments) if a != "x"]
    else:
        parameters = [own] + [inspect.Parameter(a, _POSITIONAL, default=_EMPTY if i < function.least else None)
                              for i, a in enumerate(function.arguments) if i > 0]
    signature = inspect.Signature(parameters)

    def method(*args: Any, **kwargs: Any) -> Any:
        from ._expr import part
        bound = _bind(name, signature, args, kwargs)
        first = [args[0]] if subject is not None else []
        others = [a for a in function.arguments if a != (subject or "x")]
        given = [bound.get(a) for a in others]
        last = max((i for i, v in enumerate(given) if v is not None), default=-1)
        for i in range(last):
            if given[i] is None:
                given[i] = _gap(function, i + len(first), first + given)
        return part(function.name, first + given[:last + 1], windows)

    doc = _sentence(function.doc)
    if not windows and function.name in functions("windows"):
        doc += " With over(), of the rows of a partition."
    return _finish(method, name, "Expr" if subject else "", signature, doc)


def _expression_methods() -> Tuple[Dict[str, Any], Dict[str, Any], Dict[str, Any]]:
    plain: Dict[str, Any] = {}
    texts: Dict[str, Any] = {}
    dates: Dict[str, Any] = {}
    for function in functions("functions").values():
        if is_expression_method(function):
            subject = subject_of(function)
            home, owner = (texts, "Expr.str") if subject == "s" else (dates, "Expr.dt") if subject == "d" else (plain, "Expr")
            for name in [function.name, *function.aliases]:
                home[name] = _function_method(function, name, owner)
    for kind in ("windows", "aggregates"):  # what both have is an aggregate that over() makes a window
        for function in functions(kind).values():
            if function.arguments and function.arguments[0] == "x":
                plain[function.name] = _part_method(function, function.name, kind == "windows", "x")
    for aliases, home in ((EXPRESSION_ALIASES, plain), (STR_ALIASES, texts), (DT_ALIASES, dates)):
        for alias, name in aliases.items():
            home.setdefault(alias, home[name])
    return plain, texts, dates


def _free_functions() -> Dict[str, Any]:
    """All functions with all their operands as arguments; windows that have none."""
    made: Dict[str, Any] = {}
    for function in functions("functions").values():
        if function.name.isidentifier():
            for name in [function.name, *function.aliases]:
                made[name] = _free_function(function, name)
    for kind in ("windows", "aggregates"):
        for function in functions(kind).values():
            without_x = not function.arguments or function.arguments[0] != "x" or function.least == 0
            if without_x:
                made[function.name] = _part_method(function, function.name, kind == "windows", None)
    return made


def _free_function(function: Function, name: str) -> Any:
    parameters = [inspect.Parameter(_argument_name(a), _POSITIONAL, default=_EMPTY if i < function.least else None)
                  for i, a in enumerate(function.arguments)]
    if function.variadic:
        parameters.append(inspect.Parameter("more", inspect.Parameter.VAR_POSITIONAL))
    signature = inspect.Signature(parameters)

    def made(*args: Any, **kwargs: Any) -> Any:
        from ._expr import call
        return call(function.name, *_ordered(function, None, None, _bind(name, signature, args, kwargs)))

    return _finish(made, name, "", signature, _sentence(function.doc))


class _Namespace:
    """Methods for the values of one kind: an expression's .str and .dt."""

    __slots__ = ("_expr",)

    def __init__(self, expression: Any) -> None:
        self._expr = expression


def _joined_text(self: Any, delimiter: str = "", *, ignore_nulls: bool = True) -> Any:
    """The texts of a group as one, in the order of the rows. Nulls are left out; ignore_nulls=False: one makes the whole null."""
    from ._expr import when
    whole = self._expr.implode().list.join(delimiter)
    return whole if ignore_nulls else when(self._expr.is_null().any()).then(None).otherwise(whole)


def _count_matches(self: Any, pattern: str) -> Any:
    """How many parts match a regular expression."""
    from ._expr import call
    return call("list_length", call("regexp_extract_all", self._expr, pattern))


_plain, _texts, _dates = _expression_methods()
_texts["count_matches"] = _finish(_count_matches, "count_matches", "Expr.str", inspect.signature(_count_matches), _count_matches.__doc__ or "")
_texts["join"] = _finish(_joined_text, "join", "Expr.str", inspect.signature(_joined_text), _joined_text.__doc__ or "")
ExprMethods: Any = type("ExprMethods", (), {**_plain, "__slots__": ()})
StrMethods: Any = type("StrMethods", (_Namespace,), {**_texts, "__slots__": ()})
DtMethods: Any = type("DtMethods", (_Namespace,), {**_dates, "__slots__": ()})
FrameMethods: Any = type("FrameMethods", (), _frame_methods())
SOURCES: Dict[str, Callable[..., Any]] = {source_name(op): _source(op) for op in operators().values() if is_source(op)}
FUNCTIONS: Dict[str, Callable[..., Any]] = _free_functions()
