"""Results that stay on the nodes, as collections of Dask."""
from __future__ import annotations

from typing import Any

from .._errors import Invalid
from . import _results
from ._handle import Handle


def _chunk(handle: Handle, place: int) -> Any:
    """A task: a chunk as Dask has it."""
    import io

    import numpy as np

    ((data, meta),) = _results.read(handle, [place])
    return np.load(io.BytesIO(data)) if handle.kind == "tensor" else _results.pandas([(data, meta)])


def to_dask(client: Any, future: Any) -> Any:
    """A result that stayed on the nodes, by sql(..., stay=True), as a dask.dataframe or dask.array: a partition for each chunk."""
    handle: Handle = future.result()
    parts = [client.submit(_chunk, future, place, pure=False) for place in range(len(handle.chunks))]
    if handle.kind == "frame":
        import dask.dataframe as dd

        return dd.from_delayed(parts)
    if handle.kind != "tensor":
        raise Invalid("to_dask() is of frames and tensors")
    import dask.array as da
    import numpy as np

    shapes = [one.shape for one in client.gather([client.submit(np.empty_like, part, pure=False) for part in parts])]
    dtype = client.submit(getattr, parts[0], "dtype", pure=False).result()
    blocks = np.empty(handle.splits, object)
    for place, part, shape in zip(np.ndindex(*handle.splits), parts, shapes):
        blocks[place] = da.from_delayed(part, shape, dtype)
    return da.block(blocks.tolist()) if handle.shape else blocks[()]
