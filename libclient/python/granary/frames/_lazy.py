"""LazyFrame: a plan of operators. Its methods make longer plans; nothing runs before collect() and the other ends."""
from __future__ import annotations

import numbers
import re
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Tuple

import numpy as np

from . import _literals, _plan, _steps, selectors
from ._found import FoundGroups, FoundMethods, aggregate_text, several
from ._plan import Node
from .._progress import Progress, shown
from ._run import GranaryError, engine, retold
from ._spool import Spool, is_meant, told
from ._tables import Checker, Operator, functions, operators
from ._moving import Decaying, MovingMethods, Resampler, Rolling
from ._expr import Expr, aggregate_of, col, column_name, flat, lift, lit

if TYPE_CHECKING:
    from ._frame import Frame

_INFERRING = ("read_csv", "read_ndjson")


def _column_of(expression: Expr) -> Optional[str]:
    return expression._label if expression._column else None


def _text_of(value: Any) -> str:
    return lit(value)._text


_checker = Checker(lambda v: isinstance(v, Expr), _steps.single, _column_of, _text_of)


def check(op: str, given: Dict[str, Any]) -> Dict[str, Any]:
    """Parameters of an operator as its graph has them; None stands for what is not given."""
    return _checker.check(operators()[op], given)


def _many_files(given: Dict[str, Any]) -> Dict[str, Any]:
    """Several paths are the first and the others; hive may be a bool."""
    path, hive = given.get("path"), given.get("hive")
    if isinstance(path, (list, tuple)) and path:
        others = list(path[1:]) + list(given.get("paths") or [])
        given = {**given, "path": path[0], "paths": others or None}
    return {**given, "hive": str(hive).lower()} if isinstance(hive, bool) else given


def make_source(op: Operator, given: Dict[str, Any]) -> LazyFrame:
    given = _many_files(given) if "paths" in op.parameters else given
    spool = Spool(given["path"]) if op.name.startswith("read_") and is_meant(given.get("path")) else None
    parameters = _checker.check(op, given if spool is None else {**given, "path": spool.path})
    return LazyFrame(Node(op.name, (), parameters, spool))


