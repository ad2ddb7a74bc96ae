"""Calls that are graphs of their own: with retries, limits, priorities, and a key to look at and to cancel by."""
from __future__ import annotations

import base64
import json
import uuid
from concurrent.futures import CancelledError
from typing import Any

from . import _functions, _packed, _slots
from ._dispatch import Call, Dispatcher, SlotDied
from ._granary import OWN

_INLINE_MAX = 4096  # bytes of arguments that go with the graph


class GraphDispatcher(Dispatcher):
    """Each call is a graph, which a thread waits for without the interpreter's lock."""

    def __init__(self, client: Any, workers: int) -> None:
        super().__init__(client, workers)
        self.params = {"command": _slots.command(), "environment": _slots.environment()}

    def submit(self, call: Call) -> None:
        call.alone = True
        super().submit(call)

    def work(self) -> None:
        while (batch := self.take()) is not None:
            for call in batch:
                try:
                    call.settle(self._outcomes(call))
                except BaseException as error:
                    call.future.set_exception(_meaning(error))
            batch.clear()
            call = None  # type: ignore[assignment]  # and the results with it, while nothing comes

    def _outcomes(self, call: Call) -> list[tuple[bool, Any]]:
        client = self.client
        packed = _functions.pack_arguments([(0, args, kwargs) for args, kwargs in call.arguments])
        request: dict[str, Any] = {"do": "calls", "functions": [call.function], "retries": call.options.get("retries", 0)}
        nodes: dict[str, Any] = {}
        name = call.options.get("name", "call")
        limits = {one: call.options[one] for one in ("retries", "timeout_ms", "memory", "resources", "deterministic")
                  if call.options.get(one)}
        if packed.size <= _INLINE_MAX:
            request["inline"] = base64.b64encode(packed.tobytes()).decode()
        else:
            nodes["arguments"] = {"op": "object", "ids": [_functions.put(client, packed)]}
            limits["inputs"] = ["arguments"]
        nodes[name] = _slots.node(client, self.params, request, **limits)
        key = uuid.uuid4().hex
        call.key = key
        try:
            client.run_json(json.dumps({"nodes": nodes, "targets": [name]}), key=key, flags=OWN,
                            priority=call.options.get("priority", 0))
            chunks = client.result(key, name)[0]
            outcomes: list[tuple[bool, Any]] = _packed.unpack(memoryview(client.get(chunks[0], 30000)))
            return outcomes
        finally:
            _quietly(client.delete_graph, key)


def _quietly(do: Any, what: Any) -> None:
    """What cannot be deleted now goes with this program."""
    try:
        do(what)
    except Exception:
        pass


def _meaning(error: BaseException) -> BaseException:
    """A graph's error as that of a future."""
    name = getattr(error, "name", "")
    if name == "ECANCELLED":
        return CancelledError()
    if name == "EFAILED" and "its process" in str(error):
        died = SlotDied(str(error))
        died.__cause__ = error
        return died
    return error
