"""NumPy arrays in the store: read-only where they lie, written in place before the seal, pickled as references."""
from __future__ import annotations

import io
from typing import Any, Optional

import numpy
from numpy.lib import format as _format

from ._ref import pickled

DTYPES = {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64", "complex128"}
"""What tensors of granary can be; arrays of other dtypes are pickled."""


def npy(array: Any) -> tuple[bytes, Any]:
    """Head and data of an array as an NPY file in C order; the data are copied only when they are not contiguous."""
    array = numpy.asarray(array, order="C")
    return head_of(array.dtype, array.shape), array.reshape(-1).view(numpy.uint8) if array.size else b""


def head_of(dtype: Any, shape: tuple[int, ...]) -> bytes:
    """The head of an NPY file, of a multiple of 64 bytes."""
    head = io.BytesIO()
    form: Any = _format
    form.write_array_header_1_0(head, {"descr": form.dtype_to_descr(numpy.dtype(dtype)), "fortran_order": False, "shape": shape})
    return head.getvalue()


class SharedArray(numpy.ndarray):  # type: ignore[type-arg]
    """An array in the store. It is read-only, keeps its object leased, and so do views of it.

    Pickled, it is a reference of some hundred bytes: another process of this machine maps the same memory. The object has to be
    there then. To have one that can be written, copy it: `granary.writable(array)`.
    """

    _session: Any
    _id: Optional[bytes]
    _ref: Any  # keeps the object for others, too

    @staticmethod
    def over(memory: Any, dtype: str, shape: tuple[int, ...], session: Any, id: bytes, ref: Any) -> "SharedArray":
        """Over the data of a tensor object."""
        array = numpy.frombuffer(memory, numpy.bool_ if dtype == "bool" else dtype).reshape(shape).view(SharedArray)
        array._session = session
        array._id = id
        array._ref = ref
        return array

    def __array_finalize__(self, of: Any) -> None:
        self._session = getattr(of, "_session", None)
        self._id = getattr(of, "_id", None)
        self._ref = getattr(of, "_ref", None)

    def __array_wrap__(self, array: Any, context: Any = None) -> Any:
        """What is computed is an array of the process's own."""
        plain = array.view(numpy.ndarray) if isinstance(array, numpy.ndarray) else array
        return plain[()] if isinstance(plain, numpy.ndarray) and plain.ndim == 0 else plain

    def _is_there(self) -> bool:
        """Whether others can have it. Else it was deleted, or its session has ended, and it is here only."""
        try:
            return self._id is not None and bool(self._session._client.contains(self._id))
        except Exception:
            return False

    def _place(self) -> Optional[int]:
        """Where it begins within the object's data; None: it does not lie there any more."""
        base: Any = self
        while isinstance(base, numpy.ndarray):
            base = base.base
        if self._id is None or self.flags.writeable or base is None:
            return None
        begin = numpy.frombuffer(base, numpy.uint8).__array_interface__["data"][0]
        offset = int(self.__array_interface__["data"][0]) - begin
        low, high = numpy.byte_bounds(self) if self.size else (0, 0)
        return offset if begin <= low and high <= begin + memoryview(base).nbytes else None

    def __reduce_ex__(self, protocol: Any) -> Any:
        id, place = self._id, self._place() if self._is_there() else None
        if id is None or place is None or not self.dtype.isnative or self.dtype.hasobject:
            return self.view(numpy.ndarray).__reduce_ex__(protocol)
        pickled(self._session, id)
        return _attach, (self._session, id, place, self.dtype.str, self.shape, self.strides)

    def __reduce__(self) -> Any:
        return self.__reduce_ex__(2)

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Optional[bool] = None) -> Any:
        """The store's read-only memory for consumers of version 1.0 on; a copy for earlier ones, which may write."""
        from . import _dlpack

        return _dlpack.capsule(self, stream, max_version, dl_device, copy)


def _attach(session: Any, id: bytes, place: int, dtype: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> SharedArray:
    """An array of another process, by its reference."""
    from ._errors import NotFound

    try:
        view = session._client.get(id, 0)
    except NotFound as error:
        raise NotFound(f"array of object {id.hex()}: it was deleted before this process had it: keep what put() returned, "
                       f"or name it ({error})") from None
    whole = view.tensor()[2]
    array = numpy.ndarray(shape, dtype, numpy.frombuffer(whole, numpy.uint8), place, strides).view(SharedArray)
    array._session = session
    array._id = id
    return array


class Empty:
    """An array to be written in place: the object is sealed when the block is left, and given up when it raises."""

    def __init__(self, session: Any, id: bytes, shape: Any, dtype: Any, options: dict[str, Any], name: Optional[str]) -> None:
        self.shape = (shape,) if isinstance(shape, int) else tuple(int(one) for one in shape)
        self.dtype = numpy.dtype(dtype)
        if self.dtype.name not in DTYPES or not self.dtype.isnative:
            raise TypeError(f"arrays of {self.dtype} cannot be written in place; there are: {', '.join(sorted(DTYPES))}")
        self.session = session
        self.id = id
        self.options = options
        self.name = name
        self.ref: Any = None

    def __enter__(self) -> Any:
        head = head_of(self.dtype, self.shape)
        size = self.dtype.itemsize
        for one in self.shape:
            size *= one
        self._buffer = self.session._client.create(self.id, len(head) + size, **self.options)
        self._memory = memoryview(self._buffer)
        self._memory[: len(head)] = head
        self._array = numpy.frombuffer(self._memory, self.dtype, size // self.dtype.itemsize, len(head)).reshape(self.shape)
        return self._array

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        array, memory, buffer = self._array, self._memory, self._buffer
        del self._array, self._memory, self._buffer
        array.flags.writeable = False  # the caller may have it still
        del array, memory
        if kind is None:
            buffer.seal(True)
            self.ref = self.session._made(self.id, self.name)
        # Else the room is given back with the last array.
