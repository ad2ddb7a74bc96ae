"""A frame as text and as HTML: its shape, columns, dtypes, and ten rows at most."""
from __future__ import annotations

import html as escaping
import unicodedata
from typing import Any, Dict, List, Tuple

import numpy as np

from . import _columns
from ._run import Column

ROWS = 10
_WIDTH = 32  # of a value
_COLUMNS = 12
_RIGHT = ("int", "uint", "float", "decimal")


def values(column: Column) -> List[str]:
    """As people read them."""
    if column.items is not None and column.offsets is not None:
        return _lists(column)
    made, there = _columns.joined([column])
    if column.dtype == "date":
        made = made.astype("M8[D]")
    return [_one(v, column.dtype) if there is None or there[i] else "NULL" for i, v in enumerate(made)]


def _lists(column: Column) -> List[str]:
    assert column.items is not None and column.offsets is not None
    items, there, offsets = values(column.items), _columns.valid(column), column.offsets.tolist()
    return [f"[{', '.join(items[offsets[i]:offsets[i + 1]])}]" if there is None or there[i] else "NULL" for i in range(column.rows)]


def _one(value: Any, dtype: str) -> str:
    if dtype == "string":
        text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in value)
        return f'"{text}"' if text in ("NULL", "") else text
    if dtype == "binary":
        return f"\\x{value.hex()}"
    if dtype == "bool":
        return "true" if value else "false"
    if dtype in ("timestamp", "timestamptz"):
        text = str(value).replace("T", " ")
        text = text[:-7] if text.endswith(".000000") else text
        return text + "Z" if dtype == "timestamptz" else text
    if dtype == "time":
        return str(_columns._moment(int(value), "time"))
    if dtype.startswith("float"):
        return np.format_float_positional(value, trim="0", precision=6) if 1e-4 <= abs(value) < 1e16 or value == 0 else str(value)
    if dtype.startswith("decimal"):
        return format(value, "f")
    if dtype == "duration":
        return str(value.astype("O")) if abs(int(value.astype("i8"))) < 8e16 else str(value)
    return str(value)


def _wide(text: str) -> int:
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _cut(text: str) -> str:
    if _wide(text) <= _WIDTH:
        return text
    while _wide(text) > _WIDTH - 3:
        text = text[:-1]
    return text + "..."


def _some(schema: Dict[str, str]) -> Tuple[List[int], bool]:
    """Which columns are shown, and whether some are left out in the middle."""
    count = len(schema)
    if count <= _COLUMNS:
        return list(range(count)), False
    half = _COLUMNS // 2
    return list(range(half)) + list(range(count - half, count)), True


def _cells(schema: Dict[str, str], first: List[List[str]], last: List[List[str]]) -> List[Tuple[bool, List[str]]]:
    """Each column: whether it stands at the right, then name, dtype and values."""
    chosen, left_out = _some(schema)
    names, dtypes = list(schema), list(schema.values())
    cells = []
    for i in chosen:
        rows = first[i] + (["..."] + last[i] if last else [])
        name = "".join(c if c.isprintable() else repr(c)[1:-1] for c in names[i])
        cells.append((dtypes[i].startswith(_RIGHT), [name, dtypes[i], *rows]))
    if left_out:
        cells.insert(_COLUMNS // 2, (False, ["..."] * len(cells[0][1])))
    return cells


def _shape(shape: Tuple[int, int]) -> str:
    rows, columns = shape
    return f"{rows} row{'s' * (rows != 1)}, {columns} column{'s' * (columns != 1)}"


def text(shape: Tuple[int, int], schema: Dict[str, str], first: List[List[str]], last: List[List[str]]) -> str:
    columns = [(right, [_cut(c) for c in cells]) for right, cells in _cells(schema, first, last)]
    widths = [max(_wide(c) for c in cells) for _, cells in columns]
    lines = []
    for row in range(len(columns[0][1]) if columns else 0):
        line = [" " * (width - _wide(cells[row])) + cells[row] if right else cells[row] + " " * (width - _wide(cells[row]))
                for (right, cells), width in zip(columns, widths)]
        lines.append("  ".join(line).rstrip())
    return "\n".join(lines + [f"({_shape(shape)})"])


def html(shape: Tuple[int, int], schema: Dict[str, str], first: List[List[str]], last: List[List[str]]) -> str:
    columns = _cells(schema, first, last)
    rows = list(zip(*(cells for _, cells in columns)))

    def line(cells: Tuple[str, ...], tag: str) -> str:
        inside = "".join(f'<{tag} style="text-align: {"right" if right else "left"}">{escaping.escape(_cut(c))}</{tag}>'
                         for (right, _), c in zip(columns, cells))
        return f"<tr>{inside}</tr>"

    head = "".join(line(r, "th") for r in rows[:2])
    body = "".join(line(r, "td") for r in rows[2:])
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table><small>{escaping.escape(_shape(shape))}</small>"
