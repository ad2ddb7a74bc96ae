"""What can be read once and by us alone, a pipe, stdin or what has read(), is copied into a file without a name, which executors open.

It is /proc/PID/fd/N, and ends with the plans that read it, or with this process. SQL has the same in C (data/file/paths/spool.h).
"""
from __future__ import annotations

import errno
import os
import re
import stat
import sys
import tempfile
import weakref
from typing import Any, BinaryIO, Callable, Union

_BLOCK = 1 << 20
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/\d{1,6}")
_OURS = re.compile(r"/proc/\d+/fd/\d+")
_STREAM = b"\xff\xff\xff\xff"  # with which Arrow's streams begin, and no file that is read here


def is_meant(source: Any) -> bool:
    """Whether it can be read once: what has read(), stdin, another descriptor, a named pipe, a socket, a device."""
    if not isinstance(source, (str, os.PathLike)):
        return hasattr(source, "read")
    name = os.fspath(source)
    if name in ("-", "/dev/stdin") or _DESCRIPTOR.fullmatch(name):
        return True
    try:
        mode = os.stat(name).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode)


def _target() -> int:
    """A file without a name, on a disk."""
    folder = os.environ.get("TMPDIR", "")
    if not folder.startswith("/"):
        folder = "/var/tmp" if os.access("/var/tmp", os.W_OK) else "/tmp"
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT):
            raise
    fd, name = tempfile.mkstemp(prefix="granary-", dir=folder)
    os.unlink(name)
    return fd


def _copy(name: str, read: Callable[[int], Union[bytes, str, None]], to: int) -> None:
    first = True
    block = read(_BLOCK)
    while block:
        left = memoryview(block.encode() if isinstance(block, str) else block).cast("B")
        if first and bytes(left[:4]) == _STREAM:
            raise ValueError(f"{name}: is an Arrow stream, not a file: gr.from_arrow(pyarrow.ipc.open_stream(...)) takes it")
        while len(left) > 0:
            left = left[os.write(to, left):]
        first = False
        block = read(_BLOCK)
    if block is None:
        raise ValueError(f"{name}: does not block, and has nothing to read yet: make it block, or read it first")
    if first:
        raise ValueError(f"{name}: nothing came, it has ended without a byte")


def _opened(name: str) -> BinaryIO:
    if name in ("-", "/dev/stdin") and hasattr(sys.stdin, "buffer"):
        return sys.stdin.buffer
    return open(name, "rb")


class Spool:
    """All that a source has, from where it is: waits for its end."""

    __slots__ = ("path", "name", "_fd", "__weakref__")

    def __init__(self, source: Any) -> None:
        self._fd = _target()
        self.path = f"/proc/{os.getpid()}/fd/{self._fd}"
        if hasattr(source, "read"):
            self.name = str(getattr(source, "name", f"<{type(source).__name__}>"))
            _copy(self.name, source.read, self._fd)
        else:
            name = os.fspath(source)
            self.name = "stdin" if name in ("-", "/dev/stdin") else name
            stream = _opened(name)
            try:
                if stream.isatty():
                    raise ValueError(f"{self.name}: is a terminal: name a file, or let a pipe lead here")
                _copy(self.name, stream.read, self._fd)
            finally:
                if self.name != "stdin":
                    stream.close()
        _spools[self.path] = self

    def __del__(self) -> None:
        fd = getattr(self, "_fd", -1)
        if fd >= 0:
            os.close(fd)


_spools: weakref.WeakValueDictionary[str, Spool] = weakref.WeakValueDictionary()


def told(message: str) -> str:
    """A message with sources named as they were."""
    def name_of(match: re.Match[str]) -> str:
        spool = _spools.get(match.group())
        return match.group() if spool is None else spool.name
    return _OURS.sub(name_of, message)
