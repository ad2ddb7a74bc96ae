"""Python functions as parameters of map_chunk nodes."""
from __future__ import annotations

import base64
import json
from typing import Any, Dict, Tuple

from . import _functions, _slots
from ._session import default_session

_PARAMETERS = ("retries", "timeout_ms", "memory", "resources", "deterministic")


def _node(client: Any, function: Any, args: Tuple[Any, ...], request: Dict[str, Any], parameters: Dict[str, Any]) -> Dict[str, Any]:
    for name in parameters:
        if name not in _PARAMETERS:
            raise TypeError(f"map_chunk() has no parameter {name!r}; there are: {', '.join(_PARAMETERS)}")
    inline = base64.b64encode(_functions.pack_arguments((args, {})).tobytes()).decode()
    what = {"do": "chunk", "functions": [_functions.ship(client, function, always=True)], "inline": inline, **request}
    params = {"command": _slots.command(), "environment": _slots.environment(), "request": json.dumps(what)}
    return {"function": _slots.function(client), "params": params, **parameters}


def frame(
    function: Any, args: Tuple[Any, ...], columns: Dict[str, str], only: bool, kind: str, parameters: Dict[str, Any]
) -> Dict[str, Any]:
    """Parameters of a node on a frame."""
    if kind not in ("pandas", "numpy"):
        raise ValueError(f"kind {kind!r}: it is 'pandas' or 'numpy'")
    node = _node(default_session()._client, function, args, {"columns": columns, "only": only, "kind": kind}, parameters)
    return {**node, **({"columns": columns, "only": only} if columns else {})}


def tensor(function: Any, args: Tuple[Any, ...], dtype: str, parameters: Dict[str, Any]) -> Dict[str, Any]:
    """Parameters of a node on a tensor: an array in, and one of the same shape out."""
    return {**_node(default_session()._client, function, args, {}, parameters), "dtype": dtype}
