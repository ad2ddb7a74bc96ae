"""Python values as objects of the store, and back: bytes, arrays, pandas frames, and anything by pickle."""
from __future__ import annotations

from typing import Any

from . import _functions, _packed
from ._ref import collecting

PICKLED = b"granary python pickle"
"""Metadata of an object that put() pickled. Bytes that only look like one came from anywhere: no pickle is loaded of them."""


def is_array(value: Any) -> bool:
    """Whether it is a NumPy array, without importing NumPy."""
    return type(value).__module__.partition(".")[0] in ("numpy", "granary") and hasattr(value, "__array_interface__") and hasattr(value, "dtype")


def is_frame(value: Any) -> bool:
    """Whether it is a pandas DataFrame, without importing pandas."""
    return type(value).__name__ == "DataFrame" and type(value).__module__.partition(".")[0] == "pandas"


def is_tensor(value: Any) -> bool:
    """Whether another library's tensor is to be read by DLPack. Arrow's arrays are columns, and granary's own are pickled."""
    kind = type(value)
    return (hasattr(kind, "__dlpack__") and hasattr(kind, "__dlpack_device__") and not hasattr(kind, "__arrow_c_array__")
            and kind.__module__.partition(".")[0] != "granary" and not hasattr(value, "__array_interface__"))


def put(client: Any, id: bytes, value: Any, options: dict[str, Any]) -> None:
    """Make the object. Options are those of Client.create()."""
    if is_tensor(value):
        from . import _dlpack

        value = _dlpack.borrowed(value)
        if value.dtype.name == "float16":
            value = value.astype("float32")
    if isinstance(value, (bytes, bytearray, memoryview)):
        write(client, id, [(0, value)], memoryview(value).nbytes, options)
    elif is_array(value) and _is_tensor(value):
        from . import _arrays

        head, data = _arrays.npy(value)
        write(client, id, [(0, head), (len(head), data)], len(head) + memoryview(data).nbytes, options)
    elif is_frame(value):
        put_frame(client, id, value, options)
    else:
        with collecting(client) as contained:
            packed = _functions.pack_arguments(value)
        write(client, id, packed.pieces, packed.size, {**options, "contains": contained, "meta_size": len(PICKLED)}, PICKLED)


def _is_tensor(value: Any) -> bool:
    from ._arrays import DTYPES

    return value.dtype.name in DTYPES and value.dtype.isnative and value.ndim <= 8


def put_frame(client: Any, id: bytes, value: Any, options: dict[str, Any]) -> None:
    """A DataFrame as a frame object; its index is left out."""
    from ._engine import given_of
    from .frames._columns import from_series

    names = list(value.columns)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"put(): column {name!r}: names of columns are strings: rename it, as by df.rename(columns=str)")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"put(): two columns are called {twice!r}: rename one")
    if not names:
        raise ValueError("put(): a DataFrame has at least one column")
    columns = [from_series(name, value.iloc[:, i]) for i, name in enumerate(names)]
    client.frame_put([given_of(one) for one in columns], len(value), id, **options)


def write(client: Any, id: bytes, pieces: Any, size: int, options: dict[str, Any], meta: bytes = b"") -> None:
    """An object of pieces at offsets; zeros between them."""
    buffer = client.create(id, size, **options)
    try:
        buffer.set_meta(meta)
        with memoryview(buffer) as to:
            _packed.Packed(size, pieces, b"").write(to)
    except BaseException:
        buffer.abort()
        raise
    buffer.seal()


class _Held:
    """What a Frame over an object rests on (frames.frame.Kept)."""

    alive = True
    key = ""

    def __init__(self, session: Any, view: Any) -> None:
        from ._engine import SessionEngine

        self.engine = SessionEngine(session)
        self.view = view
        self.ref = session._refer(view.id)  # rows are read by the object's id


def get(view: Any, session: Any, ref: Any = None) -> Any:
    """What an object is: an array, a Frame, a Python object, or its bytes."""
    data = memoryview(view)
    head = bytes(data[:8])
    if head[:6] == b"\x93NUMPY":
        from ._arrays import SharedArray

        dtype, shape, memory = view.tensor()
        return SharedArray.over(memory, dtype, shape, session, view.id, ref)
    if head[:6] == b"ARROW1":
        from .frames._frame import Frame

        return Frame(_Held(session, view), "", [view.id.hex()], [view.frame().rows])  # type: ignore[arg-type]
    if view.meta == PICKLED:
        return _packed.unpack(data)
    return data
