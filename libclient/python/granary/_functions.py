"""Functions on their way to slots: pickled once, in the store under the hash of their bytes as long as a call needs them."""
from __future__ import annotations

import hashlib
import importlib.util
import pickle
import uuid
import warnings
import weakref
from typing import Any, Callable, Optional

from . import _packed
from ._errors import Exists, NotFound
from ._ref import Kept

WARN_BYTES = 1 << 20
"""A function that takes more than this with it is warned of."""

class _Shipped:
    """What is known of a function: its bytes, the hash of them, and who keeps it in the store."""

    def __init__(self, packed: _packed.Packed) -> None:
        self.packed = packed
        self.id = hashlib.blake2b(packed.tobytes(), digest_size=16, person=b"granary function").digest()
        self.kept: "weakref.WeakKeyDictionary[Any, Kept]" = weakref.WeakKeyDictionary()  # by client


_known: "weakref.WeakKeyDictionary[Any, _Shipped]" = weakref.WeakKeyDictionary()


def _dumps(value: Any) -> _packed.Packed:
    """By reference when another process can import it, else by value."""
    if getattr(value, "__module__", "__main__") != "__main__":
        try:
            return _packed.pack(value)
        except Exception:  # a local function, or one of no module
            pass
    return _packed.pack(value, _cloudpickle("functions"))


def pack_arguments(value: Any) -> _packed.Packed:
    """Arguments: by pickle, or by cloudpickle where this script's own functions or classes are among them."""
    try:
        packed = _packed.pack(value)
        if b"__main__" not in packed.pickle:  # a reference that no other process could follow
            return packed
    except (pickle.PicklingError, AttributeError, TypeError):
        if not _has_cloudpickle():
            raise
    return _packed.pack(value, _cloudpickle("arguments"))


def _has_cloudpickle() -> bool:
    return importlib.util.find_spec("cloudpickle") is not None


def _cloudpickle(what: str) -> Callable[..., bytes]:
    try:
        import cloudpickle  # type: ignore[import]
    except ImportError:
        raise ImportError(
            f"{what} of this script, or made in a function, go by value: that needs cloudpickle (Debian: python3-cloudpickle). "
            "Or define them in a module that can be imported"
        ) from None
    dumps: Callable[..., bytes] = cloudpickle.dumps
    return dumps


def ship(client: Any, value: Any, what: str = "function", *, always: bool = False) -> str:
    """Put a function into the client's session, unless it is there. Returns its id as text, which keeps it.

    always   it stays with the session: results may be computed again when this process has ended
    """
    known: Optional[_Shipped] = None
    try:
        known = _known.get(value)
    except TypeError:
        pass  # not hashable, or without weak references: pickled each time
    if known is None:
        packed = _dumps(value)
        if packed.size > WARN_BYTES:
            warnings.warn(
                f"{what} {getattr(value, '__name__', type(value).__name__)!r} takes {packed.size / 2**20:.0f} MiB of captured data "
                "with it: put that into the store with granary.put(), and pass what it returns as an argument",
                stacklevel=4,
            )
        known = _Shipped(packed)
        try:
            _known[value] = known
        except TypeError:
            pass
    if always:
        _write(client, known.id, known.packed, False)
        return known.id.hex()
    kept = known.kept.get(client)
    if kept is None or not client.contains(known.id):
        kept = known.kept[client] = _keep(client, known.id, known.packed)
    return kept


def put(client: Any, packed: _packed.Packed) -> Kept:
    """Put packed bytes as an object of their own. It lives as long as what is returned."""
    return _keep(client, uuid.uuid4().bytes, packed)


def _keep(client: Any, id: bytes, packed: _packed.Packed) -> Kept:
    while True:
        _write(client, id, packed, True)
        try:
            return Kept.of(client, id)
        except NotFound:
            pass  # it was another process's, which has let go of it meanwhile


def _write(client: Any, id: bytes, packed: _packed.Packed, counted: bool) -> None:
    """Make the object, unless it is there: then another process was faster, with the same bytes."""
    from ._values import write

    if not client.contains(id):
        try:
            write(client, id, packed.pieces, packed.size, {"counted": counted})
        except Exists:
            pass


def name_of(function: Callable[..., Any]) -> str:
    """How messages and listings call it."""
    name = getattr(function, "__qualname__", None) or type(function).__name__
    return "".join(c if c.isalnum() or c in "._" else "_" for c in name)[:40] or "function"