class LazyFrame(MovingMethods, FoundMethods):
    """A table that is not computed yet. Methods give new frames; collect() computes one."""

    __slots__ = ("_node", "_schema")

    def __init__(self, node: Node) -> None:
        self._node = node
        self._schema: Optional[Dict[str, str]] = None

    def __repr__(self) -> str:
        return f"<LazyFrame: collect() computes it\n{_plan.shown(self._node)}>"

    def __bool__(self) -> bool:
        raise TypeError("the truth value of a LazyFrame is not known before it is computed: collect() it")

    def __len__(self) -> int:
        raise TypeError("a LazyFrame has no length before it is computed: len(frame.collect()), or count_rows()")

    def __iter__(self) -> Any:
        raise TypeError("a LazyFrame has no rows before it is computed: collect() it")

    # ---- how methods are made ----

    def _apply(self, op: Operator, others: List[Any], given: Dict[str, Any]) -> LazyFrame:
        parameters = _checker.check(op, {name: self._chosen(value) for name, value in given.items()})
        return self._then(op.name, parameters, [as_lazy(o, op.name) for o in others])

    def _chosen(self, value: Any) -> Any:
        """A parameter, with names of columns for what selects them."""
        if isinstance(value, (list, tuple)) and any(map(selectors.is_many, value)) or selectors.is_many(value):
            return selectors.all_expanded(flat((value,)), self.collect_schema)
        return value

    def _then(self, op: str, parameters: Dict[str, Any], others: Iterable[LazyFrame] = ()) -> LazyFrame:
        return LazyFrame(Node(op, (self._node, *(o._node for o in others)), parameters))

    def _act(self, op: Operator, others: List[Any], given: Dict[str, Any]) -> Dict[str, Any]:
        """Run at once; gives the one row that tells what was done, or of a folder a list for each column: a file is a row."""
        done = self._apply(op, others, given).collect().to_dict()
        return done if given.get("partition_by") else {name: values[0] for name, values in done.items()}

    def map_chunk(
        self,
        function: Any,
        *args: Any,
        columns: Optional[Dict[str, str]] = None,
        only: bool = False,
        kind: str = "pandas",
        **parameters: Any,
    ) -> LazyFrame:
        """A function of yours, applied to each chunk.

        function    takes a DataFrame (kind="pandas") or a dict of arrays (kind="numpy"), args after it, and gives the same; or
                    the name of an exported function of a library
        columns     column -> dtype of those it makes or replaces
        only        the result has only these columns
        parameters  retries, timeout_ms, memory, resources, deterministic
        """
        if not callable(function):
            return self._apply(operators()["map_chunk"], [], {"function": function, "columns": columns, "only": only, **parameters})
        from .. import _maps
        return LazyFrame(Node("map_chunk", (self._node,), _maps.frame(function, args, columns or {}, only, kind, parameters)))

    # ---- columns and rows ----

    def filter(self, *conditions: Any, where: Any = None, items: Any = None, like: Optional[str] = None,
               regex: Optional[str] = None) -> LazyFrame:
        """Rows for which all conditions are true, in their order. A str is an expression's text.

        items, like, regex: columns, as in pandas: those of these names that are there, with this in their name, or in whose name the
        regular expression is found."""
        from ._expr import expr
        if items is not None or like is not None or regex is not None:
            if sum(word is not None for word in (items, like, regex)) > 1 or conditions or where is not None:
                raise TypeError("filter() takes conditions, or one of items, like and regex")
            listed = flat(() if items is None else (items,))
            return self.select([name for name in self.collect_schema() if name in listed or like is not None and like in name
                                or regex is not None and re.search(regex, name)])
        conditions = (*flat(conditions), *flat(() if where is None else (where,)))
        conditions = tuple(expr(c) if isinstance(c, str) else lift(c) for c in conditions)
        if not conditions:
            raise TypeError("filter() needs a condition: filter(gr.col('x') > 3)")
        return LazyFrame(_steps.keep(self._node, list(conditions)))

    def select(self, *columns: Any, **named: Any) -> LazyFrame:
        """These columns: names, or expressions. Of aggregates alone, one row."""
        chosen = _steps.named(selectors.all_expanded(flat(columns), self.collect_schema), named, "select()")
        if not chosen:
            raise TypeError("select() needs a column")
        return LazyFrame(_steps.select(self._node, chosen))

    def with_columns(self, *columns: Any, **named: Any) -> LazyFrame:
        """New or replaced columns. Every expression sees the frame as it was before."""
        made = selectors.all_expanded(flat(columns), self.collect_schema)
        return LazyFrame(_steps.with_columns(self._node, _steps.named(made, named, "with_columns()")))

    def assign(self, columns: Optional[Dict[str, Any]] = None, **named: Any) -> LazyFrame:
        """New or replaced columns, by name. A str is an expression's text, as in pandas' eval()."""
        return self.with_columns({**(columns or {}), **named})

    def drop(self, columns: Any, *more: Any) -> LazyFrame:
        """All columns but these; at least one must be left."""
        return self._apply(operators()["drop"], [], {"columns": flat((columns, *more))})

    def rename(self, columns: Optional[Dict[str, str]] = None, **named: str) -> LazyFrame:
        """Columns under other names: {old: new}, or old="new"."""
        return self._apply(operators()["rename"], [], {"columns": {**(columns or {}), **named}})

    def sort(self, by: Any, *more: Any, descending: Any = None, nulls: Any = None, nan_largest: Optional[bool] = None) -> LazyFrame:
        """Rows in order; stable. by: names or expressions; the first decides. descending, nulls ('last', 'first'): one, or one each."""
        node, names, temporary = _steps.keyed(self._node, selectors.all_expanded(flat((by, *more)), self.collect_schema))
        sorted_ = LazyFrame(node)._apply(operators()["sort"], [], {"by": names, "descending": descending, "nulls": nulls,
                                                                 "nan_largest": nan_largest})
        return LazyFrame(_steps.without(sorted_._node, list(temporary)))

    def head(self, rows: int = 5) -> LazyFrame:
        """The first rows."""
        return self._apply(operators()["head"], [], {"rows": rows})

    def tail(self, rows: int = 5) -> LazyFrame:
        """The last rows."""
        return self._apply(operators()["tail"], [], {"rows": rows})

    limit = head

    # ---- groups ----

    def group_by(self, *keys: Any, dropna: Optional[bool] = None, sort: Optional[bool] = None, **named: Any) -> GroupBy:
        """Groups of rows with the same values of these keys: names or expressions. agg() gives a row for each."""
        for name, key in named.items():
            if isinstance(key, bool) or key is None:
                raise TypeError(f"group_by(): {name}={key!r} is no key, which is an expression, and no parameter: those are dropna and sort")
        given = selectors.all_expanded(flat(keys), self.collect_schema) + [lift(e).alias(name) for name, e in named.items()]
        return GroupBy(self, given, {k: v for k, v in (("dropna", dropna), ("sort", sort)) if v is not None})

    def groupby(self, *keys: Any, aggregate: Optional[Dict[str, Any]] = None, **parameters: Any) -> Any:
        """The operator, when `aggregate` is given; else group_by()."""
        if aggregate is None:
            return self.group_by(*keys, **parameters)
        names = flat(keys) or flat((parameters.pop("keys", ()),))
        return self._apply(operators()["groupby"], [], {"keys": names, "aggregate": aggregate, **parameters})

    def agg(self, *aggregates: Any, **named: Any) -> LazyFrame:
        """Aggregates over all rows: one row."""
        return GroupBy(self, [], {}).agg(*aggregates, **named)

    nunique = FoundMethods.n_unique

    def select_dtypes(self, include: Any = None, exclude: Any = None) -> LazyFrame:
        """Columns of some dtypes: 'float64', float, or 'number', 'integer', 'float', 'decimal', 'temporal', 'list'."""
        words = {"object": "string", "datetime": "timestamp", "timedelta": "duration", "boolean": "bool", "integer": "integer", "int": "int64"}
        groups = ("number", "integer", "float", "decimal", "temporal", "list")

        def named(value: Any) -> Any:
            if value in (np.number, numbers.Number):
                return "number"
            return value if value in groups else words.get(value) or _literals.dtype(value)

        given = {"include": None if include is None else [named(v) for v in flat((include,))],
                 "exclude": None if exclude is None else [named(v) for v in flat((exclude,))]}
        return self._apply(operators()["select_dtypes"], [], given)

    # ---- several frames ----

    def join(self, other: Any, on: Any = None, how: Optional[str] = None, *, suffix: Optional[str] = None, **parameters: Any) -> LazyFrame:
        """Rows of two frames with equal keys. on, or left_on and right_on; how: 'inner', 'left', 'right', 'outer' ('full'),
        'semi', 'anti', 'cross'. suffix: of the right side's columns whose names both have. The other parameters are those of the
        operator join: suffixes, where, indicator, validate, null_aware, order."""
        if suffix is not None:
            parameters["suffixes"] = ["", suffix]
        given = {"on": on, "how": {"full": "outer"}.get(how or "", how), **parameters}
        return self._apply(operators()["join"], [other], given)

    merge = join

    def explode(self, *columns: Any, separator: Optional[str] = None, outer: Optional[bool] = None, column: Any = None) -> LazyFrame:
        """A row for each item of a list; the other columns are repeated. Several columns go together: their lists have equal
        lengths in each row. A null or empty list gives one row with a null; with outer=False it gives none. separator: of a column
        of strings, each of which becomes its parts."""
        given_columns = flat(columns) + ([] if column is None else flat((column,)))
        names = [column_name(c) for c in selectors.all_expanded(given_columns, self.collect_schema)]
        if not names:
            raise TypeError("explode() needs a column")
        given: Dict[str, Any] = {"column": names[0]} if len(names) == 1 else {"columns": names}
        return self._apply(operators()["explode"], [], {**given, "separator": separator, "outer": outer})

    def pipe(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """function(frame, ...)"""
        return function(self, *args, **kwargs)

    def lazy(self) -> LazyFrame:
        """Itself."""
        return self

    # ---- ends ----

    def collect(self, progress: Progress = None, timeout: Optional[float] = None, *, chunk_bytes: int = 0,
                recall: bool = True, on: Any = None) -> Frame:
        """Compute it: a Frame. progress: True for a bar, "plain", "tqdm" or
        "notebook" for one of these, or a function that is told shares from 0 to 1.
        timeout: seconds; a TimeoutError then, and the graph is stopped. chunk_bytes: wished size of a chunk.
        recall=False: compute also what another graph has yielded. on: a Client of Dask, whose workers compute it (docs/dask.md)."""
        from ._frame import Frame, Kept
        graph, target = _plan.graph(self._node)
        if on is not None:
            from ..dask import run
            made: Frame = run(on, graph, progress=progress, timeout=timeout)[target]
            return made
        kept = Kept(engine(), _run(graph, progress, timeout, None, chunk_bytes, recall), _plan.rests_on(self._node))
        return Frame._of_target(kept, target)

    def persist(self, name: str, *, replace: bool = False, progress: Progress = None, timeout: Optional[float] = None) -> LazyFrame:
        """Compute it, and keep the result as a table of that name, which other processes and SQL read. Gives the table."""
        node = self._node
        if _plan.rests_on(node):  # a table must not rest on what goes with this program: its chunks are made anew
            node = LazyFrame(node).with_columns(__copy=lit(0)).drop("__copy")._node
        graph, target = _plan.graph(node)
        key = _run(graph, progress, timeout, None if replace else name)
        if replace:
            try:
                engine().rename(key, name, True)
            except BaseException:
                engine().delete(key)
                raise
        return LazyFrame(Node("table", (), {"name": f"{name}/{target}"}))

    def explain(self, optimized: bool = True) -> str:
        """The plan: as it is written, the rules that made it cheaper, and the steps. optimized=False: as it is written.
        Steps on which later ones depend are run for it."""
        graph, _ = _plan.graph(self._node)
        if not optimized:
            return _plan.shown(self._node)
        at = engine()
        key = _submit(graph)
        try:
            while " so far" in (text := at.explain(key)):  # it is planned stage by stage
                try:
                    at.wait(key, timeout=0.02)
                except TimeoutError:
                    continue
                return at.explain(key)
            return text
        finally:
            at.delete(key)

    def analyze(self, timeout: Optional[float] = None) -> str:
        """Run it, and give the plan with the time, rows and bytes of each step."""
        graph, _ = _plan.graph(self._node)
        key = _run(graph, None, timeout, recall=False)
        try:
            return engine().analyze(key)
        finally:
            engine().delete(key)

    # ---- columns, without the data ----

    def collect_schema(self) -> Dict[str, str]:
        """Columns and their dtypes. The plan runs over no rows. Only dtypes of CSV and JSON lines files need the whole file."""
        if self._schema is None:
            none = _plan.with_sources(self._node, lambda source: Node("head", (source,), {"rows": 0}, source.keeps))
            self._schema = dict(LazyFrame(none).collect().schema)
        return dict(self._schema)

    @property
    def schema(self) -> Dict[str, str]:
        """Columns and their dtypes, when that does not mean to read a file."""
        if self._schema is None:
            for node in _plan.in_order(self._node):
                if node.op in _INFERRING:
                    raise GranaryError(f"the columns of {node.parameters['path']!r} are known when it is read: collect_schema() reads it")
        return self.collect_schema()

    @property
    def columns(self) -> List[str]:
        """Names of the columns; as schema."""
        return list(self.schema)

    @property
    def dtypes(self) -> List[str]:
        """Dtypes of the columns; as schema."""
        return list(self.schema.values())


class GroupBy(FoundGroups):
    """What group_by() gives: agg() makes a frame of it."""

    def __init__(self, frame: LazyFrame, keys: List[Any], parameters: Dict[str, Any]) -> None:
        self._frame = frame
        self._keys = keys
        self._parameters = parameters

    def agg(self, *aggregates: Any, **named: Any) -> LazyFrame:
        """One row for each group, ordered by the keys. Behind a name, a str is a text such as 'sum(x)' or 'size'; the name of a function
        alone, or one of Python's, is that of the column: {"x": "sum"}. Of a list of these, each makes a column: x_min, x_max."""
        chosen = aggregates_of(aggregates, named, self._others)
        node, names, new = _steps.keyed(self._frame._node, self._keys)
        checked = _checker.check(operators()["groupby"], {"keys": names, "aggregate": {}, **self._parameters})
        made = _steps.aggregate(node, names, chosen, **{k: v for k, v in checked.items() if k not in ("keys", "aggregate")})
        return LazyFrame(Node("rename", (made,), {"columns": new}) if new else made)

    def rolling(self, window: Any, on: Any = None, *, min_periods: Optional[int] = None, center: bool = False,
                closed: Optional[str] = None) -> Rolling:
        """As the frame's rolling(), each group by itself."""
        frame, keys = self._keyed()
        made = frame.rolling(window, on, min_periods=min_periods, center=center, closed=closed, group_by=keys)
        assert isinstance(made, Rolling)
        return made

    def expanding(self, min_periods: int = 1) -> Rolling:
        """Of all rows of the group up to each row."""
        frame, keys = self._keyed()
        return frame.expanding(min_periods, group_by=keys)

    def ewm(self, com: Optional[float] = None, span: Optional[float] = None, halflife: Any = None, alpha: Optional[float] = None,
            min_periods: int = 0, adjust: bool = True, ignore_na: bool = False) -> Decaying:
        """Exponentially weighted, each group by itself."""
        frame, keys = self._keyed()
        return frame.ewm(com, span, halflife, alpha, min_periods, adjust, ignore_na, group_by=keys)

    def resample(self, rule: Any, on: Any, *, closed: str = "left", label: str = "left", origin: Any = "start_day",
                 offset: Any = None) -> Resampler:
        """As the frame's resample(), each group by itself."""
        frame, keys = self._keyed()
        made = frame.resample(rule, on, closed=closed, label=label, origin=origin, offset=offset, group_by=keys)
        assert isinstance(made, Resampler)
        return made

    def _keyed(self) -> Tuple[LazyFrame, List[str]]:
        """The frame with a column for each key, and their names."""
        node, names, new = _steps.keyed(self._frame._node, self._keys)
        node = Node("rename", (node,), {"columns": new}) if new else node
        return LazyFrame(node), [new.get(n, n) for n in names]

    def len(self, name: str = "len") -> LazyFrame:
        """How many rows each group has."""
        return self.agg({name: "size"})

    def size(self, name: str = "size") -> LazyFrame:
        """How many rows each group has."""
        return self.len(name)

    def _rows(self, op: str, parameters: Dict[str, Any]) -> LazyFrame:
        node, names, new = _steps.keyed(self._frame._node, self._keys)
        made = LazyFrame(node)._apply(operators()[op], [], {"keys": names, **parameters})
        return LazyFrame(_steps.without(made._node, list(new)))

    def head(self, rows: int = 5) -> LazyFrame:
        """The first rows of each group, in the order of all rows."""
        return self._rows("group_head", {"rows": rows})

    def tail(self, rows: int = 5) -> LazyFrame:
        """The last rows of each group, in the order of all rows."""
        return self._rows("group_tail", {"rows": rows})

    def nth(self, n: Any) -> LazyFrame:
        """The n-th row of each group, from 0; negative: from its end."""
        return self._rows("group_nth", {"n": n})


def aggregates_of(positional: Iterable[Any], named: Dict[str, Any], others: Callable[[], Dict[str, str]]) -> Dict[str, Expr]:
    """What agg() is given, by the names of its columns. others: the columns that selectors choose from."""
    chosen: Dict[str, Expr] = {}
    for one in selectors.all_expanded(flat(positional), others):
        if isinstance(one, str):
            raise TypeError(f"{one!r} has no name: agg(n={one!r})")
        for name, value in several(one).items() if isinstance(one, dict) else [(_steps.name_of(lift(one)), one)]:
            if name in chosen:
                raise ValueError(f"agg(): two columns have the name {name!r}: give one another name by alias()")
            chosen[name] = _aggregate(name, value)
    chosen.update({name: _aggregate(name, value) for name, value in named.items()})
    return chosen


def _aggregate(name: str, value: Any) -> Expr:
    """An aggregate: an expression, granary's text of one, or pandas' pair of column and function."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, tuple) and len(value) == 2:
        function = aggregate_text(value[1])
        return aggregate_of("size") if function == "size" else aggregate_of(f"{function}({col(column_name(value[0]))._text})")
    function = aggregate_text(value)
    if isinstance(function, str):
        alone = function != "size" and function.isidentifier() and function in functions("aggregates")
        return aggregate_of(f"{function}({col(name)._text})" if alone else function)
    raise TypeError(f"agg(): {name}: an aggregate, not {type(value).__name__} {value!r:.60}")


def as_lazy(value: Any, what: str) -> LazyFrame:
    """A frame of any kind as a plan: LazyFrame, Frame, pandas DataFrame, or what gives an Arrow stream or array."""
    from ._frame import Frame
    from ._sources import from_arrow, from_pandas, is_arrow, is_pandas
    if isinstance(value, LazyFrame):
        return value
    if isinstance(value, Frame):
        return value.lazy()
    if is_pandas(value):
        return from_pandas(value)
    if is_arrow(value):
        return from_arrow(value)
    raise TypeError(f"{what}: a frame, not {type(value).__name__} {value!r:.60}")


def concat(frames: Iterable[Any], *, how: str = "vertical", join: str = "outer", convert: bool = False) -> LazyFrame:
    """Frames one below the other, or how='horizontal': side by side. join: of columns, 'outer' (any has them) or 'inner'.

    convert: columns of different kinds become strings, and bools beside numbers 0 and 1; else they are an error.
    """
    given = [as_lazy(f, "concat()") for f in frames]
    if not given:
        raise ValueError("concat() needs a frame")
    if how not in ("vertical", "horizontal"):
        raise ValueError(f"concat(): how is 'vertical' or 'horizontal', not {how!r}")
    parameters: Dict[str, Any] = {"axis": 1} if how == "horizontal" else {"join": join, "convert": convert}
    checked = _checker.check(operators()["concat"], parameters)
    most = operators()["concat"].most
    if how == "vertical":
        while len(given) > most:
            given = [concat(given[i:i + most], join=join, convert=convert) for i in range(0, len(given), most)]
    return given[0]._then("concat", checked, given[1:])


def _submit(graph: str, **options: Any) -> str:
    """A table that changes is read as it is now, when the plan does not say when: all of them as they are at one moment."""
    now = time.time_ns()
    while True:
        try:
            return engine().submit(graph, **options)
        except GranaryError as error:
            changed = _plan.at_time(graph, str(error), now)
            if changed is None:
                raise
            graph = changed


def _run(graph: str, progress: Progress = None, timeout: Optional[float] = None, key: Optional[str] = None, chunk_bytes: int = 0,
         recall: bool = True) -> str:
    """Submit a graph and wait; what fails, or is interrupted, leaves nothing."""
    try:
        made = _submit(graph, key=key, chunk_bytes=chunk_bytes, recall=recall)
        wait(made, progress, timeout)
    except GranaryError as error:
        raise retold(error, told(_plan.told(str(error), graph))) from None
    return made


def wait(key: str, progress: Progress = None, timeout: Optional[float] = None, sql: Optional[str] = None) -> None:
    at = engine()
    try:
        with shown(progress) as tell:
            at.wait(key, timeout=timeout, progress=tell, sql=sql)
    except BaseException:
        at.delete(key)
        raise


__all__ = ["GroupBy", "LazyFrame", "concat"]
