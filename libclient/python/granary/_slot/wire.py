"""What goes over the socket between an executor and a program that answers its calls (docs/protocol.md, "Hosted functions")."""
from __future__ import annotations

import array
import os
import socket
import struct
from dataclasses import dataclass, field
from typing import Sequence, Union

VERSION = 1

_REQUEST = struct.Struct("<II4QqIIiIII")
_INPUT = struct.Struct("<16sQQ")
_ANSWER = struct.Struct("<IIiIQd")
_OUTPUT = struct.Struct("<QQ")
_PIECE = struct.Struct("<QQQ")
_WORD = struct.Struct("<I")
_RANGE = struct.Struct("<QQ")

_DONE, _FAILED, _PROGRESS = 1, 2, 3
_TAKEN, _SEND = 1, 2

_INLINE = 1 << 15  # pieces of less go with the answer
_DESCRIPTORS = 253

Bytes = Union[bytes, bytearray, memoryview]


@dataclass
class Input:
    """An input: an object by its id, or bytes in a descriptor."""

    id: bytes  # 16; zero: none
    data_size: int
    meta_size: int
    fd: int = -1


@dataclass
class Request:
    """A call."""

    subtask: int
    index: int
    count: int
    seed: int
    deadline_ms: int
    attempt: int
    executor: int
    numa_node: int
    cpus: int
    outputs: int
    session: str = ""
    graph: str = ""
    node: str = ""
    directory: str = ""
    request: str = ""
    inputs: list[Input] = field(default_factory=list)
    fds: list[int] = field(default_factory=list)  # where to print, then those of inputs; to be closed


@dataclass
class Output:
    """What an output is made of: bytes at offsets, in order; zeros between them."""

    size: int
    pieces: Sequence[tuple[int, Bytes]]


class Ended(EOFError):
    """The executor has ended, or closed its side."""


_CREDENTIALS = struct.Struct("iII")


def is_own(sock: socket.socket) -> bool:
    """Whether a process of this user is at the other end: everybody sees the names of these sockets, and may connect, or take one."""
    _, uid, _ = _CREDENTIALS.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return bool(uid == os.geteuid())


def receive(sock: socket.socket, size: int) -> bytearray:
    """So many bytes; Ended when the other side is gone."""
    data = bytearray(size)
    view = memoryview(data)
    while view.nbytes > 0:
        got = sock.recv_into(view)
        if got == 0:
            raise Ended
        view = view[got:]
    return data


def _close(fds: Sequence[int]) -> None:
    for fd in fds:
        os.close(fd)


def read_request(sock: socket.socket) -> Request:
    """The next call; Ended when there is none any more."""
    head, ancillary, _, _ = sock.recvmsg(_REQUEST.size, socket.CMSG_SPACE(_DESCRIPTORS * 4), socket.MSG_CMSG_CLOEXEC)
    fds = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) // 4 * 4])
    try:
        if not head:
            raise Ended
        if len(head) < _REQUEST.size:
            head += receive(sock, _REQUEST.size - len(head))
        version, size, *numbers, inputs, outputs = _REQUEST.unpack(head)
        if version != VERSION:
            raise RuntimeError(f"an executor that speaks version {version}, not {VERSION}: use one release on both sides")
        request = Request(*numbers, outputs)  # type: ignore[call-arg]
        body = memoryview(receive(sock, size))
        at = 0
        for name in ("session", "graph", "node", "directory", "request"):
            (length,) = _WORD.unpack_from(body, at)
            at += _WORD.size
            setattr(request, name, str(body[at : at + length], "utf-8", "surrogateescape"))
            at += length
        taken = 2
        for _ in range(inputs):
            one = Input(*_INPUT.unpack_from(body, at))
            at += _INPUT.size
            if not any(one.id):
                one.fd = fds[taken]
                taken += 1
            request.inputs.append(one)
    except BaseException:
        _close(fds)
        raise
    request.fds = list(fds)
    return request


def address_of(data: Bytes) -> int:
    """Where bytes lie in this process's memory."""
    try:
        from .._granary import address
    except ImportError:  # this file is used by itself
        import numpy

        return int(numpy.frombuffer(data, numpy.uint8).ctypes.data)
    return address(data)


def write_done(sock: socket.socket, outputs: Sequence[Output]) -> None:
    """The outputs of a call. Returns when the executor has taken all that it reads from here."""
    table = bytearray()
    inlined: list[Bytes] = []
    remote: list[tuple[int, memoryview]] = []
    for output in outputs:
        table += _OUTPUT.pack(output.size, len(output.pieces))
        for offset, data in output.pieces:
            flat = memoryview(data).cast("B")
            if flat.nbytes < _INLINE:
                table += _PIECE.pack(offset, flat.nbytes, 0)
                inlined.append(flat)
            else:
                address = address_of(flat)
                table += _PIECE.pack(offset, flat.nbytes, address)
                remote.append((address, flat))
    size = len(table) + sum(len(one) for one in inlined)
    head = _ANSWER.pack(VERSION, _DONE, 0, len(outputs), size, 1.0)
    sock.sendall(b"".join([head, table, *inlined]))
    while remote:
        (word,) = _WORD.unpack(receive(sock, _WORD.size))
        if word == _TAKEN:
            return
        if word != _SEND:
            raise Ended
        address, length = _RANGE.unpack(receive(sock, _RANGE.size))
        for begin, flat in remote:
            if begin <= address and address + length <= begin + flat.nbytes:
                sock.sendall(flat[address - begin : address - begin + length])
                break
        else:
            raise Ended


def write_failed(sock: socket.socket, err: int, message: str) -> None:
    """The call has failed: err is one of granary_err."""
    text = message.encode("utf-8", "backslashreplace")[:4096]
    sock.sendall(_ANSWER.pack(VERSION, _FAILED, err, 0, len(text), 0.0) + text)


def write_progress(sock: socket.socket, part: float) -> None:
    """How much of the call is done, 0 to 1."""
    sock.sendall(_ANSWER.pack(VERSION, _PROGRESS, 0, 0, 0, part))
