"""SQL over frames: names of Python variables stand in FROM beside tables and files.

A frame of that name is put in front of the statement, as a query of WITH that reads its chunks; messages tell the places of the text
as it was written.
"""
from __future__ import annotations

import re
import sys
from inspect import CO_NEWLOCALS
from types import FrameType
from typing import Any, Dict, List, Optional

from . import _plan
from ._params import Params, literals
from .._progress import Progress
from ._run import GranaryError, engine, retold
from ._frame import Frame, Kept
from ._lazy import LazyFrame, _run, as_lazy, wait
from ._sources import is_arrow, is_pandas

_NO_TABLE = re.compile(r"line (\d+), column (\d+): no table '(.*?)'")
_PLACE = re.compile(r"line (\d+), column (\d+)")
_WITH = re.compile(r"\s*(with)\b", re.IGNORECASE)
_ABOUT = re.compile(r"\s*(describe|summarize|show)\s+(select\b)?", re.IGNORECASE)
_WORD_WITH = "/**/"  # stands for the text's own WITH, and is as long
_WORD = re.compile(r"\"((?:[^\"]|\"\")+)\"|(\w+)")


def _is_frame(value: Any) -> bool:
    return isinstance(value, (LazyFrame, Frame)) or is_pandas(value) or is_arrow(value)


class _Statement:
    """A text, and the frames that it names."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.frames: Dict[str, Kept] = {}

    def add(self, name: str, value: Any, progress: Progress, timeout: Optional[float]) -> None:
        """Give its rows a key that SQL can name. A plan is collected once for all places."""
        node = as_lazy(value, f"sql(): {name}")._node
        graph, _ = _plan.graph(node)
        self.frames[name] = Kept(engine(), _run(graph, progress, timeout), _plan.rests_on(node))

    def written(self) -> str:
        """With the frames in front: on lines of their own, so that columns of the text stay."""
        if not self.frames:
            return self.text
        queries = ", ".join(f'{_quoted(n)} AS (SELECT * FROM {_quoted(k.key)})' for n, k in self.frames.items())
        about = _ABOUT.match(self.text)
        if about:
            query = "" if about.group(2) else "SELECT * FROM "
            return f"{about.group(1)} WITH {queries} {query}{self.text[about.start(2) if about.group(2) else about.end():]}"
        begins = _WITH.match(self.text)
        if begins:
            start = begins.start(1)
            return f"WITH {queries},\n{self.text[:start]}{_WORD_WITH}{self.text[start + 4:]}"
        return f"WITH {queries}\n{self.text}"

    def told(self, message: str) -> str:
        """A message about what was written, with the places and the line of the text."""
        if not self.frames:
            return message
        begins = _WITH.match(self.text)
        message = _PLACE.sub(lambda m: f"line {max(1, int(m.group(1)) - 1)}, column {m.group(2)}", message)
        return message.replace(_WORD_WITH, begins.group(1), 1) if begins else message


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _as_written(text: str, line: int, column: int, name: str) -> List[str]:
    """The name as it stands in the text, and as granary read it: without quotes letters become small."""
    try:
        found = _WORD.match(text.split("\n")[line - 1][column - 1:])
    except IndexError:
        found = None
    written = (found.group(1) or found.group(2)) if found else name
    return [written.replace('""', '"'), name]


def _variable(names: List[str], caller: Optional[FrameType]) -> Any:
    """A local or global variable of the caller, when it is a frame."""
    if caller is None:
        return None
    local = caller.f_locals
    found = [scope[name] for scope in (local, caller.f_globals) for name in names if _is_frame(scope.get(name))]
    # Before Python 3.13 a function's f_locals is a copy, which would keep what the caller deletes.
    if local is not caller.f_globals and caller.f_code.co_flags & CO_NEWLOCALS and sys.version_info < (3, 13):
        local.clear()
    return found[0] if found else None


def sql(text: str, /, *, params: Params = None, progress: Progress = None, timeout: Optional[float] = None, recall: bool = True,
        **frames: Any) -> Any:
    """Run a statement. A SELECT gives a Frame; others a dict: command, rows, time.

    params are values for $1, $2 and ? (a list), or for $name (a dict): they become literals, and a str stays a text whatever is in it.

    FROM names tables, files ('trips.csv'), the frames given by name, and variables of the caller: LazyFrames, Frames, pandas DataFrames,
    and what has an Arrow stream. A table goes before a variable of its name.

    >>> t = gr.from_dict({"a": [1, 2, 4]})
    >>> gr.sql("SELECT sum(a) AS total FROM t").to_dict()
    {'total': [7]}
    >>> gr.sql("SELECT a FROM t WHERE a > $1", params=[1]).to_dict()
    {'a': [2, 4]}
    """
    if not isinstance(text, str):
        raise TypeError(f"sql() takes a str, not {type(text).__name__}")
    if params is not None:
        text = engine().sql_bind(text, *literals(params))
    return _sql(text, frames, sys._getframe(1), progress, timeout, recall)


def _sql(text: str, frames: Dict[str, Any], caller: Optional[FrameType], progress: Progress, timeout: Optional[float], recall: bool) -> Any:
    at = engine()
    if at.sql_changes(text):
        if frames:
            raise TypeError("frames stand in a SELECT: persist() one, and name the table")
        return at.sql_execute(text, timeout=timeout)
    statement = _Statement(text)
    for name, value in frames.items():
        if not _is_frame(value):
            raise TypeError(f"sql(): {name}: a frame, not {type(value).__name__} {value!r:.60}")
        statement.add(name if f'"{name}"' in text else name.lower(), value, progress, timeout)
    while True:
        written = statement.written()
        try:
            key = at.submit_sql(written, recall=recall)
            break
        except GranaryError as error:
            told = statement.told(str(error))
            missing = _NO_TABLE.search(told)
            value = None
            if missing and missing.group(3) not in statement.frames:
                value = _variable(_as_written(text, int(missing.group(1)), int(missing.group(2)), missing.group(3)), caller)
            if value is None:
                raise retold(error, told) from None
            assert missing is not None
            statement.add(missing.group(3), value, progress, timeout)
    try:
        wait(key, progress, timeout, written)
    except GranaryError as error:
        raise retold(error, statement.told(str(error))) from None
    return Frame._of_target(Kept(at, key, list(statement.frames.values())), "result")
