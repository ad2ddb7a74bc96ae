"""DLPack: tensors of other libraries as NumPy arrays over their memory, and arrays of the store for other libraries."""
from __future__ import annotations

from typing import Any, Optional

import numpy

from . import _granary

CPU = (1, 0)
"""kDLCPU, and which one."""
VERSION = (1, 0)
"""From here on tensors can be marked as read-only."""
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
"""DLPack's type codes of NumPy's kinds."""


def borrowed(tensor: Any) -> Any:
    """The elements, read-only and where they lie; the tensor stays as long as the array.

    BufferError: it is not in the CPU's memory. TypeError: granary has no such dtype.
    """
    if isinstance(tensor, numpy.ndarray):
        return tensor
    for name in ("__dlpack_device__", "__dlpack__"):
        if not hasattr(tensor, name):
            raise TypeError(f"{type(tensor).__name__} has no {name}(): give a tensor that has DLPack's methods")
    kind, which = tensor.__dlpack_device__()
    if int(kind) != CPU[0]:
        raise BufferError(f"{type(tensor).__name__} on DLPack's device ({int(kind)}, {which}) is not in the CPU's memory: copy it there "
                          "first, as by tensor.cpu()")
    try:
        given = tensor.__dlpack__(max_version=VERSION)
    except TypeError:  # it is older than versions
        given = tensor.__dlpack__()
    return numpy.asarray(_granary.dlpack_take(given))


def capsule(array: Any, stream: Any, max_version: Any, dl_device: Any, copy: Optional[bool]) -> Any:
    """A NumPy array as `__dlpack__()` gives it, with that method's arguments.

    Memory that must not be written goes only to a consumer that knows the mark for it; others get a copy.
    """
    if stream is not None:
        raise ValueError("a stream of a CPU is None")
    if dl_device is not None and tuple(int(one) for one in dl_device) != CPU:
        raise BufferError(f"device {tuple(dl_device)}: arrays of granary are on the CPU, {CPU}: copy it from there")
    if array.dtype.kind not in CODES or not array.dtype.isnative or array.dtype.itemsize > (16 if array.dtype.kind == "c" else 8):
        raise BufferError(f"DLPack has no {array.dtype}: convert it by astype()")
    versioned = max_version is not None and tuple(max_version) >= VERSION
    plain = array.view(numpy.ndarray)
    fits = (versioned or plain.flags.writeable) and not any(step % plain.itemsize for step in plain.strides)
    if copy is False and not fits:
        raise BufferError("the array needs a copy: a consumer of DLPack 1.0 can have read-only memory, with max_version=(1, 0)")
    if copy or not fits:
        plain, copy = numpy.array(plain, order="C", copy=True), True
    return _granary.dlpack_give(plain, CODES[plain.dtype.kind], versioned, bool(copy))
