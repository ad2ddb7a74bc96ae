"""A Python function on one chunk of a frame, a tensor or objects: NumPy or pandas in, the same out."""
from __future__ import annotations

import base64
import io
import mmap
from typing import TYPE_CHECKING, Any

from .. import _arrays, _packed
from . import wire

if TYPE_CHECKING:
    from .run import Slot


def _bytes(slot: Slot, request: wire.Request, one: wire.Input) -> tuple[memoryview, memoryview]:
    """Data and metadata of an input, in place."""
    if one.fd < 0:
        view = slot.client(request.session).get(one.id, 30000)
        return memoryview(view), memoryview(view.meta or b"")
    meta_at = -(-one.data_size // 64) * 64
    if one.data_size + one.meta_size == 0:
        return memoryview(b""), memoryview(b"")
    whole = memoryview(mmap.mmap(one.fd, meta_at + one.meta_size if one.meta_size else one.data_size, prot=mmap.PROT_READ))
    return whole[: one.data_size], whole[meta_at : meta_at + one.meta_size]


def _tensor(data: memoryview) -> Any:
    """The array of an NPY file, read-only and in place."""
    import numpy
    from numpy.lib import format

    npy: Any = format

    head = io.BytesIO(bytes(data[:4096]))
    version = npy.read_magic(head)
    shape, fortran, dtype = npy.read_array_header_1_0(head) if version == (1, 0) else npy.read_array_header_2_0(head)
    count = 1
    for length in shape:
        count *= length
    array = numpy.frombuffer(data, dtype, count, head.tell())
    return array.reshape(shape, order="F" if fortran else "C")


def _npy(array: Any) -> wire.Output:
    """An array as an NPY file."""
    head, data = _arrays.npy(array)
    return wire.Output(len(head) + memoryview(data).nbytes, [(0, head), (len(head), data)])


def run(slot: Slot, request: wire.Request, what: dict[str, Any]) -> wire.Output:
    """The function of a map_chunk node, on its chunk."""
    import numpy

    function = slot.function(request, what["functions"][0])
    data, meta = _bytes(slot, request, request.inputs[0])
    arguments, keywords = _packed.unpack(memoryview(base64.b64decode(what["inline"])))
    if bytes(data[:6]) == b"\x93NUMPY":
        return _npy(numpy.asarray(function(_tensor(data), *arguments, **keywords)))
    if bytes(data[:6]) == b"ARROW1":
        from . import frames

        return frames.run(slot.client(request.session), function, data, meta, arguments, keywords, what)
    result = function(data, *arguments, **keywords)
    flat = memoryview(result).cast("B")
    return wire.Output(flat.nbytes, [(0, flat)])
