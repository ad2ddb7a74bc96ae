"""Python objects as bytes: pickle protocol 5, whose large buffers lie beside the pickle and are read in place.

The layout (docs/formats.md, "Python objects"), little-endian:

    magic "granpkl1", u64 size of the pickle, u64 count of buffers, then offset and size (u64) of each; the pickle; the buffers, each
    at a multiple of 64
"""
from __future__ import annotations

import pickle
import struct
from typing import Any, Callable, Iterator, Optional, Sequence, Union

MAGIC = b"granpkl1"
_HEAD = struct.Struct("<8sQQ")
_BUFFER = struct.Struct("<QQ")
_ALIGN = 64

Bytes = Union[bytes, bytearray, memoryview]


class Packed:
    """An object ready to be written: pieces at offsets, in order."""

    __slots__ = ("size", "pieces", "pickle", "writable")

    def __init__(self, size: int, pieces: Sequence[tuple[int, Bytes]], pickle: Bytes, writable: bytes = b"") -> None:
        self.size = size
        self.pieces = pieces
        self.pickle = pickle  # one of the pieces
        self.writable = writable  # 1 or 0 of each buffer: whether its owner may write it

    def parts(self) -> Iterator[Bytes]:
        """All of its bytes, one part behind the other: the pieces, and zeros between them."""
        at = 0
        for offset, data in self.pieces:
            flat = memoryview(data).cast("B")
            yield bytes(offset - at)
            yield flat
            at = offset + flat.nbytes

    def write(self, to: memoryview) -> None:
        """Write it into memory of its size."""
        at = 0
        for part in self.parts():
            to[at : at + len(part)] = part
            at += len(part)

    def tobytes(self) -> bytes:
        """The whole as one bytes object."""
        whole = bytearray(self.size)
        self.write(memoryview(whole))
        return bytes(whole)


def layout(data: Bytes, buffers: Sequence[Bytes]) -> Packed:
    """A pickle and its buffers, laid out."""
    head = bytearray(_HEAD.pack(MAGIC, len(data), len(buffers)))
    at = _HEAD.size + _BUFFER.size * len(buffers) + len(data)
    pieces: list[tuple[int, Bytes]] = [(0, b""), (_HEAD.size + _BUFFER.size * len(buffers), data)]
    for one in buffers:
        at = -(-at // _ALIGN) * _ALIGN
        size = memoryview(one).nbytes
        head += _BUFFER.pack(at, size)
        pieces.append((at, one))
        at += size
    pieces[0] = (0, bytes(head))
    return Packed(at, pieces, data, bytes(not memoryview(one).readonly for one in buffers))


def pack(value: Any, dumps: Optional[Callable[..., bytes]] = None) -> Packed:
    """The value, pickled. dumps: another pickler than pickle's, such as cloudpickle's."""
    buffers: list[pickle.PickleBuffer] = []
    data = (dumps or pickle.dumps)(value, protocol=5, buffer_callback=buffers.append)
    flat: list[Bytes] = []
    for one in buffers:
        try:
            flat.append(one.raw())
        except BufferError:  # not contiguous: so it goes into the pickle
            return layout((dumps or pickle.dumps)(value, protocol=5), [])
    return layout(data, flat)


def unpack(data: memoryview, writable: bytes = b"") -> Any:
    """The value again; its buffers are parts of data, read-only when data is. Those that are to be writable are copies then."""
    magic, size, count = _HEAD.unpack_from(data, 0)
    table = _HEAD.size
    begin = table + _BUFFER.size * count
    if magic != MAGIC or begin > data.nbytes or size > data.nbytes - begin:
        raise ValueError("no packed Python object, or damaged")
    buffers: list[Bytes] = []
    for i in range(count):
        at, length = _BUFFER.unpack_from(data, table + _BUFFER.size * i)
        if at > data.nbytes or length > data.nbytes - at:
            raise ValueError("a packed Python object that is damaged")
        part = data[at : at + length]
        buffers.append(bytearray(part) if data.readonly and any(writable[i : i + 1]) else part)
    return pickle.loads(data[begin : begin + size], buffers=buffers)
